//! Warnings about questions: schemas that are not enforced, and answers that a body cannot read.

use std::net::IpAddr;

use pleach::prelude::*;
use serde_json::{Value, json};

use crate::recorder::Recorder;
use crate::support::{finish, runner};

#[tokio::test]
async fn a_question_whose_schema_is_not_enforced_is_named_once_with_the_reason() {
    let (recorder, _guard) = Recorder::start();
    for (schema, reason) in [
        (json!({"type": "string", "pattern": "(?=a)b"}), "`/pattern` is not a valid JSON Schema"),
        (json!({"$id": "https://example.com/x"}), "it uses `$id`"),
        (json!({"type": "string", "pattern": "^a$"}), ""),
    ] {
        let before = recorder.warnings().len();
        let asked = schema.clone();
        let node = FunctionNode::new("node", move || {
            let schema = asked.clone();
            async move { RequestInput::<Value>::ask("q", "?").with_schema(schema) }
        });
        let runner = runner(node);
        finish(runner.run("ana", "s1", "go")).await;
        finish(runner.answer("s1", "q", "a").unwrap()).await;
        let warnings = recorder.warnings().split_off(before);
        assert_eq!(warnings.len(), usize::from(!reason.is_empty()), "{schema}: {warnings:?}");
        for warning in warnings {
            assert_eq!((warning["question"].as_str(), warning["node"].as_str()), ("q", "node@1"));
            assert!(warning["reason"].starts_with(reason), "{warning:?}");
        }
    }
}

#[tokio::test]
async fn a_warning_of_an_answer_that_a_body_cannot_read_hides_its_value() {
    let (recorder, _guard) = Recorder::start();
    let node = FunctionNode::new("node", async |ctx: Context| {
        ctx.ask_with::<i64>(RequestInput::ask("first", "?")).await?;
        ctx.ask::<Vec<IpAddr>>("q", "?").await
    });
    let runner = runner(node.rerun_on_resume(true));
    finish(runner.run("ana", "s1", "go")).await;
    finish(runner.answer("s1", "first", 1).unwrap()).await;
    finish(runner.answer("s1", "q", ["::1", "4242"]).unwrap()).await;
    let warnings = recorder.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0]["misfit"].contains("field '1'"), "{warnings:?}");
    assert!(!format!("{warnings:?}").contains("4242"), "{warnings:?}");
}
