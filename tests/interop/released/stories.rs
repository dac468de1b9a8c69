//! The beginnings of a set's sessions, and their continuations. Each story is a separate app, with the session `s1` of
//! `ana`.
//!
//! If you add a story here, it is part of the sets of the next release and later ones. `go_on` must skip it for earlier
//! sets.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pleach::prelude::*;
use pleach::{
    ArtifactScope, ArtifactService as _, BoxFuture, Content, EventsCompactionConfig, EventsSummarizer,
    GetSessionConfig, ListUnfinished, Part, Redaction, RunProgress, Session, SessionKey, SignalOutcome, Summary,
    summary_event,
};
use serde_json::{Value, json};

use super::world::World;

/// The names of the apps.
pub(crate) const NAMES: &[&str] = &[
    "talk",
    "desk",
    "gate",
    "refund",
    "paid",
    "order",
    "pair",
    "cut",
    "cut_agent",
    "patient",
    "late",
    "parcel",
    "state",
    "large",
    "erased",
    "sums",
    "files",
];

const DAY: Duration = Duration::from_secs(86_400);
/// A time after which a question of the writing process is overdue in the later process.
const MINUTE: Duration = Duration::from_secs(60);

/// The number of times that a body has done its work.
type Count = Arc<AtomicUsize>;

fn made(count: &Count) -> usize {
    count.load(Ordering::Relaxed)
}

/// Plays all stories up to the point at which the set is stored.
pub(crate) async fn begin(world: &World) {
    assert_eq!(reply(talker(world, "Hello, Ana.").0.run("ana", "s1", "Hello")).await, "Hello, Ana.");
    assert_eq!(reply(desk(world, front_model(), desk_model()).run("ana", "s1", "Refund?")).await, "I am the desk.");
    let gate_model = ScriptedModel::calling("pay", json!({"cents": 1200}));
    pauses(gate(world, gate_model, &Count::default()).run("ana", "s1", "Pay.")).await;
    pauses(refund(world, "refund").run("ana", "s1", Message::data(1200))).await;
    pauses(refund(world, "paid").run("ana", "s1", Message::data(1300))).await;
    assert_eq!(output(refund(world, "paid").answer("s1", "manager", true).unwrap()).await, "1300 paid");
    pauses(order(world, &Count::default()).run("ana", "s1", "1200")).await;
    pauses(pair(world).run("ana", "s1", "go")).await;
    let one = pair(world).answer("s1", "left", 1).unwrap().output::<Value>().await;
    assert!(matches!(one, Err(RunError::Waiting(open)) if open.len() == 1), "the other question is still open");
    cut(chain(world, &Count::default()).run("ana", "s1", "go"), |event| event.output() == Some(&json!(1))).await;
    let looks = ScriptedModel::calling("look", json!({}));
    let looked = |event: &Event| event.function_responses().next().is_some();
    cut(looker(world, looks, &Count::default()).0.run("ana", "s1", "Look."), looked).await;
    pauses(patient(world, "patient", DAY).run("ana", "s1", "go")).await;
    pauses(patient(world, "late", MINUTE).run("ana", "s1", "go")).await;
    pauses(parcel(world).run("ana", "s1", "go")).await;
    assert_eq!(output(state(world).run("ana", "s1", "go")).await, json!([1, 1, 1]));
    pauses(large(world).run("ana", "s1", "go")).await;
    pauses(erased(world).run("ana", "s1", "card 4111")).await;
    erase(world).await;
    for turn in ["one", "two", "three"] {
        reply(sums(world, &format!("said {turn}")).0.run("ana", "s1", turn)).await;
    }
    output(files(world).run("ana", "s1", "An otter swims.")).await;
    // Fills pleach's own tables: the questions of the inbox, and the notes of settled sessions.
    assert_eq!(refund(world, "refund").inbox_for("managers").await.unwrap().len(), 1);
    assert!(talker(world, "").0.resume_unfinished(ListUnfinished::new()).await.unwrap().is_empty());
}

/// Continues each session in another process.
pub(crate) async fn go_on(world: &World) {
    conversations_continue(world).await;
    questions_are_answered(world).await;
    cut_runs_are_resumed(world).await;
    waits_end(world).await;
    data_is_as_it_was(world).await;
}

async fn conversations_continue(world: &World) {
    let (talker, model) = talker(world, "Still here.");
    assert_eq!(reply(talker.run("ana", "s1", "And now?")).await, "Still here.");
    let asked = asked(&model);
    assert_eq!(asked, ["Hello", "Hello, Ana.", "And now?"]);
    // The agent that the conversation was transferred to answers.
    let unused = ScriptedModel::new();
    assert_eq!(reply(desk(world, unused, ScriptedModel::saying("Done.")).run("ana", "s1", "Thanks.")).await, "Done.");
    let (sums, model) = sums(world, "said four");
    reply(sums.run("ana", "s1", "four")).await;
    let asked = self::asked(&model);
    assert!(asked.contains(&"the sum".to_owned()) && !asked.contains(&"one".to_owned()), "{asked:?}");
}

async fn questions_are_answered(world: &World) {
    let runner = refund(world, "refund");
    let inbox = runner.inbox_for("managers").await.unwrap();
    assert_eq!(inbox.len(), 1);
    assert_eq!(inbox[0].question.payload, Some(json!({"cents": 1200})));
    assert_eq!(output(runner.answer("s1", "manager", true).unwrap()).await, "1200 paid");
    assert!(runner.inbox_for("managers").await.unwrap().is_empty());

    // Repeating the answer changes nothing, and another answer is refused.
    let runner = refund(world, "paid");
    let events = session(world, "paid").await.events.len();
    drop(runner.answer("s1", "manager", true).unwrap().output::<Value>().await);
    assert_eq!(session(world, "paid").await.events.len(), events);
    let other = runner.answer("s1", "manager", false).unwrap().output::<Value>().await.unwrap_err();
    assert!(matches!(other, RunError::AlreadyAnswered { .. }), "{other}");
    pauses(runner.run("ana", "s1", Message::data(5))).await;

    let count = Count::default();
    let runner = gate(world, ScriptedModel::saying("It is paid."), &count);
    let open = runner.questions("s1").await.unwrap();
    assert_eq!((open.len(), made(&count)), (1, 0));
    assert_eq!(reply(runner.answer("s1", open[0].clone(), json!({"confirmed": true})).unwrap()).await, "It is paid.");
    assert_eq!(made(&count), 1);

    // The step is done, so its stored result is used.
    let count = Count::default();
    assert_eq!(
        output(order(world, &count).answer("s1", "ship", true).unwrap()).await,
        json!(["receipt for 1200", true])
    );
    assert_eq!(made(&count), 0);

    assert_eq!(output(pair(world).answer("s1", "right", 2).unwrap()).await, json!({"left": 1, "right": 2}));
}

async fn cut_runs_are_resumed(world: &World) {
    let count = Count::default();
    let runner = chain(world, &count);
    assert_eq!(output(resumed(&runner).await).await, json!(42));
    assert_eq!(made(&count), 0, "the first node is not run again");
    let state = session(world, "cut").await.state;
    assert_eq!(Value::from(state), json!({"first": true, "last": true}));

    let count = Count::default();
    let (runner, model) = looker(world, ScriptedModel::saying("An otter."), &count);
    assert_eq!(reply(resumed(&runner).await).await, "An otter.");
    assert_eq!((made(&count), model.requests().len()), (0, 1), "only the answer was missing");
}

async fn waits_end(world: &World) {
    let runner = patient(world, "patient", DAY);
    assert!(runner.questions("s1").await.unwrap()[0].deadline.is_some());
    assert_eq!(output(runner.answer("s1", "ok", true).unwrap()).await, json!([true]));

    // The deadline has passed while no process was running.
    let runner = patient(world, "late", MINUTE);
    runner.start_timers();
    for _ in 0..10_000 {
        if matches!(runner.status("s1").await.unwrap().progress, RunProgress::Done) {
            break;
        }
        tokio::task::yield_now().await;
    }
    let last = session(world, "late").await.events.iter().rev().find_map(|event| event.output().cloned());
    assert_eq!(last, Some(json!([null])));

    let SignalOutcome::Delivered(run) = parcel(world).signal("s1", "parcel", 7).await.unwrap() else {
        panic!("a run waits for it")
    };
    assert_eq!(run.output::<Value>().await.unwrap(), json!([3, 7]));
}

async fn data_is_as_it_was(world: &World) {
    assert_eq!(output(state(world).run("ana", "s1", "go")).await, json!([2, 2, 2]));
    assert_eq!(output(state(world).run("ana", "s2", "go")).await, json!([3, 3, 1]), "app, user and session");
    assert_eq!(output(state(world).run("ben", "s1", "go")).await, json!([4, 1, 1]));

    let whole = output(large(world).answer("s1", "keep", true).unwrap()).await;
    assert_eq!(whole, json!(["x".repeat(5_000), true]));

    let before = serde_json::to_string(&session(world, "erased").await.events).unwrap();
    assert!(before.contains("[redacted]") && !before.contains("4111"), "{before}");
    assert_eq!(output(erased(world).answer("s1", "fine", true).unwrap()).await, json!(["[redacted]", true]));

    let key = ArtifactScope::session(&key("files")).artifact("note.txt");
    let texts =
        async |version| world.files.load_artifact(&key, version).await.unwrap().unwrap().text.unwrap().to_string();
    assert_eq!((texts(Some(0)).await, texts(None).await), ("An otter swims.".to_owned(), "Again.".to_owned()));
    output(files(world).run("ana", "s1", "A second otter.")).await;
    assert_eq!(world.recalls("files", "otter").await, 2);
    assert_eq!(texts(Some(2)).await, "A second otter.");
}

fn key(story: &str) -> SessionKey {
    SessionKey::new(story, "ana", "s1")
}

async fn session(world: &World, story: &str) -> Session {
    world.sessions.get_session(&key(story), GetSessionConfig::all()).await.unwrap().unwrap()
}

async fn reply(run: pleach::Run) -> String {
    run.reply().await.unwrap()
}

async fn output(run: pleach::Run) -> Value {
    run.output().await.unwrap()
}

/// Plays a run up to its question.
async fn pauses(mut run: pleach::Run) {
    let mut asks = false;
    while let Some(event) = run.next().await {
        asks |= event.unwrap().is_interrupt();
    }
    assert!(asks, "the run asks");
}

/// Drops a run after an event was stored, as if the process had ended.
async fn cut(mut run: pleach::Run, is_last: impl Fn(&Event) -> bool) {
    loop {
        if is_last(&run.next().await.unwrap().unwrap()) {
            return;
        }
    }
}

async fn resumed(runner: &Runner) -> pleach::Run {
    let status = runner.status("s1").await.unwrap();
    assert!(status.progress.can_resume(), "{status:?}");
    runner.resume("ana", "s1", status.invocation.unwrap())
}

/// The texts of the last request to a model.
fn asked(model: &ScriptedModel) -> Vec<String> {
    let requests = model.requests();
    requests.last().unwrap().contents.iter().map(|content| content.text()).collect()
}

fn talker(world: &World, says: &str) -> (Runner, Arc<ScriptedModel>) {
    let model = Arc::new(ScriptedModel::saying(says));
    let agent = LlmAgent::builder("helper").model(Arc::clone(&model)).build().unwrap();
    (world.runner("talk", agent), model)
}

fn front_model() -> ScriptedModel {
    ScriptedModel::calling("look", json!({})).then_call("transfer_to_agent", json!({"agent_name": "desk"}))
}

fn desk_model() -> ScriptedModel {
    ScriptedModel::saying("I am the desk.")
}

fn desk(world: &World, front: ScriptedModel, desk: ScriptedModel) -> Runner {
    let desk = LlmAgent::builder("desk").description("Refunds.").model(desk).build().unwrap();
    let look = tool("look", "Looks.", async || json!({"seen": "a refund"}));
    let front = LlmAgent::builder("front").model(front).tool(look).sub_agent(desk).build().unwrap();
    world.runner("desk", front)
}

fn gate(world: &World, model: ScriptedModel, count: &Count) -> Runner {
    let count = Arc::clone(count);
    let pay = tool("pay", "Pays.", move || {
        count.fetch_add(1, Ordering::Relaxed);
        async { "paid" }
    });
    let agent = LlmAgent::builder("payer").model(model).tool(pay.require_confirmation()).build().unwrap();
    world.runner("gate", agent)
}

fn refund(world: &World, story: &str) -> Runner {
    let mut wf = Workflow::builder("wf").input::<u32>();
    let check = wf.node("check", async |Input(cents): Input<u32>| Event::of(cents).with_state("cents", cents));
    let approve = wf.node("approve", async |Input(cents): Input<u32>| {
        let question = RequestInput::<bool>::ask("manager", format!("Refund {cents} cents?"));
        question.assign_to("managers").with_payload(json!({"cents": cents}))
    });
    let pay = wf.node("pay", async |ctx: Context, Input(yes): Input<bool>| {
        let cents = ctx.state().value("cents");
        format!("{} {}", cents.unwrap_or_default(), if yes { "paid" } else { "refused" })
    });
    wf.edge(START, check).edge(check.dynamic(), approve).edge(approve, pay);
    world.runner(story, wf.build().unwrap())
}

fn order(world: &World, count: &Count) -> Runner {
    let count = Arc::clone(count);
    let order = move |ctx: Context, Input(cents): Input<String>| {
        let count = Arc::clone(&count);
        async move {
            let charge = async || {
                count.fetch_add(1, Ordering::Relaxed);
                Ok(format!("receipt for {cents}"))
            };
            let receipt: String = ctx.step(Step::new("charge").key("k1"), charge).await?;
            let ship: bool = ctx.ask("ship", "Ship it?").await?;
            Ok::<_, Fail>(json!([receipt, ship]))
        }
    };
    world.runner("order", FunctionNode::new("order", order).rerun_on_resume(true))
}

fn pair(world: &World) -> Runner {
    let mut wf = Workflow::builder("wf");
    let left = wf.node("left", async || RequestInput::<u32>::ask("left", "Left?"));
    let right = wf.node("right", async || RequestInput::<u32>::ask("right", "Right?"));
    let both = wf.join("both", (left, right));
    wf.edge(START, (left, right));
    world.runner("pair", wf.build_to(both).unwrap())
}

fn chain(world: &World, count: &Count) -> Runner {
    let count = Arc::clone(count);
    let mut wf = Workflow::builder("wf");
    let first = wf.node("first", move || {
        count.fetch_add(1, Ordering::Relaxed);
        async { Event::of(1).with_state("first", true) }
    });
    let middle = wf.node("middle", async |Input(one): Input<u32>| one + 1);
    let last = wf.node("last", async |Input(two): Input<u32>| Event::of(21 * two).with_state("last", true));
    wf.edge(START, first).edge(first.dynamic(), middle).edge(middle, last);
    world.runner("cut", wf.build().unwrap())
}

fn looker(world: &World, model: ScriptedModel, count: &Count) -> (Runner, Arc<ScriptedModel>) {
    let (model, count) = (Arc::new(model), Arc::clone(count));
    let look = tool("look", "Looks.", move || {
        count.fetch_add(1, Ordering::Relaxed);
        async { json!({"seen": "an otter"}) }
    });
    let agent = LlmAgent::builder("helper").model(Arc::clone(&model)).tool(look).build().unwrap();
    (world.runner("cut_agent", agent), model)
}

fn patient(world: &World, story: &str, limit: Duration) -> Runner {
    let wait = move |ctx: Context| async move {
        let answer: Option<bool> = ctx.ask_within("ok", "Pay?", limit).await?;
        Ok::<_, Fail>(json!([answer]))
    };
    world.runner(story, FunctionNode::new("wait", wait).rerun_on_resume(true))
}

fn parcel(world: &World) -> Runner {
    let wait = async |ctx: Context| {
        let before: u32 = ctx.step(Step::new("before"), async || Ok(3)).await?;
        Ok::<_, Fail>(json!([before, ctx.wait_for_signal::<u32>("parcel").await?]))
    };
    world.runner("parcel", FunctionNode::new("wait", wait).rerun_on_resume(true))
}

/// An app that counts runs in the state of the app, of the user and of the session.
fn state(world: &World) -> Runner {
    let count = async |ctx: Context| {
        let next = |name: &str| ctx.state().value(name).and_then(|value| value.as_i64()).unwrap_or_default() + 1;
        let (app, user, own) = (next("app:runs"), next("user:runs"), next("runs"));
        let event = Event::of(json!([app, user, own])).with_state("app:runs", app).with_state("user:runs", user);
        event.with_state("runs", own).with_state("temp:gone", true)
    };
    world.runner("state", FunctionNode::new("count", count))
}

/// An app that outputs a large value, which is stored outside its row. Then it asks, and outputs the value again.
fn large(world: &World) -> Runner {
    let mut wf = Workflow::builder("wf");
    let make = wf.node("make", async || "x".repeat(5_000));
    let keep = FunctionNode::new("keep", async |ctx: Context, Input(text): Input<String>| {
        let keep: bool = ctx.ask("keep", "Keep it?").await?;
        Ok::<_, Fail>(json!([text, keep]))
    });
    let keep = wf.add(keep.rerun_on_resume(true));
    wf.edge(START, make).edge(make, keep);
    world.runner("large", wf.build().unwrap())
}

fn erased(world: &World) -> Runner {
    let mut wf = Workflow::builder("wf");
    let read = wf.node("read", async || json!({"card": "4111"}));
    let pay = FunctionNode::new("pay", async |ctx: Context, Input(order): Input<Value>| {
        let fine: bool = ctx.ask("fine", "Charge it?").await?;
        Ok::<_, Fail>(json!([order["card"], fine]))
    });
    let pay = wf.add(pay.rerun_on_resume(true));
    wf.edge(START, read).edge(read, pay);
    world.runner("erased", wf.build().unwrap())
}

/// Redacts the card in the message and in the output.
async fn erase(world: &World) {
    let runner = erased(world);
    for event in session(world, "erased").await.events {
        let path = if event.output().is_some() { "/output/card" } else { "/content" };
        if serde_json::to_string(&event).unwrap().contains("4111") {
            runner.redact("s1", event.id().to_string(), Redaction::new([path], "request 7")).await.unwrap();
        }
    }
}

/// A summarizer with a fixed summary.
#[derive(Clone, Copy, Debug)]
struct Summarizer;

impl EventsSummarizer for Summarizer {
    fn maybe_summarize_events<'a>(&'a self, events: &'a [Arc<Event>]) -> BoxFuture<'a, Summary> {
        Box::pin(async move { Ok(summary_event(events, Content::user("the sum"))) })
    }
}

fn sums(world: &World, says: &str) -> (Runner, Arc<ScriptedModel>) {
    let model = Arc::new(ScriptedModel::saying(says));
    let agent = LlmAgent::builder("helper").model(Arc::clone(&model)).build().unwrap();
    let config = EventsCompactionConfig::new(Summarizer).with_sliding_window(2, 0);
    (world.builder("sums").root(agent).events_compaction_config(config).build().unwrap(), model)
}

/// An app that saves its message in a file and adds the session to the memory.
fn files(world: &World) -> Runner {
    let keep = async |ctx: Context, Input(text): Input<String>| {
        ctx.save_artifact("note.txt", Part::text(text.clone())).await?;
        if text.contains("swims") {
            ctx.save_artifact("note.txt", Part::text("Again.")).await?;
        }
        ctx.add_session_to_memory().await?;
        Ok::<_, Fail>(text.len())
    };
    world.runner("files", FunctionNode::new("keep", keep))
}
