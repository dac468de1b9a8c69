//! What the log holds: nothing that a client, a tool or a credential says.

use std::io;
use std::sync::{Arc, Mutex};

use pleach::server::Caller;
use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;

use crate::client::Ask;
use crate::served::{apps, message, serve};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

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

// The runtime of a test has one thread, so the log of the thread is that of the server, too.
#[tokio::test]
async fn nothing_secret_is_logged_at_debug() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::DEBUG)
        .with_writer(log.clone())
        .with_ansi(false)
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
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
    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(text.contains("a run failed"), "the log is that of the server: {text}");
    assert!(!text.contains("S3CR3T"), "{text}");
}
