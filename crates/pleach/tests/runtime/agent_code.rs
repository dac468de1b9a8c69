//! Agents whose model writes code that is executed.
// L71

use std::sync::Arc;

use pleach::prelude::*;
use pleach::{
    AgentMode, BoxFuture, CallbackContext, CodeExecutor, CodeOutput, InMemoryArtifactService, InMemorySessionService,
    NodeError, OutputFile, Part,
};

use crate::agents::{cut_everywhere, left};
use crate::support::{key, runner};

/// A code executor that prints the argument of `print(…)`, saves the file named in `save(…)` and fails for all other code.
struct Tiny;

impl CodeExecutor for Tiny {
    fn execute<'a>(&'a self, _: &'a CallbackContext, code: &'a str) -> BoxFuture<'a, Result<CodeOutput, NodeError>> {
        let argument = |name: &str| Some(code.strip_prefix(name)?.strip_suffix(')')?.to_owned());
        Box::pin(async move {
            Ok(match (argument("print("), argument("save(")) {
                (Some(text), _) => CodeOutput::printed(text),
                (_, Some(name)) => CodeOutput::default().with_file(OutputFile::new(name, Part::text("saved"))),
                _ => CodeOutput::failed(format!("no such function: {code}")),
            })
        })
    }
}

fn model() -> ScriptedModel {
    ScriptedModel::saying("I compute.\n```python\nprint(3)\n```\nIt must be 4.")
        .then_text("```tool_code\nprint(4)\n```")
        .then_text("It is 3.")
}

fn helper(model: Arc<ScriptedModel>) -> pleach::LlmAgentBuilder {
    LlmAgent::builder("helper").model(model).code_executor(Tiny)
}

/// The texts of the contents of a request.
fn texts(model: &ScriptedModel, request: usize) -> Vec<String> {
    let contents = &model.requests()[request].contents;
    contents.iter().map(|content| format!("{}: {}", content.role().unwrap_or_default(), content.text())).collect()
}

#[tokio::test]
async fn l71_code_is_executed_and_the_model_reads_its_output() {
    let asked = Arc::new(model());
    let (first, sessions) = runner(helper(Arc::clone(&asked)).output_key("answer").build().unwrap());
    assert_eq!(first.run("ana", "s1", "go").reply().await.unwrap(), "It is 3.");
    assert_eq!(
        texts(&asked, 2),
        [
            "user: go",
            "model: I compute.\n```tool_code\nprint(3)\n```",
            "user: ```tool_output\nCode execution result:\n3\n\n```",
            "model: ```tool_code\nprint(4)\n```",
            "user: ```tool_output\nCode execution result:\n4\n\n```",
        ]
    );
    let state = left(&sessions).await.1;
    assert_eq!(state["answer"], "I compute.\nIt is 3.");
    cut_everywhere(|_| helper(Arc::new(model())).build().unwrap()).await;
}

#[tokio::test]
async fn l71_an_answer_after_code_is_the_output() {
    let single = helper(Arc::new(model())).mode(AgentMode::SingleTurn).build().unwrap();
    let mut wf = Workflow::builder("wf");
    let single = wf.add(single);
    let last = wf.node("last", async |Input(text): Input<String>| text.to_uppercase());
    wf.edge(START, single).edge(single, last);
    let (runner, _) = runner(wf.build().unwrap());
    assert_eq!(runner.run("ana", "s1", "go").output::<String>().await.unwrap(), "IT IS 3.");
}

#[tokio::test]
async fn l71_code_that_fails_again_and_again_is_executed_no_more() {
    let asked = Arc::new(ScriptedModel::saying("```python\nexit\n```").repeating());
    let (runner, sessions) = runner(helper(Arc::clone(&asked)).build().unwrap());
    assert_eq!(runner.run("ana", "s1", "go").reply().await.unwrap(), "```python\nexit\n```");
    assert_eq!(asked.requests().len(), 3, "{:#?}", left(&sessions).await.0);
    assert_eq!(texts(&asked, 1)[2], "user: ```tool_output\nno such function: exit\n```");
}

#[tokio::test]
async fn l71_files_that_code_writes_are_artifacts() {
    let asked = Arc::new(ScriptedModel::saying("```python\nsave(a.txt)\n```").then_text("done"));
    let sessions = Arc::new(InMemorySessionService::new());
    let runner = Runner::builder("t").root(helper(Arc::clone(&asked)).build().unwrap());
    let runner = runner
        .sessions(Arc::clone(&sessions))
        .artifacts(InMemoryArtifactService::with_clock(Arc::new(pleach::SystemClock)))
        .build()
        .unwrap();
    runner.run("ana", "s1", "go").reply().await.unwrap();
    assert_eq!(texts(&asked, 1)[2], "user: ```tool_output\nSaved artifacts:\n`a.txt`\n```");
    let session = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    let saved = session.events.iter().find(|event| event.actions().artifact_delta().contains_key("a.txt"));
    assert!(saved.is_some_and(|event| event.content().is_some()));
}
