//! [`Gate`]: decides what happens to the calls of a session service.

use std::fmt;

use pleach_core::{BoxFuture, Event, SessionKey};
use pleach_session::{SessionError, SessionResult};

use crate::Operation;
use crate::held_time::HeldTime;

/// A call that arrives at a gate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'a> {
    pub(crate) operation: Operation,
    /// The session, and the event of an append.
    pub(crate) append: Option<(&'a SessionKey, &'a Event)>,
}

/// The fate of a call that a gate lets through.
#[derive(Debug)]
pub(crate) enum Pass {
    /// The call is made. The number is the gate's own. The held time is released after the call.
    Made(usize, Option<HeldTime>),
    /// The call is made, but its reply is lost.
    ReplyLost(SessionError, Option<HeldTime>),
    /// An append is not made, but is reported as successful.
    WriteLost,
}

/// Decides what happens to calls.
pub(crate) trait Gate: fmt::Debug + Send + Sync + 'static {
    /// Called before the operation. An error becomes the result of the call.
    fn enter<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, SessionResult<Pass>>;

    /// Called after the operation, before its caller gets the result.
    fn leave<'a>(&'a self, call: Call<'a>, number: usize, succeeded: bool) -> BoxFuture<'a, ()>;

    /// Returns the number of calls of an operation so far.
    fn calls(&self, operation: Operation) -> usize;

    /// Returns the number of faults so far.
    fn faults(&self) -> usize;

    /// Returns the planned faults whose calls have not been made yet.
    fn unused(&self) -> Vec<(Operation, usize)> {
        Vec::new()
    }
}
