//! The life of an invocation: order of storing and yielding, plugins, state, abort, concurrent writers.

use std::sync::{Arc, Mutex};

use pleach::prelude::*;
use pleach::{AbortSignal, BoxError, Hook, InMemorySessionService, InvocationContext, Plugin, RunRequest};
use serde_json::{Value, json};

use crate::support::{key, runner, stored, trace};

#[tokio::test]
async fn e217_an_event_is_stored_before_it_is_handed_out_and_the_next_node_waits_for_the_caller() {
    let ran = Arc::new(Mutex::new(Vec::new()));
    let mut wf = Workflow::builder("wf");
    let names = ["a", "b", "c"];
    let nodes = names.map(|name| {
        let ran = Arc::clone(&ran);
        wf.node(name, move || {
            ran.lock().unwrap().push(name);
            async move { name }
        })
    });
    wf.edge(START, nodes[0]).edge(nodes[0], nodes[1].dynamic()).edge(nodes[1], nodes[2].dynamic());
    let (runner, sessions) = runner(wf.build().unwrap());
    let mut run = runner.run("ana", "s1", "go");
    for count in 1..=3 {
        run.next().await.unwrap().unwrap();
        assert_eq!(ran.lock().unwrap().len(), count, "the next node starts when the next event is asked for");
        assert_eq!(stored(&sessions).await.len(), count);
    }
}

#[tokio::test]
async fn e11_e12_temp_state_is_visible_in_the_invocation_and_never_stored() {
    let mut wf = Workflow::builder("wf");
    let set = wf.node("set", async |ctx: Context| -> Result<Event> {
        ctx.state().set("temp:direct", 1)?;
        Ok(Event::of(1).with_state("temp:t", "T").with_state("user:u", "U").with_state("a", Value::Null))
    });
    let get = wf.node("get", async |ctx: Context| {
        let state = ctx.state();
        json!([state.value("temp:t"), state.value("temp:direct"), state.value("user:u"), state.contains("a")])
    });
    wf.edge(START, set).edge(set, get.dynamic());
    let (runner, sessions) = runner(wf.build().unwrap());
    let lines = trace(runner.run("ana", "s1", "go")).await;
    assert_eq!(lines[0], "wf@1/set@1: 1, state {\"a\":null,\"user:u\":\"U\"}");
    assert_eq!(lines[1], "wf@1/get@1: [\"T\",1,\"U\",true]");
    let session = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    assert_eq!(Value::Object(session.state), json!({"a": null, "user:u": "U"}));
}

#[derive(Debug)]
struct Recorder(Arc<Mutex<Vec<String>>>);

impl Plugin for Recorder {
    fn name(&self) -> &str {
        "recorder"
    }

    fn on_user_message<'a>(&'a self, ic: &'a InvocationContext, message: &'a Content) -> Hook<'a, Option<Content>> {
        Some(Box::pin(async move {
            self.0.lock().unwrap().push(format!("message {} {}", message.text(), ic.events().len()));
            Ok(Some(Content::user("changed")))
        }))
    }

    fn before_run<'a>(&'a self, ic: &'a InvocationContext) -> Hook<'a, Option<Content>> {
        Some(Box::pin(async move {
            self.0.lock().unwrap().push(format!("before {}", ic.events().len()));
            Ok(ic.state().contains_key("closed").then(|| Content::model("closed today")))
        }))
    }

    fn on_event<'a>(&'a self, _: &'a InvocationContext, event: &'a Event) -> Hook<'a, Option<Event>> {
        Some(Box::pin(async move {
            self.0.lock().unwrap().push(format!("event {}", event.path()));
            match event.path().name() {
                "a" => Ok(Some(Event::of("replaced"))),
                "bad" => Err(BoxError::from("no")),
                _ => Ok(None),
            }
        }))
    }

    fn after_run<'a>(&'a self, _: &'a InvocationContext) -> Hook<'a, ()> {
        Some(Box::pin(async move {
            self.0.lock().unwrap().push("after".into());
            Ok(())
        }))
    }

    fn on_run_error<'a>(&'a self, _: &'a InvocationContext, error: &'a NodeError) -> Hook<'a, ()> {
        Some(Box::pin(async move {
            self.0.lock().unwrap().push(format!("error {}", error.class()));
            Ok(())
        }))
    }
}

fn with_recorder(last: &str) -> (Runner, Arc<Mutex<Vec<String>>>) {
    let calls = Arc::default();
    let mut wf = Workflow::builder("wf");
    let a = wf.node("a", async |Input(text): Input<String>| text);
    let last = wf.node(last, async |Input(text): Input<String>| text);
    wf.edge(START, a).edge(a, last);
    let runner = Runner::builder("t").root(wf.build().unwrap()).plugin(Recorder(Arc::clone(&calls))).build().unwrap();
    (runner, calls)
}

#[tokio::test]
async fn e200_e202_hooks_run_in_order_and_a_replaced_event_leaves_the_nodes_alone() {
    let (runner, calls) = with_recorder("b");
    assert_eq!(trace(runner.run("ana", "s1", "go")).await, ["wf@1/a@1: \"replaced\"", "wf@1/b@1: \"changed\""]);
    assert_eq!(*calls.lock().unwrap(), ["message go 0", "before 1", "event wf@1/a@1", "event wf@1/b@1", "after"]);
}

#[tokio::test]
async fn e203_before_run_can_end_the_run() {
    let (runner, calls) = with_recorder("b");
    let delta = json!({"closed": true}).as_object().unwrap().clone();
    let lines = trace(runner.start(RunRequest::new(("ana", "s1")).message("go").state_delta(delta))).await;
    assert_eq!(lines, [": says closed today"]);
    assert_eq!(*calls.lock().unwrap(), ["message go 0", "before 1", "event ", "after"]);
}

#[tokio::test]
async fn e204_a_failing_hook_ends_the_run_and_the_event_is_not_stored() {
    let (runner, calls) = with_recorder("bad");
    let lines = trace(runner.run("ana", "s1", "go")).await;
    assert_eq!(lines[1], "! RuntimeError: Error in plugin 'recorder' during 'on_event_callback' callback: no");
    assert_eq!(calls.lock().unwrap().last().unwrap(), "error RuntimeError");
    let session = runner.sessions().get_session(&key(), Default::default()).await.unwrap().unwrap();
    assert_eq!(session.events.len(), 2);
}

#[tokio::test]
async fn e207_closing_a_run_cancels_it_and_notifies_the_plugins() {
    let (runner, calls) = with_recorder("b");
    let mut run = runner.run("ana", "s1", "go");
    run.next().await.unwrap().unwrap();
    run.close().await.unwrap();
    assert_eq!(*calls.lock().unwrap(), ["message go 0", "before 1", "event wf@1/a@1", "after"]);
}

#[tokio::test]
async fn e219_e220_an_aborted_run_is_sealed_and_open_calls_are_answered() {
    let signal = AbortSignal::new();
    let trigger = signal.clone();
    let mut wf = Workflow::builder("wf");
    let asks = wf.node("asks", async || RequestInput::<bool>::ask("q1", "?"));
    let stops = wf.node("stops", move || {
        let signal = trigger.clone();
        async move {
            tokio::task::yield_now().await;
            signal.abort();
            std::future::pending::<()>().await;
        }
    });
    wf.edge(START, (asks, stops));
    let (runner, sessions) = runner(wf.build().unwrap());
    let lines = trace(runner.start(RunRequest::new(("ana", "s1")).message("go").abort_signal(signal))).await;
    let seal = " [asks@1]: INVOCATION_ABORTED: Invocation was aborted by client.";
    assert_eq!(lines, ["wf@1/asks@1 [asks@1]: asks q1", seal]);
    let session = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    let answer = session.events.last().unwrap().function_responses().next().unwrap().clone();
    assert_eq!(answer.id.as_deref(), Some("q1"));
}

#[tokio::test]
async fn r1115_two_runs_on_one_session_are_fenced_and_the_loser_stores_nothing_half() {
    let mut wf = Workflow::builder("wf");
    let a = wf.node("a", async || 1);
    let b = wf.node("b", async || 2);
    wf.edge(START, a).edge(a, b.dynamic());
    let (runner, sessions) = runner(wf.build().unwrap());
    let mut loser = runner.run("ana", "s1", "one");
    loser.next().await.unwrap().unwrap();
    assert_eq!(runner.run("ana", "s1", "two").output::<i64>().await.unwrap(), 2);
    let error = loser.next().await.unwrap().unwrap_err();
    assert_eq!(error.code(), "StaleSessionError");
    assert!(loser.next().await.is_none());
    assert_eq!(stored(&sessions).await, ["wf@1/a@1: 1", "wf@1/a@1: 1", "wf@1/b@1: 2"]);
}

#[tokio::test]
async fn e208_e210_missing_sessions_and_roles() {
    let mut wf = Workflow::builder("wf");
    let a = wf.node("a", async |ctx: Context| ctx.user_content().map(|content| content.role.clone()));
    wf.edge(START, a);
    let sessions = Arc::new(InMemorySessionService::new());
    let strict = Runner::builder("t").root(wf.build().unwrap()).sessions(sessions).auto_create_session(false);
    let strict = strict.build().unwrap();
    let lines = trace(strict.run("ana", "nope", "go")).await;
    assert_eq!(lines, ["! SessionNotFoundError: session not found: t/ana/nope"]);

    let mut wf = Workflow::builder("wf");
    let a = wf.node("a", async |ctx: Context| json!(ctx.user_content().and_then(|content| content.role.clone())));
    wf.edge(START, a);
    let (runner, _) = runner(wf.build().unwrap());
    assert_eq!(trace(runner.run("ana", "s1", Content::model("go"))).await, ["wf@1/a@1: \"user\""]);
}

#[tokio::test]
async fn r1108_partial_events_are_handed_out_and_not_stored() {
    let node = FunctionNode::new("node", async |ctx: Context| -> Result<&'static str> {
        ctx.emit(Event::message("fr").with_partial(true)).await?;
        ctx.emit(Event::message("frag").with_partial(true)).await?;
        Ok("done")
    });
    let (runner, sessions) = runner(node);
    assert_eq!(
        trace(runner.run("ana", "s1", "go")).await,
        ["node@1: says fr", "node@1: says frag", "node@1: \"done\""]
    );
    assert_eq!(stored(&sessions).await, ["node@1: \"done\""]);
}

#[tokio::test]
async fn events_of_a_session_have_strictly_increasing_times() {
    let mut wf = Workflow::builder("wf");
    let (a, b) = (wf.node("a", async || 1), wf.node("b", async || 2));
    wf.edge(START, a).edge(a, b.dynamic());
    let (runner, sessions) = runner(wf.build().unwrap());
    trace(runner.run("ana", "s1", "one")).await;
    trace(runner.run("ana", "s1", "two")).await;
    let session = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    let times: Vec<f64> = session.events.iter().map(|event| event.timestamp()).collect();
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
}

#[tokio::test]
async fn events_from_tasks_of_their_own_reach_the_caller() {
    let node = FunctionNode::new("node", async |ctx: Context| -> Result<&'static str> {
        let inner = ctx.clone();
        tokio::spawn(async move { inner.emit(Event::message("from a task")).await }).await??;
        Ok("done")
    });
    let lines = trace(runner(node).0.run("ana", "s1", "go")).await;
    assert_eq!(lines, ["node@1: says from a task", "node@1: \"done\""]);
}

#[tokio::test]
async fn closing_a_run_ends_it_while_a_node_waits() {
    let node = FunctionNode::new("node", async || std::future::pending::<()>().await);
    let mut run = runner(node).0.run("ana", "s1", "go");
    tokio::select! {
        biased;
        _ = run.next() => panic!("nothing is sent"),
        () = tokio::task::yield_now() => {}
    }
    run.close().await.unwrap();
}

#[tokio::test]
async fn a_body_that_keeps_waking_itself_does_not_keep_others_from_running() {
    let signal = AbortSignal::new();
    let node = FunctionNode::new("node", async || {
        std::future::poll_fn::<(), _>(|cx| {
            cx.waker().wake_by_ref();
            std::task::Poll::Pending
        })
        .await;
    });
    let (runner, _) = runner(node);
    let run = runner.start(RunRequest::new(("ana", "s1")).message("go").abort_signal(signal.clone()));
    let (lines, ()) = futures::join!(trace(run), async {
        tokio::task::yield_now().await;
        signal.abort();
    });
    assert_eq!(lines, [": INVOCATION_ABORTED: Invocation was aborted by client."]);
}

#[tokio::test]
async fn an_emit_that_lost_a_race_still_outputs_the_stored_value() {
    let mut wf = Workflow::builder("wf");
    let a = wf.node("a", async |ctx: Context| {
        let mut emit = Box::pin(ctx.emit(json!("value")));
        std::future::poll_fn(|cx| {
            assert!(emit.as_mut().poll(cx).is_pending());
            std::task::Poll::Ready(())
        })
        .await;
    });
    let b = wf.node("b", async |Input(text): Input<String>| text);
    wf.edge(START, a).edge(a.gives::<String>(), b);
    let (runner, _) = runner(wf.build().unwrap());
    assert_eq!(trace(runner.run("ana", "s1", "go")).await, ["wf@1/a@1: \"value\"", "wf@1/b@1: \"value\""]);
}

#[tokio::test]
async fn the_error_of_a_failed_resume_names_the_fault_and_nothing_is_created() {
    let (runner, sessions) = runner(FunctionNode::new("node", async || 1));
    let lines = trace(runner.resume("ana", "s1", "e-7")).await;
    assert_eq!(lines, ["! SessionNotFoundError: session not found: t/ana/s1"]);
    assert!(sessions.get_session(&key(), Default::default()).await.unwrap().is_none());
    trace(runner.run("ana", "s1", "go")).await;
    let lines = trace(runner.resume("ana", "s1", "e-7")).await;
    assert_eq!(lines, ["! InvocationNotFoundError: Invocation ID not found: e-7"]);
    let lines = trace(runner.run("ana", "  ", "go")).await;
    assert_eq!(lines, ["! ValueError: the session id must not be blank: use at least one visible character"]);
}

#[tokio::test]
async fn a_time_of_a_handler_that_cannot_be_read_is_treated_as_missing() {
    let node = FunctionNode::new("node", async || {
        let mut event = Event::of(1);
        event.set_timestamp(1e300);
        event
    });
    let (runner, sessions) = runner(node);
    trace(runner.run("ana", "s1", "go")).await;
    let session = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    assert!(session.events[1].timestamp() < 2e9);
}
