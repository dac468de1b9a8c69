//! Sleeps of runs in a server.

use std::time::Duration;

use pleach::prelude::*;
use pleach::server::Server;
use pleach::{App, InMemorySessionService};
use serde_json::{Value, json};

use crate::served::{Served, message, serve};

fn sleeper(duration: Duration) -> Workflow {
    let mut wf = Workflow::builder("wf");
    let node = FunctionNode::new("wait", move |ctx: Context| async move {
        ctx.sleep(duration).await?;
        Ok::<_, NodeError>("awake")
    });
    let node = wf.add(node.rerun_on_resume(true));
    wf.edge(START, node);
    wf.build().unwrap()
}

/// A server of one app with these sessions.
fn server(duration: Duration, sessions: impl SessionService) -> Server {
    Server::new().app(App::new("sleeper", sleeper(duration)).unwrap()).sessions(sessions)
}

async fn events(served: &Served) -> Vec<Value> {
    served.get("/apps/sleeper/users/u/sessions/s").await.json()["events"].as_array().unwrap().clone()
}

/// A client cannot shorten a sleep.
#[tokio::test]
async fn a_sleep_takes_no_answer_of_a_client() {
    let served = serve(server(Duration::from_secs(3_600), InMemorySessionService::new())).await;
    served.session("sleeper", "s").await;
    assert_eq!(served.post("/run", message("sleeper", "s", "go")).await.status, 200);
    let stored = events(&served).await;
    let id = stored.last().unwrap()["longRunningToolIds"][0].clone();
    let mut answer = message("sleeper", "s", "");
    let part = json!({"functionResponse": {"id": id, "name": "adk_request_input", "response": {"result": null}}});
    answer["newMessage"]["parts"] = json!([part]);
    for path in ["/run", "/run_sse"] {
        let refused = served.post(path, answer.clone()).await;
        assert_eq!((refused.status, refused.detail().contains("is a sleep")), (400, true), "{refused:?}");
    }
    assert_eq!(events(&served).await, stored);
}

/// A server wakes the sleeping runs of an earlier process.
#[tokio::test]
async fn a_server_with_timers_wakes_sleeping_runs() {
    let sessions = std::sync::Arc::new(InMemorySessionService::new());
    let before = Runner::builder("sleeper").root(sleeper(Duration::from_millis(30)));
    let before = before.sessions(std::sync::Arc::clone(&sessions)).build().unwrap();
    let mut run = before.run("u", "s", "go");
    while let Some(event) = run.next().await {
        event.unwrap();
    }
    drop((run, before));
    let served = serve(server(Duration::from_millis(30), sessions).timers(true)).await;
    while events(&served).await.last().unwrap()["output"] != "awake" {
        tokio::task::yield_now().await;
    }
}
