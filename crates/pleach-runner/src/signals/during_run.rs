//! Stores the signals that arrive during a run, between the run's own events.

use std::sync::Arc;

use foldhash::HashSet;
use pleach_context::engine::InvocationHandle;
use pleach_core::{Event, QuestionKind};
use pleach_session::{GetSessionConfig, SessionError, open_questions};

use crate::RunError;
use crate::run::event_writer::EventWriter;
use crate::signals::incoming::{Incoming, Offered};
use crate::signals::outgoing::OutgoingSignal;

/// Stores the next queued signal and returns its event; call it again for the next signal. It skips repeated signals,
/// and signals that a body already waits for.
///
/// # Errors
/// The session is stale: the run has lost it.
pub(crate) async fn keep_next(
    incoming: &Incoming,
    ic: &InvocationHandle,
    store: &mut EventWriter,
) -> Result<Option<Arc<Event>>, RunError> {
    while let Some((signal, sender)) = incoming.take() {
        match keep(&signal, incoming, ic, store).await {
            Ok((offered, stored)) => {
                // The caller may have given up.
                let _ = sender.send(Ok(offered));
                if stored.is_some() {
                    return Ok(stored);
                }
            }
            // Dropping the sender makes the caller read the session again.
            Err(RunError::Session(error)) if error.is_stale() => return Err(RunError::Session(error)),
            Err(error) => drop(sender.send(Err(error))),
        }
    }
    Ok(None)
}

/// Stores a signal for the invocation, and returns its event if that is new.
async fn keep(
    signal: &OutgoingSignal,
    incoming: &Incoming,
    ic: &InvocationHandle,
    store: &mut EventWriter,
) -> Result<(Offered, Option<Arc<Event>>), RunError> {
    let asked_before = incoming.asked_before.get_or_try_init(|| asked_before(ic)).await?;
    if asked_before.contains(&signal.name) {
        return Ok((Offered::Awaited, None));
    }
    let Some(storing) = ic.store_signal(&signal.name) else { return Ok((Offered::Awaited, None)) };
    let mut event = signal.event(ic.invocation_id())?.with_signal_stored_by_run();
    store.set_id_and_time(ic.services(), &mut event);
    let event = Arc::new(event);
    let stored = match store.append(ic, Arc::clone(&event)).await {
        // The event may be stored. Appending it again is safe: the same event at the same place is stored once.
        Err(RunError::Session(SessionError::Unavailable { .. } | SessionError::Storage { .. })) => {
            store.append(ic, event).await
        }
        stored => stored,
    };
    match stored {
        Ok(stored) => {
            storing.stored(&stored);
            Ok((Offered::Kept, Some(stored)))
        }
        Err(RunError::Session(SessionError::EventAlreadyExists { .. })) => Ok((Offered::Repeated, None)),
        Err(error) => Err(error),
    }
}

/// Returns the names of the signals that open questions of the session wait for. Questions that this run asks are not
/// needed here, because the invocation has them.
async fn asked_before(ic: &InvocationHandle) -> Result<HashSet<String>, RunError> {
    let mut events = ic.events();
    // The run may have loaded only the newest events.
    if ic.run_config().get_session_config != GetSessionConfig::all() {
        let stored = ic.services().sessions.get_session(ic.session_key(), GetSessionConfig::all()).await?;
        events = stored.map(|session| session.events).unwrap_or(events);
    }
    let open = open_questions(&events).into_iter().filter(|question| question.kind == QuestionKind::Signal);
    Ok(open.map(|question| question.message).collect())
}
