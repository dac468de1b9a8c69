//! Agents of graphs that hand over to their sub-agents, and get control back.

use pleach::model::{LlmRequest, LlmResponse, ScriptedReply};
use pleach::prelude::*;
use pleach::{AgentMode, FunctionCall};
use serde_json::{Value, json};

use crate::agents::{counting, cut_everywhere_in, left};
use crate::support::{key, runner, trace};

fn handing_over(agent: &str) -> ScriptedModel {
    ScriptedModel::new().then_call("transfer_to_agent", json!({"agent_name": agent}))
}

/// A graph of a node whose input is `in put`, an agent in this mode with these models, and a node that gets the agent's output.
fn graph(mode: AgentMode, front: &ScriptedModel, desk: &ScriptedModel, tool: Option<FunctionTool>) -> Workflow {
    let desk = LlmAgent::builder("desk").model(desk.clone());
    let desk = tool.into_iter().fold(desk, |desk, tool| desk.tool(tool)).build().unwrap();
    let front = LlmAgent::builder("front").mode(mode).model(front.clone()).sub_agent(desk).build().unwrap();
    let mut wf = Workflow::builder("wf");
    let front = wf.add(front);
    let last = wf.node("last", async |Input(given): Input<Value>| format!("last {given}"));
    if mode == AgentMode::SingleTurn {
        let first = wf.node("first", async |Input(_): Input<Value>| "in put");
        wf.edge(START, first).edge(first, front).edge(front, last);
    } else {
        wf.edge(START, front).edge(front, last);
    }
    wf.build().unwrap()
}

/// A model that decides by the request alone, as one that is asked again after a crash does.
fn answering(answer: impl Fn(&LlmRequest) -> LlmResponse + Send + Sync + 'static) -> ScriptedModel {
    ScriptedModel::new().then(ScriptedReply::with(answer)).repeating()
}

fn called(name: &str, args: Value) -> LlmResponse {
    let args = args.as_object().cloned();
    LlmResponse::calls([FunctionCall { name: Some(name.into()), args, ..FunctionCall::default() }])
}

fn quotes(request: &LlmRequest, text: &str) -> bool {
    request
        .contents
        .iter()
        .flat_map(|content| content.parts())
        .any(|part| part.text.as_deref().is_some_and(|own| own.contains(text)))
}

fn has_response(request: &LlmRequest, name: &str) -> bool {
    let mut responses = request.contents.iter().flat_map(|content| content.function_responses());
    responses.any(|response| response.name.as_deref() == Some(name))
}

fn texts(request: &LlmRequest) -> Vec<String> {
    request.contents.iter().map(|content| content.text()).collect()
}

#[tokio::test]
async fn r708_an_agent_that_takes_over_sees_the_nodes_input_and_gives_its_output() {
    let desk = ScriptedModel::saying("found");
    let (runner, _) = runner(graph(AgentMode::SingleTurn, &handing_over("desk"), &desk, None));
    assert_eq!(runner.run("ana", "s1", "go").output::<String>().await.unwrap(), "last \"found\"");
    let requests = desk.requests();
    assert_eq!(requests.len(), 1, "it runs once");
    assert_eq!(texts(&requests[0])[0], "in put");
    assert!(texts(&requests[0])[1].contains("transfer_to_agent"), "{:?}", texts(&requests[0]));
}

#[tokio::test]
async fn r708_an_agent_that_gets_control_back_sees_what_it_has_done_for_the_same_input() {
    let front = handing_over("desk").then_text("done");
    let (runner, sessions) = runner(graph(AgentMode::SingleTurn, &front, &handing_over("front"), None));
    assert_eq!(runner.run("ana", "s1", "go").output::<String>().await.unwrap(), "last \"done\"");
    let again = texts(&front.requests()[1]);
    assert_eq!(again[0], "in put");
    assert!(again.last().unwrap().contains("desk"), "{again:?}");
    let lines = left(&sessions).await.0;
    assert!(lines.iter().any(|line| line.starts_with("front wf@1/front@2 done")), "{lines:#?}");
}

#[tokio::test]
async fn r708_transfers_within_a_graph_that_are_cut_anywhere_leave_the_same() {
    for resumable in [false, true] {
        for mode in [AgentMode::SingleTurn, AgentMode::Chat, AgentMode::Task] {
            cut_everywhere_in(resumable, |count| {
                let end = match mode {
                    AgentMode::Task => called("finish_task", json!({"result": "done"})),
                    _ => LlmResponse::text("done"),
                };
                let front = answering(move |request| match quotes(request, "[desk]") {
                    true => end.clone(),
                    false => called("transfer_to_agent", json!({"agent_name": "desk"})),
                });
                let desk = answering(|request| match has_response(request, "one") {
                    true => called("transfer_to_agent", json!({"agent_name": "front"})),
                    false => called("one", json!({"city": "a"})),
                });
                graph(mode, &front, &desk, Some(counting("one", count)))
            })
            .await;
        }
    }
}

#[tokio::test]
async fn r708_a_loop_continues_the_run_ids_after_a_resume() {
    let front = handing_over("desk")
        .then_call("finish_task", json!({"result": "again"}))
        .then_call("finish_task", json!({"result": "end"}));
    let desk = LlmAgent::builder("desk").model(handing_over("front")).build().unwrap();
    let front = LlmAgent::builder("front").mode(AgentMode::Task).model(front).sub_agent(desk).build().unwrap();
    let mut wf = Workflow::builder("wf");
    let front = wf.add(front);
    let check = wf.node("check", async |Input(given): Input<Value>, ctx: Context| {
        ctx.set_route(given["result"].as_str().unwrap_or_default());
        given
    });
    let ask = wf.node("ask", async || RequestInput::<bool>::ask("ok", "Fine?"));
    wf.edge(START, front).edge(front, check).route(check, "again", front).route(check, "end", ask);
    let (runner, sessions) = runner(wf.build().unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    let lines = left(&sessions).await.0;
    assert!(lines.iter().any(|line| line.starts_with("front wf@1/front@3 ")), "{lines:#?}");
    trace(runner.answer(key(), "ok", true).unwrap()).await;
    let after = left(&sessions).await.0;
    assert!(after[lines.len()..].iter().all(|line| !line.starts_with("front")), "no agent runs again: {after:#?}");
}
