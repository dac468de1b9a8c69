//! What a scheduler outside of the Runner uses: revisions, event ids, deadlines, and the classes of errors.

use std::time::Duration;

use pleach::prelude::*;
use pleach::{
    AnswerOptions, DueDeadlines, EventId, Retry, Revision, RunRequest, SessionError, SignalOptions, SignalOutcome,
};
use serde_json::json;

use crate::support::{key, rerun, trace};
use crate::world::World;

const HOUR: Duration = Duration::from_secs(3_600);
const S: (&str, &str) = ("ana", "s1");

fn greeter() -> Workflow {
    rerun("greet", async |_: Context| Ok("hello"))
}

fn approval() -> Workflow {
    rerun("wait", async |ctx: Context| {
        let answer: Option<bool> = ctx.ask_within("ok", "Pay?", HOUR).await?;
        Ok(match answer {
            Some(true) => "paid",
            Some(false) => "refused",
            None => "nobody answered",
        })
    })
}

fn signalled() -> Workflow {
    rerun("wait", async |ctx: Context| Ok(ctx.wait_for_signal::<String>("paid").await?))
}

async fn revision(runner: &Runner) -> Revision {
    runner.status(S).await.unwrap().revision
}

fn is_stale(error: &RunError) -> bool {
    matches!(error, RunError::Session(error) if error.is_stale())
}

#[tokio::test(start_paused = true)]
async fn a_message_begins_only_at_the_revision_that_was_held() {
    let world = World::new();
    let runner = world.process(greeter());
    trace(runner.run("ana", "s1", "one")).await;
    let held = revision(&runner).await;
    trace(world.process(greeter()).run("ana", "s1", "two")).await;
    let before = world.stored_events().await;
    let request = |at: Revision| RunRequest::new(S).message("three").at(at);
    let stale = runner.start(request(held)).output::<String>().await.unwrap_err();
    assert!(is_stale(&stale), "{stale}");
    assert_eq!((stale.retry(), world.stored_events().await), (Retry::Reload, before));
    assert_eq!(runner.start(request(revision(&runner).await)).output::<String>().await.unwrap(), "hello");
}

#[tokio::test(start_paused = true)]
async fn an_answer_and_a_signal_are_stored_only_at_the_revision_that_was_held() {
    let world = World::new();
    let runner = world.process(approval());
    trace(runner.run("ana", "s1", "go")).await;
    let (held, before) = (revision(&runner).await, world.stored_events().await);
    let answer = |at: Revision| runner.answer_with(S, [("ok", true)], AnswerOptions::new().at(at)).unwrap();
    let old = Revision::default();
    assert!(is_stale(&answer(old).output::<String>().await.unwrap_err()));
    assert_eq!(world.stored_events().await, before);
    assert_eq!(answer(held).output::<String>().await.unwrap(), "paid");

    let world = World::new();
    let runner = world.process(signalled());
    trace(runner.run("ana", "s1", "go")).await;
    let (held, before) = (revision(&runner).await, world.stored_events().await);
    let options = |at: Revision| SignalOptions::new().idempotency_key("k").at(at);
    let stale = runner.signal_with(S, "paid", "ana", options(Revision::default())).await.unwrap_err();
    assert!(is_stale(&stale), "{stale}");
    assert_eq!(world.stored_events().await, before);
    let SignalOutcome::Delivered(run) = runner.signal_with(S, "paid", "ana", options(held)).await.unwrap() else {
        panic!("the run waits for the signal")
    };
    assert_eq!(run.output::<String>().await.unwrap(), "ana");
    // A scheduler that repeats a stored signal learns that it is stored, whatever the revision.
    let again = runner.signal_with(S, "paid", "ana", options(held)).await.unwrap();
    assert!(matches!(again, SignalOutcome::Repeated), "{again:?}");
}

#[tokio::test(start_paused = true)]
async fn the_event_of_a_message_or_an_answer_has_the_id_that_the_caller_chose() {
    let world = World::new();
    let runner = world.process(approval());
    let ids = async || {
        let session = world.sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
        session.events.iter().map(|event| event.id().to_string()).collect::<Vec<_>>()
    };
    trace(runner.start(RunRequest::new(S).message("go").message_event_id("the-message"))).await;
    assert_eq!(ids().await[0], "the-message");
    let again = runner.start(RunRequest::new(S).message("go").message_event_id("the-message"));
    let error = again.output::<String>().await.unwrap_err();
    assert!(matches!(error, RunError::Session(SessionError::EventAlreadyExists { .. })), "{error}");
    let blank = runner.start(RunRequest::new(S).message("go").message_event_id(" "));
    assert!(matches!(blank.output::<String>().await.unwrap_err(), RunError::BlankId("event")));

    let options = || AnswerOptions::new().only_if_open(true).event_id(EventId::from("the-answer"));
    assert_eq!(runner.answer_with(S, [("ok", true)], options()).unwrap().output::<String>().await.unwrap(), "paid");
    assert!(ids().await.contains(&"the-answer".to_owned()));
    let error = runner.answer_with(S, [("ok", true)], options()).unwrap().output::<String>().await.unwrap_err();
    assert!(matches!(error, RunError::AlreadyAnswered { .. }), "{error}");
    assert_eq!(error.retry(), Retry::Never);
}

#[tokio::test(start_paused = true)]
async fn a_runner_with_external_timers_leaves_deadlines_to_its_scheduler() {
    let world = World::new();
    let runner = world.builder().root(approval()).external_timers().build().unwrap();
    runner.start_timers();
    trace(runner.run("ana", "s1", "go")).await;
    let DueDeadlines { request, next, .. } = runner.due(S).await.unwrap();
    assert!(request.is_none());
    assert_eq!(next, Some(1_800_003_600.0));

    tokio::time::sleep(2 * HOUR).await;
    assert!(world.answers().await.is_empty(), "the Runner has no timers");
    let due = runner.due(S).await.unwrap();
    let request = due.request.unwrap();
    assert_eq!(due.next, None);
    assert_eq!(trace(runner.start(request.clone())).await, [r#"wf@1/wait@1: "nobody answered""#]);
    // Another process that looked at the same time changes nothing.
    let stale = world.process(approval()).start(request).output::<String>().await.unwrap_err();
    assert!(is_stale(&stale), "{stale}");
    assert_eq!(world.answers().await, [json!({"result": null})]);
    let due = runner.due(S).await.unwrap();
    assert!(due.request.is_none() && due.next.is_none());
}

#[tokio::test(start_paused = true)]
async fn deadlines_are_due_one_after_the_other() {
    let root = || {
        let mut wf = Workflow::builder("wf");
        let ask = |name: &'static str, time: Duration| {
            move |ctx: Context| async move {
                RequestInput::<bool>::ask(name, name).with_deadline(ctx.now() + time).with_default(true)
            }
        };
        let (late, soon) = (wf.node("late", ask("late", 2 * HOUR)), wf.node("soon", ask("soon", HOUR)));
        wf.edge(START, late).edge(START, soon);
        wf.build().unwrap()
    };
    let world = World::new();
    let runner = world.builder().root(root()).external_timers().build().unwrap();
    trace(runner.run("ana", "s1", "go")).await;
    tokio::time::sleep(3 * HOUR).await;
    let due = runner.due(S).await.unwrap();
    assert_eq!(due.next, Some(1_800_007_200.0), "the second deadline has passed as well");
    trace(runner.start(due.request.unwrap())).await;
    let due = runner.due(S).await.unwrap();
    assert_eq!(due.next, None);
    trace(runner.start(due.request.unwrap())).await;
    assert_eq!(world.answers().await, [json!({"result": true}), json!({"result": true})]);
    assert_eq!(runner.due(S).await.unwrap().next, None);
}

/// A new version asks for another type than the default of an open question has.
#[tokio::test(start_paused = true)]
async fn a_deadline_whose_default_is_refused_does_not_hold_up_the_others() {
    let texts = || {
        let mut wf = Workflow::builder("wf");
        let text = wf.node("text", async |ctx: Context| {
            RequestInput::<String>::ask("text", "text").with_deadline(ctx.now() + HOUR).with_default("blue")
        });
        let other = wf.node("other", async |ctx: Context| {
            RequestInput::<bool>::ask("other", "other").with_deadline(ctx.now() + 2 * HOUR).with_default(true)
        });
        wf.edge(START, text).edge(START, other);
        wf.build().unwrap()
    };
    let numbers = || {
        let mut wf = Workflow::builder("wf");
        let text = wf.node("text", async |ctx: Context| {
            RequestInput::<u32>::ask("text", "text").with_deadline(ctx.now() + HOUR)
        });
        let other = wf.node("other", async |ctx: Context| {
            RequestInput::<bool>::ask("other", "other").with_deadline(ctx.now() + 2 * HOUR).with_default(true)
        });
        wf.edge(START, text).edge(START, other);
        wf.build().unwrap()
    };
    let world = World::new();
    trace(world.builder().root(texts()).external_timers().build().unwrap().run("ana", "s1", "go")).await;
    tokio::time::sleep(3 * HOUR).await;
    let runner = world.builder().root(numbers()).external_timers().build().unwrap();
    let due = runner.due(S).await.unwrap();
    trace(runner.start(due.request.unwrap())).await;
    assert_eq!(world.answers().await, [json!({"result": true})]);
    assert!(runner.due(S).await.unwrap().request.is_none());
}

#[test]
fn errors_say_whether_a_scheduler_tries_again() {
    let session = key();
    let stale = SessionError::Stale { key: session.clone(), stored: Revision::default(), ours: Revision::default() };
    for (error, expected) in [
        (RunError::Session(stale), Retry::Reload),
        (RunError::Draining, Retry::Later),
        (RunError::Cut { invocation: None }, Retry::Later),
        (RunError::Busy { session: session.clone(), invocation: None }, Retry::Later),
        (RunError::Session(SessionError::NotFound(session.clone())), Retry::Never),
        (RunError::Aborted, Retry::Never),
        (RunError::Unfinished { session, invocation: "i".into() }, Retry::Never),
        (RunError::NoOutput, Retry::Never),
    ] {
        assert_eq!(error.retry(), expected, "{error}");
    }
}
