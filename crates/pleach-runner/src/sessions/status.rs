//! [`Runner::status`]: the progress of a session.

use std::sync::Arc;

use pleach_context::engine::WORKFLOW_CHANGED;
use pleach_context::{NodeError, Outline};
use pleach_core::{
    Event, InvocationId, NodePath, Question, Revision, Session, SessionId, SessionKey, micros, next_time,
};
use pleach_session::notes::{is_run_note, is_tried_again};
use pleach_session::{effective_events, effective_events_of, open_questions, redacted_at};

use crate::app::inner::RunnerInner;
use crate::opening::begin::{Begun, PluginMessage};
use crate::run::outcome::Outcome;
use crate::run::replay_result::{last_failure, may_be_done, only_asks, replay_result};
use crate::run::state::RunState;
use crate::sessions::recovery_notes::recoveries;
use crate::sessions::resting_fork::resting_source;
use crate::sessions::run_end_notes::{NotedEnd, noted_end};
use crate::{RunError, RunRequest, Runner, SessionRef};

/// The progress of a session. See [`Runner::status`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionStatus {
    /// The session.
    pub session: SessionKey,
    /// The last effective invocation; `None` before the first message.
    pub invocation: Option<InvocationId>,
    /// The progress of that invocation.
    pub progress: RunProgress,
    /// The open questions of all invocations, in the order asked.
    pub questions: Vec<Question>,
    /// The time of the session's last change, in seconds since the epoch: an event, a claim, a heartbeat or a redaction.
    pub last_update_time: f64,
    /// If the session is a resting [copy](Runner::fork), which nothing has continued yet, its source.
    pub forked_from: Option<SessionId>,
    /// The number of recoveries of the invocation that ended without a trace since it made progress: since a node sent an event, or
    /// a message or an answer came. A recovery that a drain cut off is not counted.
    pub recoveries: u32,
    /// The revision of the session that this status describes, for [`RunRequest::at`].
    pub revision: Revision,
}

/// The progress of an invocation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum RunProgress {
    /// The session has no invocation yet.
    New,
    /// A run of this Runner or one of its clones works on it.
    RunsHere,
    /// It waits for answers to [`SessionStatus::questions`]. A parallel lane may have been cut off before it stored
    /// anything; an answer continues that lane as well.
    Waiting,
    /// Its last event is a failure, and no other attempt will follow. [`Runner::resume`] continues it. The progress is
    /// also `Failed` if a body has caught the failure of a child or a step, and has stored nothing since. Such a body
    /// may still be running in another process, or was cut off.
    Failed {
        /// The error, without its causes.
        error: NodeError,
        /// The run that failed.
        path: NodePath,
    },
    /// Another process probably works on it: it has not ended, and its session changed within the last three
    /// [heartbeats](crate::RunnerBuilder::heartbeat). But it may also wait for answers ([`SessionStatus::questions`])
    /// or for its next attempt, or have been cut off within that time. Without heartbeats this variant is never
    /// returned.
    RunsElsewhere,
    /// It has not ended, and no run of this Runner works on it. It was cut off, possibly between two attempts. Without
    /// [heartbeats](crate::RunnerBuilder::heartbeat) another process may also be at work on it: the session does not
    /// show this. [`Runner::resume`] continues it. If another process is at work on it, the run there fails at its next
    /// event.
    Unfinished,
    /// It has not ended, and the root node has changed since then: for example, a node has another name now.
    /// [`Runner::resume`] fails with this `WorkflowChangedError`. The program version that began the invocation can
    /// continue it. [`Runner::rerun_from`] can run it again from a node that both versions have.
    Changed {
        /// The error, which says what differs.
        error: NodeError,
        /// The run that no longer fits.
        path: NodePath,
    },
    /// It is unknown whether its last nodes have run, because they return no result (`()`) and the app is not
    /// [resumable](crate::App::resumable). [`Runner::resume`] runs them, possibly a second time.
    MayBeDone,
    /// It was cut off again and again without progress, most likely because it ends its process each time: recoveries leave it
    /// alone ([`RunnerBuilder::max_recoveries`](crate::RunnerBuilder::max_recoveries)). [`Runner::resume`] runs it once more,
    /// [`Runner::abort`] ends it.
    Dead,
    /// It was aborted, and cannot be resumed.
    Aborted,
    /// It has completed.
    Done,
}

impl SessionStatus {
    /// Returns `true` if [`Runner::unfinished`] lists the session.
    pub(crate) fn is_unfinished(&self) -> bool {
        let has_ended = !self.progress.can_resume() && !matches!(self.progress, RunProgress::Changed { .. });
        !has_ended && self.forked_from.is_none()
    }
}

impl RunProgress {
    /// Returns `true` if [`Runner::resume`] would run something: the invocation has failed, is unfinished or dead, or may be done.
    #[must_use]
    pub fn can_resume(&self) -> bool {
        matches!(self, Self::Failed { .. } | Self::Unfinished | Self::Dead | Self::MayBeDone)
    }
}

impl Runner {
    /// Returns the progress of a session's last invocation, and all open questions of the session.
    ///
    /// The call reads the whole session and replays the root node, but runs no body and stores nothing.
    ///
    /// # Errors
    /// The errors of [`Runner::questions`].
    ///
    /// # Cancel safety
    /// The call only reads.
    ///
    /// ADK: none.
    pub async fn status(&self, session: impl Into<SessionRef>) -> Result<SessionStatus, RunError> {
        let key = self.parts.session_key(&session.into()).await?;
        self.parts.status(self.parts.load_all(&key).await?).await
    }
}

impl RunnerInner {
    async fn status(&self, session: Session) -> Result<SessionStatus, RunError> {
        Ok(self.status_and_rest(session).await?.0)
    }

    /// Returns the status, and whether the last invocation rests: no process works on it, and a resume would run
    /// nothing until an answer comes.
    pub(crate) async fn status_and_rest(&self, session: Session) -> Result<(SessionStatus, bool), RunError> {
        let key = session.key().clone();
        let invocation = last_invocation(&session.events);
        let (progress, rests) = match &invocation {
            None => (RunProgress::New, true),
            Some(_) if self.active.run_of_session(&key).is_some_and(|run| !run.has_ended()) => {
                (RunProgress::RunsHere, false)
            }
            Some(invocation) => self.logged_progress(&session, invocation).await?,
        };
        let status = SessionStatus {
            session: key,
            progress,
            questions: open_questions(&session.events),
            last_update_time: session.last_update_time(),
            forked_from: resting_source(&session),
            recoveries: invocation.as_ref().map_or(0, |id| recoveries(&effective_events_of(&session.events, id))),
            revision: session.head.revision(),
            invocation,
        };
        Ok((status, rests))
    }

    /// Returns the progress of an invocation as the log shows it to every process, and whether the invocation rests.
    pub(crate) async fn logged_progress(
        &self,
        session: &Session,
        invocation: &InvocationId,
    ) -> Result<(RunProgress, bool), RunError> {
        let last_update_time = session.last_update_time();
        let claimed = is_claimed(session);
        let is_dead = self.heartbeat.is_some() && !self.is_alive(last_update_time);
        let (progress, rests) = match self.replayed(session.clone(), invocation).await {
            Ok((RunProgress::Unfinished, _)) => match failed(&session.events, invocation) {
                Some((error, path)) => {
                    let is_final = ends_root(&self.root.outline(), &path);
                    (RunProgress::Failed { error, path }, is_final && (!claimed || is_dead))
                }
                None => (RunProgress::Unfinished, false),
            },
            Err(RunError::Node { error, path }) if error.class() == WORKFLOW_CHANGED => {
                (RunProgress::Changed { error, path }, false)
            }
            Err(RunError::Node { error, path }) => match failed(&session.events, invocation) {
                // The replay repeats a recorded failure.
                Some((error, path)) => (RunProgress::Failed { error, path }, !claimed || is_dead),
                None => return Err(RunError::Node { error, path }),
            },
            replayed => replayed?,
        };
        // No process works on a session whose last run is noted as ended or whose heartbeats have stopped, or on a resting copy, even
        // if its events are new.
        let noted = noted_end(&session.events).filter(|_| !claimed || is_dead);
        let rests = rests || noted.is_some() || is_dead || resting_source(session).is_some();
        // A body may have caught the failure and still be running, or a hook may be running. Only heartbeats can show
        // this.
        let may_run = !rests && self.is_alive(last_update_time);
        let ends = |noted: &NotedEnd| matches!(noted, NotedEnd::Waiting | NotedEnd::Failed { .. });
        let recoveries = || recoveries(&effective_events_of(&session.events, invocation));
        let progress = match progress {
            RunProgress::Failed { .. } | RunProgress::Done if may_run && claimed => RunProgress::RunsElsewhere,
            RunProgress::Unfinished | RunProgress::Waiting | RunProgress::MayBeDone if may_run => {
                RunProgress::RunsElsewhere
            }
            RunProgress::Unfinished | RunProgress::MayBeDone if noted.as_ref().is_some_and(ends) => match noted {
                Some(NotedEnd::Failed { code, message }) => {
                    RunProgress::Failed { error: NodeError::new(code, message), path: NodePath::root() }
                }
                _ => RunProgress::Waiting,
            },
            RunProgress::Unfinished if recoveries() >= self.max_recoveries => RunProgress::Dead,
            progress => progress,
        };
        Ok((progress, rests))
    }

    /// Replays an invocation without running anything. Returns its progress, and whether no body would run. The
    /// replay's `RunState` is not registered, so nobody can follow or join it.
    async fn replayed(&self, session: Session, invocation: &InvocationId) -> Result<(RunProgress, bool), RunError> {
        let request = Box::new(RunRequest::new(session.key()).invocation_id(invocation.clone()));
        let run = Arc::new(RunState::new(&request, false));
        let opening = match self.open_to_observe(session, request, &run) {
            Err(RunError::InvocationAborted { .. }) => return Ok((RunProgress::Aborted, true)),
            opening => opening?,
        };
        let begun = match opening.begin(self, &run, &mut PluginMessage::default()).await? {
            Begun::Observed(invocation) | Begun::Repeated(invocation, _) | Begun::Runs(invocation) => invocation,
        };
        let progress = match replay_result(self, &begun, None, &run.stop).await {
            Ok(Outcome::Done(..) | Outcome::Replied(_)) => RunProgress::Done,
            Ok(Outcome::Waiting(_)) => RunProgress::Waiting,
            Ok(Outcome::Aborted) => RunProgress::Aborted,
            Ok(Outcome::Elsewhere { .. } | Outcome::Cut(_)) => RunProgress::Unfinished,
            Err(RunError::Unfinished { .. }) if may_be_done(&begun.ic) => RunProgress::MayBeDone,
            Err(RunError::Unfinished { .. }) => RunProgress::Unfinished,
            Err(error) => return Err(error),
        };
        // A process may still be running a hook after an agent that looks done to the replay.
        Ok((progress, only_asks(&begun.ic) && !begun.ic.work_gate().has_assumed_end()))
    }
}

/// Returns `true` if a process has claimed the session after its last event, for example with a heartbeat.
pub(crate) fn is_claimed(session: &Session) -> bool {
    // A claim and a redaction are the only changes without an event.
    let changed = session.events.last().map(|last| changed_at(last.timestamp(), &session.events));
    changed.is_none_or(|changed| micros(session.last_update_time()) > micros(changed))
}

/// Returns the last effective invocation. Invocations with nothing but state changes are skipped.
pub(crate) fn last_invocation(events: &[Arc<Event>]) -> Option<InvocationId> {
    let live = effective_events(events);
    let last = live
        .iter()
        .rev()
        .find(|event| !event.invocation_id().is_empty() && (!event.is_from_user() || event.content().is_some()));
    last.map(|event| event.invocation_id().clone())
}

/// Returns the update time of a session that nothing has claimed since its last event, in seconds since the epoch.
fn changed_at(last: f64, events: &[Arc<Event>]) -> f64 {
    let redacted = events.iter().filter_map(|event| redacted_at(event)).reduce(f64::max);
    redacted.map_or(last, |redacted| redacted.max(next_time(last)))
}

/// Returns `true` if a failure at `path` has ended the root node: no run above it has a body that could catch the failure.
fn ends_root(root: &Outline, path: &NodePath) -> bool {
    let mut names = path.segments().map(|segment| segment.rsplit_once('@').map_or(segment, |(name, _)| name));
    let is_of_root = names.next().is_some_and(|name| root.name == name);
    let last = names.try_fold(root, |above, name| above.graph.as_ref()?.nodes.iter().find(|node| node.name == name));
    is_of_root && last.is_some()
}

/// Returns the failure of an unfinished invocation whose last event is an error that no other attempt follows. If
/// attempts in other lanes fail at the same time, their events may come after that event.
fn failed(events: &[Arc<Event>], invocation: &InvocationId) -> Option<(NodeError, NodePath)> {
    let mut own = effective_events_of(events, invocation);
    own.retain(|event| !is_run_note(event));
    let attempts = own.iter().rev().take_while(|event| is_tried_again(event)).count();
    let (before, attempts) = own.split_at(own.len() - attempts);
    let (error, path) = last_failure(before)?;
    let is_beside = |event: &&Arc<Event>| *event.path() != path && !event.path().is_descendant_of(&path);
    attempts.iter().all(is_beside).then_some((error, path))
}
