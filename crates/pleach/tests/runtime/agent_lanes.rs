//! Agents that are called or run in parallel: their transfers, and the agents that see an answer.

use pleach::model::LlmResponse;
use pleach::prelude::*;
use pleach::{
    AgentMode, CallbackContext, Content, FunctionCall, FunctionResponse, NodeError, NodeTool, ParallelAgent, Part,
    SequentialAgent,
};
use serde_json::{Value, json};

use crate::agents::{Count, cut_everywhere, left};
use crate::support::{key, runner, trace};

fn transfers_to(agent: &str) -> ScriptedModel {
    ScriptedModel::calling("transfer_to_agent", json!({"agent_name": agent}))
}

/// A root that calls `helper`. The helper answers once and transfers to `target`. The other sub-agent is `peer`.
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
    assert!(
        events.iter().any(|event| event.starts_with("peer root@1/peer@") && event.contains(" from the peer ")),
        "{events:#?}"
    );
    cut_everywhere(|_| handing_over("peer")).await;
}

// L141, L185: a called agent that transfers to its caller has ended.
#[tokio::test]
async fn l185_an_agent_that_is_called_transfers_to_its_caller() {
    let (first, sessions) = runner(handing_over("root"));
    assert_eq!(first.run("ana", "s1", "go").reply().await.unwrap(), "done");
    let events = left(&sessions).await.0;
    assert!(events.iter().all(|event| !event.contains("root@2")), "{events:#?}");
    cut_everywhere(|_| handing_over("root")).await;
}

/// A sub-agent that answers once.
fn once(name: &str, model: ScriptedModel) -> pleach::LlmAgentBuilder {
    LlmAgent::builder(name).mode(AgentMode::SingleTurn).model(model)
}

// L141, L185: agents that transfer to each other within a call run again, each time with a new path.
#[tokio::test]
async fn l185_a_called_agent_is_reached_again_by_transfers() {
    let tree = |_: &_| {
        let below = LlmAgent::builder("below").model(transfers_to("helper").repeating()).build().unwrap();
        let helper = once("helper", transfers_to("below").then_text("enough").repeating()).sub_agent(below);
        let model = ScriptedModel::calling("helper", json!({"request": "do"})).then_text("done").then_text("done");
        LlmAgent::builder("root").model(model).sub_agent(helper.build().unwrap()).build().unwrap()
    };
    let (first, sessions) = runner(tree(&()));
    assert_eq!(first.run("ana", "s1", "go").reply().await.unwrap(), "done");
    let events = left(&sessions).await.0;
    let again = events.iter().filter(|event| event.starts_with("helper ") && event.contains(" enough ")).count();
    assert_eq!(again, 1, "{events:#?}");
    cut_everywhere(|_| tree(&())).await;
}

// L141, L185: if the agents of two calls transfer to one peer, the peer runs once for each call.
#[tokio::test]
async fn l185_a_peer_runs_for_each_call() {
    let tree = |_: &_| {
        let peer = LlmAgent::builder("peer").model(ScriptedModel::saying("from the peer").repeating());
        let model = ScriptedModel::calling("one", json!({"request": "do"}))
            .then_call("two", json!({"request": "do"}))
            .then_text("done")
            .then_text("done");
        let root = LlmAgent::builder("root").model(model).sub_agent(peer.build().unwrap());
        let root = root.sub_agent(once("one", transfers_to("peer").repeating()).build().unwrap());
        root.sub_agent(once("two", transfers_to("peer").repeating()).build().unwrap()).build().unwrap()
    };
    let (first, sessions) = runner(tree(&()));
    assert_eq!(first.run("ana", "s1", "go").reply().await.unwrap(), "done");
    let events = left(&sessions).await.0;
    let said = events.iter().filter(|event| event.starts_with("peer ") && event.contains("from the peer"));
    assert_eq!(said.count(), 2, "{events:#?}");
}

// L141, L190: the agent of a task within a sequence transfers back to its caller.
#[tokio::test]
async fn l190_a_task_within_a_sequence_transfers_to_its_caller() {
    let task = LlmAgent::builder("task").mode(AgentMode::Task).model(transfers_to("caller")).build().unwrap();
    let model = ScriptedModel::calling("task", json!({"request": "do"})).then_text("done");
    let caller = LlmAgent::builder("caller").model(model).sub_agent(task).build().unwrap();
    let (runner, sessions) = runner(SequentialAgent::builder("row").sub_agent(caller).build().unwrap());
    let lines = trace(runner.run("ana", "s1", "go")).await;
    assert!(lines.iter().all(|line| !line.starts_with('!')), "{lines:#?}");
    assert!(left(&sessions).await.0.iter().any(|event| event.contains(" done ")), "{lines:#?}");
}

// L134, L191: the callbacks before the agent of a task run for each message of the user.
#[tokio::test]
async fn l191_a_guard_of_a_task_sees_each_message() {
    let model = std::sync::Arc::new(ScriptedModel::saying("not reached").repeating());
    let guard = async |_ctx: CallbackContext| Ok::<_, NodeError>(Some(Content::model("not allowed")));
    let task = LlmAgent::builder("task").mode(AgentMode::Task).model(std::sync::Arc::clone(&model)).before_agent(guard);
    let root = LlmAgent::builder("root")
        .model(ScriptedModel::calling("task", json!({"request": "do"})).then_text("done").repeating())
        .sub_agent(task.build().unwrap());
    let (runner, sessions) = runner(root.build().unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    trace(runner.run("ana", "s1", "please")).await;
    assert_eq!(model.requests().len(), 0, "{:#?}", left(&sessions).await.0);
}

// If one message answers agents on two branches, each agent sees its own answer.
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

// L199: the agents of a shell share its path. Even if their models use equal call ids, each call runs its node.
#[tokio::test]
async fn l199_equal_call_ids_of_agents_of_a_shell_are_two_runs() {
    let agent = |name: &'static str| {
        let Value::Object(args) = json!({"request": name}) else { unreachable!() };
        let call = LlmResponse::calls([FunctionCall::new("1", "shout", args)]);
        let model = std::sync::Arc::new(ScriptedModel::new().then(call).then_text(name));
        let shout = FunctionNode::new("shout", async |Input(text): Input<String>| format!("{text}!"));
        let agent = LlmAgent::builder(name).model(std::sync::Arc::clone(&model)).tool(NodeTool::new(shout));
        (agent.build().unwrap(), model)
    };
    let ((x, of_x), (y, of_y)) = (agent("x"), agent("y"));
    let (first, _) = runner(SequentialAgent::builder("row").sub_agent(x).sub_agent(y).build().unwrap());
    first.run("ana", "s1", "go").reply().await.unwrap();
    for (model, result) in [(of_x, "x!"), (of_y, "y!")] {
        let seen = format!("{:?}", model.requests()[1].contents.last());
        assert!(seen.contains(result), "{seen}");
    }
    cut_everywhere(|_| {
        SequentialAgent::builder("row").sub_agent(agent("x").0).sub_agent(agent("y").0).build().unwrap()
    })
    .await;
}

/// A root whose model calls `calls` and then says `done`. `search` ends its task at once; `other` is the target of a transfer.
fn with_task(calls: &[&str], own: impl Tool) -> LlmAgent {
    let search = LlmAgent::builder("search")
        .mode(AgentMode::Task)
        .model(ScriptedModel::calling("finish_task", json!({"result": "found"})).repeating());
    let other = LlmAgent::builder("other").model(ScriptedModel::saying("from the other").repeating());
    let calls = calls.iter().map(|name| match *name {
        "transfer_to_agent" => (*name, json!({"agent_name": "other"})),
        _ => (*name, json!({"request": "do"})),
    });
    let model = ScriptedModel::new().then_calls(calls).then_text("done").then_text("done");
    let root = LlmAgent::builder("root").model(model).tool(own);
    root.sub_agent(search.build().unwrap()).sub_agent(other.build().unwrap()).build().unwrap()
}

// L190: a task in a batch with a transfer ends before the transfer, and the model is asked once more. This includes a task that a resume
// finds unfinished.
#[tokio::test]
async fn l190_a_task_in_a_batch_with_a_transfer_ends_before_it() {
    for calls in [["look", "search", "transfer_to_agent"], ["transfer_to_agent", "search", "look"]] {
        let tree = |_: &_| with_task(&calls, tool("look", "Looks.", async || 1));
        let (first, sessions) = runner(tree(&()));
        assert_eq!(first.run("ana", "s1", "go").reply().await.unwrap(), "from the other");
        let events = left(&sessions).await.0;
        assert!(events.iter().any(|event| event.starts_with("root root@1 done ")), "{events:#?}");
        cut_everywhere(|_| tree(&())).await;
    }
}

// L190: a task does not wait for a job of its batch, but the model does.
#[tokio::test]
async fn l190_a_task_in_a_batch_with_a_job_begins_at_once() {
    let started = Count::default();
    let count = started.clone();
    let job = tool("job", "Starts a job.", move || {
        count.add();
        async { None::<i64> }
    });
    for calls in [["job", "search"], ["search", "job"]] {
        let (runner, sessions) = runner(with_task(&calls, job.clone().long_running()));
        trace(runner.run("ana", "s1", "go")).await;
        let events = left(&sessions).await.0;
        assert!(events.iter().any(|event| event.contains("found")), "{events:#?}");
        assert!(events.iter().all(|event| !event.starts_with("root root@1 done ")), "{events:#?}");
        let question = runner.questions(key()).await.unwrap().remove(0);
        let lines = trace(runner.answer(key(), &question, json!({"rows": 3})).unwrap()).await;
        assert_eq!(lines, ["root@1: says done"]);
    }
    assert_eq!(started.get(), 2);
}

// L190: a message of the user to a task does not start the job of the same batch again.
#[tokio::test]
async fn l190_a_message_to_a_task_starts_no_job_again() {
    let started = Count::default();
    let count = started.clone();
    let job = tool("job", "Starts a job.", move || {
        count.add();
        async { None::<i64> }
    });
    let search = LlmAgent::builder("search").mode(AgentMode::Task).model(
        ScriptedModel::saying("Which?")
            .then_text("Which of both?")
            .then_call("finish_task", json!({"result": "found"})),
    );
    let model =
        ScriptedModel::new().then_calls([("job", json!({})), ("search", json!({"request": "do"}))]).then_text("done");
    let root = LlmAgent::builder("root").model(model).tool(job.long_running()).sub_agent(search.build().unwrap());
    let (runner, _) = runner(root.build().unwrap());
    for message in ["go", "that", "the other"] {
        trace(runner.run("ana", "s1", message)).await;
    }
    assert_eq!(started.get(), 1);
    let questions = runner.questions(key()).await.unwrap();
    assert_eq!(questions.len(), 1, "{questions:?}");
    let lines = trace(runner.answer(key(), &questions[0], json!({"rows": 3})).unwrap()).await;
    assert_eq!(lines, ["root@1: says done"]);
}

// L199: if a batch has a transfer and a tool whose node asks, the question is answered before the transfer is made.
#[tokio::test]
async fn l199_a_question_in_a_batch_with_a_transfer_is_answered_before_it() {
    let ask = async |ctx: Context| -> Result<i64, NodeError> { ctx.ask("q", "How many?").await };
    let ask = FunctionNode::new("ask", ask).rerun_on_resume(true);
    let other = LlmAgent::builder("other").model(ScriptedModel::saying("from the other"));
    let calls = [("ask", json!({"request": "?"})), ("transfer_to_agent", json!({"agent_name": "other"}))];
    let model = ScriptedModel::new().then_calls(calls).then_text("never");
    let root = LlmAgent::builder("root").model(model).tool(NodeTool::new(ask)).sub_agent(other.build().unwrap());
    let (runner, sessions) = runner(root.build().unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    let questions = runner.questions(key()).await.unwrap();
    assert_eq!(questions.len(), 1, "{:#?}", left(&sessions).await.0);
    trace(runner.answer(key(), &questions[0], json!(3)).unwrap()).await;
    let events = left(&sessions).await.0;
    assert!(events.last().unwrap().contains("from the other"), "{events:#?}");
    assert!(events.iter().all(|event| !event.contains("never")), "{events:#?}");
    assert!(runner.questions(key()).await.unwrap().is_empty());
}

// R1103: an invocation whose root has transferred has a recorded end, so starting it again runs nothing.
#[tokio::test]
async fn r1103_an_invocation_with_a_transfer_is_answered_from_history() {
    let other = LlmAgent::builder("other").model(ScriptedModel::saying("from the other")).build().unwrap();
    let root = LlmAgent::builder("root").model(transfers_to("other")).sub_agent(other).build().unwrap();
    let (runner, sessions) = runner(root);
    let request = || pleach::RunRequest::new(key()).message("go").invocation_id("mine");
    assert_eq!(runner.start(request()).reply().await.unwrap(), "from the other");
    let before = left(&sessions).await;
    let lines = trace(runner.start(request())).await;
    assert!(lines.iter().all(|line| !line.starts_with('!')), "{lines:#?}");
    assert_eq!(left(&sessions).await, before);
}

// L117: if a batch has two questions and an answer by a call, the answer comes after both questions are answered.
#[tokio::test]
async fn l117_an_answer_by_a_call_waits_for_all_confirmations() {
    let gated = |name: &str| tool(name, "Works.", async || 1).require_confirmation();
    let calls = [("one", json!({})), ("two", json!({})), ("set_model_response", json!({"total": 5}))];
    let model = ScriptedModel::new().then_calls(calls).then_text("never");
    let schema = pleach::Schema::json(json!({"type": "object", "properties": {"total": {"type": "integer"}}}));
    let root = LlmAgent::builder("root").model(model).tool(gated("one")).tool(gated("two")).output_json_schema(schema);
    let (runner, sessions) = runner(root.build().unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    for answered in 1..=2 {
        let question = runner.questions(key()).await.unwrap().remove(0);
        trace(runner.answer(key(), &question, json!({"confirmed": true})).unwrap()).await;
        let events = left(&sessions).await.0;
        let is_answered = events.iter().any(|event| event.contains(r#"{"total": 5}"#));
        assert_eq!(is_answered, answered == 2, "{events:#?}");
    }
}

// L115, L120: after a cut between the responses of a batch and its question, only the question is stored.
#[tokio::test]
async fn l115_a_question_that_was_cut_off_is_asked_without_a_second_response() {
    cut_everywhere(|_| {
        let helper = once("helper", ScriptedModel::saying("helped").repeating()).build().unwrap();
        let calls = [("helper", json!({"request": "do"})), ("gated", json!({}))];
        let model = ScriptedModel::new().then_calls(calls).then_text("done");
        let gated = tool("gated", "Works.", async || 1).require_confirmation();
        LlmAgent::builder("root").model(model).tool(gated).sub_agent(helper).build().unwrap()
    })
    .await;
}
