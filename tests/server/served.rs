//! A server with the apps of the example, for one test.

use std::net::SocketAddr;
use std::sync::Arc;

use pleach::server::{ApiServer, Server};
use pleach::{App, InMemoryArtifactService, InMemoryMemoryService, InMemorySessionService, SystemClock};
use serde_json::{Value, json};

use crate::client::{Ask, Reply};
use crate::{demo, wf};

/// A server that runs until the end of its test.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    pub(crate) server: ApiServer,
}

/// Returns a server with both apps and services in memory.
pub(crate) fn apps() -> Server {
    let (demo, wf) = (demo::agent().unwrap(), wf::workflow().unwrap());
    Server::new()
        .app(App::new("demo", demo).unwrap())
        .app(App::new("wf", wf).unwrap())
        .sessions(InMemorySessionService::new())
        .artifacts(InMemoryArtifactService::with_clock(Arc::new(SystemClock)))
        .memory(InMemoryMemoryService::new())
}

/// Serves on a free port of the loopback address.
pub(crate) async fn serve(server: Server) -> Served {
    let bound = server.bind("127.0.0.1:0").await.unwrap();
    let (address, server) = (bound.local_addr(), bound.server().clone());
    tokio::spawn(bound.serve());
    Served { address, server }
}

/// Serves both apps.
pub(crate) async fn demo() -> Served {
    serve(apps()).await
}

impl Served {
    pub(crate) async fn send(&self, ask: Ask) -> Reply {
        ask.to(self.address).await
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.send(Ask::get(path)).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Reply {
        self.send(Ask::post(path, &body)).await
    }

    /// Makes a session of the user `u`.
    pub(crate) async fn session(&self, app: &str, id: &str) {
        let made = self.post(&format!("/apps/{app}/users/u/sessions"), json!({ "sessionId": id })).await;
        assert_eq!(made.status, 200, "{made:?}");
    }
}

/// Returns the body of a run in a session of the user `u`.
pub(crate) fn message(app: &str, session: &str, text: &str) -> Value {
    json!({"appName": app, "userId": "u", "sessionId": session, "newMessage": {"parts": [{"text": text}]}})
}
