//! The session whose events the program `redact-worker` redacts.

use std::path::Path;
use std::sync::Arc;

use pleach::{FileArtifactService, PayloadSessions, Redaction, SessionKey, SystemClock, connect};
use serde_json::{Value, json};

/// The number of bytes from which a value is a payload.
const THRESHOLD: usize = 200;
/// The paths of the secrets in an output.
const PATHS: [&str; 2] = ["/output/short", "/output/list/0"];

/// Opens the session service over a database and a folder of payloads.
///
/// # Errors
/// The database or the folder cannot be opened.
pub async fn open(url: &str, folder: &Path) -> anyhow::Result<PayloadSessions> {
    let artifacts = FileArtifactService::open(folder, Arc::new(SystemClock)).await?;
    Ok(PayloadSessions::new(connect(url).await?, Arc::new(artifacts)).with_threshold(THRESHOLD))
}

/// The key of the session.
#[must_use]
pub fn key() -> SessionKey {
    SessionKey::new("t", "ana", "s1")
}

/// The redaction of each event.
#[must_use]
pub fn redaction() -> Redaction {
    Redaction::new(PATHS, "a request").with_time(5.0)
}

/// The output of an event. It has one of three forms. Two of them contain a payload; in one of these two, the value is
/// a payload only until its secrets are removed.
#[must_use]
pub fn output(number: usize, secret: &str) -> Value {
    let (short, long) = ("x".repeat(number), "y".repeat(300));
    match number % 3 {
        0 => json!({"short": secret, "list": [secret, short]}),
        1 => json!({"short": secret, "list": [secret, long]}),
        _ => json!({"short": secret, "list": [format!("{secret} {long}"), short]}),
    }
}
