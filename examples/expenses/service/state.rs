//! [`Service`]: the Runner and the other things that all requests share.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use pleach::prelude::*;
use pleach::{BoxError, Clock, GetSessionConfig, Session, SessionError};
use tokio_util::sync::CancellationToken;

use super::flow::workflow;
use super::{Bank, Policy};

/// The Runner and the other things that all requests share. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Service {
    pub(crate) runner: Runner,
    /// Cancelled when the process begins to shut down, so that streams of events end.
    pub(crate) stopping: CancellationToken,
    clock: Arc<dyn Clock>,
}

impl Service {
    pub(crate) fn new(
        sessions: impl SessionService,
        bank: Bank,
        policy: Policy,
        clock: impl Clock,
    ) -> Result<Self, BoxError> {
        let clock: Arc<dyn Clock> = Arc::new(clock);
        let runner = Runner::builder("expenses")
            .root(workflow()?)
            .sessions(sessions)
            .clock(Arc::clone(&clock))
            .provide(bank)
            .provide(policy)
            .build()?;
        Ok(Self { runner, stopping: CancellationToken::new(), clock })
    }

    pub(crate) fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs_f64(self.clock.now())
    }

    /// Reads a session's state, without its events. `None` if nothing was submitted under its name.
    pub(crate) async fn stored(&self, session: &SessionKey) -> Result<Option<Session>, SessionError> {
        self.runner.sessions().get_session(session, GetSessionConfig::recent(0)).await
    }
}
