//! Helpers for the tests of the runtime.

use std::sync::Arc;

use pleach::prelude::*;
use pleach::{InMemorySessionService, Node, Run, SessionKey, SessionService};
use pleach_contract::{CountedIds, TestClock};

/// A Runner over `root` with sessions in memory, a fixed clock and counted ids.
pub(crate) fn runner(root: impl Node) -> (Runner, Arc<InMemorySessionService>) {
    runner_of_app(root, false)
}

/// Like [`runner`], of an app that is resumable or not.
pub(crate) fn runner_of_app(root: impl Node, resumable: bool) -> (Runner, Arc<InMemorySessionService>) {
    let sessions = Arc::new(InMemorySessionService::new());
    let builder = Runner::builder("t").root(root).sessions(Arc::clone(&sessions)).resumable(resumable);
    (builder.clock(TestClock::skipping()).ids(CountedIds::new()).build().unwrap(), sessions)
}

/// A node that runs again when an answer comes, in a workflow of its own.
pub(crate) fn rerun<F, Fut, T>(name: &str, body: F) -> Workflow
where
    F: Fn(Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<T>> + Send + 'static,
    T: serde::Serialize + 'static,
{
    let mut wf = Workflow::builder("wf");
    let node = wf.add(FunctionNode::new(name, body).rerun_on_resume(true));
    wf.edge(START, node);
    wf.build().unwrap()
}

/// Reads a run to its end. Returns a line `path: content` for each event, and a line for the error if there is one.
pub(crate) async fn trace(mut run: Run) -> Vec<String> {
    let mut lines = Vec::new();
    while let Some(item) = run.next().await {
        lines.push(match item {
            Ok(event) => line(&event),
            Err(error) => format!("! {}: {}", error.code(), error.message()),
        });
    }
    lines
}

pub(crate) fn line(event: &Event) -> String {
    let mut what = Vec::new();
    if let Some(output) = event.output() {
        what.push(output.to_string());
    }
    if let Some(route) = event.actions().route() {
        what.push(format!("route {}", serde_json::to_string(route).unwrap()));
    }
    if !event.actions().state_delta().is_empty() {
        what.push(format!("state {}", serde_json::to_string(event.actions().state_delta()).unwrap()));
    }
    for question in event.questions() {
        what.push(format!("asks {}", question.id));
    }
    if let (Some(code), Some(message)) = (event.error_code(), event.error_message()) {
        what.push(format!("{code}: {message}"));
    }
    if what.is_empty() {
        what.push(format!("says {}", event.text()));
    }
    let branch = event.branch().map(|branch| format!(" [{branch}]")).unwrap_or_default();
    format!("{}{branch}: {}", event.path(), what.join(", "))
}

/// The stored events of the session `s1` of `ana`, one line each.
pub(crate) async fn stored(sessions: &dyn SessionService) -> Vec<String> {
    let session = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    session.events.iter().filter(|event| event.author() != "user").map(|event| line(event)).collect()
}

/// The session that the tests use.
pub(crate) fn key() -> SessionKey {
    SessionKey::new("t", "ana", "s1")
}
