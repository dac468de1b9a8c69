//! [`Heartbeat`]: shows other processes that a Runner works on a session, and tells whether another process works on one.
//!
//! It decides when a heartbeat is due; [`EventWriter::write_heartbeat`](crate::run::event_writer::EventWriter::write_heartbeat)
//! stores it.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use pleach_core::{BoxFuture, Clock, Session};
use pleach_session::SessionError;

use crate::RunError;
use crate::app::inner::RunnerInner;

/// The number of periods without an event or a heartbeat after which a run is treated as cut off.
const MISSED: f64 = 3.0;

/// The timer after which a run that stores nothing claims its session.
pub(crate) struct Heartbeat {
    clock: Arc<dyn Clock>,
    period: Duration,
    sleep: BoxFuture<'static, ()>,
}

impl Heartbeat {
    pub(crate) fn new(clock: &Arc<dyn Clock>, period: Duration) -> Self {
        Self { clock: Arc::clone(clock), period, sleep: clock.sleep(period) }
    }

    /// Waits for `step`, or until a heartbeat is due; returns `true` if it is due first. `last_update_time` is the time of the session's last
    /// change.
    pub(crate) async fn is_due_before(&mut self, step: impl Future<Output = ()>, last_update_time: f64) -> bool {
        let mut step = pin!(step);
        loop {
            match select(step.as_mut(), &mut self.sleep).await {
                Either::Left(_) => return false,
                Either::Right(_) => {
                    let idle = Duration::try_from_secs_f64(self.clock.now() - last_update_time).unwrap_or_default();
                    let is_due = idle >= self.period;
                    let rest = if is_due { self.period } else { self.period - idle };
                    self.sleep = self.clock.sleep(rest);
                    if is_due {
                        return true;
                    }
                }
            }
        }
    }
}

/// Returns `true` if a failed heartbeat means that the run has lost its session, and not only that the storage did not respond.
pub(crate) fn has_lost(error: &SessionError) -> bool {
    error.is_stale() || matches!(error, SessionError::NotFound(_))
}

impl RunnerInner {
    /// Returns `true` if a session changed so recently that a Runner with heartbeats may work on it; always `false` without heartbeats.
    pub(crate) fn is_alive(&self, last_update_time: f64) -> bool {
        let idle = self.services.clock.now() - last_update_time;
        self.heartbeat.is_some_and(|period| idle < MISSED * period.as_secs_f64())
    }

    /// Returns `true` if another Runner seems to work on a session.
    ///
    /// # Errors
    /// The errors of [`Runner::status`](crate::Runner::status).
    pub(crate) async fn runs_elsewhere(&self, session: &Session) -> Result<bool, RunError> {
        Ok(self.is_alive(session.last_update_time()) && !self.status_and_rest(session.clone()).await?.1)
    }
}
