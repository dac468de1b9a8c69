//! Summaries of long histories. Comparisons over random histories have shown that pleach chooses the same events as google-adk;
//! the histories here are picked by hand.
// R1150

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use pleach::prelude::*;
use pleach::{
    AbortSignal, App, BoxFuture, Content, EventCompaction, EventsCompactionConfig, EventsSummarizer, FunctionCall,
    FunctionResponse, InMemorySessionService, Part, Run, RunRequest, RunnerBuilder, Session, SessionServiceExt,
    Summary, summary_event,
};
use pleach_contract::TestClock;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::support::{key, trace};

/// A summarizer whose summary is always `sum`. It records the texts of the events that it gets.
#[derive(Clone, Debug, Default)]
struct Stub {
    seen: Arc<Mutex<Vec<String>>>,
    mood: Mood,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Mood {
    #[default]
    Sums,
    Nothing,
    Fails,
    Panics,
    Foreign,
}

impl EventsSummarizer for Stub {
    fn maybe_summarize_events<'a>(&'a self, events: &'a [Arc<Event>]) -> BoxFuture<'a, Summary> {
        let texts: Vec<String> = events.iter().map(|event| event.text()).collect();
        self.seen.lock().unwrap().push(texts.join(" "));
        let mood = self.mood;
        Box::pin(async move {
            match mood {
                Mood::Sums => Ok(summary_event(events, Content::user("sum"))),
                Mood::Nothing => Ok(None),
                Mood::Fails => Err("no model".into()),
                Mood::Panics => panic!("no model"),
                Mood::Foreign => Ok(Some(Event::message("no summary"))),
            }
        })
    }
}

impl Stub {
    fn seen(&self) -> Vec<String> {
        std::mem::take(&mut *self.seen.lock().unwrap())
    }
}

type Sessions = Arc<InMemorySessionService>;

/// An app that answers a word with 20 letters `x` for each letter of the word.
fn app(config: EventsCompactionConfig) -> (Runner, Sessions) {
    let echo = FunctionNode::new("echo", async |Input(text): Input<String>| match text.as_str() {
        "fail" => Err(Fail::msg("failed")),
        _ => Ok(Event::message("x".repeat(text.len() * 20))),
    });
    with_root(Runner::builder("t").root(echo), config)
}

fn with_root(builder: RunnerBuilder, config: EventsCompactionConfig) -> (Runner, Sessions) {
    let sessions = Arc::new(InMemorySessionService::new());
    let runner = builder.sessions(Arc::clone(&sessions)).clock(TestClock::skipping()).events_compaction_config(config);
    (runner.build().unwrap(), sessions)
}

async fn load(sessions: &Sessions) -> Session {
    sessions.get_session(&key(), Default::default()).await.unwrap().unwrap()
}

/// The positions of the summaries in the log.
async fn summaries(sessions: &Sessions) -> Vec<usize> {
    let events = load(sessions).await.events;
    (0..events.len()).filter(|place| events[*place].actions().compaction().is_some()).collect()
}

async fn say(runner: &Runner, words: &[&str]) {
    for word in words {
        trace(runner.run("ana", "s1", *word)).await;
    }
}

/// Stores a history of `(invocation, event)` before the first run.
async fn given(sessions: &Sessions, events: Vec<(&str, Event)>) {
    let create = pleach::CreateSession::new("t", "ana").with_session_id("s1").with_create_time(0.0);
    let mut session = sessions.create_session(create).await.unwrap();
    for (at, (invocation, mut event)) in events.into_iter().enumerate() {
        event.set_invocation_id(invocation);
        event.set_timestamp(at as f64 + 1.0);
        sessions.append_event(&mut session, event).await.unwrap();
    }
}

fn call(id: &str, name: &str) -> Event {
    let part = Part::function_call(FunctionCall::new(id, name, Default::default()));
    Event::from_author("n").with_content(Content::new("model", [part]))
}

fn answer(id: &str) -> Event {
    let part = Part::function_response(FunctionResponse::new(id, "f", Default::default()));
    Event::from_author("n").with_content(Content::new("user", [part]))
}

fn word(text: &str) -> Event {
    Event::message(format!("{text}{}", "-".repeat(30)))
}

/// The texts that the stub got, without the padding of [`word`] and the answers of [`app`].
fn words(stub: &Stub) -> Vec<String> {
    stub.seen().into_iter().map(|texts| texts.replace(['-', 'x'], "")).collect()
}

#[test]
fn r1150_a_config_must_be_whole() {
    let check = |config: EventsCompactionConfig, faults: &[&str]| {
        let built =
            Runner::builder("t").root(FunctionNode::new("n", async || 1)).sessions(InMemorySessionService::new());
        let error = built.events_compaction_config(config).build().unwrap_err();
        assert_eq!(error.faults.iter().map(|fault| fault.message.as_str()).collect::<Vec<_>>(), faults);
    };
    let config = || EventsCompactionConfig::new(Stub::default());
    let no_trigger = "events compaction needs a trigger: the token pair or the sliding window pair.";
    check(config(), &[no_trigger]);
    check(EventsCompactionConfig::default(), &[no_trigger, "events compaction needs a summarizer."]);
    check(config().with_sliding_window(0, 0), &["compaction_interval must be greater than 0."]);
    check(config().with_token_threshold(0, 0), &["token_threshold must be greater than 0."]);
    let mut half = config().with_sliding_window(1, 0);
    half.token_threshold = Some(1);
    check(half, &["token_threshold and event_retention_size must be set together."]);
    let mut half = config().with_token_threshold(1, 0);
    half.overlap_size = Some(1);
    check(half, &["compaction_interval and overlap_size must be set together."]);
}

#[tokio::test]
async fn r1150_a_window_slides_over_invocations_and_overlaps() {
    let stub = Stub::default();
    let (runner, sessions) = app(EventsCompactionConfig::new(stub.clone()).with_sliding_window(2, 1));
    say(&runner, &["one"]).await;
    assert_eq!(words(&stub), [] as [&str; 0]);
    say(&runner, &["two"]).await;
    assert_eq!(words(&stub), ["one  two "]);
    say(&runner, &["three"]).await;
    assert_eq!(words(&stub), [] as [&str; 0]);
    say(&runner, &["four"]).await;
    assert_eq!(words(&stub), ["two  three  four "]);
    assert_eq!(summaries(&sessions).await, [4, 9]);
}

/// The events of a node named `user` are summed up like the events of any other node.
#[tokio::test]
async fn a_node_named_user_is_not_the_user() {
    let mut both = Vec::new();
    for name in ["echo", "user"] {
        for window in [true, false] {
            let stub = Stub::default();
            let config = EventsCompactionConfig::new(stub.clone());
            let config = if window { config.with_sliding_window(2, 1) } else { config.with_token_threshold(10, 2) };
            let root = FunctionNode::new(name, async || {
                let mut event = Event::message("x".repeat(40));
                event.model_mut().usage_metadata = Some(json!({"prompt_token_count": 10}).into());
                event
            });
            let (runner, sessions) = with_root(Runner::builder("t").root(root), config);
            say(&runner, &["one", "two", "three", "four"]).await;
            both.push((words(&stub), summaries(&sessions).await));
        }
    }
    assert_eq!(both[..2], both[2..]);
    assert!(both.iter().all(|(seen, places)| !seen.is_empty() && seen.len() == places.len()), "{both:?}");
}

#[tokio::test]
async fn r1150_the_summary_is_stored_and_not_handed_out() {
    let (runner, sessions) = app(EventsCompactionConfig::new(Stub::default()).with_sliding_window(1, 0));
    assert_eq!(trace(runner.run("ana", "s1", "hi")).await.len(), 1);
    let events = load(&sessions).await.events;
    let (first, last) = (events[0].timestamp(), events[1].timestamp());
    let mut stored = serde_json::to_value(&*events[2]).unwrap();
    let id = events[2].invocation_id();
    assert!(id.as_str().starts_with("e-") && id != events[1].invocation_id() && events[2].timestamp() > last);
    for key in ["id", "timestamp", "invocation_id"] {
        stored.as_object_mut().unwrap().remove(key);
    }
    let compaction = json!({
        "start_timestamp": first, "end_timestamp": last,
        "compacted_content": {"parts": [{"text": "sum"}], "role": "model"},
    });
    let actions = json!({
        "state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {},
        "compaction": compaction,
    });
    assert_eq!(stored, json!({"author": "user", "actions": actions, "node_info": {"path": ""}}));
}

#[tokio::test]
async fn r1150_tokens_sum_up_all_but_the_newest_and_start_with_the_last_summary() {
    let stub = Stub::default();
    let config = EventsCompactionConfig::new(stub.clone()).with_token_threshold(100, 2);
    let tokens = Arc::new(Mutex::new(0));
    let told = Arc::clone(&tokens);
    let root = FunctionNode::new("n", move || {
        let mut event = Event::message("x".repeat(40));
        event.model_mut().usage_metadata = Some(json!({"prompt_token_count": *told.lock().unwrap()}).into());
        async move { event }
    });
    let (runner, sessions) = with_root(Runner::builder("t").root(root), config);
    *tokens.lock().unwrap() = 99;
    say(&runner, &["one", "two"]).await;
    assert_eq!(words(&stub), [] as [&str; 0]);
    *tokens.lock().unwrap() = 100;
    say(&runner, &["three"]).await;
    assert_eq!(words(&stub), ["one  two "]);
    say(&runner, &["four"]).await;
    // The last summary comes first, so the new summary covers the same events and more.
    assert_eq!(words(&stub), ["sum three "]);
    let events = load(&sessions).await.events;
    let spans: Vec<&EventCompaction> = events.iter().filter_map(|event| event.actions().compaction()).collect();
    assert_eq!(spans[1].start_timestamp, spans[0].start_timestamp);
    assert_eq!(spans[1].end_timestamp, events[5].timestamp());
}

#[tokio::test]
async fn r1150_without_a_reported_count_four_characters_are_a_token() {
    let stub = Stub::default();
    // "one" and 60 letters: 63 characters are 15 tokens.
    let (runner, _) = app(EventsCompactionConfig::new(stub.clone()).with_token_threshold(16, 0));
    say(&runner, &["one"]).await;
    assert_eq!(words(&stub), [] as [&str; 0]);
    let (runner, _) = app(EventsCompactionConfig::new(stub.clone()).with_token_threshold(15, 0));
    say(&runner, &["one"]).await;
    assert_eq!(words(&stub), ["one "]);
}

#[tokio::test]
async fn r1150_the_window_applies_only_if_the_token_threshold_yields_no_events() {
    let stub = Stub::default();
    let both = |threshold| {
        EventsCompactionConfig::new(stub.clone()).with_token_threshold(threshold, 1).with_sliding_window(1, 0)
    };
    let (runner, _) = app(both(1));
    say(&runner, &["one"]).await;
    assert_eq!(words(&stub), ["one"]);
    let (runner, _) = app(both(1000));
    say(&runner, &["one"]).await;
    assert_eq!(words(&stub), ["one "]);
}

#[tokio::test]
async fn r1150_a_call_is_not_torn_from_its_answer() {
    let config = |stub: &Stub| EventsCompactionConfig::new(stub.clone()).with_sliding_window(1, 0);
    let check = async |history: Vec<(&str, Event)>, expected: &str| {
        let stub = Stub::default();
        let (runner, sessions) = app(config(&stub));
        given(&sessions, history).await;
        say(&runner, &["go"]).await;
        assert_eq!(words(&stub), [expected]);
    };
    check(vec![("i1", word("a")), ("i1", call("c", "f")), ("i1", answer("c")), ("i1", word("b"))], "a   b go ").await;
    // A long-running tool can still answer, so the events after its call stay.
    let long = call("c", "f").with_long_running(["c"]);
    check(vec![("i1", word("a")), ("i2", long), ("i2", word("b"))], "a").await;
    // An unanswered call of an earlier invocation does not prevent the compaction.
    check(vec![("i1", call("c", "f")), ("i1", word("a")), ("i2", word("b"))], " a b go ").await;
    // A later invocation treats a question to a person as abandoned as well.
    let asked = call("q", "adk_request_input").with_long_running(["q"]);
    check(vec![("i1", asked), ("i1", word("a"))], " a go ").await;
    // The same applies to a request for confirmation.
    let mut confirm = answer("c");
    confirm.actions_mut().requested_tool_confirmations_mut().insert("c".into(), Default::default());
    check(vec![("i1", word("a")), ("i1", call("c", "f")), ("i1", confirm), ("i2", word("b"))], "a   b go ").await;
}

#[tokio::test]
async fn r1150_a_retained_answer_keeps_its_call_and_the_newest_call_waits() {
    let check = async |history: Vec<(&str, Event)>, retained: usize, expected: &[&str]| {
        let stub = Stub::default();
        let (runner, sessions) = app(EventsCompactionConfig::new(stub.clone()).with_token_threshold(1, retained));
        given(&sessions, history).await;
        say(&runner, &["go"]).await;
        assert_eq!(words(&stub), expected);
    };
    let log = || vec![("i1", word("a")), ("i1", call("c", "f")), ("i1", answer("c"))];
    check(log(), 2, &["a  "]).await;
    // A summary must not separate a call from its answer.
    check(log(), 3, &["a"]).await;
    check(log(), 9, &[]).await;
}

#[tokio::test]
async fn r1150_r1141_rewound_and_isolated_events_are_left_out() {
    let stub = Stub::default();
    let (runner, sessions) = app(EventsCompactionConfig::new(stub.clone()).with_sliding_window(2, 0));
    let mut isolated = word("task");
    isolated.set_isolation_scope(Some("c1".into()));
    // The message of an open task belongs to it.
    let result = json!({"result": "Task completed."}).as_object().unwrap().clone();
    let part = Part::function_response(FunctionResponse::new("f", "finish_task", result));
    let mut finished = Event::from_author("n").with_content(Content::new("user", [part]));
    finished.set_isolation_scope(Some("c1".into()));
    let mut rewind = Event::from_author("user");
    rewind.actions_mut().set_rewind_before_invocation_id(Some("i2".into()));
    let log = vec![("i1", word("a")), ("i1", isolated), ("i1", finished), ("i2", word("gone")), ("i3", rewind)];
    given(&sessions, log).await;
    say(&runner, &["go"]).await;
    assert_eq!(words(&stub), ["a go "]);
}

#[tokio::test]
async fn r1150_a_range_that_is_shorter_than_the_last_summary_is_not_summed_up() {
    let stub = Stub::default();
    let config = EventsCompactionConfig::new(stub.clone()).with_sliding_window(1, 0);
    let root = FunctionNode::new("n", async || 1);
    let (runner, sessions) = with_root(Runner::builder("t").root(root), config);
    let mut long = Event::from_author("user");
    long.actions_mut().set_compaction(Some(EventCompaction {
        start_timestamp: 1.0,
        end_timestamp: 1.0,
        compacted_content: Content::model("much longer than the little that is said since"),
    }));
    given(&sessions, vec![("i1", word("a")), ("i2", long)]).await;
    say(&runner, &["go"]).await;
    assert_eq!(words(&stub), [] as [&str; 0]);
    say(&runner, &[&"go on and on ".repeat(9)]).await;
    assert_eq!(stub.seen().len(), 1);
}

#[tokio::test]
async fn r1150_r1113_only_a_run_that_succeeded_is_followed_by_a_summary() {
    let stub = Stub::default();
    let (runner, sessions) = app(EventsCompactionConfig::new(stub.clone()).with_sliding_window(1, 0));
    say(&runner, &["fail"]).await;
    let signal = AbortSignal::new();
    signal.abort();
    trace(runner.start(RunRequest::new(("ana", "s1")).message("stop").abort_signal(signal))).await;
    let mut run = runner.run("ana", "s1", "close");
    run.next().await.unwrap().unwrap();
    run.close().await.unwrap();
    drop(runner.run("ana", "s1", "drop").next().await);
    assert_eq!((stub.seen(), summaries(&sessions).await), (vec![], vec![]));
}

#[tokio::test]
async fn r1150_a_summarizer_that_fails_does_no_harm() {
    for mood in [Mood::Nothing, Mood::Fails, Mood::Panics, Mood::Foreign] {
        let stub = Stub { mood, ..Stub::default() };
        let (runner, sessions) = app(EventsCompactionConfig::new(stub.clone()).with_sliding_window(1, 0));
        assert_eq!(trace(runner.run("ana", "s1", "hi")).await.len(), 1, "{mood:?}");
        assert_eq!((stub.seen().len(), load(&sessions).await.events.len()), (1, 2), "{mood:?}");
    }
}

/// A summarizer that waits in the middle of its work until the test lets it continue.
#[derive(Clone, Debug, Default)]
struct Slow {
    begun: Arc<Notify>,
    go: Arc<Notify>,
    done: Arc<AtomicBool>,
}

impl EventsSummarizer for Slow {
    fn maybe_summarize_events<'a>(&'a self, events: &'a [Arc<Event>]) -> BoxFuture<'a, Summary> {
        Box::pin(async move {
            self.begun.notify_one();
            self.go.notified().await;
            self.done.store(true, Ordering::Relaxed);
            Ok(summary_event(events, Content::user("sum")))
        })
    }
}

fn slow() -> (Slow, Runner, Sessions) {
    let slow = Slow::default();
    let (runner, sessions) = app(EventsCompactionConfig::new(slow.clone()).with_sliding_window(1, 0));
    (slow, runner, sessions)
}

/// Reads the only event of a run and then lets the run continue to its summary.
async fn to_summary(mut run: Run, slow: &Slow) -> tokio::task::JoinHandle<bool> {
    run.next().await.unwrap().unwrap();
    let end = tokio::spawn(async move { run.next().await.is_none() });
    slow.begun.notified().await;
    end
}

#[tokio::test]
async fn r1150_a_newer_turn_makes_the_summary_stale_and_it_is_discarded() {
    let (slow, runner, sessions) = slow();
    let end = to_summary(runner.run("ana", "s1", "one"), &slow).await;
    let mut session = load(&sessions).await;
    sessions.append_event(&mut session, Event::message("other")).await.unwrap();
    slow.go.notify_one();
    assert!(end.await.unwrap());
    assert!(slow.done.load(Ordering::Relaxed));
    assert_eq!((summaries(&sessions).await, load(&sessions).await.events.len()), (vec![], 3));
}

#[tokio::test]
async fn r1150_an_abort_does_not_wait_for_the_summary() {
    let (slow, runner, sessions) = slow();
    let signal = AbortSignal::new();
    let request = RunRequest::new(("ana", "s1")).message("one").abort_signal(signal.clone());
    let end = to_summary(runner.start(request), &slow).await;
    signal.abort();
    assert!(end.await.unwrap());
    assert!(!slow.done.load(Ordering::Relaxed));
    assert_eq!(load(&sessions).await.events.len(), 2, "the run itself has succeeded, so nothing is sealed");
}

#[tokio::test]
async fn r1150_the_app_can_bring_the_config() {
    let stub = Stub::default();
    let config = EventsCompactionConfig::new(stub.clone()).with_sliding_window(1, 0);
    let app = App::new("t", FunctionNode::new("n", async || Value::Null)).unwrap().events_compaction_config(config);
    let runner = Runner::app(app).sessions(InMemorySessionService::new()).build().unwrap();
    say(&runner, &["hi"]).await;
    assert_eq!(stub.seen(), ["hi"]);
}
