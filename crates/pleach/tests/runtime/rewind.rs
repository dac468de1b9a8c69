//! Rewinding a session: the rewind itself, and the events that are ignored after it.
// R1140, R1141

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use pleach::prelude::*;
use pleach::{
    ArtifactScope, ArtifactService, CreateSession, InMemoryArtifactService, InMemorySessionService, RunProgress,
    Session, SessionServiceExt, SystemClock, effective_events,
};
use serde_json::{Value, json};

use crate::backends::{Backend, on_backends};
use crate::replay::play;
use crate::support::{key, runner, trace};

/// A node that counts its turns in `n`, stores the last turn in the user's state and asks `q1` before it ends.
fn counting() -> (Runner, Arc<InMemorySessionService>) {
    let mut wf = Workflow::builder("wf");
    let count = wf.node("count", async |ctx: Context| {
        let n = ctx.state().value("n").and_then(|n| n.as_i64()).unwrap_or_default() + 1;
        Event::of(n).with_state("n", n).with_state("user:u", n)
    });
    let ask = wf.node("ask", async || RequestInput::<String>::ask("q1", "Fine?"));
    wf.edge(START, count).edge(count, ask);
    runner(wf.build_to(ask).unwrap())
}

async fn load(runner: &Runner) -> Session {
    runner.sessions().get_session(&key(), Default::default()).await.unwrap().unwrap()
}

/// The invocations of a session without repetitions, in the order of their starts.
async fn invocations(runner: &Runner) -> Vec<String> {
    let mut ids: Vec<String> = load(runner).await.events.iter().map(|e| e.invocation_id().to_string()).collect();
    ids.dedup();
    ids
}

#[tokio::test]
async fn r127_r1140_e222_state_is_restored_and_recorded_in_one_event() {
    let (runner, _) = counting();
    for _ in 0..3 {
        trace(runner.run("ana", "s1", "go")).await;
    }
    let before = load(&runner).await;
    let turns = invocations(&runner).await;
    let event = runner.rewind("ana", "s1", turns[1].as_str()).await.unwrap();
    let after = load(&runner).await;
    assert_eq!(after.events.len(), before.events.len() + 1);
    assert_eq!(after.events.last(), Some(&event));
    assert_eq!(Value::from(after.state), json!({"n": 1, "user:u": 3}));
    let mut written = serde_json::to_value(&*event).unwrap();
    assert!(
        written["invocation_id"].as_str().unwrap().starts_with("e-")
            && !turns.contains(&event.invocation_id().to_string())
    );
    for key in ["id", "timestamp", "invocation_id"] {
        written.as_object_mut().unwrap().remove(key);
    }
    let actions = json!({
        "state_delta": {"n": 1}, "artifact_delta": {}, "requested_auth_configs": {},
        "requested_tool_confirmations": {}, "rewind_before_invocation_id": turns[1],
    });
    assert_eq!(written, json!({"author": "user", "actions": actions, "node_info": {"path": ""}}));
    assert!(event.timestamp() > before.last_update_time());
}

#[tokio::test]
async fn r1140_e223_a_missing_target_is_named_and_nothing_is_stored() {
    let (runner, sessions) = counting();
    let error = runner.rewind("ana", "s1", "nope").await.unwrap_err();
    assert_eq!((error.code(), error.message().as_str()), ("SessionNotFoundError", "session not found: t/ana/s1"));
    assert!(sessions.get_session(&key(), Default::default()).await.unwrap().is_none());
    trace(runner.run("ana", "s1", "go")).await;
    let before = load(&runner).await;
    for id in ["nope", ""] {
        let error = runner.rewind("ana", "s1", id).await.unwrap_err();
        assert!(matches!(error, RunError::UnknownInvocation { .. }));
        assert_eq!(
            (error.code(), error.message()),
            ("InvocationNotFoundError", format!("Invocation ID not found: {id}"))
        );
    }
    let error = runner.rewind(" ", "s1", "nope").await.unwrap_err();
    assert_eq!(error.to_string(), "the user id must not be blank: use at least one visible character");
    assert_eq!(load(&runner).await, before);
}

/// Covers `app:` and `temp:` keys, keys that only the creation has set, nulls, and values that Python treats as equal.
#[tokio::test]
async fn r1140_e224_only_the_sessions_own_keys_go_back() {
    let (runner, sessions) = counting();
    let state = json!({"init": 1, "kept": 1, "app:a": 1, "user:u": 1}).as_object().unwrap().clone();
    let create = CreateSession::new("t", "ana").with_session_id("s1").with_state(state);
    let mut session = sessions.create_session(create).await.unwrap();
    let deltas = [
        ("i1", json!({"kept": 1, "flag": true, "gone": 1, "list": [1, {"a": null}], "app:a": 2, "user:u": 2})),
        ("i1", json!({"gone": null})),
        ("i2", json!({"flag": 1, "list": [], "gone": 2, "added": 2, "app:a": 3, "user:u": 3, "temp:t": 3})),
        ("i3", json!({"kept": 1, "added": null})),
    ];
    for (at, (invocation, delta)) in deltas.into_iter().enumerate() {
        let mut event = Event::from_author("n").with_state_map(delta.as_object().unwrap().clone());
        event.set_invocation_id(invocation);
        event.set_timestamp(at as f64 + 2e9);
        sessions.append_event(&mut session, event).await.unwrap();
    }
    let event = runner.rewind("ana", "s1", "i2").await.unwrap();
    let delta = json!({"init": null, "flag": true, "gone": null, "added": null, "list": [1, {"a": null}]});
    assert_eq!(Value::from(event.actions().state_delta().clone()), delta);
    let all = runner.rewind("ana", "s1", "i1").await.unwrap();
    let delta = json!({"init": null, "kept": null, "flag": null, "gone": null, "added": null, "list": null});
    assert_eq!(Value::from(all.actions().state_delta().clone()), delta);
    let state = load(&runner).await.state;
    assert_eq!((&state["app:a"], &state["user:u"]), (&json!(3), &json!(3)));
    assert!(effective_events(&load(&runner).await.events).is_empty());
}

#[tokio::test]
async fn r1140_files_get_their_old_content_or_the_mark_of_absence() {
    let files = Arc::new(InMemoryArtifactService::with_clock(Arc::new(SystemClock)));
    let save = FunctionNode::new("save", async |ctx: Context| -> Result<i64, NodeError> {
        let turn = ctx.invocation().user_content().map(|content| content.text()).unwrap_or_default();
        for name in ["every", "user:own"] {
            ctx.save_artifact(name, Part::text(turn.as_str())).await?;
        }
        if turn == "two" {
            ctx.save_artifact("late", Part::text("x")).await?;
        }
        Ok(1)
    });
    let runner = Runner::builder("t").root(save).artifacts(Arc::clone(&files)).build().unwrap();
    for turn in ["one", "two", "three"] {
        runner.run("ana", "s1", turn).output::<i64>().await.unwrap();
    }
    let turns = invocations(&runner).await;
    let event = runner.rewind("ana", "s1", turns[1].as_str()).await.unwrap();
    assert_eq!(json!(event.actions().artifact_delta()), json!({"every": 3, "late": 1}));
    let scope = ArtifactScope::session(&key());
    let text = async |name: &str, version: Option<i64>| {
        let part = files.load_artifact(&scope.artifact(name), version).await.unwrap();
        part.and_then(|part| part.text).map(|text| text.to_string())
    };
    assert_eq!(text("every", None).await.as_deref(), Some("one"));
    assert_eq!(text("every", Some(2)).await.as_deref(), Some("three"));
    assert_eq!((text("late", None).await, text("late", Some(0)).await.as_deref()), (None, Some("x")));
    assert_eq!(text("user:own", None).await.as_deref(), Some("three"));
    // A rewind of the rewind undoes it and restores the files.
    let undo = runner.rewind("ana", "s1", event.invocation_id()).await.unwrap();
    assert_eq!(json!(undo.actions().artifact_delta()), json!({"every": 4, "late": 2}));
    assert_eq!((text("every", None).await.as_deref(), text("late", None).await.as_deref()), (Some("three"), Some("x")));
    assert_eq!(effective_events(&load(&runner).await.events).len(), 6);
    // Files that have not changed are not saved.
    runner.run("ana", "s1", "four").output::<i64>().await.unwrap();
    let turns = invocations(&runner).await;
    let event = runner.rewind("ana", "s1", turns.last().unwrap().as_str()).await.unwrap();
    assert_eq!(json!(event.actions().artifact_delta()), json!({"every": 6}));
}

#[tokio::test]
async fn r1141_e192_a_rewound_invocation_is_neither_answered_nor_resumed() {
    let (runner, _) = counting();
    trace(runner.run("ana", "s1", "go")).await;
    trace(runner.run("ana", "s1", "go")).await;
    let turns = invocations(&runner).await;
    let rewound = runner.rewind("ana", "s1", turns[1].as_str()).await.unwrap();
    let before = load(&runner).await;
    let lines = trace(runner.resume("ana", "s1", turns[1].as_str())).await;
    assert_eq!(lines, [format!("! InvocationNotFoundError: Invocation ID not found: {}", turns[1])]);
    assert_eq!(load(&runner).await, before);
    // The question of the first turn has the same id, so it is answered now.
    let answer = runner.answer("s1", "q1", "yes").unwrap();
    assert_eq!(answer.output::<String>().await.unwrap(), "yes");
    assert_eq!(load(&runner).await.events.last().unwrap().invocation_id().as_str(), turns[0]);
    runner.rewind("ana", "s1", turns[0].as_str()).await.unwrap();
    let lines = trace(runner.answer("s1", "q1", "yes").unwrap()).await;
    assert_eq!(lines, ["! ValueError: Function call not found for function response ids: {'q1'}."]);
    // Undoing the rewind also restores its questions, so both invocations ask under this id.
    runner.rewind("ana", "s1", rewound.invocation_id()).await.unwrap();
    let ambiguous = runner.answer("s1", "q1", "again").unwrap().output::<String>().await.unwrap_err();
    assert!(matches!(ambiguous, pleach::RunError::AmbiguousQuestion { .. }), "{ambiguous:?}");
    let answer = runner.answer("s1", (turns[1].as_str(), "q1"), "again").unwrap();
    assert_eq!(answer.output::<String>().await.unwrap(), "again");
    assert_eq!(load(&runner).await.events.last().unwrap().invocation_id().as_str(), turns[1]);
}

// R1141: if the id of a rewound invocation is used again, the rewound events are not replayed.
#[tokio::test]
async fn r1141_an_id_that_is_used_again_starts_afresh() {
    let calls = Arc::new(AtomicU32::new(0));
    let seen = Arc::clone(&calls);
    let mut wf = Workflow::builder("wf");
    let count = wf.node("count", move || {
        let seen = Arc::clone(&seen);
        async move { seen.fetch_add(1, Ordering::Relaxed) }
    });
    wf.edge(START, count);
    let (runner, _) = runner(wf.build_to(count).unwrap());
    let named = |text: &str| pleach::RunRequest::new(("ana", "s1")).message(text).invocation_id("mine");
    assert_eq!(trace(runner.start(named("one"))).await, ["wf@1/count@1: 0"]);
    // E191: after the rewind is undone, the id means the old message again, which is done.
    assert_eq!(trace(runner.start(named("two"))).await, [] as [&str; 0]);
    runner.rewind("ana", "s1", "mine").await.unwrap();
    assert_eq!(trace(runner.start(named("three"))).await, ["wf@1/count@1: 1"]);
    let session = load(&runner).await;
    let texts: Vec<String> = effective_events(&session.events).iter().map(|event| event.text()).collect();
    assert_eq!(texts, ["three", ""]);
}

#[tokio::test]
async fn r1140_s35_a_run_that_was_under_way_loses_against_a_rewind() {
    let (runner, _) = counting();
    trace(runner.run("ana", "s1", "go")).await;
    let turns = invocations(&runner).await;
    let mut run = runner.run("ana", "s1", "more");
    run.next().await.unwrap().unwrap();
    runner.rewind("ana", "s1", turns[0].as_str()).await.unwrap();
    let lines = trace(run).await;
    assert!(lines.len() == 1 && lines[0].starts_with("! StaleSessionError"), "{lines:?}");
    assert!(effective_events(&load(&runner).await.events).is_empty());
}

/// Three nodes that count their calls. The first has no output, and the last asks if `asks` is set.
fn counted(calls: &[Arc<AtomicU32>; 3], asks: bool) -> Workflow {
    let [silent, middle, last] = calls.clone();
    let mut wf = Workflow::builder("wf");
    let silent = wf.node("silent", move || {
        silent.fetch_add(1, Ordering::Relaxed);
        std::future::ready(())
    });
    let middle = wf.node("middle", move || {
        let call = middle.fetch_add(1, Ordering::Relaxed);
        async move { Event::of(call).with_state("middle", call) }
    });
    let last = FunctionNode::new("last", move |ctx: Context| {
        let call = last.fetch_add(1, Ordering::Relaxed);
        async move { if asks { Ok::<u32, NodeError>(ctx.ask("q", "?").await?) } else { Ok(call) } }
    });
    let last = wf.add(last.rerun_on_resume(true));
    wf.edge(START, silent).edge(silent, middle).edge(middle, last);
    wf.build().unwrap()
}

/// A node run is undone together with everything after it. Earlier nodes do not run again.
async fn r1141_a_rewind_before_a_run_keeps_the_earlier_events(backend: Backend) {
    for resumable in [true, false] {
        let Some(place) = backend.place().await else { return };
        let calls = <[Arc<AtomicU32>; 3]>::default();
        let runner = place.builder().await.root(counted(&calls, false)).resumable(resumable).build().unwrap();
        play(runner.run("ana", "s1", "go")).await;
        let first = load(&runner).await;
        let event = runner.rewind_before("s1", "wf@1/middle@1").await.unwrap();
        assert_eq!(load(&runner).await.state.get("middle"), Some(&Value::Null));
        let status = runner.status("s1").await.unwrap();
        assert!(matches!(status.progress, RunProgress::Unfinished), "{:?}", status.progress);
        let invocation = status.invocation.unwrap();
        assert_eq!(first.events[0].invocation_id(), &invocation);

        play(runner.resume("ana", "s1", invocation.clone())).await;
        let silent = if resumable { 1 } else { 2 };
        assert_eq!(calls.each_ref().map(|calls| calls.load(Ordering::Relaxed)), [silent, 2, 2], "{resumable}");
        let again = load(&runner).await;
        assert_eq!(again.state["middle"], 1);
        // A second resume finds the invocation done and runs nothing.
        play(runner.resume("ana", "s1", invocation)).await;
        assert_eq!(calls[1].load(Ordering::Relaxed), 2);

        // A fork has the effective events in their order.
        let fork = runner.fork("ana", "s1", again.events.last().unwrap().id().clone(), None).await.unwrap();
        assert_eq!(fork.state["middle"], 1);
        for session in [&key(), fork.key()] {
            // In an app that is not resumable, no event records that a node without a result has ended.
            let progress = runner.status(session).await.unwrap().progress;
            assert_eq!(matches!(progress, RunProgress::Done), resumable, "{progress:?}");
        }

        // The rewind is undone.
        runner.rewind("ana", "s1", event.invocation_id().clone()).await.unwrap();
        let restored = load(&runner).await;
        assert_eq!(restored.state["middle"], 0);
        let live: Vec<_> = effective_events(&restored.events).into_iter().cloned().collect();
        assert_eq!(live, first.events);

        let unknown = runner.rewind_before("s1", "wf@1/none@1").await.unwrap_err();
        assert_eq!(
            unknown.to_string(),
            "session t/ana/s1 has no run at the path 'wf@1/none@1': take the path from one of its stored events"
        );
        assert_eq!(load(&runner).await.events.len(), restored.events.len());
    }
}

/// The questions of undone node runs are closed and asked again. On databases the inbox follows.
async fn r1141_a_rewind_before_a_run_closes_its_questions(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let calls = <[Arc<AtomicU32>; 3]>::default();
    let runner = place.builder().await.root(counted(&calls, true)).resumable(true).build().unwrap();
    play(runner.run("ana", "s1", "go")).await;
    let open = async || runner.inbox("ana").await.unwrap().len();
    assert_eq!(open().await, 1);
    runner.rewind_before("s1", "wf@1/last@1").await.unwrap();
    assert_eq!(open().await, 0);
    assert!(runner.answer("s1", "q", 7).unwrap().next().await.unwrap().is_err());
    let invocation = runner.status("s1").await.unwrap().invocation.unwrap();
    play(runner.resume("ana", "s1", invocation)).await;
    assert_eq!(open().await, 1);
    play(runner.answer("s1", "q", 7).unwrap()).await;
    assert!(matches!(runner.status("s1").await.unwrap().progress, RunProgress::Done));
    assert_eq!(calls.each_ref().map(|calls| calls.load(Ordering::Relaxed)), [1, 1, 3]);
}

/// The end of a parallel node run may be recorded on an event that the rewind undoes.
async fn r1141_a_rewind_before_a_run_keeps_the_ends_of_others(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let calls = <[Arc<AtomicU32>; 2]>::default();
    let mut wf = Workflow::builder("wf");
    for (name, calls) in ["a", "b"].into_iter().zip(&calls) {
        let calls = Arc::clone(calls);
        let node = wf.node(name, move || {
            calls.fetch_add(1, Ordering::Relaxed);
            std::future::ready(())
        });
        wf.edge(START, node);
    }
    let runner = place.builder().await.root(wf.build().unwrap()).resumable(true).build().unwrap();
    play(runner.run("ana", "s1", "go")).await;
    let invocation = load(&runner).await.events[0].invocation_id().clone();
    runner.rewind_before("s1", "wf@1/b@1").await.unwrap();
    play(runner.resume("ana", "s1", invocation)).await;
    assert_eq!(calls.each_ref().map(|calls| calls.load(Ordering::Relaxed)), [1, 2]);
}

on_backends! {
    #[tokio::test]
    r1141_a_rewind_before_a_run_keeps_the_earlier_events,
    r1141_a_rewind_before_a_run_closes_its_questions,
    r1141_a_rewind_before_a_run_keeps_the_ends_of_others,
}
