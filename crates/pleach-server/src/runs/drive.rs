//! [`start`]: a task that drives a run for its client.
// H55

use std::sync::Arc;

use pleach_core::{Event, InvocationId, SessionKey};
use pleach_runner::{Detached, Run, RunError, RunEvent, RunProgress, RunRequest, Runner};
use pleach_session::GetSessionConfig;
use tokio::sync::mpsc;
use tracing::Instrument as _;

use super::{Failure, Prepared};
use crate::api::Api;
use crate::runs::SessionTurn;
use crate::runs::slots::RunSlot;

/// The channel from which a client receives the events of its run. A dropped receiver means that the client has
/// disconnected.
pub(crate) type RunEvents = mpsc::Receiver<Result<Arc<Event>, Failure>>;

/// Room for one event in the client's channel.
type SendPermit<'a> = mpsc::Permit<'a, Result<Arc<Event>, Failure>>;

/// Starts the task of a run. The task holds at most one event: the run continues only after the client has received
/// that event.
pub(crate) fn start(api: &Arc<Api>, prepared: Prepared) -> RunEvents {
    let (tx, rx) = mpsc::channel(1);
    let Prepared { runner, run, key, repeatable, named, announces, streams, slot, turn, detaches, .. } = prepared;
    let api = Arc::clone(api);
    let stream =
        ClientStream { api, runner, key, repeatable, named, announces, streams, detaches, tx, turn, _slot: slot };
    tokio::spawn(stream.drive(run).in_current_span());
    rx
}

/// Streams the events of one run to its client.
struct ClientStream {
    api: Arc<Api>,
    runner: Runner,
    key: SessionKey,
    repeatable: Option<InvocationId>,
    /// The invocation that the message names. Its first event is then the stored message.
    named: Option<InvocationId>,
    /// Whether the user's message is sent to the client as well.
    announces: bool,
    /// Whether the client gets fragments. It may have joined the run of another client that gets them.
    streams: bool,
    /// Whether the run continues after its client has disconnected.
    detaches: bool,
    tx: mpsc::Sender<Result<Arc<Event>, Failure>>,
    turn: Option<SessionTurn>,
    /// The slot is held until the run has ended, even if the client has disconnected.
    _slot: RunSlot,
}

/// How sending the events of a run to its client ends.
enum ClientEnd {
    /// The run is over.
    Over,
    /// The client has disconnected, or has not read for too long.
    Left,
    /// The run took longer than a request may.
    Late,
}

impl ClientStream {
    async fn drive(self, mut run: Run) {
        let clock = &self.api.clock;
        let end = match self.api.limits.run_time {
            None => self.forward_events(&mut run).await,
            Some(time) => tokio::select! {
                end = self.forward_events(&mut run) => end,
                () = clock.sleep(time) => ClientEnd::Late,
            },
        };
        match end {
            ClientEnd::Over => {}
            ClientEnd::Left if self.detaches => finish(run.detach()).await,
            ClientEnd::Left => abort(run).await,
            ClientEnd::Late => {
                abort(run).await;
                self.send(Err(Failure::Late)).await;
            }
        }
    }

    /// Sends the events of the run. If there are none because the message is a repetition, sends the stored events.
    async fn forward_events(&self, run: &mut Run) -> ClientEnd {
        let mut sent = false;
        let mut stored = self.named.is_none() && !self.announces;
        loop {
            let Some((permit, next)) = self.next_event_with_permit(run).await else { return ClientEnd::Left };
            match next {
                Some(Ok(event)) => {
                    self.turn.iter().filter(|_| !sent).for_each(|turn| turn.set_running(event.invocation_id()));
                    let is_message = !stored && event.is_from_user();
                    stored = true;
                    if is_message && self.announces {
                        permit.send(Ok(event.event));
                    } else if !is_message && (self.streams || !event.is_partial()) {
                        permit.send(Ok(event.event));
                        sent = true;
                    }
                }
                Some(Err(error)) if !sent && self.repeatable.is_some() => {
                    drop(permit);
                    return self.replay_or_resume(run, error).await;
                }
                Some(Err(error)) => {
                    permit.send(Err(Failure::Run(error)));
                    return ClientEnd::Over;
                }
                None if sent => return ClientEnd::Over,
                None => {
                    drop(permit);
                    return self.end_without_events(stored).await;
                }
            }
        }
    }

    /// Returns the run's next event and the permit to send it; `None` if the client has disconnected.
    async fn next_event_with_permit(
        &self,
        run: &mut Run,
    ) -> Option<(SendPermit<'_>, Option<Result<RunEvent, RunError>>)> {
        let permit = self.reserve().await?;
        tokio::select! {
            biased;
            next = run.next() => Some((permit, next)),
            () = self.tx.closed() => None,
        }
    }

    /// Completes the reply to a run that had no events.
    async fn end_without_events(&self, stored: bool) -> ClientEnd {
        match &self.named {
            Some(id) if !stored => {
                self.send(Err(Failure::Over(id.clone()))).await;
            }
            _ => {
                self.send_stored_events().await;
            }
        }
        ClientEnd::Over
    }

    /// Completes the reply to a repeated message whose run has failed, waits for an answer, or was interrupted.
    async fn replay_or_resume(&self, run: &mut Run, error: RunError) -> ClientEnd {
        match error {
            RunError::Followed { .. } | RunError::Node { .. } => {
                if self.send_stored_events().await {
                    self.send(Err(Failure::Run(error))).await;
                }
                ClientEnd::Over
            }
            RunError::Unfinished { .. } if self.turn.is_some() => {
                if !self.send_stored_events().await {
                    return ClientEnd::Over;
                }
                self.resume_interrupted(run).await
            }
            error => {
                self.send(Err(Failure::Run(error))).await;
                ClientEnd::Over
            }
        }
    }

    /// Resumes the interrupted invocation, unless it waits for answers. The resume replaces the run.
    async fn resume_interrupted(&self, run: &mut Run) -> ClientEnd {
        let Some(invocation) = &self.repeatable else { return ClientEnd::Over };
        let asked = self.runner.questions(&self.key).await;
        match asked {
            Ok(open) if open.iter().any(|question| question.invocation_id == *invocation) => ClientEnd::Over,
            Ok(_) if self.works_elsewhere().await => {
                let (session, invocation) = (self.key.clone(), invocation.clone());
                self.send(Err(Failure::Run(RunError::Unfinished { session, invocation }))).await;
                ClientEnd::Over
            }
            Ok(_) => {
                *run = self.runner.start(RunRequest::new(&self.key).invocation_id(invocation));
                self.forward_resumed(run).await
            }
            Err(error) => {
                self.send(Err(Failure::Run(error))).await;
                ClientEnd::Over
            }
        }
    }

    /// Returns `true` if another process works on the session, as its heartbeats show.
    async fn works_elsewhere(&self) -> bool {
        let status = self.runner.status(&self.key).await;
        status.is_ok_and(|status| matches!(status.progress, RunProgress::RunsElsewhere))
    }

    /// Sends the events of a resumed run.
    async fn forward_resumed(&self, run: &mut Run) -> ClientEnd {
        loop {
            match self.next_event_with_permit(run).await {
                None => return ClientEnd::Left,
                Some((permit, Some(Ok(event)))) => permit.send(Ok(event.event)),
                Some((permit, Some(Err(error)))) => {
                    permit.send(Err(Failure::Run(error)));
                    return ClientEnd::Over;
                }
                Some((_, None)) => return ClientEnd::Over,
            }
        }
    }

    /// Sends the stored events of a repeated message. Returns false if the client has disconnected or the storage
    /// fails.
    async fn send_stored_events(&self) -> bool {
        let Some(invocation) = &self.repeatable else { return true };
        let loaded = self.api.sessions.get_session(&self.key, GetSessionConfig::all()).await;
        let events = match loaded {
            Ok(session) => session.map(|session| session.events).unwrap_or_default(),
            Err(error) => {
                self.send(Err(Failure::Run(error.into()))).await;
                return false;
            }
        };
        for event in events {
            let is_of = event.invocation_id() == invocation && !event.is_from_user();
            if is_of && !self.send(Ok(event)).await {
                return false;
            }
        }
        true
    }

    /// Waits until the client has received the previous event; `None` if the client has disconnected or takes too long.
    async fn reserve(&self) -> Option<SendPermit<'_>> {
        let late = self.api.clock.sleep(self.api.limits.slow_client_timeout);
        tokio::select! {
            permit = self.tx.reserve() => permit.ok(),
            () = late => None,
        }
    }

    /// Sends the client one more event. Returns false if the client has disconnected.
    async fn send(&self, event: Result<Arc<Event>, Failure>) -> bool {
        let permit = self.reserve().await;
        permit.map(|permit| permit.send(event)).is_some()
    }
}

/// Aborts a run, and waits until the abort is stored.
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
