//! Runs agents for requests: reads the request, checks rights and limits, and drives the run in a task for its client.

use pleach_core::SessionKey;
use pleach_runner::internal::{Turn, Turns};

mod drive;
mod failure;
mod prepare;
mod slots;

pub(crate) use drive::{RunEvents, start};
pub(crate) use failure::{Failure, no_session};
#[cfg(feature = "inspect")]
pub(crate) use prepare::prepare_detached;
pub(crate) use prepare::{Prepared, check_is_question, exists, prepare};
pub(crate) use slots::RunSlots;

/// Lets the runs of a session, or the changes of its state, take turns.
pub(crate) type SessionTurns = Turns<SessionKey>;
/// A turn in a session.
pub(crate) type SessionTurn = Turn<SessionKey>;
