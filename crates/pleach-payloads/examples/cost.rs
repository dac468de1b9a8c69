//! Measures the cost of large outputs in rows of SQLite and as artifacts in a folder:
//! `cargo run --release -p pleach-payloads --example cost [FOLDER]`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use pleach_artifact::FileArtifactService;
use pleach_contract::TestClock;
use pleach_core::{BoxError, Event, SessionKey};
use pleach_payloads::PayloadSessions;
use pleach_session::{CreateSession, GetSessionConfig, SessionService};
use pleach_session_sqlite::SqliteSessionService;

const ROUNDS: usize = 30;

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the program prints its measurements")]
async fn main() -> Result<(), BoxError> {
    let scratch = tempfile::tempdir()?;
    let folder = std::env::args_os().nth(1).map_or_else(|| scratch.path().to_owned(), PathBuf::from);
    for bytes in [100, 5_000_000] {
        for (name, sessions) in [("row", rows(&folder).await?), ("artifact", artifacts(&folder).await?)] {
            let (append, newest) = measured(&*sessions, bytes).await?;
            println!("{bytes} bytes, {name}: append {append:.2?}, load of the newest event {newest:.2?}");
        }
    }
    Ok(())
}

async fn rows(folder: &Path) -> Result<Arc<dyn SessionService>, BoxError> {
    Ok(Arc::new(SqliteSessionService::open(folder.join("rows.db")).await?))
}

async fn artifacts(folder: &Path) -> Result<Arc<dyn SessionService>, BoxError> {
    let sessions = Arc::new(SqliteSessionService::open(folder.join("references.db")).await?);
    let files = FileArtifactService::open(folder.join("artifacts"), Arc::new(TestClock::new())).await?;
    Ok(Arc::new(PayloadSessions::new(sessions, Arc::new(files))))
}

/// Returns the median times of the appends and of the loads.
#[expect(clippy::disallowed_methods, reason = "it measures")]
async fn measured(sessions: &dyn SessionService, bytes: usize) -> Result<(Duration, Duration), BoxError> {
    let key = SessionKey::new("app", "ana", format!("s-{bytes}"));
    let create = CreateSession::new("app", "ana").with_session_id(key.session_id.clone());
    let mut head = sessions.create_session(create).await?.head;
    let (mut appends, mut loads) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let mut event = Event::of("x".repeat(bytes));
        event.set_id(format!("e{round}"));
        let begun = Instant::now();
        sessions.append(&mut head, Arc::new(event)).await?;
        appends.push(begun.elapsed());
        let begun = Instant::now();
        sessions.get_session(&key, GetSessionConfig::recent(1)).await?;
        loads.push(begun.elapsed());
    }
    sessions.delete_session(&key).await?;
    Ok((median(appends), median(loads)))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
