//! [`Runner::signal`]: messages of programs to a run.

use std::sync::Arc;
use std::time::Duration;

use pleach_context::engine::{on_pool, stable_uuid};
use pleach_core::{EventId, Question, Session, SessionKey, Uuid, to_json};
use pleach_session::prepare::turn_key;
use pleach_session::{SessionError, open_questions};
use serde::Serialize;

use crate::app::inner::check_id;
use crate::run::event_writer::Store;
use crate::run::stream::Run;
use crate::signals::incoming::Offered;
use crate::signals::outgoing::{Signal, SignalOptions, refused};
use crate::{Detached, RunError, RunProgress, RunRequest, Runner, SessionRef};

/// How often a signal or an abort is tried when other processes append to the session at the same time, and the pause between two tries.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(10);

/// What has become of a signal. It is stored in each case.
#[derive(Debug)]
#[non_exhaustive]
pub enum SignalOutcome {
    /// A run has waited for it, and continues: dropping the handle does not stop it.
    Delivered(Detached),
    /// No run waits for it yet. It is kept for the last invocation of the session, which has not ended.
    Kept,
    /// It was stored before, with the same name and idempotency key, also when a rewind has taken it back. If the process that stored it is
    /// gone, its run waits for [`Runner::resume`].
    Repeated,
}

impl Runner {
    /// Sends a signal to a session: to the run that waits for the name, by
    /// [`Context::wait_for_signal`](pleach_context::Context::wait_for_signal) or in a
    /// [`select`](pleach_context::Context::select); to the one whose question is the oldest, if several do. The run continues in the
    /// background.
    ///
    /// A signal that comes before a run waits for it is kept for the last invocation of the session, also while a run of this Runner or
    /// its clones works on it: the run stores the signal between its own events, and its next wait for the name takes it. Signals of one
    /// name that these Runners send come one after the other, in the order of the calls.
    ///
    /// The call returns once the signal is stored. It waits for a run that already waits for the name in one lane and works in another one,
    /// until that pauses or ends, and for a run that its reader does not poll. Limit the call with a time-out where that may happen, and
    /// have the sender repeat it with an [idempotency key](SignalOptions::idempotency_key): until the call returns, the signal is in memory
    /// only. A node must not signal the own session under a name for which its run waits, and a hook of a
    /// plugin not at all.
    ///
    /// # Errors
    /// - [`RunError::Message`] for a payload that cannot be written as JSON, or that the type of the run that waits refuses.
    /// - [`RunError::NoReceiver`] when no run waits for the name, and the last invocation has ended.
    /// - [`RunError::Unfinished`] when no run waits for the name, and the last invocation, or a lane of it beside its questions, has neither
    ///   ended nor paused: another process works on it and would lose the session, or it was cut off, also between two attempts. Send the signal
    ///   again later, or to that process, or resume the invocation first. An invocation that has failed for good keeps the signal for its
    ///   resume; one whose last failure is that of a child or a step which a body has run does so only once it has been silent for three
    ///   [heartbeats](crate::RunnerBuilder::heartbeat), because the body may have caught the failure and be at work. In an app that is not
    ///   [resumable](crate::App::resumable), a node that completed without a result leaves no trace, and counts as one that may work elsewhere.
    /// - [`RunError::Busy`] when runs of this Runner keep beginning in the session.
    /// - [`RunError::Session`] with a stale error when other processes keep appending to the session; those of [`Runner::questions`].
    /// - [`RunError::Node`] with a `WorkflowChangedError` when the last invocation is [`RunProgress::Changed`].
    ///
    /// Nothing is stored then, but for an error of a storage that does not answer: the signal may be stored, and
    /// [`SignalOptions::idempotency_key`] makes sending it again safe.
    ///
    /// # Cancel safety
    /// When the future is dropped, the signal is stored whole or not at all; [`SignalOptions::idempotency_key`] makes sending it again safe.
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
    /// Those of [`Runner::signal`].
    ///
    /// # Cancel safety
    /// As [`Runner::signal`].
    pub async fn signal_with(
        &self,
        session: impl Into<SessionRef>,
        name: impl Into<String>,
        payload: impl Serialize,
        options: SignalOptions,
    ) -> Result<SignalOutcome, RunError> {
        let key = self.parts.session_key(&session.into()).await?;
        let signal = signal_of(&key, name.into(), payload, options, || self.parts.services.ids.uuid())?;
        // Two signals of one name would overtake each other.
        let line = turn_key(&key);
        let _turn = self.parts.signal_names.take((line.clone(), signal.name.clone())).await;
        let (mut tries, mut looked_again) = (1, false);
        loop {
            if let Some(run) = self.parts.active.of(&key).filter(|run| run.end().is_none()) {
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
                Err(error) if is_passing(&error) && pause_before(&mut tries).await => {}
                // It may be stored: another look shows that.
                Err(error) if is_unclear(&error) && !looked_again => looked_again = true,
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns `None` when the session has changed meanwhile.
    async fn try_signal(&self, key: &SessionKey, signal: &Signal) -> Result<Option<SignalOutcome>, RunError> {
        let session = self.parts.load_all(key).await?;
        if let Some(event) = session.events.iter().find(|event| *event.id() == signal.id) {
            // By this very call, whose run has ended behind the append; or by an earlier one with its key.
            let is_kept = !signal.is_keyed && event.kept_signal().is_some();
            return Ok(Some(if is_kept { SignalOutcome::Kept } else { SignalOutcome::Repeated }));
        }
        match open_questions(&session.events).into_iter().find(|question| signal.is_awaited_by(question)) {
            Some(question) => self.deliver(key, &question, signal).await,
            None => self.keep(session, signal).await.map(Some),
        }
    }

    /// Answers the question of a run that waits for the signal; `None` when another process has answered it.
    async fn deliver(
        &self,
        key: &SessionKey,
        question: &Question,
        signal: &Signal,
    ) -> Result<Option<SignalOutcome>, RunError> {
        let (payload, id, config) = (signal.payload.clone(), signal.id.clone(), signal.config.clone());
        let request = RunRequest::answering_open(key, question, payload, Some(id), config)?;
        let run = Run::new(Arc::clone(&self.parts), request).detach();
        if run.invocation_id().await.is_ok() {
            return Ok(Some(SignalOutcome::Delivered(run)));
        }
        // Awaiting the run gives its error.
        match run.await {
            Ok(()) => Ok(None),
            Err(RunError::Answer { reason, .. }) => Err(refused(&signal.name, reason)),
            Err(error) if is_unclear(&error) => self.continue_delivered(key, signal).await.map(Some).ok_or(error),
            Err(error) => Err(error),
        }
    }

    /// Continues the run whose answer is stored although the storage did not respond; `None` when it is not, or when another process has
    /// stored something behind it.
    async fn continue_delivered(&self, key: &SessionKey, signal: &Signal) -> Option<SignalOutcome> {
        let session = self.parts.load_all(key).await.ok()?;
        let stored = session.events.last().filter(|last| *last.id() == signal.id)?;
        let request = RunRequest::new(key).invocation_id(stored.invocation_id().clone());
        let config = signal.config.clone();
        Some(SignalOutcome::Delivered(Run::new(Arc::clone(&self.parts), request.config(config)).detach()))
    }

    /// Keeps a signal for the last invocation of a session.
    async fn keep(&self, session: Session, signal: &Signal) -> Result<SignalOutcome, RunError> {
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
            RunProgress::Waiting | RunProgress::Failed { .. } | RunProgress::Unfinished | RunProgress::MayBeDone => {}
        }
        let mut event = signal.event(&invocation)?;
        let mut store = Store::new(head);
        store.stamp(&self.parts.services, &mut event);
        self.sessions().append(&mut store.head, Arc::new(event)).await?;
        Ok(SignalOutcome::Kept)
    }
}

/// Waits a moment before a session is tried again that others append to at the same time; returns false after the last try.
pub(crate) async fn pause_before(tries: &mut u32) -> bool {
    let pause = PAUSE * *tries;
    *tries += 1;
    if *tries > TRIES {
        return false;
    }
    // Between processes, so not by the clock of the Runner, which a test may hold; nor by tokio's, which may be off.
    on_pool(move || std::thread::sleep(pause)).await;
    true
}

/// Makes the signal of a call, with the id of its event.
fn signal_of(
    key: &SessionKey,
    name: String,
    payload: impl Serialize,
    options: SignalOptions,
    new_id: impl FnOnce() -> Uuid,
) -> Result<Signal, RunError> {
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
    Ok(Signal { name, payload, id, is_keyed, config: options.config })
}

/// Whether another look at the session may decide otherwise: its events or its runs have changed meanwhile.
fn is_passing(error: &RunError) -> bool {
    match error {
        RunError::Busy { .. } | RunError::AlreadyAnswered { .. } => true,
        RunError::Session(error) => error.is_stale() || matches!(error, SessionError::EventAlreadyExists { .. }),
        _ => false,
    }
}

/// Whether the storage did not answer, so that the signal may be stored.
fn is_unclear(error: &RunError) -> bool {
    matches!(error, RunError::Session(SessionError::Unavailable { .. } | SessionError::Storage { .. }))
}
