//! Runs that start at fixed times.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pleach::BoxError;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use crate::connection::{Connection, body};
use crate::measure::{micros, now};

/// The number of runs that start in a second.
const RUNS_PER_SECOND: usize = 200;

/// Starts a run every five milliseconds, even if earlier runs have not ended. Returns the time of each run in microseconds, from its
/// scheduled start to its end.
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
