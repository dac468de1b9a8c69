//! Agents that a node's body runs and that transfer to their sub-agents.

use pleach::model::LlmResponse;
use pleach::prelude::*;
use pleach::{AgentMode, NodeError, NodeInput, ParallelWorker, RunOptions};
use serde_json::{Value, json};

use crate::agents::{counting, cut_everywhere_in};
use crate::graph_transfers::{answering, called, handing_over, has_response, quotes, texts};
use crate::support::{key, runner};

/// An agent of this mode with a sub-agent.
fn front(mode: AgentMode, front: &ScriptedModel, desk: &ScriptedModel, tool: Option<FunctionTool>) -> LlmAgent {
    let desk = LlmAgent::builder("desk").model(desk.clone());
    let desk = tool.into_iter().fold(desk, |desk, tool| desk.tool(tool)).build().unwrap();
    LlmAgent::builder("front").mode(mode).model(front.clone()).sub_agent(desk).build().unwrap()
}

/// A graph of a function that runs the agent with the input `in put`, followed by a node that gets its output.
fn running(front: LlmAgent) -> Workflow {
    let mut wf = Workflow::builder("wf");
    let caller = FunctionNode::new("caller", move |ctx: Context| {
        let front = front.clone();
        async move {
            let given = ctx
                .run_node(&front, NodeInput::json(json!("in put")), RunOptions::default().raise_on_wait(true))
                .await?;
            Ok::<_, NodeError>(given.to_value())
        }
    });
    let caller = wf.add(caller.rerun_on_resume(true));
    let last = wf.node("last", async |Input(given): Input<Value>| format!("last {given}"));
    wf.edge(START, caller).edge(caller, last);
    wf.build().unwrap()
}

#[tokio::test]
async fn r708_an_agent_that_takes_over_from_one_that_a_body_runs_answers_for_it() {
    let desk = ScriptedModel::saying("found");
    let agent = front(AgentMode::SingleTurn, &handing_over("desk"), &desk, None);
    let (runner, _) = runner(running(agent));
    assert_eq!(runner.run("ana", "s1", "go").output::<String>().await.unwrap(), "last \"found\"");
    let requests = desk.requests();
    assert_eq!(requests.len(), 1, "it runs once");
    assert_eq!(texts(&requests[0])[0], "in put");
}

#[tokio::test]
async fn r708_an_agent_of_a_body_that_gets_control_back_outputs_its_reply() {
    let model = handing_over("desk").then_text("done");
    let agent = front(AgentMode::SingleTurn, &model, &handing_over("front"), None);
    let (runner, _) = runner(running(agent));
    assert_eq!(runner.run("ana", "s1", "go").output::<String>().await.unwrap(), "last \"done\"");
    assert_eq!(texts(&model.requests()[1])[0], "in put");
}

#[tokio::test]
async fn r708_r402_agents_of_a_parallel_worker_that_hand_over_stay_on_the_branch_of_their_item() {
    let desk = answering(|request| LlmResponse::text(format!("found {}", texts(request)[0])));
    let agent = front(
        AgentMode::SingleTurn,
        &answering(|_| called("transfer_to_agent", json!({"agent_name": "desk"}))),
        &desk,
        None,
    );
    let mut wf = Workflow::builder("wf");
    let first = wf.node("first", async || ["a", "b"]);
    let items = wf.add(ParallelWorker::new(agent));
    let last = wf.node("last", async |Input(given): Input<Value>| format!("last {given}"));
    wf.edge(START, first).edge(first.dynamic(), items.dynamic()).edge(items.dynamic(), last);
    let (runner, sessions) = runner(wf.build().unwrap());
    let output = runner.run("ana", "s1", "go").output::<String>().await.unwrap();
    assert_eq!(output, r#"last ["found a","found b"]"#);
    let session = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    let branches = |author: &str| -> Vec<String> {
        let own = session.events.iter().filter(|event| event.author() == author);
        let mut branches: Vec<_> =
            own.map(|event| event.branch().map(|branch| branch.to_string()).unwrap_or_default()).collect();
        branches.sort();
        branches.dedup();
        branches
    };
    assert_eq!(branches("desk"), branches("front"));
    assert_eq!(branches("desk").len(), 2);
}

#[tokio::test]
async fn r708_transfers_below_a_body_that_are_cut_anywhere_leave_the_same() {
    for resumable in [false, true] {
        for mode in [AgentMode::SingleTurn, AgentMode::Task] {
            cut_everywhere_in(resumable, |count| {
                let end = match mode {
                    AgentMode::Task => called("finish_task", json!({"result": "done"})),
                    _ => LlmResponse::text("done"),
                };
                let model = answering(move |request| {
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
                running(front(mode, &model, &desk, Some(counting("one", count))))
            })
            .await;
        }
    }
}
