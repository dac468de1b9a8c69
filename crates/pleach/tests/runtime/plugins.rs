//! Plugins that misbehave, and closing a Runner.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use pleach::prelude::*;
use pleach::{
    BoxFuture, Hook, InMemorySessionService, InvocationContext, Plugin, RunRequest, SessionError, SessionHead,
    SessionService,
};
use serde_json::json;

use crate::support::trace;

/// A plugin whose hook of this name panics before it returns a future. It records the failures that it is notified of.
#[derive(Debug)]
struct PanickingPlugin(&'static str, Arc<Mutex<Vec<String>>>);

impl PanickingPlugin {
    fn at<T>(&self, hook: &str) -> Hook<'_, T> {
        assert_ne!(self.0, hook, "early");
        None
    }
}

impl Plugin for PanickingPlugin {
    fn name(&self) -> &str {
        "early"
    }

    fn on_user_message<'a>(&'a self, _: &'a InvocationContext, _: &'a Content) -> Hook<'a, Option<Content>> {
        self.at("on_user_message")
    }

    fn before_run<'a>(&'a self, _: &'a InvocationContext) -> Hook<'a, Option<Content>> {
        self.at("before_run")
    }

    fn on_event<'a>(&'a self, _: &'a InvocationContext, _: &'a Event) -> Hook<'a, Option<Event>> {
        self.at("on_event")
    }

    fn after_run<'a>(&'a self, _: &'a InvocationContext) -> Hook<'a, ()> {
        self.at("after_run")
    }

    fn on_run_error<'a>(&'a self, _: &'a InvocationContext, error: &'a NodeError) -> Hook<'a, ()> {
        self.1.lock().unwrap().push(error.class().to_owned());
        self.at("on_run_error")
    }

    fn close(&self) -> Hook<'_, ()> {
        self.at("close")
    }
}

#[tokio::test]
async fn a_hook_that_panics_before_it_returns_a_future_fails_only_the_run() {
    for hook in ["on_user_message", "before_run", "on_event", "after_run"] {
        let heard = Arc::default();
        let builder = Runner::builder("t").root(FunctionNode::new("n", async || 1));
        let runner = builder.plugin(PanickingPlugin(hook, Arc::clone(&heard))).build().unwrap();
        let lines = trace(runner.run("ana", "s1", "go")).await;
        let text =
            format!("! RuntimeError: Error in plugin 'early' during '{hook}_callback' callback: the hook panicked");
        assert_eq!(lines.last().unwrap(), &text);
        assert_eq!(*heard.lock().unwrap(), ["RuntimeError"], "{hook}");
        assert!(runner.drain(Duration::ZERO).await.runs.is_empty(), "{hook}");
    }
}

#[tokio::test]
async fn a_notification_that_panics_early_is_logged() {
    let heard = Arc::default();
    let root = FunctionNode::new("n", async || -> Result<i64> { Err(Fail::msg("broken")) });
    let runner =
        Runner::builder("t").root(root).plugin(PanickingPlugin("on_run_error", Arc::clone(&heard))).build().unwrap();
    assert_eq!(trace(runner.run("ana", "s1", "go")).await.last().unwrap(), "! Exception: broken");
    assert_eq!(heard.lock().unwrap().len(), 1);
}

/// Sessions in memory that cannot be flushed and that refuse appends once they are switched off.
#[derive(Debug, Default)]
struct Broken {
    inner: InMemorySessionService,
    full: Mutex<bool>,
    closed: Mutex<bool>,
}

type Answer<T> = Result<T, SessionError>;

fn disk_full() -> SessionError {
    SessionError::Storage { backend: "broken", source: "disk full".into() }
}

impl SessionService for Broken {
    pleach::forward_session_service!(|this| this.inner; create_session, get_session, events_since, list_sessions,
        find_sessions, delete_session, user_state);

    fn append<'a>(&'a self, head: &'a mut SessionHead, event: Arc<Event>) -> BoxFuture<'a, Answer<Arc<Event>>> {
        let full = *self.full.lock().unwrap();
        Box::pin(async move { if full { Err(disk_full()) } else { self.inner.append(head, event).await } })
    }

    fn flush(&self) -> BoxFuture<'_, Answer<()>> {
        Box::pin(async { Err(disk_full()) })
    }

    fn close(&self) -> BoxFuture<'_, Answer<()>> {
        *self.closed.lock().unwrap() = true;
        Box::pin(async { Ok(()) })
    }
}

#[tokio::test]
async fn plugins_are_notified_of_a_failed_append_of_state_alone() {
    let (heard, sessions) = (Arc::default(), Arc::new(Broken::default()));
    let builder = Runner::builder("t").root(FunctionNode::new("n", async || 1)).sessions(Arc::clone(&sessions));
    let runner = builder.plugin(PanickingPlugin("", Arc::clone(&heard))).build().unwrap();
    trace(runner.run("ana", "s1", "go")).await;
    *sessions.full.lock().unwrap() = true;
    let delta = json!({"k": 1}).as_object().unwrap().clone();
    let lines = trace(runner.start(RunRequest::new("s1").state_delta(delta))).await;
    assert_eq!((lines.len(), &**heard.lock().unwrap()), (1, &["StorageError".to_owned()][..]), "{lines:?}");
}

/// A plugin that closes at once, never, or with an error.
#[derive(Debug)]
struct ClosingPlugin(&'static str, Arc<Mutex<Vec<&'static str>>>);

impl Plugin for ClosingPlugin {
    fn name(&self) -> &str {
        self.0
    }

    fn close(&self) -> Hook<'_, ()> {
        Some(Box::pin(async move {
            self.1.lock().unwrap().push(self.0);
            match self.0 {
                "slow" => std::future::pending().await,
                "bad" => Err("no".into()),
                _ => Ok(()),
            }
        }))
    }
}

fn closing(names: &[&'static str]) -> (pleach::RunnerBuilder, Arc<Broken>, Arc<Mutex<Vec<&'static str>>>) {
    let (asked, sessions) = (Arc::default(), Arc::new(Broken::default()));
    let builder = Runner::builder("t").root(FunctionNode::new("n", async || 1)).sessions(Arc::clone(&sessions));
    let builder = names.iter().fold(builder, |builder, name| builder.plugin(ClosingPlugin(name, Arc::clone(&asked))));
    (builder, sessions, asked)
}

#[tokio::test(start_paused = true)]
async fn everything_is_closed_and_all_errors_are_reported() {
    let (builder, sessions, asked) = closing(&["slow", "bad", "good"]);
    let runner = builder.plugin(PanickingPlugin("close", Arc::default())).build().unwrap();
    let begun = tokio::time::Instant::now();
    let error = runner.close().await.unwrap_err();
    assert_eq!(begun.elapsed(), Duration::from_secs(5));
    assert_eq!(
        error.to_string(),
        "closing failed: Failed to close plugins: 'slow': it did not close within 5s, 'bad': no, 'early': the hook panicked; \
         session service failed: broken storage failed: disk full. Check the log of the storage, then try again"
    );
    assert!(matches!(&error, RunError::Close(errors) if errors.len() == 2), "{error:?}");
    assert_eq!((*asked.lock().unwrap()).len(), 3);
    assert!(*sessions.closed.lock().unwrap());
}

#[tokio::test(start_paused = true)]
async fn the_time_to_close_plugins_can_be_set_and_closing_can_be_skipped() {
    let (builder, _, _) = closing(&["slow"]);
    let begun = tokio::time::Instant::now();
    let runner = builder.plugin_close_timeout(Duration::from_millis(250)).build().unwrap();
    let error = runner.close().await.unwrap_err();
    assert_eq!(begun.elapsed(), Duration::from_millis(250));
    assert!(error.to_string().contains("'slow': it did not close within 250ms"), "{error}");
    let (builder, sessions, asked) = closing(&["slow", "bad"]);
    let error = builder.skip_closing_plugins(true).build().unwrap().close().await.unwrap_err();
    assert!(matches!(error, RunError::Session(_)), "{error:?}");
    assert_eq!(*asked.lock().unwrap(), [] as [&str; 0]);
    assert!(*sessions.closed.lock().unwrap());
}

#[tokio::test]
async fn a_blank_session_id_is_named() {
    let runner = Runner::builder("t").root(FunctionNode::new("n", async || 1)).build().unwrap();
    for id in ["", " ", "\t"] {
        let error = runner.start(RunRequest::new(id).message("go")).output::<i64>().await.unwrap_err();
        assert!(matches!(error, RunError::BlankId("session")), "{error:?}");
        assert!(matches!(runner.follow(id, None).await.unwrap_err(), RunError::BlankId("session")));
    }
}
