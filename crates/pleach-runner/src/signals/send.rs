//! [`Runner::signal`]: sends signals to a session.

use std::sync::Arc;
use std::time::Duration;

use pleach_context::engine::{on_pool, stable_uuid};
use pleach_core::{EventId, Question, Session, SessionKey, Uuid, to_json};
use pleach_session::prepare::turn_key;
use pleach_session::{SessionError, open_questions};
use serde::Serialize;

use crate::app::inner::check_id;
use crate::request::run_request::check_revision;
use crate::run::event_writer::EventWriter;
use crate::run::stream::Run;
use crate::signals::incoming::Offered;
use crate::signals::outgoing::{OutgoingSignal, SignalOptions, refused};
use crate::{Detached, RunError, RunProgress, RunRequest, Runner, SessionRef};

/// The maximum number of tries of a signal or an abort while other processes append to the session.
const TRIES: u32 = 20;
/// The pause after the first try. Each further pause is longer by this time.
const PAUSE: Duration = Duration::from_millis(10);

/// The outcome of sending a signal. In all cases the signal is stored.
#[derive(Debug)]
#[non_exhaustive]
pub enum SignalOutcome {
    /// A run was waiting for the signal and continues. Dropping the handle does not stop the run.
    Delivered(Detached),
    /// No run waits for the signal yet. It is kept for the last invocation of the session, which has not ended.
    Kept,
    /// A signal with the same name and idempotency key was stored before, even if a rewind has undone it. If the
    /// process that stored it has died, [`Runner::resume`] continues its run.
    Repeated,
}

impl Runner {
    /// Sends a signal to the run of a session that waits for its name, with
    /// [`Context::wait_for_signal`](pleach_context::Context::wait_for_signal) or in a
    /// [`select`](pleach_context::Context::select). If several runs wait, the run with the oldest question receives the
    /// signal. That run continues in the background.
    ///
    /// If no run waits for the name yet, the signal is kept for the last invocation of the session. If a run of this
    /// Runner or its clones works on that invocation, the run stores the signal between its own events. The next wait
    /// for the name receives the signal. Signals of one name that this Runner and its clones send are stored in the
    /// order of the calls.
    ///
    /// The call returns once the signal is stored. If a run waits for the name in one lane but another lane is still at
    /// work, the call waits until the run pauses or ends. It waits even if the run's reader does not poll it. Until the
    /// call returns, the signal is only in memory. If such a wait may be long, limit the call with a timeout and let
    /// the sender repeat it with an [idempotency key](SignalOptions::idempotency_key).
    ///
    /// A node must not send its own session a signal that its run waits for, because the call would wait for its own
    /// run. For the same reason, a plugin hook must not send any signal to the session of its run.
    ///
    /// # Errors
    /// - [`RunError::Message`] for a payload that cannot be written as JSON, or that does not fit the type of the waiting run.
    /// - [`RunError::NoReceiver`] if no run waits for the name, and the last invocation has ended.
    /// - [`RunError::Unfinished`] if no run waits for the name, and the last invocation has neither ended nor paused,
    ///   or a lane parallel to its questions has not. Either another process works on it, and storing the signal would
    ///   make its run fail. Or the invocation was cut off, possibly between two attempts. Send the signal again later,
    ///   or to that process, or resume the invocation first.
    ///
    ///   If the root node has failed, the signal is kept for a resume. If only a child or a step has failed, the body
    ///   that ran it may have caught the failure and still be running. In that case the signal is kept only if the
    ///   session has not changed for three [heartbeats](crate::RunnerBuilder::heartbeat). In an app that is not
    ///   [resumable](crate::App::resumable), the log does not show whether a node without a result has completed, so it
    ///   is treated as one that may still be running.
    /// - [`RunError::Busy`] if runs of this Runner keep beginning in the session.
    /// - [`RunError::Session`] with a stale error if other processes keep appending to the session; the errors of [`Runner::questions`].
    /// - [`RunError::Node`] with a `WorkflowChangedError` if the last invocation is [`RunProgress::Changed`].
    ///
    /// On an error nothing is stored, with one exception: if the storage does not respond, the signal may be stored.
    /// With an [idempotency key](SignalOptions::idempotency_key) it is safe to send the signal again.
    ///
    /// # Cancel safety
    /// If the future is dropped, the signal is stored whole or not at all. With an [idempotency
    /// key](SignalOptions::idempotency_key) it is safe to send the signal again.
    ///
    /// ADK: none.
    pub async fn signal(
        &self,
        session: impl Into<SessionRef>,
        name: impl Into<String>,
        payload: impl Serialize,
    ) -> Result<SignalOutcome, RunError> {
        self.signal_with(session, name, payload, SignalOptions::new()).await
    }

    /// Sends a signal with options. See [`Runner::signal`].
    ///
    /// # Errors
    /// The errors of [`Runner::signal`].
    ///
    /// # Cancel safety
    /// The same as for [`Runner::signal`].
    pub async fn signal_with(
        &self,
        session: impl Into<SessionRef>,
        name: impl Into<String>,
        payload: impl Serialize,
        options: SignalOptions,
    ) -> Result<SignalOutcome, RunError> {
        let key = self.parts.session_key(&session.into()).await?;
        let signal = signal_of(&key, name.into(), payload, options, || self.parts.services.ids.uuid())?;
        // Without turns, two signals of one name could overtake each other.
        let line = turn_key(&key);
        let _turn = self.parts.signal_names.take((line.clone(), signal.name.clone())).await;
        let (mut tries, mut looked_again) = (1, false);
        loop {
            if let Some(run) = self.parts.active.run_of_session(&key).filter(|run| !run.has_ended()) {
                if signal.at.is_some() {
                    return Err(RunError::Busy { invocation: run.invocation(), session: key });
                }
                match run.offer(signal.clone()).await {
                    Ok(Ok(Offered::Kept)) => return Ok(SignalOutcome::Kept),
                    Ok(Ok(Offered::Repeated)) => return Ok(SignalOutcome::Repeated),
                    Ok(Ok(Offered::Awaited)) | Err(_) => {}
                    Ok(Err(error)) => return Err(error),
                }
                if run.is_summing_up() {
                    run.cut();
                }
                run.ended().await;
                continue;
            }
            let turn = self.parts.signals.take(line.clone()).await;
            let tried = self.try_signal(&key, &signal).await;
            drop(turn);
            match tried {
                Ok(Some(outcome)) => return Ok(outcome),
                // Another process has stored an answer at the same time.
                Ok(None) => {}
                Err(error) if signal.at.is_none() && is_transient(&error) && wait_before_retry(&mut tries).await => {}
                // The signal may be stored. Reading the session again shows whether it is.
                Err(error) if is_unclear(&error) && !looked_again => looked_again = true,
                Err(error) => return Err(error),
            }
        }
    }

    /// Tries once to deliver or keep the signal. Returns `None` if the session has changed in the meantime.
    async fn try_signal(&self, key: &SessionKey, signal: &OutgoingSignal) -> Result<Option<SignalOutcome>, RunError> {
        let session = self.parts.load_all(key).await?;
        if let Some(event) = session.events.iter().find(|event| *event.id() == signal.id) {
            // The signal was stored by this call, if its run ended right after the append, or by an earlier call with
            // the same key.
            let is_kept = !signal.is_keyed && event.kept_signal().is_some();
            return Ok(Some(if is_kept { SignalOutcome::Kept } else { SignalOutcome::Repeated }));
        }
        check_revision(signal.at, &session)?;
        match open_questions(&session.events).into_iter().find(|question| signal.is_awaited_by(question)) {
            Some(question) => self.deliver(key, &question, signal).await,
            None => self.keep(session, signal).await.map(Some),
        }
    }

    /// Answers the question of a run that waits for the signal; returns `None` if another process has answered it.
    async fn deliver(
        &self,
        key: &SessionKey,
        question: &Question,
        signal: &OutgoingSignal,
    ) -> Result<Option<SignalOutcome>, RunError> {
        let (payload, id, config) = (signal.payload.clone(), signal.id.clone(), signal.config.clone());
        let request = RunRequest::answering_open(key, question, payload, id, config)?;
        let request = RunRequest { at: signal.at, ..request };
        let run = Run::new(Arc::clone(&self.parts), request).detach();
        if run.invocation_id().await.is_ok() {
            return Ok(Some(SignalOutcome::Delivered(run)));
        }
        // Awaiting the run returns its error.
        match run.await {
            Ok(()) => Ok(None),
            Err(RunError::Answer { reason, .. }) => Err(refused(&signal.name, reason)),
            Err(error) if is_unclear(&error) => self.continue_delivered(key, signal).await.map(Some).ok_or(error),
            Err(error) => Err(error),
        }
    }

    /// Continues the run if its answer turns out to be stored, after the storage has not responded. Returns `None` if
    /// the answer is not stored, or if another process has stored an event after it.
    async fn continue_delivered(&self, key: &SessionKey, signal: &OutgoingSignal) -> Option<SignalOutcome> {
        let session = self.parts.load_all(key).await.ok()?;
        let stored = session.events.last().filter(|last| *last.id() == signal.id)?;
        let request = RunRequest::new(key).invocation_id(stored.invocation_id().clone());
        let config = signal.config.clone();
        Some(SignalOutcome::Delivered(Run::new(Arc::clone(&self.parts), request.config(config)).detach()))
    }

    /// Keeps a signal for the last invocation of a session.
    async fn keep(&self, session: Session, signal: &OutgoingSignal) -> Result<SignalOutcome, RunError> {
        let head = session.head.clone();
        let (status, rests) = self.parts.status_and_rest(session).await?;
        let no_receiver = || RunError::NoReceiver { session: status.session.clone(), signal: signal.name.clone() };
        let invocation = status.invocation.clone().ok_or_else(no_receiver)?;
        match status.progress {
            RunProgress::New | RunProgress::Aborted | RunProgress::Done => return Err(no_receiver()),
            RunProgress::RunsHere => {
                return Err(RunError::Busy { session: status.session, invocation: Some(invocation) });
            }
            RunProgress::RunsElsewhere => return Err(RunError::Unfinished { session: status.session, invocation }),
            RunProgress::Changed { error, path } => return Err(RunError::Node { error, path }),
            _ if !rests => return Err(RunError::Unfinished { session: status.session, invocation }),
            RunProgress::Waiting
            | RunProgress::Failed { .. }
            | RunProgress::Unfinished
            | RunProgress::Dead
            | RunProgress::MayBeDone => {}
        }
        let mut event = signal.event(&invocation)?;
        let mut store = EventWriter::new(head);
        store.set_id_and_time(&self.parts.services, &mut event);
        self.sessions().append(&mut store.head, Arc::new(event)).await?;
        Ok(SignalOutcome::Kept)
    }
}

/// Waits a moment before another try, while other processes append to the session; returns `false` after the last try.
pub(crate) async fn wait_before_retry(tries: &mut u32) -> bool {
    let pause = PAUSE * *tries;
    *tries += 1;
    if *tries > TRIES {
        return false;
    }
    // The other writers are other processes, so the pause must be in real time. A test may stop the Runner's clock, and
    // tokio's timer may be disabled.
    on_pool(move || std::thread::sleep(pause)).await;
    true
}

/// Returns the signal of a call, with the id of its event.
fn signal_of(
    key: &SessionKey,
    name: String,
    payload: impl Serialize,
    options: SignalOptions,
    new_id: impl FnOnce() -> Uuid,
) -> Result<OutgoingSignal, RunError> {
    check_id("signal", &name)?;
    let payload = to_json(payload).map_err(|error| refused(&name, error))?;
    let is_keyed = options.idempotency_key.is_some();
    let id = match options.idempotency_key {
        None => EventId::from(new_id()),
        Some(own) => {
            check_id("idempotency key of the signal", &own)?;
            let SessionKey { app_name, user_id, session_id } = key;
            let session = [app_name.as_str(), user_id.as_str(), session_id.as_str()];
            EventId::from(stable_uuid(session.into_iter().chain(["signal", &name, &own])))
        }
    };
    Ok(OutgoingSignal { name, payload, id, is_keyed, config: options.config, at: options.at })
}

/// Returns `true` if another try may succeed, because the session's events or runs have changed in the meantime.
fn is_transient(error: &RunError) -> bool {
    match error {
        RunError::Busy { .. } | RunError::AlreadyAnswered { .. } => true,
        RunError::Session(error) => error.is_stale() || matches!(error, SessionError::EventAlreadyExists { .. }),
        _ => false,
    }
}

/// Returns `true` if the storage did not respond, so that the signal may or may not be stored.
fn is_unclear(error: &RunError) -> bool {
    matches!(error, RunError::Session(SessionError::Unavailable { .. } | SessionError::Storage { .. }))
}
