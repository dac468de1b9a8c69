//! LLM agents through the public API: behaviour that scenarios cannot express.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use pleach::model::LlmRequest;
use pleach::prelude::*;
use pleach::{
    AgentMode, AgentTool, CallbackContext, Content, FunctionResponse, InMemorySessionService, LoopAgent, Node,
    NodeError, NodeTool, ParallelAgent, RunRequest, SequentialAgent, exit_loop,
};
use pleach_contract::TestClock;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{key, runner, runner_of_app, stored, trace};

/// Counts the calls of tools and callbacks.
#[derive(Clone, Default)]
pub(crate) struct Count(Arc<AtomicU32>);

impl Count {
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A tool that counts its calls and writes its argument into the state.
pub(crate) fn counting(name: &'static str, count: &Count) -> FunctionTool {
    let count = count.clone();
    tool(name, "Counts.", move |Args(City { city }): Args<City>, ctx: ToolContext| {
        let count = count.clone();
        async move {
            count.add();
            ctx.state().set(name, &city)?;
            Ok::<_, NodeError>(format!("{name} {city}"))
        }
    })
}

fn call(name: &str, city: &str) -> (String, Value) {
    (name.to_owned(), json!({"city": city}))
}

/// What a run has left in the session: the author, path, texts and calls of each event, and the state.
pub(crate) async fn left(sessions: &InMemorySessionService) -> (Vec<String>, pleach::Map) {
    let session = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    let line = |event: &Event| {
        let calls: Vec<_> = event.function_calls().filter_map(|call| call.name.clone()).collect();
        let responses: Vec<_> = event.function_responses().map(|response| format!("{:?}", response.response)).collect();
        let (author, path, text) = (event.author(), event.path(), event.text());
        format!("{author} {path} {text} {calls:?} {responses:?} {:?}", event.actions().state_delta())
    };
    (session.events.iter().map(|event| line(event)).collect(), session.state)
}

/// Runs an agent to its end. Then runs it again for each of its events, cuts the run off after that event and resumes
/// it. The session and the number of tool calls must be the same each time.
pub(crate) async fn cut_everywhere<N: Node>(agent: impl Fn(&Count) -> N) {
    cut_everywhere_in(false, agent).await;
}

/// Like [`cut_everywhere`], in an app that is resumable or not. In a resumable app a step begins while its checkpoint
/// is being stored, so the models must allow one more call.
pub(crate) async fn cut_everywhere_in<N: Node>(resumable: bool, agent: impl Fn(&Count) -> N) {
    let whole_count = Count::default();
    let (whole, sessions) = runner_of_app(agent(&whole_count), resumable);
    let lines = trace(whole.run("ana", "s1", "go")).await;
    assert!(lines.iter().all(|line| !line.starts_with('!')), "{lines:#?}");
    let left = async |sessions: &InMemorySessionService| {
        let (mut lines, state) = left(sessions).await;
        // Checkpoints and end marks of a resumable app may be stored again, or not at all.
        lines.retain(|line| !resumable || !line.ends_with("  [] [] {}"));
        (lines, state)
    };
    let expected = left(&sessions).await;
    for cut in 1..=lines.len() {
        let count = Count::default();
        let (runner, sessions) = runner_of_app(agent(&count), resumable);
        let mut run = runner.run("ana", "s1", "go");
        let mut invocation = None;
        for _ in 0..cut {
            invocation = Some(run.next().await.unwrap().unwrap().invocation_id().clone());
        }
        drop(run);
        let resumed = RunRequest::new(key()).invocation_id(invocation.unwrap());
        let lines = trace(runner.start(resumed)).await;
        assert!(lines.iter().all(|line| !line.starts_with('!')), "cut {cut}, resumable {resumable}: {lines:#?}");
        assert_eq!(left(&sessions).await, expected, "cut {cut}, resumable {resumable}");
        assert_eq!(count.get(), whole_count.get(), "cut {cut}, resumable {resumable}");
    }
}

// L120: an agent continues after its last event, and no call that has its response is made again.
#[tokio::test]
async fn l120_an_agent_that_is_cut_anywhere_leaves_the_same() {
    cut_everywhere(|count| {
        let model =
            ScriptedModel::new().then_text("pre ").then_calls([call("one", "a"), call("two", "b")]).then_text("post");
        let before = count.clone();
        LlmAgent::builder("helper")
            .model(
                ScriptedModel::new()
                    .then_calls([call("one", "a"), call("two", "b")])
                    .then_call("one", json!({"city": "c"}))
                    .then_text("done"),
            )
            .sub_agent(LlmAgent::builder("other").model(model).build().unwrap())
            .tools([counting("one", count), counting("two", count)])
            .output_key("answer")
            .before_agent(move |_: CallbackContext| {
                before.add();
                async { Ok::<_, NodeError>(None) }
            })
            .build()
            .unwrap()
    })
    .await;
}

// L135, L136: the callback after the last answer is not lost if the run is cut off between them.
#[tokio::test]
async fn l136_an_agent_that_is_cut_before_its_last_callback_leaves_the_same() {
    cut_everywhere(|_| {
        let helper = LlmAgent::builder("helper").model(ScriptedModel::saying("done"));
        let helper = helper.after_agent(async |ctx: CallbackContext| {
            ctx.state().set("after", true)?;
            Ok::<_, NodeError>(None)
        });
        helper.build().unwrap()
    })
    .await;
}

// Dots in the ids of providers do not divide paths and branches.
#[tokio::test]
async fn l199_a_call_with_dots_in_its_id_runs_a_node() {
    let shout = FunctionNode::new("shout", async |Input(text): Input<String>| text.to_uppercase());
    let args = json!({"request": "hey"}).as_object().cloned().unwrap();
    let call = pleach::FunctionCall::new("functions.shout:0", "shout", args);
    let model = ScriptedModel::new().then(pleach::model::LlmResponse::calls([call])).then_text("done");
    let agent = LlmAgent::builder("helper").model(model.clone()).tool(NodeTool::new(shout));
    let (runner, _) = runner(agent.build().unwrap());
    assert_eq!(runner.run("ana", "s1", "go").reply().await.unwrap(), "done");
    assert!(format!("{:?}", model.requests()[1].contents).contains("HEY"));
}

// R708: a resume finds a transfer again.
#[tokio::test]
async fn r708_a_run_with_transfers_that_is_cut_anywhere_leaves_the_same() {
    cut_everywhere(|count| {
        let to = |agent: &str| json!({"agent_name": agent});
        let leaf = LlmAgent::builder("leaf")
            .model(ScriptedModel::calling("one", json!({"city": "a"})).then_call("transfer_to_agent", to("peer")))
            .tool(counting("one", count));
        let peer = LlmAgent::builder("peer").model(ScriptedModel::calling("transfer_to_agent", to("root")));
        LlmAgent::builder("root")
            .model(ScriptedModel::calling("transfer_to_agent", to("leaf")).then_text("back"))
            .sub_agent(leaf.build().unwrap())
            .sub_agent(peer.build().unwrap())
            .build()
            .unwrap()
    })
    .await;
}

/// A graph of an agent that transfers, in this mode, followed by a node.
fn transferring(mode: Option<AgentMode>, count: &Count) -> Workflow {
    let to = |agent: &str| json!({"agent_name": agent});
    let leaf = LlmAgent::builder("leaf").model(ScriptedModel::calling("one", json!({"city": "a"})).then_text("found"));
    let mut front = LlmAgent::builder("front").model(ScriptedModel::calling("transfer_to_agent", to("leaf")));
    front = match mode {
        Some(mode) => front.mode(mode),
        None => front,
    };
    let mut wf = Workflow::builder("wf");
    let front = wf.add(front.sub_agent(leaf.tool(counting("one", count)).build().unwrap()).build().unwrap());
    let last = wf.node("last", async |Input(text): Input<Value>| format!("last {text}"));
    wf.edge(START, front).edge(front, last);
    wf.build().unwrap()
}

// R708: if an agent of a graph transfers, its successor runs after the agent that took over. In chat mode the graph waits.
#[tokio::test]
async fn r708_l180_an_agent_of_a_graph_transfers() {
    let (runner_of, _) = runner(transferring(None, &Count::default()));
    let lines = trace(runner_of.run("ana", "s1", "go")).await;
    assert!(lines.iter().any(|line| line.contains("found")), "{lines:#?}");
    assert!(lines.last().unwrap().contains("last"), "{lines:#?}");
    let (runner_of, sessions) = runner(transferring(Some(AgentMode::Chat), &Count::default()));
    let lines = trace(runner_of.run("ana", "s1", "go")).await;
    assert!(lines.last().unwrap().contains("found"), "{lines:#?}");
    let events = left(&sessions).await.0;
    assert!(events.iter().any(|line| line.starts_with("leaf wf@1/front@1/leaf@1 found")), "{events:#?}");
    cut_everywhere(|count| transferring(None, count)).await;
    cut_everywhere(|count| transferring(Some(AgentMode::Chat), count)).await;
}

// L185: the runs of a sub-agent that is called twice are distinguished.
#[tokio::test]
async fn l185_a_sub_agent_called_twice_and_cut_anywhere_leaves_the_same() {
    cut_everywhere(|count| {
        let worker = LlmAgent::builder("worker")
            .mode(AgentMode::SingleTurn)
            .model(ScriptedModel::calling("one", json!({"city": "a"})).then_text("first").then_text("second"))
            .tool(counting("one", count));
        let ask = |what: &str| json!({"request": what});
        LlmAgent::builder("root")
            .model(ScriptedModel::calling("worker", ask("1")).then_call("worker", ask("2")).then_text("done"))
            .sub_agent(worker.build().unwrap())
            .build()
            .unwrap()
    })
    .await;
}

// L179: a resumed shell agent continues with the sub-agent and the round in which it was cut off.
#[tokio::test]
async fn l179_shell_agents_that_are_cut_anywhere_leave_the_same() {
    cut_everywhere(|count| {
        let writer = LlmAgent::builder("writer")
            .model(ScriptedModel::calling("one", json!({"city": "a"})).then_text("draft").then_text("draft 2"))
            .tool(counting("one", count))
            .output_key("draft");
        let critic = LlmAgent::builder("critic")
            .model(ScriptedModel::saying("again").then_call("exit_loop", json!({})))
            .instruction("Judge {draft}.")
            .tool(exit_loop());
        let rounds = LoopAgent::builder("rounds")
            .sub_agent(writer.build().unwrap())
            .sub_agent(critic.build().unwrap())
            .max_iterations(5);
        let last = LlmAgent::builder("last").model(ScriptedModel::saying("end"));
        SequentialAgent::builder("pipe")
            .sub_agent(rounds.build().unwrap())
            .sub_agent(last.build().unwrap())
            .build()
            .unwrap()
    })
    .await;
}

/// An agent node in a graph is cut off and resumed like other nodes.
#[tokio::test]
async fn an_agent_node_that_is_cut_anywhere_leaves_the_same() {
    cut_everywhere(|count| {
        let agent = LlmAgent::builder("agent")
            .model(ScriptedModel::calling("one", json!({"city": "a"})).then_text("said"))
            .tool(counting("one", count));
        let mut wf = Workflow::builder("wf");
        let first = wf.node("first", async |Input(text): Input<String>| format!("{text}!"));
        let agent = wf.add(agent.build().unwrap());
        let last = wf.node("last", async |Input(text): Input<String>| text.to_uppercase());
        wf.edge(START, first).edge(first, agent).edge(agent, last);
        wf.build().unwrap()
    })
    .await;
}

/// A resume of an invocation that has ended calls no model.
#[tokio::test]
async fn resuming_an_ended_invocation_calls_no_model() {
    let model = ScriptedModel::saying("done").then_text("not wanted");
    let (runner, sessions) = runner(LlmAgent::builder("helper").model(model.clone()).build().unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    let events = left(&sessions).await.0.len();
    let session = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    let id = session.events[0].invocation_id().clone();
    assert!(trace(runner.start(RunRequest::new(key()).invocation_id(id))).await.is_empty());
    assert_eq!((model.replies_left(), left(&sessions).await.0.len()), (1, events));
}

// L117: if a batch asks for two confirmations, both must be answered before a tool is called or the model is asked.
#[tokio::test]
async fn l117_an_agent_waits_for_all_confirmations_of_a_batch() {
    let count = Count::default();
    let model = ScriptedModel::new().then_calls([call("one", "a"), call("two", "b")]).then_text("done");
    let agent = LlmAgent::builder("helper")
        .model(model.clone())
        .tools([counting("one", &count).require_confirmation(), counting("two", &count).require_confirmation()]);
    let (runner, sessions) = runner(agent.build().unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    let open = runner.questions(key()).await.unwrap();
    assert_eq!(open.len(), 2);
    trace(runner.answer(key(), &open[0], json!({"confirmed": true})).unwrap()).await;
    assert_eq!((count.get(), model.replies_left()), (0, 1));
    trace(runner.answer(key(), &open[1], json!({"confirmed": false})).unwrap()).await;
    assert_eq!((count.get(), model.replies_left()), (1, 0));
    let lines = left(&sessions).await.0;
    assert!(lines.last().unwrap().contains("done"), "{lines:#?}");
}

// L191: a task can take several turns of the user.
#[tokio::test]
async fn l191_a_task_takes_turns_of_the_user() {
    let worker = LlmAgent::builder("worker")
        .mode(AgentMode::Task)
        .description("books")
        .model(ScriptedModel::saying("Which city?").then_call("finish_task", json!({"result": "Oslo booked"})));
    let model = ScriptedModel::calling("worker", json!({"request": "book"})).then_text("All done.");
    let root = LlmAgent::builder("root").model(model.clone()).sub_agent(worker.build().unwrap());
    let (runner, sessions) = runner(root.build().unwrap());
    trace(runner.run("ana", "s1", "book")).await;
    assert_eq!(model.replies_left(), 1, "{:#?}", left(&sessions).await.0);
    let reply = runner.run("ana", "s1", "Oslo").reply().await.unwrap();
    assert_eq!(reply, "All done.", "{:#?}", left(&sessions).await.0);
}

// L175, L191: a shell agent of a graph waits while a task below it asks the user. google-adk runs no tasks there.
#[tokio::test]
async fn l175_a_shell_agent_of_a_graph_waits_for_its_tasks() {
    let agent = |name: &str, model: ScriptedModel| LlmAgent::builder(name).model(model);
    let finish = ScriptedModel::saying("Which city?").then_call("finish_task", json!({"result": "Oslo"}));
    let task = agent("books", finish).mode(AgentMode::Task).description("books").build().unwrap();
    let delegates = ScriptedModel::calling("books", json!({"request": "book"})).then_text("Booked.");
    let first = agent("first", delegates).sub_agent(task).build().unwrap();
    let second = agent("second", ScriptedModel::saying("Paid.")).build().unwrap();
    let row = SequentialAgent::builder("row").sub_agent(first).sub_agent(second).build().unwrap();
    let mut wf = Workflow::builder("wf");
    let (row, end) = (wf.add(row), wf.node("end", |_: Context| async { Ok::<_, NodeError>("closed") }));
    wf.edge(START, row).edge(row, end);
    let (runner, sessions) = runner(wf.build().unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    let asked = left(&sessions).await.0;
    assert!(asked.last().unwrap().contains("Which city?"), "{asked:#?}");
    trace(runner.run("ana", "s1", "Oslo")).await;
    let done = stored(&sessions).await;
    let said: Vec<_> =
        done.iter().filter(|line| ["Booked.", "Paid.", "closed"].iter().any(|said| line.contains(said))).collect();
    assert_eq!(said.len(), 3, "{done:#?}");
    assert!(said[0].contains("Booked.") && said[1].contains("Paid.") && said[2].contains("closed"), "{done:#?}");
}

// L177: parallel agents run on branches of their own, and all their changes are stored.
#[tokio::test]
async fn l177_parallel_agents_run_on_branches() {
    let agent = |name: &str, count: &Count| {
        let model = ScriptedModel::calling("one", json!({"city": name})).then_text("found");
        LlmAgent::builder(name).model(model).tool(counting("one", count)).output_key(name).build().unwrap()
    };
    let count = Count::default();
    let both = ParallelAgent::builder("both").sub_agent(agent("x", &count)).sub_agent(agent("y", &count));
    let (runner, sessions) = runner(both.build().unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    let session = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    let branches: std::collections::BTreeSet<_> =
        session.events.iter().filter_map(|event| event.branch()).map(ToString::to_string).collect();
    assert_eq!(branches.into_iter().collect::<Vec<_>>(), ["both.x", "both.y"]);
    assert_eq!(
        (session.state["x"].clone(), session.state["y"].clone(), count.get()),
        (json!("found"), json!("found"), 2)
    );
}

// L177: parallel agents end at once if one of them escalates. An escalation further below ends only the agents above it.
#[tokio::test]
async fn l177_an_escalation_ends_the_parallel_agent_right_above() {
    let exits = |count: &Count| {
        let count = count.clone();
        let builder =
            LlmAgent::builder("quick").model(ScriptedModel::calling("exit_loop", json!({}))).tool(exit_loop());
        let after = move |_ctx: CallbackContext| {
            count.add();
            std::future::ready(Ok::<_, NodeError>(None))
        };
        builder.after_agent(after).build().unwrap()
    };
    let count = Count::default();
    let hangs = LlmAgent::builder("slow")
        .model(ScriptedModel::saying("found"))
        .before_agent(async |_ctx: CallbackContext| std::future::pending::<Result<Option<Content>>>().await);
    let both = ParallelAgent::builder("both").sub_agent(hangs.build().unwrap()).sub_agent(exits(&count));
    let (first, sessions) = runner(both.build().unwrap());
    trace(first.run("ana", "s1", "go")).await;
    assert_eq!((stored(&sessions).await.len(), count.get()), (2, 0), "{:#?}", stored(&sessions).await);

    let rounds = LoopAgent::builder("rounds").sub_agent(exits(&count)).build().unwrap();
    let slow = LlmAgent::builder("slow").model(ScriptedModel::saying("found")).build().unwrap();
    let both = ParallelAgent::builder("both").sub_agent(rounds).sub_agent(slow).build().unwrap();
    let (runner, sessions) = runner(both);
    trace(runner.run("ana", "s1", "go")).await;
    let stored = stored(&sessions).await;
    assert!(stored.iter().any(|event| event.ends_with("says found")) && count.get() == 1, "{stored:#?}");
}

// L179: shell agents can be nodes of graphs, including shells below another shell.
#[tokio::test]
async fn l179_shell_agents_of_graphs_are_cut_anywhere() {
    cut_everywhere_in(true, |_| {
        let says = |name: &str| LlmAgent::builder(name).model(ScriptedModel::saying(name).repeating()).build().unwrap();
        let first = ParallelAgent::builder("both").sub_agent(says("a")).build().unwrap();
        let then = SequentialAgent::builder("row").sub_agent(says("b")).build().unwrap();
        let mut inner = Workflow::builder("inner");
        let then = inner.add(then);
        inner.edge(START, then);
        let mut wf = Workflow::builder("wf");
        let (first, inner) = (wf.add(first), wf.add(inner.build().unwrap()));
        wf.edge(START, first).edge(first, inner);
        wf.build().unwrap()
    })
    .await;
}

// L178, L179: a resume does not store some marks again, but they still decide where the next round of a loop begins.
#[tokio::test]
async fn l179_a_loop_that_is_cut_anywhere_runs_all_rounds() {
    cut_everywhere_in(true, |_| {
        let model = ScriptedModel::saying("a").repeating();
        let inner = ParallelAgent::builder("both").sub_agent(LlmAgent::builder("a").model(model).build().unwrap());
        let inner = inner.before_agent(async |ctx: CallbackContext| {
            ctx.state().set("begun", true)?;
            Ok::<_, NodeError>(None)
        });
        LoopAgent::builder("rounds").sub_agent(inner.build().unwrap()).max_iterations(2).build().unwrap()
    })
    .await;
}

// L110, L120: if an agent ends its turn before a job has a result, it waits for the job, even after a resume.
#[tokio::test]
async fn l120_a_resumed_agent_waits_for_its_job() {
    let job = || tool("job", "Begins.", async || Ok::<_, NodeError>(json!({"status": "begun"}))).long_running();
    let model = ScriptedModel::new().then_calls([("job", json!({})), ("exit_loop", json!({}))]);
    let agent = LlmAgent::builder("helper").model(model).tools([job(), exit_loop()]).build().unwrap();
    let (runner, _) = runner(agent);
    let mut run = runner.run("ana", "s1", "go");
    run.next().await.unwrap().unwrap();
    let last = run.next().await.unwrap().unwrap();
    assert_eq!(last.function_responses().count(), 2);
    drop(run);
    let resumed = runner.start(RunRequest::new(key()).invocation_id(last.invocation_id().clone()));
    let error = resumed.output::<Value>().await.unwrap_err();
    assert!(matches!(&error, RunError::Waiting(open) if open.len() == 1), "{error:?}");
}

// R307, L179: an agent of a graph that waits for the user still waits after a resume, and its successor does not run.
#[tokio::test]
async fn l179_agents_that_wait_for_the_user_are_cut_anywhere() {
    cut_everywhere_in(true, |_| {
        let says = |name: &str, model: ScriptedModel| LlmAgent::builder(name).model(model.repeating());
        let talk = says("talk", ScriptedModel::saying("Hello?")).mode(AgentMode::Chat).build().unwrap();
        let task =
            says("task", ScriptedModel::saying("Which?")).mode(AgentMode::Task).description("t").build().unwrap();
        let call =
            pleach::FunctionCall::new("1", "task", pleach::Map::from_iter([("request".to_owned(), json!("it"))]));
        let calls = ScriptedModel::new().then(pleach::model::LlmResponse::calls([call]));
        let caller = says("caller", calls).sub_agent(task);
        let row = SequentialAgent::builder("row").sub_agent(caller.build().unwrap()).build().unwrap();
        let mut wf = Workflow::builder("wf");
        let (talk, row) = (wf.add(talk), wf.add(row));
        let end = wf.node("end", |_: Context| async { Ok::<_, NodeError>("closed") });
        let last = wf.node("last", |_: Context| async { Ok::<_, NodeError>("closed") });
        wf.edge(START, talk).edge(talk, end).edge(START, row).edge(row, last);
        wf.build().unwrap()
    })
    .await;
}

// L155: fragments are shown once, and only the complete event is stored.
#[tokio::test]
async fn l155_fragments_come_once() {
    let model = ScriptedModel::new().then_fragments(["Su", "nny."]);
    let (runner, sessions) = runner(LlmAgent::builder("helper").model(model).build().unwrap());
    let mut run = runner.run("ana", "s1", "go").streaming();
    let mut said = Vec::new();
    while let Some(event) = run.next().await {
        said.push(event.unwrap().fragment());
    }
    assert_eq!(said, ["Su", "nny.", ""]);
    assert_eq!(stored(&sessions).await, ["helper@1: says Sunny."]);
}

// L195, L199: an agent and a node as tools.
#[tokio::test]
async fn l195_l199_agents_and_nodes_are_tools() {
    let count = Count::default();
    let expert = LlmAgent::builder("expert")
        .model(ScriptedModel::calling("one", json!({"city": "Bergen"})).then_text("rain"))
        .tool(counting("one", &count));
    let shout = FunctionNode::new("shout", async |Input(text): Input<String>| text.to_uppercase());
    let model = ScriptedModel::new()
        .then_calls([("expert", json!({"request": "weather?"})), ("shout", json!({"request": "hey"}))])
        .then_text("done");
    let root = LlmAgent::builder("root")
        .model(model.clone())
        .tool(AgentTool::new(expert.build().unwrap()))
        .tool(NodeTool::new(shout));
    let (runner, sessions) = runner(root.build().unwrap());
    let lines = trace(runner.run("ana", "s1", "go")).await;
    assert!(lines.iter().all(|line| !line.starts_with('!')), "{lines:#?}");
    let (events, state) = left(&sessions).await;
    assert!(events.iter().any(|event| event.contains("rain") && event.contains("HEY")), "{events:#?}");
    assert_eq!((state["one"].clone(), count.get()), (json!("Bergen"), 1));
}

// L197: an agent answers if its long-running tool returned a status, and waits if the tool returned nothing.
#[tokio::test]
async fn l197_an_agent_tool_whose_agent_started_a_job_answers() {
    for (status, expected) in [(Some("pending"), "started"), (None, "stopped waiting on unresolved")] {
        let job = tool("job", "Starts a job.", move || async move { Ok::<_, NodeError>(status.map(str::to_owned)) });
        let expert = LlmAgent::builder("expert")
            .model(ScriptedModel::calling("job", json!({})).then_text("started"))
            .tool(job.long_running());
        let model = ScriptedModel::calling("expert", json!({"request": "go"})).then_text("done");
        let root = LlmAgent::builder("root").model(model).tool(AgentTool::new(expert.build().unwrap()));
        let (runner, sessions) = runner(root.build().unwrap());
        assert_eq!(runner.run("ana", "s1", "go").reply().await.unwrap(), "done");
        let events = left(&sessions).await.0;
        assert!(events.iter().any(|event| event.contains(expected)), "{events:#?}");
    }
}

#[derive(Deserialize, JsonSchema)]
struct City {
    /// Name of the city.
    city: String,
}

async fn weather(Args(City { city }): Args<City>, ctx: ToolContext) -> Result<String> {
    ctx.state().set("last_city", &city)?;
    Ok(format!("sun in {city}"))
}

/// A complete small program.
#[tokio::test]
async fn an_agent_calls_a_tool_and_answers() {
    let model = ScriptedModel::calling("weather", json!({"city": "Oslo"})).then_text("Sun in Oslo.");
    let helper = LlmAgent::builder("helper")
        .model(model.clone())
        .instruction("Answer in {user:language?}. Last city: {last_city?}.")
        .tool(tool("weather", "The weather in a city.", weather))
        .output_key("answer")
        .build()
        .unwrap();
    let (runner, sessions) = runner(helper);
    let lines = trace(runner.run("ana", "s1", "Oslo?")).await;
    assert_eq!(lines.len(), 3, "{lines:#?}");
    assert_eq!(lines[1], r#"helper@1: state {"last_city":"Oslo"}"#);
    assert_eq!(lines[2], r#"helper@1: state {"answer":"Sun in Oslo."}"#);
    assert_eq!(stored(&sessions).await.len(), 3);
    let instructions: Vec<_> = model.requests().into_iter().map(|request| request.config.system_instruction).collect();
    assert!(instructions[0].as_ref().unwrap().starts_with("Answer in . Last city: ."), "{instructions:?}");
    assert!(instructions[1].as_ref().unwrap().starts_with("Answer in . Last city: Oslo."), "{instructions:?}");
}

// L84, L130: closures can be callbacks without a box.
#[tokio::test]
async fn l84_a_callback_before_the_model_changes_the_request() {
    let model = ScriptedModel::saying("yes");
    let agent = LlmAgent::builder("helper").model(model.clone()).before_model(
        async |_: CallbackContext, request: &mut LlmRequest| {
            request.append_instructions(["Be brief."]);
            Ok::<_, NodeError>(None)
        },
    );
    let (runner, _) = runner(agent.build().unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    let instruction = model.requests().remove(0).config.system_instruction.unwrap();
    assert!(instruction.ends_with("Be brief."), "{instruction}");
}

// L108: if two calls write one key, the last call of the batch wins, whichever ends first.
#[tokio::test]
async fn l108_the_last_call_of_a_batch_wins() {
    let write = |name: &'static str, waits: u32| {
        tool(name, "Writes.", move |ctx: ToolContext| async move {
            for _ in 0..waits {
                tokio::task::yield_now().await;
            }
            ctx.state().set("k", name)
        })
    };
    let model = ScriptedModel::new().then_calls([("slow", json!({})), ("quick", json!({}))]).then_text("done");
    let agent = LlmAgent::builder("helper").model(model).tools([write("slow", 5), write("quick", 0)]);
    let (runner, sessions) = runner(agent.build().unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    assert_eq!(left(&sessions).await.1["k"], json!("quick"));
}

// L2, L3, L4: `build` names the faults of an agent.
#[tokio::test]
async fn l2_l3_agents_that_cannot_be_built() {
    let refusal = |agent: pleach::LlmAgentBuilder| agent.build().unwrap_err().to_string();
    assert!(refusal(LlmAgent::builder("user")).contains("`user`"));
    assert!(refusal(LlmAgent::builder("a b")).contains("a b"));
    let child = LlmAgent::builder("child").build().unwrap();
    let _one = LlmAgent::builder("one").sub_agent(child.clone()).build().unwrap();
    let second = refusal(LlmAgent::builder("two").sub_agent(child));
    assert!(second.contains("'child'") && second.contains("'two'"), "{second}");
    let node = FunctionNode::new("node", async || 1);
    assert!(refusal(LlmAgent::builder("a").sub_agent(node)).contains("NodeTool"));
    let config = pleach::model::GenerateConfig { system_instruction: Some("x".into()), ..Default::default() };
    assert!(refusal(LlmAgent::builder("a").generate_config(config)).contains("`.instruction(…)`"));
}

// L57: the agent runs without the tools of a toolset that cannot be listed.
#[tokio::test]
async fn l57_a_toolset_that_fails_is_left_out() {
    struct Gone;

    impl pleach::Toolset for Gone {
        fn name(&self) -> &str {
            "gone"
        }

        fn tools<'a>(
            &'a self,
            _: &'a pleach::ReadonlyContext,
        ) -> pleach::BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, NodeError>> {
            Box::pin(async { Err(NodeError::value("no connection")) })
        }
    }

    let agent = |set| LlmAgent::builder("helper").model(ScriptedModel::saying("done")).toolset(set).build().unwrap();
    let set = pleach::SharedToolset::new(Gone);
    let (without, _) = runner(agent(set.clone()));
    assert_eq!(without.run("ana", "s1", "go").reply().await.unwrap(), "done");
    let (required, _) = runner(agent(set.required().prefix("x")));
    let error = required.run("ana", "s1", "go").reply().await.unwrap_err();
    assert_eq!(error.code(), "ToolsetError");
    let text = error.to_string();
    assert!(text.contains("'helper'") && text.contains("'gone'") && text.contains("no connection"), "{text}");
}

// L141: the error has no event of its own.
#[tokio::test]
async fn l141_a_transfer_to_an_unknown_agent_fails() {
    let child = LlmAgent::builder("child").model(ScriptedModel::saying("never")).build().unwrap();
    let root = LlmAgent::builder("root")
        .model(ScriptedModel::calling("transfer_to_agent", json!({"agent_name": "nobody"})))
        .sub_agent(child);
    let (runner, sessions) = runner(root.build().unwrap());
    let lines = trace(runner.run("ana", "s1", "go")).await;
    assert!(lines.last().unwrap().starts_with("! ValueError: Transfer target agent 'nobody' not found."), "{lines:?}");
    assert_eq!(stored(&sessions).await.len(), 2);
}

// R1201: an agent in chat mode that follows a node would lose the node's output.
#[tokio::test]
async fn l180_an_agent_that_converses_follows_no_node() {
    let mut wf = Workflow::builder("wf");
    let first = wf.node("first", async || 1);
    let agent = LlmAgent::builder("agent").mode(AgentMode::Chat).model(ScriptedModel::saying("hello"));
    let agent = wf.add(agent.build().unwrap());
    wf.edge(START, first).edge(first, agent);
    assert_eq!(wf.build().unwrap_err().rule(), "chat_agent_wiring");
}

/// An answer that is not a confirmation is refused before it is stored.
#[tokio::test]
async fn a_bad_confirmation_is_not_stored() {
    let count = Count::default();
    let model = ScriptedModel::new().then_calls([call("one", "a")]).then_text("done");
    let agent = LlmAgent::builder("helper").model(model).tool(counting("one", &count).require_confirmation());
    let (runner, sessions) = runner(agent.build().unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    let open = runner.questions(key()).await.unwrap();
    let before = left(&sessions).await.0.len();
    let lines = match runner.answer(key(), &open[0], json!({"confirmed": "perhaps", "more": 1})) {
        Ok(run) => trace(run).await,
        Err(error) => vec![format!("! {error}")],
    };
    assert!(lines[0].starts_with('!'), "{lines:?}");
    assert_eq!(left(&sessions).await.0.len(), before);
    trace(runner.answer(key(), &open[0], json!({"confirmed": true})).unwrap()).await;
    assert_eq!(count.get(), 1);
}

// L114: a response with the id of a confirmation but with the name of another function confirms nothing.
#[tokio::test]
async fn l114_a_confirmation_is_answered_under_its_name() {
    let count = Count::default();
    let model = ScriptedModel::new().then_calls([call("one", "a")]).then_text("done");
    let agent = LlmAgent::builder("helper").model(model).tool(counting("one", &count).require_confirmation());
    let (runner, sessions) = runner(agent.build().unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    let open = runner.questions(key()).await.unwrap().remove(0);
    let before = left(&sessions).await.0.len();
    let answer = |name: &str, confirmed: Value| {
        let fields = json!({ "confirmed": confirmed }).as_object().cloned().unwrap();
        runner.run("ana", "s1", vec![Part::function_response(FunctionResponse::new(&open.id, name, fields))])
    };
    let refused = answer("one", true.into()).reply().await.unwrap_err();
    assert!(refused.to_string().contains("under the name adk_request_confirmation"), "{refused}");
    assert_eq!((left(&sessions).await.0.len(), count.get()), (before, 0));
    // Words such as "yes" are read as google-adk reads them.
    assert_eq!(answer("adk_request_confirmation", "yes".into()).reply().await.unwrap(), "done");
    assert_eq!(count.get(), 1);
}

// The time limit of an agent does not delay it. A resume repeats the call of a tool that exceeded the limit.
#[tokio::test(start_paused = true)]
async fn an_agent_keeps_its_time_limit() {
    let limit = std::time::Duration::from_secs(5);
    let seen = Count::default();
    let hangs_once = seen.clone();
    let slow = tool("slow", "Hangs once.", move || {
        let count = hangs_once.clone();
        async move {
            count.add();
            if count.get() == 1 {
                std::future::pending::<()>().await;
            }
            Ok::<_, NodeError>("late")
        }
    });
    let model = Arc::new(ScriptedModel::calling("slow", json!({})).then_text("done"));
    let agent = LlmAgent::builder("helper").model(Arc::clone(&model)).tool(slow).timeout(limit).build().unwrap();
    let runner = Runner::builder("t").root(agent).clock(TestClock::running()).build().unwrap();
    let begun = tokio::time::Instant::now();
    let mut run = runner.run("ana", "s1", "go");
    let invocation = run.next().await.unwrap().unwrap().invocation_id().clone();
    let mut error = None;
    while let Some(event) = run.next().await {
        error = event.err();
    }
    assert_eq!((error.unwrap().code(), begun.elapsed()), ("NodeTimeoutError", limit));
    let lines = trace(runner.start(RunRequest::new(key()).invocation_id(invocation))).await;
    assert!(lines.last().unwrap().contains("done"), "{lines:#?}");
    assert_eq!((seen.get(), model.requests().len(), begun.elapsed()), (2, 2, limit));
}
