//! [`Link`]: the connection to a server with certain headers, across its sessions.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pleach_http::Headers;
use tokio::sync::OnceCell;

use super::open::open;
use super::session::Session;
use super::target::Target;
use crate::declared::Listed;
use crate::error::McpError;
use crate::limits::Limits;

/// The number of seconds after which the end of a session no longer counts as a failure to reach the server.
const STEADY: f64 = 10.0;
/// The number of failures in a row without a wait.
const FREE_FAILURES: u32 = 2;
/// The longest wait before a server is tried again, in seconds.
const LONGEST_WAIT: f64 = 30.0;

/// An attempt to open a session. All callers that need a session wait for the same attempt.
type Attempt = OnceCell<Result<Arc<Session>, McpError>>;

/// The sessions with a server, one after the other.
pub(crate) struct Link {
    target: Arc<Target>,
    pub(super) headers: Headers,
    limits: Limits,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    attempt: Arc<Attempt>,
    /// The number in a row of failed attempts and of sessions that ended soon.
    failures: u32,
    /// The time from which the server may be tried again, in seconds of the clock.
    not_before: f64,
    is_closed: bool,
    /// The last listing of tools in any of the sessions.
    last_listed: Option<Listed>,
}

impl State {
    fn count_failure(&mut self, now: f64) {
        self.failures = self.failures.saturating_add(1);
        self.not_before = now + wait_after(self.failures);
    }
}

impl Link {
    pub(super) fn new(target: &Arc<Target>, headers: Headers, limits: &Limits) -> Self {
        Self { target: Arc::clone(target), headers, limits: limits.clone(), state: Mutex::default() }
    }

    /// Returns the session. Opens a new one if there is none, or if it has ended or its server hangs.
    ///
    /// # Cancel safety
    /// Dropping the future ends the attempt. If others wait for it, one of them begins a new attempt.
    pub(crate) async fn session(&self) -> Result<Arc<Session>, McpError> {
        loop {
            let session = self.open_session().await?;
            if session.answers().await {
                return Ok(session);
            }
            tracing::warn!(server = self.target.name(), "the MCP server hangs: a new session is opened");
            session.close().await;
        }
    }

    async fn open_session(&self) -> Result<Arc<Session>, McpError> {
        let attempt = self.attempt()?;
        let opened = attempt.get_or_init(|| async {
            let opened = open(&self.target, &self.headers, &self.limits).await;
            if opened.is_err() {
                self.state().count_failure(self.limits.clock.now());
            }
            opened.map(|opened| Arc::new(Session::new(opened, &self.limits)))
        });
        let session = opened.await.clone()?;
        if self.state().is_closed {
            session.close().await;
            return Err(self.target.closed());
        }
        Ok(session)
    }

    /// Returns the attempt to wait for: the last one, or a new one if the last one has failed or its session has ended.
    fn attempt(&self) -> Result<Arc<Attempt>, McpError> {
        let now = self.limits.clock.now();
        let mut state = self.state();
        if state.is_closed {
            return Err(self.target.closed());
        }
        let failure = match state.attempt.get() {
            None => return Ok(Arc::clone(&state.attempt)),
            Some(Ok(session)) if session.is_alive() => return Ok(Arc::clone(&state.attempt)),
            Some(Ok(session)) if now - session.began >= STEADY || session.was_forgotten() => {
                (state.failures, state.not_before) = (0, 0.0);
                self.ended_soon()
            }
            Some(Ok(_)) => {
                state.count_failure(now);
                self.ended_soon()
            }
            Some(Err(error)) => error.clone(),
        };
        // A clock that was set back does not extend the wait.
        if now >= state.not_before || state.not_before - now > LONGEST_WAIT {
            state.attempt = Arc::default();
            return Ok(Arc::clone(&state.attempt));
        }
        let wait = Duration::try_from_secs_f64(state.not_before - now).unwrap_or_default();
        let error = McpError::Waiting { server: self.target.name(), wait, reason: failure.to_string() };
        // An ended session is counted only once.
        state.attempt = Arc::new(OnceCell::new_with(Some(Err(failure))));
        Err(error)
    }

    fn ended_soon(&self) -> McpError {
        McpError::Lost { server: self.target.name(), reason: "it ended soon after it was started".to_owned() }
    }

    pub(crate) fn last_listed(&self) -> Option<Listed> {
        self.state().last_listed.clone()
    }

    pub(crate) fn keep_listed(&self, listed: &Listed) {
        self.state().last_listed = Some(Arc::clone(listed));
    }

    /// Ends the session, and refuses further ones.
    pub(super) async fn close(&self) {
        let attempt = {
            let mut state = self.state();
            state.is_closed = true;
            Arc::clone(&state.attempt)
        };
        if let Some(Ok(session)) = attempt.get() {
            session.close().await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the wait in seconds after this many failures in a row: 0 at first, then 1, 2, 4, and so on.
fn wait_after(failures: u32) -> f64 {
    match failures.checked_sub(FREE_FAILURES + 1) {
        None => 0.0,
        Some(doublings) => f64::from(2_u32.saturating_pow(doublings)).min(LONGEST_WAIT),
    }
}

#[cfg(test)]
mod tests {
    use super::wait_after;

    #[test]
    fn waits_grow_from_the_third_failure_in_a_row() {
        assert_eq!([0, 1, 2, 3, 4, 5, 6, 7, 8, 99].map(wait_after), [0., 0., 0., 1., 2., 4., 8., 16., 30., 30.]);
    }
}
