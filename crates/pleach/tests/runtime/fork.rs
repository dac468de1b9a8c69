//! Continuing from the middle of a session in a new session.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use pleach::prelude::*;
use pleach::{
    ArtifactScope, ArtifactService, BoxError, BoxFuture, CreateSession, GetSessionConfig, InMemoryArtifactService,
    InMemorySessionService, ListSessions, ListUnfinished, RunProgress, Session, SessionError, SessionHead, SessionKey,
    SessionServiceExt, SystemClock,
};
use serde_json::{Value, json};

use crate::backends::{Backend, on_backends};
use crate::support::{key, rerun, runner, trace};
use crate::world::World;

const HOUR: Duration = Duration::from_secs(3_600);

type Stored<T> = std::result::Result<T, SessionError>;

async fn load(runner: &Runner, id: &str) -> Session {
    let key = SessionKey::new("t", "ana", id);
    runner.sessions().get_session(&key, GetSessionConfig::all()).await.unwrap().unwrap()
}

/// A session with hand-written events. Each has an invocation and a state delta; its id is its position.
async fn written(runner: &Runner, initial: Value, deltas: &[(&str, Value)]) -> Session {
    let create = CreateSession::new("t", "ana").with_session_id("s1").with_state(initial.as_object().unwrap().clone());
    let mut session = runner.sessions().create_session(create.with_create_time(5.0)).await.unwrap();
    for (place, (invocation, delta)) in deltas.iter().enumerate() {
        let mut event = Event::from_author("n").with_state_map(delta.as_object().unwrap().clone());
        event.set_id(place.to_string());
        event.set_invocation_id(*invocation);
        event.set_timestamp(place as f64 + 10.0);
        runner.sessions().append_event(&mut session, event).await.unwrap();
    }
    session
}

/// A workflow that counts its turns, asks and adds the answer.
fn asking(calls: &Arc<AtomicU32>) -> impl pleach::Node + use<> {
    let calls = Arc::clone(calls);
    let mut wf = Workflow::builder("wf");
    let count = wf.node("count", move || {
        let calls = Arc::clone(&calls);
        async move { calls.fetch_add(1, Ordering::Relaxed) }
    });
    let ask = wf.node("ask", async || RequestInput::<String>::ask("q", "Well?"));
    let done = wf.node("done", async |Input(answer): Input<String>| answer);
    wf.edge(START, count).edge(count, ask.dynamic()).edge(ask, done);
    wf.build_to(done).unwrap()
}

/// The events of a fork of `s1` without the notes that name the source.
fn originals(fork: &Session) -> Vec<Arc<Event>> {
    let original = |event: &Arc<Event>| {
        let mut event = Event::clone(event);
        let mut notes = event.custom_metadata().unwrap().clone();
        assert_eq!(notes.remove("pleach_forked_from").unwrap(), "s1");
        event.set_custom_metadata(Some(notes).filter(|notes| !notes.is_empty()));
        Arc::new(event)
    };
    fork.events.iter().map(original).collect()
}

async fn an_invocation_continues_in_the_fork_and_the_source_is_unchanged(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let calls = Arc::default();
    let runner = place.builder().await.root(asking(&calls)).build().unwrap();
    trace(runner.run("ana", "s1", "go")).await;
    trace(runner.answer(("ana", "s1"), "q", "old").unwrap()).await;
    let source = load(&runner, "s1").await;
    let asked = source.events.iter().find(|event| !event.questions().is_empty()).unwrap();
    let fork = runner.fork("ana", "s1", asked.id(), Some("s2".into())).await.unwrap();
    let stored = load(&runner, "s2").await;
    assert_eq!((&fork.events, &fork.state), (&stored.events, &stored.state));
    assert_eq!(originals(&stored), source.events[..3]);
    assert_eq!(runner.questions(("ana", "s2")).await.unwrap().len(), 1);
    assert_eq!(trace(runner.answer(("ana", "s2"), "q", "new").unwrap()).await, ["wf@1/done@1: \"new\""]);
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    // The fork ends right after the first node, and a resume continues from there.
    let counted = source.events[1].id();
    runner.fork("ana", "s1", counted, Some("s3".into())).await.unwrap();
    let resumed = runner.resume("ana", "s3", source.events[0].invocation_id());
    assert_eq!(trace(resumed).await, ["wf@1/ask@1: asks q"]);
    assert_eq!((calls.load(Ordering::Relaxed), load(&runner, "s1").await), (1, source));
}

async fn r1141_state_is_that_after_the_event_and_shared_state_stays(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let runner = place.builder().await.root(asking(&Arc::default())).build().unwrap();
    let initial = json!({"init": 1, "later": 1, "app:a": 1, "user:u": 1});
    let deltas = [
        ("i1", json!({"k": 1, "user:u": 2})),
        ("i1", json!({"k": 2, "gone": null})),
        ("i2", json!({"k": 3, "added": [1], "app:a": 2})),
        ("i3", json!({"later": 2, "last": 3})),
    ];
    written(&runner, initial, &deltas).await;
    let rewound = runner.rewind("ana", "s1", "i2").await.unwrap();
    let shared = |mut state: Value| {
        let shared = json!({"app:a": 2, "user:u": 2}).as_object().unwrap().clone();
        state.as_object_mut().unwrap().extend(shared);
        state
    };
    // The rewind is an event that sets `init` to null. In forks from before the rewind, the key does not exist.
    for (at, ids, state) in [
        ("0", vec!["0"], json!({"k": 1})),
        ("1", vec!["0", "1"], json!({"k": 2, "gone": null})),
        // The rewind has undone this event, but it can still be forked.
        ("2", vec!["0", "1", "2"], json!({"k": 3, "gone": null, "added": [1]})),
        ("3", vec!["0", "1", "2", "3"], json!({"k": 3, "gone": null, "added": [1], "later": 2, "last": 3})),
        (
            &rewound.id().to_string(),
            vec!["0", "1"],
            json!({"k": 2, "gone": null, "added": null, "later": null, "last": null, "init": null}),
        ),
    ] {
        let fork = runner.fork("ana", "s1", at, None).await.unwrap();
        let found: Vec<String> = fork.events.iter().map(|event| event.id().to_string()).collect();
        assert_eq!(
            (ids, Value::from(fork.state.clone())),
            (found.iter().map(String::as_str).collect(), shared(state)),
            "{at}"
        );
        assert_eq!(load(&runner, fork.id().as_str()).await.state, fork.state);
        assert!(fork.events.iter().all(|event| !event.actions().state_delta().keys().any(|key| key.contains(':'))));
        assert_eq!(fork.last_update_time(), fork.events.last().unwrap().timestamp());
    }
}

async fn keys_that_no_event_has_changed_keep_their_values(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let runner = place.builder().await.root(asking(&Arc::default())).build().unwrap();
    let deltas = [("i1", json!({"k": 1})), ("i2", json!({"k": 2, "later": 2}))];
    written(&runner, json!({"init": 1, "later": 1}), &deltas).await;
    let fork = runner.fork("ana", "s1", "0", None).await.unwrap();
    assert_eq!(Value::from(fork.state), json!({"init": 1, "k": 1}));
    // A rewind in the fork uses the events of the fork.
    let back = runner.rewind("ana", fork.head.key().session_id.clone(), "i1").await.unwrap();
    assert_eq!(Value::from(back.actions().state_delta().clone()), json!({"init": null, "k": null}));
}

async fn files_are_copied_up_to_the_versions_of_the_copied_events(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let files = Arc::new(InMemoryArtifactService::with_clock(Arc::new(SystemClock)));
    let save = FunctionNode::new("save", async |ctx: Context| -> Result<i64, NodeError> {
        let turn = ctx.invocation().user_content().map(|content| content.text()).unwrap_or_default();
        for name in ["own", "user:shared"] {
            ctx.save_artifact(name, Part::text(turn.as_str())).await?;
        }
        Ok(1)
    });
    let runner = place.builder().await.root(save).artifacts(Arc::clone(&files)).build().unwrap();
    for turn in ["one", "two", "three"] {
        runner.run("ana", "s1", turn).output::<i64>().await.unwrap();
    }
    // An earlier session with the new id has left a file of this name.
    let scope = ArtifactScope::session(&SessionKey::new("t", "ana", "s2"));
    files.save_artifact(pleach::SaveArtifact::new(scope.artifact("own"), Part::text("left"))).await.unwrap();
    let source = load(&runner, "s1").await;
    let fork = runner.fork("ana", "s1", source.events[3].id(), Some("s2".into())).await.unwrap();
    let saved = |session: &Session| -> Vec<Value> {
        session.events.iter().map(|event| json!(event.actions().artifact_delta())).collect()
    };
    let (one, two) = (json!({"own": 1, "user:shared": 0}), json!({"own": 2, "user:shared": 1}));
    assert_eq!(saved(&fork), [json!({}), one, json!({}), two]);
    let mut texts = Vec::new();
    for version in [Some(0), Some(1), None] {
        texts.push(
            files.load_artifact(&scope.artifact("own"), version).await.unwrap().unwrap().text.unwrap().to_string(),
        );
    }
    assert_eq!(texts, ["left", "one", "two"]);
    let plain = runner.fork("ana", "s1", source.events[3].id(), None).await.unwrap();
    assert_eq!(saved(&plain), saved(&source)[..4]);
}

async fn missing_sources_and_taken_ids_are_named(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let runner = place.builder().await.root(asking(&Arc::default())).build().unwrap();
    let error = async |session: &str, at: &str, new: &str| {
        let error = runner.fork("ana", session, at, Some(new.into())).await.unwrap_err();
        format!("{}: {error}", error.code())
    };
    assert_eq!(
        error("s1", "0", "s2").await,
        "SessionNotFoundError: session not found: t/ana/s1; create it first, or check the app, user and session ids"
    );
    let source = written(&runner, json!({}), &[("i1", json!({}))]).await;
    assert_eq!(
        error("s1", "7", "s2").await,
        "EventNotFoundError: session t/ana/s1 has no event '7': take the id from one of its stored events"
    );
    assert_eq!(
        error("s1", "", "s2").await,
        "EventNotFoundError: session t/ana/s1 has no event '': take the id from one of its stored events"
    );
    assert_eq!(
        error("s1", "0", " ").await,
        "ValueError: the session id must not be blank: use at least one visible character"
    );
    let taken = runner.fork("ana", "s1", "0", Some("s1".into())).await.unwrap_err();
    assert!(matches!(&taken, RunError::Session(SessionError::AlreadyExists(taken)) if *taken == key()), "{taken:?}");
    assert_eq!(runner.sessions().list_sessions(ListSessions::new("t")).await.unwrap().sessions.len(), 1);
    assert_eq!(load(&runner, "s1").await.events, source.events);
}

/// Sessions in memory. Appends to the session `s2` yield to the executor once and fail after a number of them.
#[derive(Debug)]
struct Shaky {
    inner: InMemorySessionService,
    left: AtomicUsize,
}

impl SessionService for Shaky {
    pleach::forward_session_service!(|this| this.inner; create_session, get_session, events_since, list_sessions,
        find_sessions, delete_session, claim, user_state);

    fn append<'a>(&'a self, head: &'a mut SessionHead, event: Arc<Event>) -> BoxFuture<'a, Stored<Arc<Event>>> {
        Box::pin(async move {
            if head.key().session_id == "s2" {
                tokio::task::yield_now().await;
                let left = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
                left.map_err(|_| SessionError::Storage { backend: "shaky", source: BoxError::from("gone") })?;
            }
            self.inner.append(head, event).await
        })
    }
}

async fn shaky(appends: usize) -> (Runner, Arc<Shaky>, Arc<InMemoryArtifactService>) {
    let sessions = Arc::new(Shaky { inner: InMemorySessionService::new(), left: AtomicUsize::new(appends) });
    let files = Arc::new(InMemoryArtifactService::with_clock(Arc::new(SystemClock)));
    let node = FunctionNode::new("save", async |ctx: Context| -> Result<i64, NodeError> {
        ctx.save_artifact("own", Part::text("x")).await
    });
    let runner = Runner::builder("t").root(node).sessions(Arc::clone(&sessions)).artifacts(Arc::clone(&files));
    let runner = runner.build().unwrap();
    for _ in 0..2 {
        runner.run("ana", "s1", "go").output::<i64>().await.unwrap();
    }
    (runner, sessions, files)
}

#[tokio::test]
async fn a_fork_that_fails_midway_leaves_nothing() {
    let (runner, sessions, files) = shaky(2).await;
    let last = load(&runner, "s1").await.events[3].id().clone();
    let error = runner.fork("ana", "s1", &last, Some("s2".into())).await.unwrap_err();
    assert_eq!((error.code(), sessions.left.load(Ordering::Relaxed)), ("StorageError", 0));
    assert_eq!(runner.sessions().list_sessions(ListSessions::new("t")).await.unwrap().sessions.len(), 1);
    let scope = ArtifactScope::session(&SessionKey::new("t", "ana", "s2"));
    assert_eq!(files.list_artifact_keys(&scope).await.unwrap(), [] as [&str; 0]);
    sessions.left.store(9, Ordering::Relaxed);
    assert_eq!(runner.fork("ana", "s1", &last, Some("s2".into())).await.unwrap().events.len(), 4);
}

#[tokio::test]
async fn a_fork_whose_future_is_dropped_is_made_as_a_whole() {
    let (runner, sessions, _) = shaky(9).await;
    let last = load(&runner, "s1").await.events[3].id().clone();
    {
        let mut fork = std::pin::pin!(runner.fork("ana", "s1", &last, Some("s2".into())));
        assert!(futures::poll!(&mut fork).is_pending());
        while sessions.left.load(Ordering::Relaxed) == 9 {
            tokio::task::yield_now().await;
        }
    }
    while sessions.left.load(Ordering::Relaxed) > 5 {
        tokio::task::yield_now().await;
    }
    let ids = async |session| -> Vec<String> {
        load(&runner, session).await.events.iter().map(|event| event.id().to_string()).collect()
    };
    assert_eq!(ids("s2").await, ids("s1").await);
}

/// The copy is a task of a runtime that ends before the task begins.
#[tokio::test]
async fn a_fork_that_its_runtime_cuts_off_is_named() {
    let (runner, _) = runner(asking(&Arc::default()));
    written(&runner, json!({}), &[("i1", json!({"k": 1}))]).await;
    let other = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut fork = Box::pin(runner.fork("ana", "s1", "0", Some("s2".into())));
    let begun = std::future::poll_fn(|cx| {
        let _entered = other.enter();
        std::task::Poll::Ready(fork.as_mut().poll(cx).is_pending())
    });
    assert!(begun.await);
    other.shutdown_background();
    let error = fork.await.unwrap_err();
    assert!(matches!(&error, RunError::ForkCut { session } if session.session_id.as_str() == "s2"), "{error}");
    assert!(error.to_string().contains("fork again"), "{error}");
}

/// A workflow that counts the calls of its node `silent`, which has no output.
fn counting(calls: &Arc<AtomicU32>) -> Workflow {
    let calls = Arc::clone(calls);
    let mut wf = Workflow::builder("wf");
    let first = wf.node("first", async || 20);
    let silent = wf.node("silent", move |_: Input<i64>| {
        calls.fetch_add(1, Ordering::Relaxed);
        async {}
    });
    let factor = wf.node("factor", async || 2);
    let double = wf.node("double", async |Input(factor): Input<i64>| 21 * factor);
    wf.edge(START, first).edge(first, silent).edge(silent.dynamic(), factor).edge(factor, double);
    wf.build().unwrap()
}

/// The first event of `loud` records the end of `quiet`. A rewind to before `loud` undoes that event, so the rewind
/// must record the end, and a fork must copy it.
async fn r1141_ends_that_a_rewind_records_are_copied(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let calls = <[Arc<AtomicU32>; 2]>::default();
    let [quiet, loud] = calls.clone();
    let quiet = FunctionNode::new("quiet", move |ctx: Context| {
        quiet.fetch_add(1, Ordering::Relaxed);
        async move { ctx.emit(Event::message("working")).await }
    });
    let loud = FunctionNode::new("loud", move || {
        loud.fetch_add(1, Ordering::Relaxed);
        async { 1 }
    });
    let parent = FunctionNode::new("parent", move |ctx: Context| {
        let (quiet, loud) = (quiet.clone(), loud.clone());
        async move {
            ctx.run(&quiet, ()).await?;
            ctx.run(&loud, ()).await
        }
    });
    let runner = place.builder().await.root(parent.rerun_on_resume(true)).resumable(true).build().unwrap();
    trace(runner.run("ana", "s1", "go")).await;
    let rewind = runner.rewind_before("s1", "parent@1/loud@1").await.unwrap();
    runner.fork("ana", "s1", rewind.id(), Some("s2".into())).await.unwrap();
    let invocation = load(&runner, "s2").await.events[0].invocation_id().clone();
    for (session, expected) in [("s1", [1, 2]), ("s2", [1, 3])] {
        trace(runner.resume("ana", session, invocation.clone())).await;
        assert_eq!(calls.each_ref().map(|calls| calls.load(Ordering::Relaxed)), expected, "{session}");
    }
}

/// One event records the ends of two runs, which have no events. A rewind to before one of these runs must record the
/// end of the other.
async fn r1141_a_run_that_only_a_rewind_records_can_be_taken_back(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let runner = place.builder().await.root(counting(&Arc::default())).resumable(true).build().unwrap();
    let mut session = written(&runner, json!({}), &[("i", json!({})), ("i", json!({})), ("i", json!({}))]).await;
    let mut both = Event::from_author("wf");
    both.set_invocation_id("i");
    both.set_custom_metadata(json!({"pleach_completed_runs": ["wf@1/a@1", "wf@1/b@1"]}).as_object().cloned());
    let both = runner.sessions().append_event(&mut session, both).await.unwrap();
    let completed = |event: &Event| event.custom_metadata().unwrap().get("pleach_completed_runs").cloned();
    let first = runner.rewind_before("s1", "wf@1/b@1").await.unwrap();
    assert_eq!(completed(&first), Some(json!(["wf@1/a@1"])));
    let second = runner.rewind_before("s1", "wf@1/a@1").await.unwrap();
    assert_eq!(completed(&second), None);
    // Events that the first rewind has undone stay undone.
    let undone = second.custom_metadata().unwrap()["pleach_rewind_before_event"].clone();
    assert_eq!(undone, json!(both.id().to_string()));
    let again = runner.fork("ana", "s1", second.id(), Some("s2".into())).await.unwrap();
    assert_eq!(again.events.len(), 3);
}

async fn a_run_is_run_again_in_a_copy(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let calls = Arc::default();
    let runner = place.builder().await.root(counting(&calls)).resumable(true).build().unwrap();
    trace(runner.run("ana", "s1", "go")).await;
    let before = load(&runner, "s1").await;
    // The outputs without checkpoints and echoes.
    let outputs = async |run: pleach::Run| -> Vec<String> {
        trace(run).await.into_iter().filter(|line| line.starts_with("wf@1/") && !line.contains("first")).collect()
    };
    // `silent` has completed, although only the first event of `factor` records it.
    let (copy, run) = runner.rerun_from("s1", "wf@1/factor@1", Some("s2".into())).await.unwrap();
    assert_eq!(copy.session_id.as_str(), "s2");
    assert_eq!(outputs(run).await, ["wf@1/factor@1: 2", "wf@1/double@1: 42"]);
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    // `silent` has no event of its own.
    let (_, run) = runner.rerun_from("s1", "wf@1/silent@1", Some("s3".into())).await.unwrap();
    assert_eq!(outputs(run).await, ["wf@1/factor@1: 2", "wf@1/double@1: 42"]);
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    // A fork before the root's run has no event of the root's nodes.
    let fork = runner.fork_before("s1", "wf@1", Some("s4".into())).await.unwrap();
    assert!(originals(&fork)[0] == before.events[0] && fork.events.iter().all(|event| event.path().is_root()));
    assert_eq!(load(&runner, "s1").await, before);
    for path in ["wf@1/none@1", ""] {
        let unknown = runner.fork_before("s1", path, None).await.unwrap_err();
        assert!(matches!(unknown, RunError::UnknownRun { .. }), "{unknown}");
    }
    // The same run again in the source session.
    runner.rewind_before("s1", "wf@1/factor@1").await.unwrap();
    let again = runner.resume("ana", "s1", before.events[0].invocation_id().clone());
    assert_eq!(outputs(again).await, ["wf@1/factor@1: 2", "wf@1/double@1: 42"]);
    assert_eq!(calls.load(Ordering::Relaxed), 2);
}

/// A copy does nothing until it is continued.
#[tokio::test(start_paused = true)]
async fn a_fork_rests_until_it_is_continued() {
    let effects = Arc::new(AtomicU32::new(0));
    let world = World::new();
    let root = || {
        let effects = Arc::clone(&effects);
        rerun("wait", move |ctx: Context| {
            let effects = Arc::clone(&effects);
            async move {
                ctx.step("begin", async || Ok(())).await?;
                let answer: Option<bool> = ctx.ask_within("q", "Well?", HOUR).await?;
                effects.fetch_add(1, Ordering::Relaxed);
                Ok(answer.is_some())
            }
        })
    };
    let runner = world.process(root());
    runner.start_timers();
    trace(runner.run("ana", "s1", "go")).await;
    let source = load(&runner, "s1").await;
    let invocation = source.events[0].invocation_id().clone();
    let (begun, asked) = (source.events[1].id().clone(), source.events.last().unwrap().id().clone());
    for (at, session) in [(&asked, "asked"), (&asked, "answered"), (&begun, "cut"), (&begun, "resumed")] {
        runner.fork("ana", "s1", at.clone(), Some(session.into())).await.unwrap();
    }
    let status = async |session: &str| runner.status(("ana", session)).await.unwrap();
    assert_eq!(status("asked").await.forked_from, Some("s1".into()));
    assert_eq!(status("s1").await.forked_from, None);
    assert!(status("cut").await.progress.can_resume());
    assert!(runner.unfinished(ListUnfinished::new()).await.unwrap().items.is_empty());

    // The deadline of the source fires. The deadlines of its copies do not, however often the inbox is read.
    tokio::time::sleep(2 * HOUR).await;
    assert_eq!(effects.load(Ordering::Relaxed), 1);
    assert!(matches!(status("s1").await.progress, RunProgress::Done));
    assert!(matches!(status("asked").await.progress, RunProgress::Waiting));

    // A copy that was continued is a session like any other.
    runner.answer(("ana", "answered"), "q", true).unwrap().output::<bool>().await.unwrap();
    trace(runner.resume("ana", "resumed", invocation)).await;
    assert_eq!((status("resumed").await.forked_from, effects.load(Ordering::Relaxed)), (None, 2));
    tokio::time::sleep(2 * HOUR).await;
    assert_eq!(effects.load(Ordering::Relaxed), 3, "the deadline of the resumed copy has fired");
    assert!(matches!(status("asked").await.progress, RunProgress::Waiting));
}

/// A resume continues the copy, even if it is killed before its node has stored anything.
#[tokio::test]
async fn a_fork_that_was_resumed_rests_no_more() {
    let world = World::new();
    let root = || rerun("hang", async |_: Context| -> Result<()> { std::future::pending().await });
    let runner = world.process(root());
    let mut run = runner.run("ana", "s1", "go").detach();
    run.invocation_id().await.unwrap();
    run.cut();
    (&mut run).await.ok();
    let source = load(&runner, "s1").await;
    let (at, invocation) = (source.events[0].id().clone(), source.events[0].invocation_id().clone());
    runner.fork("ana", "s1", at, Some("s2".into())).await.unwrap();
    assert_eq!(runner.unfinished(ListUnfinished::new()).await.unwrap().items.len(), 1, "the source");
    let resumed = runner.resume("ana", "s2", invocation).detach();
    resumed.invocation_id().await.unwrap();
    resumed.cut();
    resumed.await.ok();
    let copy = load(&runner, "s2").await;
    assert_eq!(
        (copy.events.len(), &copy.events[1].custom_metadata().unwrap()["pleach_fork_continued"]),
        (2, &json!(true))
    );
    let unfinished = runner.unfinished(ListUnfinished::new()).await.unwrap().items;
    assert_eq!(unfinished.len(), 2, "{unfinished:?}");
}

/// If a copy was resumed and waits again, its deadline fires. If a copy was only redacted, its deadline does not fire.
#[tokio::test(start_paused = true)]
async fn a_resume_ends_the_rest_of_a_fork_that_waits_and_a_redaction_does_not() {
    let world = World::new();
    let root = || rerun("wait", async |ctx: Context| Ok(ctx.ask_within::<bool>("q", "Well?", HOUR).await?.is_some()));
    let runner = world.process(root());
    runner.start_timers();
    trace(runner.run("ana", "s1", "go")).await;
    let source = load(&runner, "s1").await;
    let (at, invocation) = (source.events.last().unwrap().id().clone(), source.events[0].invocation_id().clone());
    for session in ["resumed", "redacted"] {
        runner.fork("ana", "s1", at.clone(), Some(session.into())).await.unwrap();
    }
    trace(runner.resume("ana", "resumed", invocation)).await;
    let removed = pleach::Redaction::new(["/content"], "a request");
    runner.redact(("ana", "redacted"), source.events[0].id().clone(), removed).await.unwrap();
    tokio::time::sleep(2 * HOUR).await;
    let status = async |session: &str| runner.status(("ana", session)).await.unwrap();
    assert!(matches!(status("resumed").await.progress, RunProgress::Done));
    let redacted = status("redacted").await;
    assert!(matches!(redacted.progress, RunProgress::Waiting), "{redacted:?}");
    assert_eq!(redacted.forked_from, Some("s1".into()));
}

/// In a copy, a late answer does not replace the answer of the deadline, and the node does not run again.
#[tokio::test(start_paused = true)]
async fn the_answer_of_a_deadline_is_final_in_a_fork_as_well() {
    let world = World::new();
    let runs = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&runs);
    let runner = world.process(rerun("wait", move |ctx: Context| {
        let runs = Arc::clone(&counted);
        async move {
            let _ = ctx.ask_within::<bool>("q", "Well?", HOUR).await?;
            runs.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
    }));
    runner.start_timers();
    trace(runner.run("ana", "s1", "go")).await;
    tokio::time::sleep(2 * HOUR).await;
    let source = load(&runner, "s1").await;
    let last = source.events.last().unwrap();
    assert_eq!(last.custom_metadata().unwrap()["pleach_by_deadline"], json!(true));
    runner.fork("ana", "s1", last.id().clone(), Some("s2".into())).await.unwrap();
    runner.fork("ana", "s2", last.id().clone(), Some("s3".into())).await.unwrap();
    for session in ["s1", "s2", "s3"] {
        let late = runner.answer(("ana", session), "q", true).unwrap().detach().await.unwrap_err();
        assert!(matches!(late, pleach::RunError::AlreadyAnswered { .. }), "{session}: {late}");
    }
    assert_eq!(runs.load(Ordering::Relaxed), 1);
}

/// The copy of a session with a run in progress is not treated as running, so it accepts signals.
#[tokio::test(start_paused = true)]
async fn a_fork_of_a_session_at_work_rests_and_takes_signals() {
    let world = World::new();
    let root = rerun("work", async |ctx: Context| {
        ctx.step("begin", async || Ok(())).await?;
        ctx.step("slow", async || {
            tokio::time::sleep(HOUR).await;
            Ok(())
        })
        .await?;
        Ok(ctx.wait_for_signal::<u32>("parcel").await?)
    });
    let runner = world.builder().root(root).heartbeat(Duration::from_secs(20)).build().unwrap();
    let mut run = runner.run("ana", "s1", "go");
    run.next().await.unwrap().unwrap();
    let run = run.detach();
    let at = load(&runner, "s1").await.events.last().unwrap().id().clone();
    runner.fork("ana", "s1", at, Some("s2".into())).await.unwrap();
    let status = runner.status(("ana", "s2")).await.unwrap();
    assert!(matches!(status.progress, RunProgress::Unfinished), "{status:?}");
    assert!(matches!(runner.signal(("ana", "s2"), "parcel", 7).await.unwrap(), pleach::SignalOutcome::Kept));
    let resumed = runner.resume("ana", "s2", status.invocation.unwrap());
    assert_eq!(resumed.output::<u32>().await.unwrap(), 7);
    run.cut();
}

on_backends! {
    #[tokio::test]
    an_invocation_continues_in_the_fork_and_the_source_is_unchanged,
    r1141_state_is_that_after_the_event_and_shared_state_stays,
    keys_that_no_event_has_changed_keep_their_values,
    files_are_copied_up_to_the_versions_of_the_copied_events,
    missing_sources_and_taken_ids_are_named,
    r1141_ends_that_a_rewind_records_are_copied,
    r1141_a_run_that_only_a_rewind_records_can_be_taken_back,
    a_run_is_run_again_in_a_copy,
}
