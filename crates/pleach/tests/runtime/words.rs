//! Texts of errors: the text of the outermost error says what to do, and repeats nothing.

use std::error::Error;
use std::io;

use pleach::prelude::*;
use pleach::{ArtifactError, InvocationId, MemoryError, RunRequest, SessionError, with_causes};
use serde_json::json;

use crate::support::{key, runner, stored, trace};

fn locked() -> SessionError {
    let source = Box::new(io::Error::other("database is locked"));
    SessionError::Locked { what: "SQLite file a.db".to_owned(), source }
}

#[test]
fn a_cause_is_in_the_text_once() {
    let errors: [Box<dyn Error>; 5] = [
        Box::new(RunError::from(locked())),
        Box::new(locked()),
        Box::new(pleach::ConnectError::Open { url: "sqlite:a.db".to_owned(), error: Box::new(locked()) }),
        Box::new(MemoryError::Storage { backend: "x", source: "database is locked".into() }),
        Box::new(ArtifactError::Io { path: "a".into(), source: io::Error::other("database is locked") }),
    ];
    for error in errors {
        assert_eq!(error.to_string().matches("database is locked").count(), 1, "{error}");
        assert_eq!(with_causes(&*error), error.to_string());
    }
    let text = RunError::from(locked()).to_string();
    assert_eq!(
        text,
        "session service failed: SQLite file a.db stayed locked: database is locked. Try again when other work on it has ended"
    );
}

#[derive(Debug, thiserror::Error)]
#[error("no rate for EUR")]
struct RateError(#[source] io::Error);

#[tokio::test]
async fn the_error_of_a_run_shows_why_its_node_failed() {
    let node = FunctionNode::new("convert", async || Err::<i64, _>(RateError(io::Error::other("connection refused"))));
    let error = runner(node).0.run("ana", "s1", "go").output::<i64>().await.unwrap_err();
    assert_eq!(error.to_string(), "convert@1 failed with RateError: no rate for EUR: connection refused");
    // Only the text of the error itself is stored, as in google-adk.
    assert_eq!(error.message(), "no rate for EUR");
}

/// If the stored text has google-adk's wording, only the error of the run has the remedy.
#[tokio::test]
async fn a_text_of_google_adk_gets_a_hint() {
    let node =
        FunctionNode::new("load", async |ctx: Context| ctx.load_artifact("f", None).await.map(|part| part.is_some()));
    let error = runner(node).0.run("ana", "s1", "go").output::<bool>().await.unwrap_err();
    assert_eq!(error.message(), "Artifact service is not initialized.");
    let hint = "Artifact service is not initialized: give the runner one with `.artifacts(…)`";
    assert_eq!(error.to_string(), format!("load@1 failed with ValueError: {hint}"));
    let node = FunctionNode::new("read", async |ctx: Context| ctx.state().get::<u32>("total"));
    let error = runner(node).0.run("ana", "s1", "go").output::<u32>().await.unwrap_err();
    assert!(error.to_string().contains("'total': the state has no such key"), "{error}");
}

#[tokio::test]
async fn the_error_of_an_answer_to_no_question_names_the_open_questions() {
    let (runner, _) = runner(FunctionNode::new("ask", async || RequestInput::<bool>::ask("refund", "Refund?")));
    trace(runner.run("ana", "s1", "go")).await;
    let error = runner.answer("s1", "refnd", true).unwrap().output::<bool>().await.unwrap_err();
    let expected = "there is no question 'refnd' in this session (open: 'refund'); nothing was stored. Answer one of the open ones";
    assert_eq!(error.to_string(), expected);
    let request = RunRequest::new(("ana", "s1")).invocation_id(InvocationId::from("e-none"));
    let error = runner.start(request).output::<bool>().await.unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with(&format!("session {} has no invocation 'e-none', or it was rewound. ", key())), "{text}");
}

#[tokio::test]
async fn the_error_of_a_changed_workflow_names_the_remedy() {
    let (before, sessions) = runner(FunctionNode::new("ask", async || RequestInput::<bool>::ask("q", "?")));
    trace(before.run("ana", "s1", "go")).await;
    let renamed = FunctionNode::new("query", async || json!(1));
    let after = Runner::builder("t").root(renamed).sessions(sessions).build().unwrap();
    let error = after.answer("s1", "q", true).unwrap().output::<i64>().await.unwrap_err();
    assert_eq!(error.code(), "WorkflowChangedError");
    assert!(error.to_string().ends_with("Resume with that root, or start a new invocation."), "{error}");
}

/// `Display` adds a remedy to a text that is stored in google-adk's wording.
#[tokio::test]
async fn every_text_of_google_adk_gets_its_remedy() {
    async fn check(node: impl pleach::Node, message: &str, remedy: &str) {
        let (runner, sessions) = runner(node);
        let error = runner.run("ana", "s1", "go").output::<serde_json::Value>().await.unwrap_err();
        let text = error.to_string();
        assert_eq!(error.message(), message, "{text}");
        assert!(text.ends_with(&format!(": {remedy}")), "{text}");
        let stored = stored(&sessions).await;
        assert!(stored.iter().all(|line| !line.contains(remedy)), "the stored text is google-adk's: {stored:?}");
    }
    let confirm = FunctionNode::new("n", async |ctx: Context| ctx.request_confirmation("sure?", None));
    let message = "request_confirmation requires function_call_id: it is for tool calls only.";
    check(confirm, message, "call it in the body of a tool; a node asks a person with `Context::ask`").await;
    let twice = FunctionNode::new("n", async |ctx: Context| ctx.set_output(1).and_then(|()| ctx.set_output(2)));
    let message = "Output already set. A node can produce at most one output.";
    check(twice, message, "return it, emit it or call `set_output`, but only one of them").await;
    let state = FunctionNode::new("n", async |ctx: Context| ctx.state().get::<u32>("total"));
    check(state, "'total'", "the state has no such key; set it first, or read it with `try_get`").await;
}

/// The error of a message that cannot be accepted names the message to send instead.
#[tokio::test]
async fn the_error_of_a_refused_message_says_what_to_send() {
    let (runner, _) = runner(FunctionNode::new("ask", async || RequestInput::<bool>::ask("q", "?")));
    trace(runner.run("ana", "s1", "go")).await;
    let call = Part::function_call(pleach::FunctionCall::new("1", "f", pleach::Map::new()));
    let error = runner.run("ana", "s1", call).output::<bool>().await.unwrap_err();
    assert_eq!(error.message(), "User message cannot contain function calls.");
    let text = "User message cannot contain function calls: send text, or function responses that answer questions; \
                nothing was stored";
    assert_eq!(error.to_string(), text);
}

/// No public error ends with only its cause.
#[test]
fn errors_of_services_say_what_to_do() {
    let cause = || "no route to host".into();
    let texts = [
        SessionError::Storage { backend: "x", source: cause() }.to_string(),
        MemoryError::Storage { backend: "x", source: cause() }.to_string(),
        ArtifactError::Storage { backend: "x", source: cause() }.to_string(),
    ];
    for text in texts {
        assert!(text.ends_with("no route to host. Check the log of the storage, then try again"), "{text}");
    }
    let reference = ArtifactError::InvalidReference { uri: "artifact://a".to_owned(), reason: "" };
    assert!(reference.to_string().starts_with("artifact reference `artifact://a`"), "{reference}");
}
