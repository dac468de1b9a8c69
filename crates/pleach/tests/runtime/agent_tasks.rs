//! Agents that work on a task and wait for answers, jobs and messages.

use pleach::prelude::*;
use pleach::{AgentMode, Content, FunctionResponse, InMemorySessionService, Map, Part, RunRequest};
use serde_json::{Value, json};

use crate::agents::left;
use crate::support::{key, runner, runner_of_app, trace};

fn has_text(request: &pleach::model::LlmRequest, text: &str) -> bool {
    request.contents.iter().any(|content| content.text().contains(text))
}

/// The answer that approves the last request for confirmation.
async fn approval(sessions: &InMemorySessionService) -> Content {
    let session = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    let mut asked = session.events.iter().flat_map(|event| event.function_calls().cloned().collect::<Vec<_>>());
    let asked = asked.rfind(|call| call.name.as_deref() == Some("adk_request_confirmation")).unwrap();
    let yes = Map::from_iter([("confirmed".to_owned(), Value::Bool(true))]);
    let answer = FunctionResponse::new(asked.id.unwrap(), "adk_request_confirmation", yes);
    Content::new("user", [Part::function_response(answer)])
}

/// The model calls a tool for the user's message before the user approves the earlier call.
#[tokio::test]
async fn l191_an_approval_applies_after_calls_of_other_tools() {
    let pay = tool("pay", "Pays.", |_: ToolContext| async { Ok::<_, NodeError>("paid") }).require_confirmation();
    let price = tool("price", "Says the price.", |_: ToolContext| async { Ok::<_, NodeError>("5") });
    let model = ScriptedModel::calling("pay", json!({}))
        .then_call("price", json!({}))
        .then_text("It costs 5.")
        .then_text("Paid.")
        .then_text("More.");
    let agent = LlmAgent::builder("clerk").mode(AgentMode::Task).model(model).tool(pay).tool(price);
    let (runner, sessions) = runner(agent.build().unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    trace(runner.run("ana", "s1", "what does it cost?")).await;
    trace(runner.start(RunRequest::new(key()).message(approval(&sessions).await))).await;
    let lines = left(&sessions).await.0;
    assert!(lines.iter().any(|line| line.contains("paid")), "{lines:#?}");
}

/// A job that asks first does not begin before it is approved, whatever the user says in between.
#[tokio::test]
async fn l191_a_job_begins_when_it_is_approved() {
    for says_something in [false, true] {
        let job = tool("job", "Runs.", |_: ToolContext| async { Ok::<_, NodeError>("started") });
        let model = ScriptedModel::calling("job", json!({})).then_text("One moment.").then_text("It runs.");
        let agent = LlmAgent::builder("clerk").mode(AgentMode::Task).model(model);
        let agent = agent.tool(job.long_running().require_confirmation()).build().unwrap();
        let (runner, sessions) = runner(agent);
        trace(runner.run("ana", "s1", "go")).await;
        if says_something {
            trace(runner.run("ana", "s1", "why?")).await;
        }
        trace(runner.start(RunRequest::new(key()).message(approval(&sessions).await))).await;
        let lines = left(&sessions).await.0;
        assert!(lines.iter().any(|line| line.contains("started")), "{says_something}: {lines:#?}");
    }
}

/// A task that waits for a confirmation answers a text of the user.
#[tokio::test]
async fn l191_a_message_to_a_task_that_waits_asks_the_model() {
    for resumable in [false, true] {
        let pay = tool("pay", "Pays.", |_: ToolContext| async { Ok::<_, NodeError>("paid") }).require_confirmation();
        let model = ScriptedModel::calling("pay", json!({}))
            .then_text("Shall I?")
            .then_text("Paid.")
            .then_call("finish_task", json!({"result": "done"}));
        let agent = LlmAgent::builder("clerk").mode(AgentMode::Task).model(model.clone()).tool(pay);
        let (runner, sessions) = runner_of_app(agent.build().unwrap(), resumable);
        trace(runner.run("ana", "s1", "go")).await;
        trace(runner.run("ana", "s1", "what does it cost?")).await;
        let requests = model.requests();
        assert_eq!(requests.len(), 2, "{:#?}", left(&sessions).await.0);
        assert!(has_text(&requests[1], "what does it cost?"));

        trace(runner.start(RunRequest::new(key()).message(approval(&sessions).await))).await;
        let lines = left(&sessions).await.0;
        assert!(lines.iter().any(|line| line.contains("paid")), "the approval still applies: {lines:#?}");
        let last = trace(runner.run("ana", "s1", "thanks")).await;
        assert!(last.iter().any(|line| line.contains("done")), "{last:#?}");
    }
}

/// The job of a task continues while the user sends a message.
#[tokio::test]
async fn l191_a_message_to_a_task_whose_job_runs_asks_the_model() {
    let job = tool("job", "Runs.", |_: ToolContext| async { Ok::<_, NodeError>(Value::Null) }).long_running();
    let model = ScriptedModel::calling("job", json!({})).then_text("It runs.").then_text("It is done.");
    let agent = LlmAgent::builder("clerk").mode(AgentMode::Task).model(model.clone()).tool(job);
    let (runner, sessions) = runner(agent.build().unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    assert_eq!(model.requests().len(), 1);
    let lines = trace(runner.run("ana", "s1", "and?")).await;
    assert!(lines.iter().any(|line| line.contains("It runs.")), "{lines:#?}");
    let session = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    let id = session.events.iter().flat_map(|event| event.function_calls().cloned().collect::<Vec<_>>()).next();
    let result = Map::from_iter([("ok".to_owned(), Value::Bool(true))]);
    let result = FunctionResponse::new(id.unwrap().id.unwrap(), "job", result);
    let message = Content::new("user", [Part::function_response(result)]);
    let lines = trace(runner.start(RunRequest::new(key()).message(message))).await;
    assert!(lines.iter().any(|line| line.contains("It is done.")), "{lines:#?}");
}

#[tokio::test]
async fn l191_a_task_whose_tool_skips_the_summary_continues_in_a_resumable_app() {
    let skip = tool("skip", "Skips.", |ctx: ToolContext| async move {
        ctx.with_actions(|actions| actions.set_skip_summarization(Some(true)))?;
        Ok::<_, NodeError>("shown")
    });
    let model = ScriptedModel::calling("skip", json!({}))
        .then_call("skip", json!({}))
        .then_call("finish_task", json!({"result": "done"}));
    let agent = LlmAgent::builder("clerk").mode(AgentMode::Task).model(model.clone()).tool(skip).build().unwrap();
    let mut wf = Workflow::builder("wf");
    let clerk = wf.add(agent);
    let last = wf.node("last", async |Input(given): Input<Value>| format!("last {given}"));
    wf.edge(START, clerk).edge(clerk, last);
    let (runner, _) = runner_of_app(wf.build().unwrap(), true);
    trace(runner.run("ana", "s1", "go")).await;
    trace(runner.run("ana", "s1", "more")).await;
    assert_eq!(model.requests().len(), 2);
    let lines = trace(runner.run("ana", "s1", "more")).await;
    assert!(lines.iter().any(|line| line.contains("last {")), "{lines:#?}");
}

/// A task may not end while it delegates a part of its work. The model gets the reason.
#[tokio::test]
async fn l192_a_task_does_not_end_in_a_batch_with_a_call_that_delegates() {
    let part = LlmAgent::builder("part").mode(AgentMode::Task).description("parts");
    let part = part.model(ScriptedModel::calling("finish_task", json!({"result": "part"}))).build().unwrap();
    let both = [("part", json!({"request": "a"})), ("finish_task", json!({"result": "early"}))];
    let model = ScriptedModel::new().then_calls(both).then_call("finish_task", json!({"result": "done"}));
    let agent = LlmAgent::builder("clerk").mode(AgentMode::Task).model(model.clone()).sub_agent(part).build().unwrap();
    let (runner, _) = runner(agent);
    trace(runner.run("ana", "s1", "go")).await;
    let requests = model.requests();
    let mut responses = requests[1].contents.iter().flat_map(|content| content.function_responses());
    let refused = responses.find(|response| response.name.as_deref() == Some("finish_task")).unwrap();
    let why = refused.response.as_ref().unwrap()["error"].as_str().unwrap();
    assert!(why.contains("did not end the task") && !why.contains("arguments"), "{why}");
}
