//! Stores the signals that come while a run works, between the run's own events.

use std::sync::Arc;

use pleach_context::InvocationContext;
use pleach_context::engine::Engine as _;
use pleach_core::Event;
use pleach_session::{SessionError, open_questions};

use crate::RunError;
use crate::incoming::{Incoming, Offered};
use crate::sent_signal::Signal;
use crate::store::Store;

/// Stores the signals that wait, unless a body waits for their names. Returns the first event that was stored; called again, the next one.
///
/// The root must not be polled meanwhile: a body that begins to wait in between would not find the signal.
///
/// # Errors
/// The session is stale: the run has lost it.
pub(crate) async fn keep_next(
    incoming: &Incoming,
    ic: &InvocationContext,
    store: &mut Store,
) -> Result<Option<Arc<Event>>, RunError> {
    while let Some((signal, sender)) = incoming.take() {
        match keep(&signal, ic, store).await {
            Ok((offered, stored)) => {
                // The caller may have given up.
                let _ = sender.send(Ok(offered));
                if stored.is_some() {
                    return Ok(stored);
                }
            }
            // Dropping the sender makes the caller look again.
            Err(RunError::Session(error)) if error.is_stale() => return Err(RunError::Session(error)),
            Err(error) => drop(sender.send(Err(error))),
        }
    }
    Ok(None)
}

/// Stores a signal for the invocation, and returns its event if that is new.
async fn keep(
    signal: &Signal,
    ic: &InvocationContext,
    store: &mut Store,
) -> Result<(Offered, Option<Arc<Event>>), RunError> {
    let events = ic.events();
    if events.iter().any(|event| signal.is_stored_as(event)) {
        return Ok((Offered::Repeated, None));
    }
    let asked = || open_questions(&events).iter().any(|question| signal.is_awaited_by(question));
    if ic.engine().awaits_signal(&signal.name) || asked() {
        return Ok((Offered::Awaited, None));
    }
    let mut event = signal.event(ic.invocation_id())?;
    store.stamp(ic.engine().services(), &mut event);
    match store.append(ic, Arc::new(event)).await {
        Ok(stored) => {
            ic.engine().keep_signal(&stored);
            Ok((Offered::Kept, Some(stored)))
        }
        Err(RunError::Session(SessionError::EventAlreadyExists { .. })) => Ok((Offered::Repeated, None)),
        Err(error) => Err(error),
    }
}
