//! [`start`]: a task that drives a run for its client.
// H55

use std::sync::Arc;

use pleach_core::{Event, InvocationId, SessionKey};
use pleach_runner::{Detached, Run};
use pleach_session::GetSessionConfig;
use tokio::sync::mpsc;
use tracing::Instrument as _;

use super::{Failure, Prepared};
use crate::api::Api;
use crate::runs::slots::RunSlot;

/// The events of a run, as the client takes them. Dropping it means that the client has gone.
pub(crate) type RunEvents = mpsc::Receiver<Result<Arc<Event>, Failure>>;

type Place<'a> = mpsc::Permit<'a, Result<Arc<Event>, Failure>>;

/// Starts the task of a run. It holds one event at most: the run advances when the client has taken the one before.
pub(crate) fn start(api: &Arc<Api>, prepared: Prepared) -> RunEvents {
    let (tx, rx) = mpsc::channel(1);
    let Prepared { runner, request, key, repeatable, slot, .. } = prepared;
    let driver = Driver { api: Arc::clone(api), key, repeatable, tx, _slot: slot };
    tokio::spawn(driver.drive(runner.start(request)).in_current_span());
    rx
}

struct Driver {
    api: Arc<Api>,
    key: SessionKey,
    repeatable: Option<InvocationId>,
    tx: mpsc::Sender<Result<Arc<Event>, Failure>>,
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
            End::Left if self.api.detaches_runs => finish(run.detach()).await,
            End::Left => abort(run).await,
            End::Late => {
                abort(run).await;
                self.give(Err(Failure::Late)).await;
            }
        }
    }

    async fn serve(&self, run: &mut Run) -> End {
        let mut given = 0_usize;
        loop {
            let Some(place) = self.place().await else { return End::Left };
            let next = tokio::select! {
                biased;
                next = run.next() => next,
                () = self.tx.closed() => return End::Left,
            };
            match next {
                Some(Ok(event)) => place.send(Ok(event.event)),
                Some(Err(error)) => {
                    place.send(Err(Failure::Run(error)));
                    return End::Over;
                }
                None => {
                    drop(place);
                    if given == 0 {
                        self.repeat().await;
                    }
                    return End::Over;
                }
            }
            given += 1;
        }
    }

    /// Gives the stored events of a message that was sent before.
    async fn repeat(&self) {
        let Some(invocation) = &self.repeatable else { return };
        let loaded = self.api.sessions.get_session(&self.key, GetSessionConfig::all()).await;
        let events = match loaded {
            Ok(session) => session.map(|session| session.events).unwrap_or_default(),
            Err(error) => {
                self.give(Err(Failure::Run(error.into()))).await;
                return;
            }
        };
        for event in events {
            let is_of = event.invocation_id() == invocation && !event.is_from_user();
            if is_of && !self.give(Ok(event)).await {
                return;
            }
        }
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
