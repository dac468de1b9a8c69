//! Writes of state: operations on stored values, the order of writes of several runs, and values that cannot be written.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use pleach::prelude::*;
use pleach::{
    CreateSession, InMemorySessionService, Key, Map, Node, RetryConfig, RunOptions, Schema, SessionService, StateOp,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::{Barrier, Notify};

use crate::support::{key, runner, stored, trace};

const HITS: Key<u32> = Key::new("app:hits");

async fn state_of(sessions: &InMemorySessionService) -> Map {
    sessions.get_session(&key(), Default::default()).await.unwrap().unwrap().state
}

fn object(value: Value) -> Map {
    value.as_object().unwrap().clone()
}

/// A Runner over a node, with a session that starts with this state.
async fn started(node: impl Node, state: Value) -> (Runner, Arc<InMemorySessionService>) {
    let (runner, sessions) = runner(node);
    let create = CreateSession::new("t", "ana").with_session_id("s1").with_state(object(state));
    sessions.create_session(create).await.unwrap();
    (runner, sessions)
}

#[tokio::test]
async fn ten_runs_that_add_at_the_same_time_count_ten() {
    let all = Arc::new(Barrier::new(10));
    let node = FunctionNode::new("node", move |ctx: Context| {
        let all = Arc::clone(&all);
        async move {
            HITS.add(&ctx, 1)?;
            let seen = HITS.get(&ctx)?.unwrap_or_default();
            all.wait().await;
            Ok::<_, NodeError>(seen)
        }
    });
    let (runner, sessions) = runner(node);
    let runs = (0..10).map(|number| tokio::spawn(runner.run("ana", format!("s{number}"), "go").output::<u32>()));
    for run in runs.collect::<Vec<_>>() {
        assert_eq!(run.await.unwrap().unwrap(), 1);
    }
    assert_eq!(sessions.app_state(&"t".into()).await.unwrap(), object(json!({"hits": 10})));
    let mut results = Vec::new();
    for number in 0..10 {
        let key = pleach::SessionKey::new("t", "ana", format!("s{number}"));
        let session = sessions.get_session(&key, Default::default()).await.unwrap().unwrap();
        results
            .extend(session.events.iter().filter_map(|event| event.actions().state_delta().get("app:hits")?.as_u64()));
    }
    results.sort_unstable();
    assert_eq!(results, (1..=10).collect::<Vec<_>>());
}

/// The writes apply in their order, and the event has plain values.
#[tokio::test]
async fn sets_and_operations_of_one_delta_apply_in_their_order() {
    let node = FunctionNode::new("node", async |ctx: Context| {
        let state = ctx.state();
        state.set("set_add", 5)?;
        state.add("set_add", 2)?;
        state.add("add_set", 2)?;
        state.set("add_set", 5)?;
        state.add("add_add", 1)?;
        state.add("add_add", -4)?;
        state.max("user:best", 3)?;
        state.min("user:best", 9)?;
        state.push("user:log", "b")?;
        state.push("user:log", "c")?;
        state.union("tags", ["y", "x"])?;
        state.set_if_absent("tags", 1)?;
        state.set_if_absent("first", 1)?;
        state.add("temp:t", 1)?;
        state.add("temp:t", 1)?;
        assert_eq!(state.value("temp:t"), Some(json!(2)));
        assert_eq!(ctx.actions().state_delta()["add_add"], 7);
        Ok::<_, NodeError>(state.value("user:log"))
    });
    let (runner, sessions) = started(node, json!({"add_add": 10, "user:log": ["a"], "tags": ["x"]})).await;
    runner.run("ana", "s1", "go").output::<Value>().await.unwrap();
    let expected = object(json!({
        "set_add": 7, "add_set": 5, "add_add": 7, "user:best": 3, "user:log": ["a", "b", "c"], "tags": ["x", "y"],
        "first": 1,
    }));
    assert_eq!(state_of(&sessions).await, expected);
    let session = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    assert_eq!(*session.events[1].actions().state_delta(), expected);
}

/// If an attempt fails and is tried again, its addition is applied only once. Values that the failed attempt has set
/// stay, as in google-adk.
#[tokio::test]
async fn a_failed_attempt_adds_nothing() {
    let tries = AtomicU32::new(0);
    let node = FunctionNode::new("node", move |ctx: Context| {
        let last = tries.fetch_add(1, Ordering::Relaxed) == 2;
        async move {
            ctx.state().add("n", 1)?;
            ctx.state().set("set", 1)?;
            ctx.state().push("list", "item")?;
            assert_eq!(ctx.state().value("n"), Some(json!(11)));
            if last { Ok("done") } else { Err(NodeError::new("Flaky", "again")) }
        }
    });
    let (runner, sessions) = started(node.retry(RetryConfig::attempts(3)), json!({"n": 10})).await;
    runner.run("ana", "s1", "go").output::<Value>().await.unwrap();
    assert_eq!(state_of(&sessions).await, object(json!({"n": 11, "set": 1, "list": ["item"]})));
}

/// If the node can notice a fault, the node fails. If only the store can notice it, the run fails and nothing is
/// stored.
#[tokio::test]
async fn an_operation_that_does_not_fit_names_its_key() {
    let node = FunctionNode::new("node", async |ctx: Context| {
        let state = ctx.state();
        let texts = [
            state.add("text", 1).unwrap_err(),
            state.add("n", "1").unwrap_err(),
            state.push("n", 1).unwrap_err(),
            state.add("n", u64::MAX).unwrap_err(),
            Key::<u8>::new("small").add(&ctx, 1).unwrap_err(),
        ];
        let texts: Vec<_> = texts.iter().map(|error| error.message().to_owned()).collect();
        assert!(!state.has_delta());
        Ok::<_, NodeError>(texts.join("\n"))
    });
    let (runner, sessions) = started(node, json!({"text": "secret", "n": 1, "small": 255})).await;
    let texts = runner.run("ana", "s1", "go").output::<String>().await.unwrap();
    assert!(!texts.contains("secret"), "{texts}");
    let keys = ["'text'", "'n'", "'n'", "'n'", "'small'"];
    assert!(texts.lines().zip(keys).all(|(text, key)| text.contains(key)), "{texts}");
    assert_eq!(state_of(&sessions).await, object(json!({"text": "secret", "n": 1, "small": 255})));
}

#[tokio::test]
async fn an_event_brings_operations_of_its_own() {
    let node = FunctionNode::new("node", async |ctx: Context| {
        ctx.emit(Event::message("one").with_state_op("n", StateOp::Add(1.into()))).await?;
        ctx.with_actions(|actions| actions.add_state_op("n", StateOp::Add(1.into())))?;
        assert_eq!(ctx.state().value("n"), Some(json!(3)));
        let refused = ctx.emit(Event::message("two").with_state_op("n", StateOp::Push(vec![]))).await;
        assert!(refused.is_err());
        Ok::<_, NodeError>(())
    });
    let (runner, sessions) = started(node, json!({"n": 1})).await;
    trace(runner.run("ana", "s1", "go")).await;
    assert_eq!(state_of(&sessions).await, object(json!({"n": 3})));
}

type Write = fn(&Context) -> std::result::Result<(), NodeError>;

/// Two lanes whose older write is stored last, and the value that the older lane sees in the end.
fn lanes(first: Write, second: Write) -> (Workflow, Arc<Mutex<Value>>) {
    let (written, end) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let seen = Arc::new(Mutex::new(Value::Null));
    let mut wf = Workflow::builder("wf");
    let (w, e, s) = (Arc::clone(&written), Arc::clone(&end), Arc::clone(&seen));
    let older = wf.node("older", move |ctx: Context| {
        let (w, e, s) = (Arc::clone(&w), Arc::clone(&e), Arc::clone(&s));
        async move {
            first(&ctx)?;
            w.notify_one();
            e.notified().await;
            *s.lock().unwrap() = json!(ctx.state().value("k"));
            Ok::<_, NodeError>("older")
        }
    });
    let newer = wf.node("newer", move |ctx: Context| {
        let written = Arc::clone(&written);
        async move {
            written.notified().await;
            second(&ctx)?;
            Ok::<_, NodeError>("newer")
        }
    });
    let last = wf.node("last", move || {
        let end = Arc::clone(&end);
        async move { end.notify_one() }
    });
    wf.edge(START, older).edge(START, newer).edge(newer, last);
    (wf.build().unwrap(), seen)
}

/// Plays [`lanes`]. Returns the value that the older lane sees, the stored value and the stored events.
async fn two_lanes(first: Write, second: Write) -> (Value, Value, Vec<String>) {
    let (wf, seen) = lanes(first, second);
    let (runner, sessions) = runner(wf);
    trace(runner.run("ana", "s1", "go")).await;
    let seen = seen.lock().unwrap().clone();
    (seen, json!(state_of(&sessions).await.get("k")), stored(&sessions).await)
}

#[tokio::test]
async fn the_newest_write_wins_whichever_event_is_stored_last() {
    let (seen, kept, log) = two_lanes(|ctx| ctx.state().set("k", "older"), |ctx| ctx.state().set("k", "newer")).await;
    assert_eq!((seen, kept), (json!("newer"), json!("newer")), "{log:?}");
    assert!(log.last().unwrap().contains(r#"state {"k":"newer"}"#), "{log:?}");
}

#[tokio::test]
async fn operations_apply_in_the_order_of_the_writes() {
    async fn check(first: Write, second: Write, expected: Value) {
        let (seen, kept, log) = two_lanes(first, second).await;
        assert_eq!((&seen, &kept), (&expected, &expected), "{log:?}");
    }
    check(|ctx| ctx.state().add("k", 1), |ctx| ctx.state().add("k", 2), json!(3)).await;
    check(|ctx| ctx.state().add("k", 1), |ctx| ctx.state().set("k", 10), json!(10)).await;
    check(|ctx| ctx.state().set("k", 10), |ctx| ctx.state().add("k", 1), json!(11)).await;
    check(|ctx| ctx.state().push("k", 1), |ctx| ctx.state().push("k", 2), json!([2, 1])).await;
    check(|ctx| ctx.state().set("k", 1), |ctx| ctx.state().set("k", Value::Null), json!(null)).await;
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn the_newest_write_wins_in_sqlite() {
    async fn check(first: Write, second: Write, expected: Value) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("s.db");
        let (wf, seen) = lanes(first, second);
        let sessions = pleach::SqliteSessionService::open(&file).await.unwrap();
        let runner = Runner::builder("t").root(wf).sessions(sessions).build().unwrap();
        let log = trace(runner.run("ana", "s1", "go")).await;
        assert_eq!(*seen.lock().unwrap(), expected, "{log:?}");
        let sessions = pleach::SqliteSessionService::open(&file).await.unwrap();
        let session = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
        assert_eq!(json!(session.state.get("k")), expected, "{log:?}");
    }
    check(|ctx| ctx.state().set("k", "older"), |ctx| ctx.state().set("k", "newer"), json!("newer")).await;
    check(|ctx| ctx.state().add("k", 1), |ctx| ctx.state().set("k", 10), json!(10)).await;
    check(|ctx| ctx.state().set("k", 10), |ctx| ctx.state().add("k", 1), json!(11)).await;
    check(|ctx| ctx.state().push("k", 1), |ctx| ctx.state().push("k", 2), json!([2, 1])).await;
}

#[tokio::test]
async fn an_event_that_is_not_stored_yet_does_not_undo_a_newer_write() {
    let node = FunctionNode::new("node", async |ctx: Context| {
        let say = ctx.emit(Event::message("tick").with_state("k", "older").with_state("temp:t", "older"));
        let write = async {
            // The event is being stored now.
            assert_eq!(ctx.state().value("k"), Some(json!("older")));
            ctx.state().set("k", "newer")?;
            ctx.state().set("temp:t", "newer")
        };
        let (said, written) = tokio::join!(say, write);
        said.and(written)?;
        assert_eq!(ctx.state().value("k"), Some(json!("newer")));
        assert_eq!(ctx.state().value("temp:t"), Some(json!("newer")));
        Ok::<_, NodeError>(())
    });
    let (runner, sessions) = runner(node);
    let log = trace(runner.run("ana", "s1", "go")).await;
    assert_eq!(state_of(&sessions).await, object(json!({"k": "newer"})), "{log:?}");
}

#[derive(Serialize)]
struct Measured {
    at: Vec<Option<f64>>,
}

#[tokio::test]
async fn numbers_without_a_json_form_are_refused_and_the_key_is_named() {
    let node = FunctionNode::new("node", async |ctx: Context| {
        let nested = Measured { at: vec![Some(1.0), None, Some(f64::NAN)] };
        let refused = [
            ctx.state().set("ratio", f64::NAN).unwrap_err(),
            ctx.state().set("ratio", nested).unwrap_err(),
            ctx.state().add("ratio", f64::INFINITY).unwrap_err(),
            Key::<Vec<f32>>::new("ratio").push(&ctx, &f32::NAN).unwrap_err(),
        ];
        assert!(refused.iter().all(|error| error.message().contains("'ratio'")), "{refused:?}");
        ctx.state().set("fine", Measured { at: vec![None] })?;
        Ok::<_, NodeError>(Output::of(f64::NAN))
    });
    let (runner, sessions) = runner(node);
    let error = runner.run("ana", "s1", "go").output::<Value>().await.unwrap_err();
    assert!(error.to_string().contains("NaN"), "{error}");
    assert_eq!(state_of(&sessions).await, object(json!({"fine": {"at": [null]}})));
}

#[tokio::test]
async fn writes_after_the_end_of_the_run_are_errors() {
    let kept = Arc::new(Mutex::new(None));
    let keep = Arc::clone(&kept);
    let node = FunctionNode::new("node", move |ctx: Context| {
        *keep.lock().unwrap() = Some(ctx);
        async {}
    });
    let (runner, sessions) = runner(node.rerun_on_resume(true));
    trace(runner.run("ana", "s1", "go")).await;
    let ctx = kept.lock().unwrap().take().unwrap();
    let child = FunctionNode::new("child", async || 1);
    let refused = [
        ctx.run_node(&child, json!(null), RunOptions::default().use_as_output(true)).await.map(drop),
        ctx.state().set("k", 1),
        ctx.state().update(object(json!({"k": 1}))),
        ctx.state().modify("k", |value| *value = json!(1)),
        ctx.state().add("k", 1),
        ctx.state().get_or_set("k", 1).map(drop),
        ctx.set_output(1),
        ctx.with_actions(|actions| actions.set_escalate(Some(true))),
    ];
    for outcome in refused {
        let error = outcome.unwrap_err();
        assert!(error.message().contains("the run node@1 has ended"), "{error:?}");
    }
    assert_eq!(ctx.state().value("k"), None);
    assert!(state_of(&sessions).await.is_empty());
}

#[derive(Debug, Deserialize, PartialEq)]
struct Prefs {
    #[serde(default)]
    n: u32,
    note: Option<String>,
    #[serde(rename = "user:any")]
    any: Value,
}

/// A rewind leaves null, which typed reads treat as absent.
#[tokio::test]
async fn typed_reads_treat_null_as_absent() {
    let node = FunctionNode::new("node", async |ctx: Context, FromState(prefs): FromState<Prefs>| {
        assert_eq!(prefs, Prefs { n: 0, note: None, any: Value::Null });
        let n = Key::<u32>::new("n");
        assert_eq!(n.get(&ctx)?, None);
        assert_eq!(ctx.state().try_get::<Value>("n")?, Some(Value::Null));
        assert_eq!(ctx.state().get::<Option<u32>>("n")?, None);
        assert_eq!(ctx.state().get::<u32>("n").unwrap_err().class(), "KeyError");
        n.update(&ctx, |n| *n += 1)?;
        ctx.state().modify("absent", |_| ())?;
        assert!(!ctx.state().contains("absent"));
        Ok::<_, NodeError>(())
    });
    let (runner, sessions) = started(node, json!({"n": null, "note": null, "user:any": null})).await;
    let log = trace(runner.run("ana", "s1", "go")).await;
    assert_eq!(state_of(&sessions).await, object(json!({"n": 1, "note": null, "user:any": null})), "{log:?}");
}

#[derive(Deserialize, Serialize, schemars::JsonSchema)]
struct Declared {
    n: Option<i64>,
}

#[test]
fn a_schema_of_an_optional_integer_refuses_text() {
    let schema = Schema::of::<Declared>();
    assert!(schema.check_state_entry("n", &json!("text")).is_err());
    for fits in [json!(1), json!(null)] {
        schema.check_state_entry("n", &fits).unwrap();
    }
}

#[tokio::test]
async fn state_is_read_with_its_types_outside_a_run() {
    let sessions = InMemorySessionService::new();
    let state = json!({"n": 3, "note": "secret", "user:any": [1], "app:hits": 7, "null": null});
    let create = CreateSession::new("t", "ana").with_session_id("s1").with_state(object(state));
    let session = sessions.create_session(create).await.unwrap();
    assert_eq!(HITS.of(&session).unwrap(), Some(7));
    assert_eq!(Key::<u32>::new("missing").of(&session).unwrap(), None);
    assert_eq!(Key::<u32>::new("null").of(&session).unwrap(), None);
    let error = Key::<u32>::new("note").of(&session).unwrap_err();
    assert!(error.message().contains("'note'") && !error.message().contains("secret"), "{error}");
    let FromState(prefs) = FromState::<Prefs>::from_session(&session).unwrap();
    assert_eq!(prefs, Prefs { n: 3, note: Some("secret".to_owned()), any: json!([1]) });
    let empty = sessions.create_session(CreateSession::new("other", "ana")).await.unwrap();
    assert!(FromState::<Prefs>::from_session(&empty).unwrap_err().message().contains("user:any"));
}

/// If the operation does not fit a value that another session has stored in the meantime, the run ends. On the resume
/// the node fails.
#[tokio::test]
async fn an_operation_that_does_not_fit_the_value_of_another_session_fails_the_node_on_the_resume() {
    let sessions = Arc::new(InMemorySessionService::new());
    let beside = Arc::clone(&sessions);
    let node = FunctionNode::new("node", move |ctx: Context| {
        let beside = Arc::clone(&beside);
        async move {
            ctx.emit(Event::message("begins")).await?;
            let other = pleach::CreateSession::new("t", "bob").with_state(object(json!({"app:n": "text"})));
            beside.create_session(other).await?;
            ctx.state().add("app:n", 1)?;
            Ok::<_, Fail>(1)
        }
    });
    let runner = Runner::builder("t").root(node).sessions(Arc::clone(&sessions)).build().unwrap();
    let lines = crate::support::trace(runner.run("ana", "s1", "go")).await;
    assert!(lines.last().unwrap().starts_with("! StateOperationError"), "{lines:?}");
    let session = sessions.get_session(&crate::support::key(), Default::default()).await.unwrap().unwrap();
    let invocation = session.events[0].invocation_id().clone();
    let lines = crate::support::trace(runner.resume("ana", "s1", invocation)).await;
    assert!(lines.iter().any(|line| line.starts_with("node@1: ValidationError")), "{lines:?}");
}

/// The read-only view shows the values that the run sees, including pending writes.
#[tokio::test]
async fn a_readonly_context_shows_what_the_run_sees() {
    let node = FunctionNode::new("n", async |ctx: Context| -> Result<()> {
        let view = pleach::ReadonlyContext::new(ctx.clone());
        ctx.state().set("topic", "otters")?;
        assert_eq!(view.state_value("topic"), Some("otters".into()));
        assert_eq!(view.state().len(), 1);
        assert_eq!((view.user_id(), view.invocation_id()), (ctx.user_id(), ctx.invocation_id()));
        assert_eq!(view.user_content().map(|content| content.text()).as_deref(), Some("go"));
        assert_eq!(view.session().events().len(), 1);
        assert!(!view.is_aborted() && view.get_credential("none").is_none() && view.custom_metadata().is_empty());
        assert_eq!(view.run_config().max_llm_calls, ctx.run_config().max_llm_calls);
        Ok(())
    });
    assert!(matches!(runner(node).0.run("ana", "s1", "go").output::<()>().await, Ok(()) | Err(RunError::NoOutput)));
}

/// A rewind sets a key to null if the key did not exist before.
#[tokio::test]
async fn get_or_set_treats_null_as_absent() {
    let node = FunctionNode::new("node", async |ctx: Context| {
        assert_eq!(ctx.state().get_or_set("null", 1)?, json!(1));
        assert_eq!(ctx.state().get_or_set("null", 2)?, json!(1));
        ctx.state().get_or_set("false", true)
    });
    let (runner, sessions) = runner(node);
    let request = pleach::CreateSession::new("t", "ana").with_session_id("s1");
    sessions.create_session(request.with_state(object(json!({"null": null, "false": false})))).await.unwrap();
    assert!(!runner.run("ana", "s1", "go").output::<bool>().await.unwrap());
    assert_eq!(state_of(&sessions).await["null"], json!(1));
}
