//! [`start`]: a task that drives a run for its client.
// H55

use std::sync::Arc;

use pleach_core::{Event, InvocationId, SessionKey};
use pleach_runner::{Detached, Run, RunError, RunEvent, RunRequest, Runner};
use pleach_session::GetSessionConfig;
use tokio::sync::mpsc;
use tracing::Instrument as _;

use super::{Failure, Prepared};
use crate::api::Api;
use crate::runs::SessionTurn;
use crate::runs::slots::RunSlot;

/// The events of a run, as the client takes them. Dropping it means that the client has gone.
pub(crate) type RunEvents = mpsc::Receiver<Result<Arc<Event>, Failure>>;

type Place<'a> = mpsc::Permit<'a, Result<Arc<Event>, Failure>>;

/// Starts the task of a run. It holds one event at most: the run advances when the client has taken the one before.
pub(crate) fn start(api: &Arc<Api>, prepared: Prepared) -> RunEvents {
    let (tx, rx) = mpsc::channel(1);
    let Prepared { runner, run, key, repeatable, named, announces, streams, slot, turn, detaches, .. } = prepared;
    let api = Arc::clone(api);
    let driver = Driver { api, runner, key, repeatable, named, announces, streams, detaches, tx, turn, _slot: slot };
    tokio::spawn(driver.drive(run).in_current_span());
    rx
}

struct Driver {
    api: Arc<Api>,
    runner: Runner,
    key: SessionKey,
    repeatable: Option<InvocationId>,
    /// The invocation that the message names: its stored event comes first.
    named: Option<InvocationId>,
    /// Whether the run's message is given, too.
    announces: bool,
    /// Whether the client gets fragments. It may have joined a run of another one that does.
    streams: bool,
    /// Whether the run continues when its client has gone.
    detaches: bool,
    tx: mpsc::Sender<Result<Arc<Event>, Failure>>,
    turn: Option<SessionTurn>,
    /// Held until the run has ended, with a client or without.
    _slot: RunSlot,
}

/// How the client's part of a run ends.
enum End {
    /// The run is over.
    Over,
    /// The client has gone.
    Left,
    /// The time of a request is over.
    Late,
}

impl Driver {
    async fn drive(self, mut run: Run) {
        let clock = &self.api.clock;
        let end = match self.api.limits.run_time {
            None => self.serve(&mut run).await,
            Some(time) => tokio::select! {
                end = self.serve(&mut run) => end,
                () = clock.sleep(time) => End::Late,
            },
        };
        match end {
            End::Over => {}
            End::Left if self.detaches => finish(run.detach()).await,
            End::Left => abort(run).await,
            End::Late => {
                abort(run).await;
                self.give(Err(Failure::Late)).await;
            }
        }
    }

    /// Gives the events of the run. Where it gives none, because the message was sent before, those that are stored.
    async fn serve(&self, run: &mut Run) -> End {
        let mut given = false;
        let mut stored = self.named.is_none() && !self.announces;
        loop {
            let Some((place, next)) = self.next(run).await else { return End::Left };
            match next {
                Some(Ok(event)) => {
                    self.turn.iter().filter(|_| !given).for_each(|turn| turn.set_running(event.invocation_id()));
                    let is_message = !stored && event.is_from_user();
                    stored = true;
                    if is_message && self.announces {
                        place.send(Ok(event.event));
                    } else if !is_message && (self.streams || !event.is_partial()) {
                        place.send(Ok(event.event));
                        given = true;
                    }
                }
                Some(Err(error)) if !given && self.repeatable.is_some() => {
                    drop(place);
                    return self.again(run, error).await;
                }
                Some(Err(error)) => {
                    place.send(Err(Failure::Run(error)));
                    return End::Over;
                }
                None if given => return End::Over,
                None => {
                    drop(place);
                    return self.nothing(stored).await;
                }
            }
        }
    }

    /// Returns the run's next event and where it goes; `None` when the client has gone.
    async fn next(&self, run: &mut Run) -> Option<(Place<'_>, Option<Result<RunEvent, RunError>>)> {
        let place = self.place().await?;
        tokio::select! {
            biased;
            next = run.next() => Some((place, next)),
            () = self.tx.closed() => None,
        }
    }

    /// Ends a run without events.
    async fn nothing(&self, stored: bool) -> End {
        match &self.named {
            Some(id) if !stored => {
                self.give(Err(Failure::Over(id.clone()))).await;
            }
            _ => {
                self.repeat().await;
            }
        }
        End::Over
    }

    /// Serves a message that was sent before, and whose run has failed, waits for an answer, or was interrupted.
    async fn again(&self, run: &mut Run, error: RunError) -> End {
        match error {
            RunError::Followed { .. } | RunError::Node { .. } => {
                if self.repeat().await {
                    self.give(Err(Failure::Run(error))).await;
                }
                End::Over
            }
            RunError::Unfinished { .. } if self.turn.is_some() => {
                if !self.repeat().await {
                    return End::Over;
                }
                self.resume(run).await
            }
            error => {
                self.give(Err(Failure::Run(error))).await;
                End::Over
            }
        }
    }

    /// Resumes the interrupted invocation in place of the run. One that waits for answers is left alone.
    async fn resume(&self, run: &mut Run) -> End {
        let Some(invocation) = &self.repeatable else { return End::Over };
        let asked = self.runner.questions(&self.key).await;
        match asked {
            Ok(open) if open.iter().any(|question| question.invocation_id == *invocation) => End::Over,
            Ok(_) => {
                *run = self.runner.start(RunRequest::new(&self.key).invocation_id(invocation));
                self.rest(run).await
            }
            Err(error) => {
                self.give(Err(Failure::Run(error))).await;
                End::Over
            }
        }
    }

    /// Gives the events of a resumed run.
    async fn rest(&self, run: &mut Run) -> End {
        loop {
            match self.next(run).await {
                None => return End::Left,
                Some((place, Some(Ok(event)))) => place.send(Ok(event.event)),
                Some((place, Some(Err(error)))) => {
                    place.send(Err(Failure::Run(error)));
                    return End::Over;
                }
                Some((_, None)) => return End::Over,
            }
        }
    }

    /// Gives the stored events of a message that was sent before. Returns whether the client is still there, and the storage as well.
    async fn repeat(&self) -> bool {
        let Some(invocation) = &self.repeatable else { return true };
        let loaded = self.api.sessions.get_session(&self.key, GetSessionConfig::all()).await;
        let events = match loaded {
            Ok(session) => session.map(|session| session.events).unwrap_or_default(),
            Err(error) => {
                self.give(Err(Failure::Run(error.into()))).await;
                return false;
            }
        };
        for event in events {
            let is_of = event.invocation_id() == invocation && !event.is_from_user();
            if is_of && !self.give(Ok(event)).await {
                return false;
            }
        }
        true
    }

    /// Waits until the client has taken the event before; `None` when it has gone, or takes too long.
    async fn place(&self) -> Option<Place<'_>> {
        let late = self.api.clock.sleep(self.api.limits.client_patience);
        tokio::select! {
            place = self.tx.reserve() => place.ok(),
            () = late => None,
        }
    }

    /// Gives the client one more event; returns whether it is still there.
    async fn give(&self, event: Result<Arc<Event>, Failure>) -> bool {
        let place = self.place().await;
        place.map(|place| place.send(event)).is_some()
    }
}

/// Aborts a run, and waits until that is stored.
async fn abort(run: Run) {
    let detached = run.detach();
    detached.abort();
    finish(detached).await;
}

/// Waits for the end of a run without a client.
async fn finish(run: Detached) {
    if let Err(error) = run.await {
        tracing::debug!(code = error.code(), "a run without a client has ended with an error");
    }
}
