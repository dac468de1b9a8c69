//! [`Gate`]: decides about the calls of a session service.

use std::fmt;

use pleach_core::{BoxFuture, Event, SessionKey};
use pleach_session::{SessionError, SessionResult};

use crate::Operation;
use crate::held_time::HeldTime;

/// A call that comes to a gate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'a> {
    pub(crate) operation: Operation,
    /// The session, and the event of an append.
    pub(crate) append: Option<(&'a SessionKey, &'a Event)>,
}

/// What becomes of a call that a gate lets through.
#[derive(Debug)]
pub(crate) enum Pass {
    /// It is made; the number is the gate's. What it holds is dropped behind the call.
    Made(usize, Option<HeldTime>),
    /// It is made, and its answer gets lost.
    ReplyLost(SessionError, Option<HeldTime>),
    /// An append is not made, and answered as if it were.
    WriteLost,
}

/// Decides about calls.
pub(crate) trait Gate: fmt::Debug + Send + Sync + 'static {
    /// Before the call: an error is its answer.
    fn enter<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, SessionResult<Pass>>;

    /// Behind a call that was made, before its caller gets the answer.
    fn leave<'a>(&'a self, call: Call<'a>, number: usize, succeeded: bool) -> BoxFuture<'a, ()>;

    /// How many calls of an operation have come.
    fn calls(&self, operation: Operation) -> usize;

    /// How many faults have struck.
    fn faults(&self) -> usize;

    /// The planned faults whose calls have not come.
    fn unused(&self) -> Vec<(Operation, usize)> {
        Vec::new()
    }
}
