//! Runs that come at fixed times.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pleach::BoxError;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use crate::connection::{Connection, body};
use crate::measure::{micros, now};

/// How many begin in a second.
const RUNS_PER_SECOND: usize = 200;

/// Starts a run every five milliseconds, whether the ones before have ended or not. Returns how long each took from the time at which it
/// was to begin, in microseconds.
pub(super) async fn runs(port: u16, name: &str, time: Duration) -> Result<Vec<f64>, BoxError> {
    let count = time.as_millis() as usize * RUNS_PER_SECOND / 1000;
    let every = Duration::from_secs(1) / RUNS_PER_SECOND as u32;
    let idle: Arc<Mutex<Vec<Connection>>> = Arc::default();
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut active = JoinSet::new();
    for number in 0..count {
        let due = ticks.tick().await;
        let (idle, body) =
            (Arc::clone(&idle), body("bench", &format!("{name}-{number}"), "How is the weather in Oslo?"));
        active.spawn(async move {
            let kept = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut connection = match kept {
                Some(connection) => connection,
                None => Connection::open(port).await?,
            };
            connection.post(&body).await?;
            let took = now() - due.into_std();
            idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            Ok::<_, BoxError>(micros(took))
        });
    }
    active.join_all().await.into_iter().collect()
}
