//! [`FaultySessions`]: a session service that fails, delays and loses answers, by a plan or by a seed.

mod plan;

use std::sync::Arc;

use pleach_core::BoxFuture;
use pleach_session::{SessionResult, SessionService};

use crate::gate::{Call, Gate, Operation, Pass};
pub use plan::FaultPlan;

/// A session service with faults. Errors are those that real services give; nothing else of the service changes.
///
/// ```
/// use pleach_core::{Event, SessionKey};
/// use pleach_session::{CreateSession, SessionError, SessionService, SessionServiceExt as _};
/// use pleach_session_inmemory::InMemorySessionService;
/// use pleach_testing::{FaultPlan, FaultySessions, Operation};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), SessionError> {
/// let plan = FaultPlan::new().fail(Operation::Append, 2);
/// let sessions = FaultySessions::new(InMemorySessionService::new(), plan);
/// let mut session = sessions.create_session(CreateSession::new("shop", "ana")).await?;
/// sessions.append_event(&mut session, Event::message("first")).await?;
/// let failed = sessions.append_event(&mut session, Event::message("second")).await;
/// assert!(matches!(failed, Err(SessionError::Unavailable { .. })));
/// sessions.append_event(&mut session, Event::message("second")).await?;
/// assert_eq!(sessions.calls(Operation::Append), 3);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct FaultySessions {
    pub(crate) inner: Arc<dyn SessionService>,
    pub(crate) gate: Arc<dyn Gate>,
}

impl FaultySessions {
    /// Puts the faults of a plan before a service.
    pub fn new(inner: impl SessionService, plan: FaultPlan) -> Self {
        Self { inner: Arc::new(inner), gate: Arc::new(plan) }
    }

    /// Returns how many calls of an operation have come, failed ones among them.
    #[must_use]
    pub fn calls(&self, operation: Operation) -> usize {
        self.gate.calls(operation)
    }

    /// Returns how many faults have struck: failures, lost answers, lost appends and delays.
    #[must_use]
    pub fn faults(&self) -> usize {
        self.gate.faults()
    }
}

impl Gate for FaultPlan {
    fn enter<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, SessionResult<Pass>> {
        Box::pin(self.decide(call.operation))
    }

    fn leave<'a>(&'a self, _: Call<'a>, _: usize, _: bool) -> BoxFuture<'a, ()> {
        Box::pin(self.pause())
    }

    fn calls(&self, operation: Operation) -> usize {
        self.state().calls.get(&operation).copied().unwrap_or_default()
    }

    fn faults(&self) -> usize {
        self.state().struck
    }
}
