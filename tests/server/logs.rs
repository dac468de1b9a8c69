//! The log contains no data of clients, tools or credentials.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pleach::server::Caller;
use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;

use crate::client::Ask;
use crate::served::{apps, message, serve};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

/// Writes the log of this thread into a text. The runtime of a test has one thread, so the text includes the log of the server.
fn record() -> (Log, tracing::subscriber::DefaultGuard) {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_max_level(tracing::Level::DEBUG).with_writer(log.clone());
    (log, pleach_contract::own_tests::subscribe(subscriber.with_ansi(false).finish()))
}

#[tokio::test]
async fn h96_an_open_server_warns() {
    let (log, _guard) = record();
    for (address, warns) in [("127.0.0.1:0", false), ("0.0.0.0:0", true)] {
        let bound = apps().bind(address).await.unwrap();
        bound.serve_until(std::future::ready(()), Duration::ZERO).await;
        assert_eq!(log.text().contains("reachable from the network"), warns, "{address}");
    }
}

#[tokio::test]
async fn nothing_secret_is_logged_at_debug() {
    let (log, _guard) = record();
    let served = serve(apps().caller(|_| Caller::Anyone)).await;
    served.session("demo", "s").await;
    let credential = json!({"authType": "oauth2", "oauth2": {"clientSecret": "S3CR3T"}});
    let asks = [
        Ask::post("/run", &message("demo", "s", "S3CR3T boom")),
        Ask::post("/run_sse", &message("demo", "s", "S3CR3T boom")),
        Ask::post("/run", &message("demo", "s", "secret S3CR3T")),
        Ask::post("/run", &json!({"userId": ["S3CR3T"], "appName": "S3CR3T"})),
        Ask::new("POST", "/run").raw("{\"S3CR3T", "application/json"),
        Ask::post("/apps/demo/users/u/sessions", &json!({"state": {"c": credential, "k": "S3CR3T"}})),
        Ask::get("/apps/demo/users/u/sessions/s?key=S3CR3T"),
        Ask::post("/apps/demo/users/u/sessions/s/artifacts", &json!({"filename": "f", "artifact": {"text": "S3CR3T"}})),
    ];
    for ask in asks {
        served.send(ask.header("authorization", "Bearer S3CR3T").header("idempotency-key", "S3CR3T")).await;
    }
    let text = log.text();
    assert!(text.contains("a run failed"), "the log has the lines of the server: {text}");
    assert!(!text.contains("S3CR3T"), "{text}");
}
