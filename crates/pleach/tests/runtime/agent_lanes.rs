//! Agents that others call or that run side by side: to whom they hand over, and who sees an answer.

use pleach::prelude::*;
use pleach::{AgentMode, Content, FunctionResponse, NodeError, ParallelAgent, Part};
use serde_json::{Value, json};

use crate::agents::{cut_everywhere, left};
use crate::support::{key, runner, trace};

fn transfers_to(agent: &str) -> ScriptedModel {
    ScriptedModel::calling("transfer_to_agent", json!({"agent_name": agent}))
}

/// A root that calls `helper`, which answers once and transfers to `target`; the other sub-agent is `peer`.
fn handing_over(target: &str) -> LlmAgent {
    let helper = LlmAgent::builder("helper").mode(AgentMode::SingleTurn).model(transfers_to(target)).build().unwrap();
    let peer = LlmAgent::builder("peer").model(ScriptedModel::saying("from the peer").repeating()).build().unwrap();
    let model = ScriptedModel::calling("helper", json!({"request": "do"})).then_text("done").then_text("done");
    LlmAgent::builder("root").model(model).sub_agent(helper).sub_agent(peer).build().unwrap()
}

// L141, L185: an agent that was called may transfer to a peer, which runs in its place; then the caller continues.
#[tokio::test]
async fn l185_an_agent_that_is_called_transfers_to_a_peer() {
    let (first, sessions) = runner(handing_over("peer"));
    assert_eq!(first.run("ana", "s1", "go").reply().await.unwrap(), "done");
    let events = left(&sessions).await.0;
    assert!(events.iter().any(|event| event.starts_with("peer root@1/peer@1 from the peer")), "{events:#?}");
    cut_everywhere(|_| handing_over("peer")).await;
}

// L141, L185: one that transfers to its caller is over.
#[tokio::test]
async fn l185_an_agent_that_is_called_transfers_to_its_caller() {
    let (first, sessions) = runner(handing_over("root"));
    assert_eq!(first.run("ana", "s1", "go").reply().await.unwrap(), "done");
    let events = left(&sessions).await.0;
    assert!(events.iter().all(|event| !event.contains("root@2")), "{events:#?}");
    cut_everywhere(|_| handing_over("root")).await;
}

// Issue 12: agents on two branches that are answered in one message: each sees its own answer.
#[tokio::test]
async fn l177_agents_side_by_side_are_answered_in_one_message() {
    let agent = |name: &str, model: &std::sync::Arc<ScriptedModel>| {
        let job = tool(format!("job_{name}"), "Starts a job.", async || Ok::<_, NodeError>(None::<String>));
        LlmAgent::builder(name).model(std::sync::Arc::clone(model)).tool(job.long_running()).build().unwrap()
    };
    let model =
        |name: &str| std::sync::Arc::new(ScriptedModel::calling(format!("job_{name}"), json!({})).then_text(name));
    let models = [model("x"), model("y")];
    let both = ParallelAgent::builder("both").sub_agent(agent("x", &models[0])).sub_agent(agent("y", &models[1]));
    let (runner, sessions) = runner(both.build().unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    let session = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    let calls = session.events.iter().flat_map(|event| event.function_calls());
    let results: Vec<Part> = calls
        .map(|call| {
            let name = call.name.clone().unwrap();
            let Value::Object(result) = json!({"done": name}) else { unreachable!() };
            Part::function_response(FunctionResponse::new(call.id.clone().unwrap(), name, result))
        })
        .collect();
    assert_eq!(results.len(), 2);
    trace(runner.run("ana", "s1", Content::new("user", results))).await;
    for (model, name) in models.iter().zip(["x", "y"]) {
        let seen = model.requests().pop().unwrap().contents;
        let seen: Vec<Value> = seen.iter().map(|content| serde_json::to_value(&**content).unwrap()).collect();
        let responses: Vec<&Value> =
            seen.iter().filter_map(|content| content.pointer("/parts/0/function_response/response/done")).collect();
        assert_eq!(responses, [&json!(format!("job_{name}"))], "{seen:#?}");
    }
}
