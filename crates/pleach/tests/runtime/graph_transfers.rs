//! Agents of graphs that transfer to their sub-agents and get control back.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use pleach::model::{LlmRequest, LlmResponse, ScriptedReply};
use pleach::prelude::*;
use pleach::{AgentMode, Content, FunctionCall, NodeError, Part, RunRequest};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::agents::{counting, cut_everywhere_in, left};
use crate::support::{key, runner, trace};

pub(crate) fn handing_over(agent: &str) -> ScriptedModel {
    ScriptedModel::new().then_call("transfer_to_agent", json!({"agent_name": agent}))
}

/// A graph of a node that outputs `in put`, an agent in this mode with these models, and a node that gets the agent's output.
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

/// A model whose answer depends only on the request, like a model that is asked again after a crash.
pub(crate) fn answering(answer: impl Fn(&LlmRequest) -> LlmResponse + Send + Sync + 'static) -> ScriptedModel {
    ScriptedModel::new().then(ScriptedReply::with(answer)).repeating()
}

pub(crate) fn called(name: &str, args: Value) -> LlmResponse {
    let args = args.as_object().cloned();
    LlmResponse::calls([FunctionCall { name: Some(name.into()), args, ..FunctionCall::default() }])
}

fn transfer(agent: &str) -> Part {
    let args = json!({"agent_name": agent}).as_object().cloned();
    Part::function_call(FunctionCall { name: Some("transfer_to_agent".into()), args, ..FunctionCall::default() })
}

pub(crate) fn quotes(request: &LlmRequest, text: &str) -> bool {
    request
        .contents
        .iter()
        .flat_map(|content| content.parts())
        .any(|part| part.text.as_deref().is_some_and(|own| own.contains(text)))
}

pub(crate) fn has_response(request: &LlmRequest, name: &str) -> bool {
    let mut responses = request.contents.iter().flat_map(|content| content.function_responses());
    responses.any(|response| response.name.as_deref() == Some(name))
}

pub(crate) fn texts(request: &LlmRequest) -> Vec<String> {
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
async fn r708_an_agent_that_gets_control_back_twice_sees_both_rounds() {
    let front = answering(|request| match (quotes(request, "found one"), quotes(request, "found two")) {
        (true, true) => LlmResponse::text("done"),
        _ => called("transfer_to_agent", json!({"agent_name": "desk"})),
    });
    let desk = ScriptedModel::new()
        .then(LlmResponse::of(Content::new("model", [Part::text("found one"), transfer("front")])))
        .then(LlmResponse::of(Content::new("model", [Part::text("found two"), transfer("front")])));
    let (runner, sessions) = runner(graph(AgentMode::SingleTurn, &front, &desk, None));
    assert_eq!(runner.run("ana", "s1", "go").output::<String>().await.unwrap(), "last \"done\"");
    let lines = left(&sessions).await.0;
    assert!(lines.iter().any(|line| line.starts_with("front wf@1/front@3 done")), "{lines:#?}");
}

#[tokio::test]
async fn r708_a_refused_transfer_of_a_graph_leaves_an_error_event() {
    for mode in [AgentMode::SingleTurn, AgentMode::Task, AgentMode::Chat] {
        let (runner, _) = runner(graph(mode, &handing_over("nobody"), &ScriptedModel::saying("found"), None));
        let mut run = runner.run("ana", "s1", "go");
        let mut failed = Vec::new();
        let error = loop {
            match run.next().await.unwrap() {
                Ok(event) if event.error_code().is_some() => failed.push(event),
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert_eq!(error.message(), "Transfer target agent 'nobody' not found.");
        assert_eq!(failed.len(), 1, "{mode:?}");
        assert_eq!((failed[0].author(), failed[0].path().as_str()), ("front", "wf@1/front@1"));
        assert_eq!(failed[0].error_message(), Some("Transfer target agent 'nobody' not found."));
    }
}

/// After a refused transfer, the user's next message goes to the model of the task.
#[tokio::test]
async fn r708_a_task_continues_after_a_refused_transfer() {
    let model = ScriptedModel::calling("transfer_to_agent", json!({"agent_name": "nobody"}))
        .then_call("finish_task", json!({"result": "done"}));
    let (runner, _) = runner(graph(AgentMode::Task, &model, &ScriptedModel::saying("found"), None));
    let mut run = runner.run("ana", "s1", "go");
    while let Some(Ok(_)) = run.next().await {}
    drop(run);
    let lines = trace(runner.run("ana", "s1", "go on")).await;
    assert_eq!(model.requests().len(), 2, "{lines:#?}");
    assert!(lines.iter().any(|line| line.contains("done")), "{lines:#?}");
}

/// The charges of two processes: one that ends while it charges the first of two lanes, and one that continues.
#[derive(Clone, Default)]
struct Charges {
    made: Arc<Mutex<Vec<String>>>,
    has_charged: Arc<Notify>,
    is_second: Arc<AtomicBool>,
}

fn lanes(charges: &Charges) -> Workflow {
    let desk = answering(|_| called("transfer_to_agent", json!({"agent_name": "front"})));
    let front = answering(|request| {
        if quotes(request, "[desk]") {
            called("finish_task", json!({"result": "front"}))
        } else {
            called("transfer_to_agent", json!({"agent_name": "desk"}))
        }
    });
    let desk = LlmAgent::builder("desk").model(desk).build().unwrap();
    let front = LlmAgent::builder("front").mode(AgentMode::Task).model(front).sub_agent(desk).build().unwrap();
    let mut wf = Workflow::builder("wf");
    let front = wf.add(front);
    let own = charges.clone();
    let other = wf.node("other", move || {
        let own = own.clone();
        async move {
            own.has_charged.notified().await;
            json!({"result": "other"})
        }
    });
    let own = charges.clone();
    let pay = move |Input(given): Input<Value>, ctx: Context| {
        let own = own.clone();
        async move {
            let charge = async || {
                own.made.lock().unwrap().push(given["result"].as_str().unwrap().to_owned());
                Ok(true)
            };
            ctx.step("charge", charge).await?;
            own.has_charged.notify_one();
            if !own.is_second.load(Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
            Ok::<_, NodeError>(())
        }
    };
    let pay = wf.add(FunctionNode::new("pay", pay).rerun_on_resume(true));
    wf.edge(START, front).edge(START, other).edge(front, pay).edge(other, pay);
    wf.build().unwrap()
}

#[tokio::test]
async fn r708_r1020_an_agent_that_got_control_back_keeps_its_place_among_the_ends_of_lanes() {
    let charges = Charges::default();
    let (runner, _) = runner(lanes(&charges));
    let mut run = runner.run("ana", "s1", "go");
    let invocation = loop {
        let event = run.next().await.unwrap().unwrap();
        if event.path().name() == "other" {
            break event.invocation_id().clone();
        }
    };
    drop(run);
    assert_eq!(*charges.made.lock().unwrap(), ["front"]);
    charges.is_second.store(true, Ordering::Relaxed);
    let lines = trace(runner.start(RunRequest::new(key()).invocation_id(invocation))).await;
    assert!(lines.iter().all(|line| !line.starts_with('!')), "{lines:#?}");
    assert_eq!(*charges.made.lock().unwrap(), ["front", "other"], "{lines:#?}");
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
                let front = answering(move |request| {
                    if quotes(request, "[desk]") {
                        end.clone()
                    } else {
                        called("transfer_to_agent", json!({"agent_name": "desk"}))
                    }
                });
                let desk = answering(|request| {
                    if has_response(request, "one") {
                        called("transfer_to_agent", json!({"agent_name": "front"}))
                    } else {
                        called("one", json!({"city": "a"}))
                    }
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
