//! [`Runner::status`] and [`Runner::unfinished`]: how far sessions are, for operators and for the start of a process.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use pleach_context::engine::WORKFLOW_CHANGED;
use pleach_context::{NodeError, Outline};
use pleach_core::{Event, InvocationId, NodePath, Question, Session, SessionId, SessionKey, UserId, micros, next_time};
use pleach_session::{
    ListCursor, ListSessions, SessionError, effective_events, effective_events_of, open_questions, redacted_at,
};

use crate::active::ActiveRun;
use crate::begin::{Begun, ShownMessage};
use crate::open::Opened;
use crate::outcome::Outcome;
use crate::parts::RunnerParts;
use crate::recorded::{last_of_runs, may_be_done, recorded, rests};
use crate::resting_fork::resting_source;
use crate::{RunError, RunRequest, Runner, SessionRef};

/// How many sessions [`Runner::unfinished`] looks at when no limit is set.
const PAGE: usize = 100;

/// How far a session is. See [`Runner::status`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionStatus {
    /// The session.
    pub session: SessionKey,
    /// The last invocation that counts; `None` before the first message.
    pub invocation: Option<InvocationId>,
    /// How far that invocation is.
    pub progress: RunProgress,
    /// The open questions of all invocations, in the order asked.
    pub questions: Vec<Question>,
    /// When the last event was stored, in seconds since the epoch.
    pub last_update_time: f64,
    /// The session that this one is a [copy](Runner::fork) of, as long as it rests: nothing has continued it.
    pub forked_from: Option<SessionId>,
}

/// How far an invocation is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum RunProgress {
    /// There is none yet.
    New,
    /// A run of this Runner or a clone of it works on it.
    RunsHere,
    /// It waits for answers: [`SessionStatus::questions`]. Also when a lane beside the question was cut off before it stored anything:
    /// the answer continues both.
    Waiting,
    /// It has failed, and nothing of it has run since. [`Runner::resume`] continues it.
    Failed {
        /// The error, without its causes.
        error: NodeError,
        /// The run that failed.
        path: NodePath,
    },
    /// Another process works on it, as far as the store shows: it has not ended, and its session changed within the last three
    /// [heartbeats](crate::RunnerBuilder::heartbeat). It may also wait for answers ([`SessionStatus::questions`]), or, from its first
    /// heartbeat on, for its next attempt. A run that was cut off counts as such until then. Never returned without heartbeats.
    RunsElsewhere,
    /// It has not ended, and no run of this Runner works on it: it was cut off, or, without [heartbeats](crate::RunnerBuilder::heartbeat),
    /// another process works on it; the session does not record which. [`Runner::resume`] continues one that was cut off; one that another
    /// process works on is taken away from that process, which then fails at its next event.
    Unfinished,
    /// It has not ended, and the root node is no longer the one that was recorded, for example because a node has another name now:
    /// [`Runner::resume`] fails with this `WorkflowChangedError`. The version of the program that began it can continue it;
    /// [`Runner::rerun_from`] runs it again from a node that both versions have.
    Changed {
        /// What differs.
        error: NodeError,
        /// The run that no longer fits.
        path: NodePath,
    },
    /// Nothing shows whether its last nodes have run: they give no result (`()`), and the app is not [resumable](crate::App::resumable).
    /// [`Runner::resume`] runs them, possibly once more.
    MayBeDone,
    /// It was aborted, and cannot be resumed.
    Aborted,
    /// It has completed.
    Done,
}

impl SessionStatus {
    fn is_unfinished(&self) -> bool {
        let has_ended = !self.progress.can_resume() && !matches!(self.progress, RunProgress::Changed { .. });
        !has_ended && self.forked_from.is_none()
    }
}

impl RunProgress {
    /// Returns whether [`Runner::resume`] would run something: it has failed, is unfinished, or may be done.
    #[must_use]
    pub fn can_resume(&self) -> bool {
        matches!(self, Self::Failed { .. } | Self::Unfinished | Self::MayBeDone)
    }
}

/// Which sessions [`Runner::unfinished`] looks at.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ListUnfinished {
    /// Starts behind this position: the `next` of the page before.
    pub after: Option<ListCursor>,
    /// Only sessions whose last event is older, in seconds since the epoch.
    pub idle_since: Option<f64>,
    /// How many sessions are looked at; 100 when absent.
    pub limit: Option<usize>,
}

impl ListUnfinished {
    /// Returns a request for all sessions, in the order of their last events.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Leaves out sessions whose last event is older than `time`.
    #[must_use]
    pub fn since(mut self, time: SystemTime) -> Self {
        let update_time = seconds(time);
        self.after = Some(ListCursor { update_time, user_id: UserId::from(""), session_id: SessionId::from("") });
        self
    }

    /// Leaves out sessions whose last change is newer than `time`: another process may work on them.
    #[must_use]
    pub fn idle_since(mut self, time: SystemTime) -> Self {
        self.idle_since = Some(seconds(time));
        self
    }

    /// Continues behind a page.
    #[must_use]
    pub fn after(mut self, cursor: ListCursor) -> Self {
        self.after = Some(cursor);
        self
    }

    /// Looks at no more than `limit` sessions.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = Some(limit);
        self
    }
}

/// The sessions whose last invocation can be resumed.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ListUnfinishedResponse {
    /// The sessions, in the order of their last events.
    pub items: Vec<SessionStatus>,
    /// The start of the next page, for [`ListUnfinished::after`]; `None` on the last page.
    pub next: Option<ListCursor>,
}

impl Runner {
    /// Returns how far a session is: its last invocation, as a resume would find it, and all open questions.
    ///
    /// Nothing is run and nothing is stored; the root node is replayed against the history. The whole session is read.
    ///
    /// # Errors
    /// Those of [`Runner::questions`].
    ///
    /// # Cancel safety
    /// The call only reads.
    ///
    /// ADK: none.
    pub async fn status(&self, session: impl Into<SessionRef>) -> Result<SessionStatus, RunError> {
        let key = self.parts.session_key(&session.into()).await?;
        self.parts.status(self.parts.load_all(&key).await?).await
    }

    /// Returns the sessions of the app whose last invocation has failed, or has not ended and is not run by this Runner:
    /// [`RunProgress::Failed`], [`RunProgress::Unfinished`], [`RunProgress::MayBeDone`] and [`RunProgress::Changed`].
    /// [Forks](Runner::fork) that rest are left out.
    ///
    /// Every minute, resume those that have been idle for longer than a step of theirs takes:
    /// ```
    /// # use std::time::{Duration, SystemTime};
    /// # use pleach_runner::{ListUnfinished, Runner, RunError, RunProgress};
    /// # async fn recover(runner: Runner, now: SystemTime) -> Result<(), RunError> {
    /// let (day, minute) = (Duration::from_secs(86_400), Duration::from_secs(60));
    /// let mut list = ListUnfinished::new().since(now - day).idle_since(now - minute);
    /// loop {
    ///     let page = runner.unfinished(list.clone()).await?;
    ///     for cut in page.items {
    ///         if let (RunProgress::Unfinished, Some(invocation)) = (cut.progress, cut.invocation) {
    ///             drop(runner.resume(cut.session.user_id, cut.session.session_id, invocation).detach());
    ///         }
    ///     }
    ///     match page.next {
    ///         Some(next) => list = list.after(next),
    ///         None => break,
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    /// Several processes may do so at once: each run claims its session before it executes anything, and all but one fail with
    /// [`SessionError::Stale`](pleach_session::SessionError::Stale). With [heartbeats](crate::RunnerBuilder::heartbeat), sessions that another
    /// process works on are left out, and `idle_since` is not needed. Without them no store knows whether another process still works on a
    /// session that is idle for long: it loses the session to the resume, and its step runs twice.
    ///
    /// One page looks at [`ListUnfinished::limit`] sessions and may return none of them. Each is read whole.
    ///
    /// # Errors
    /// [`RunError::Session`] when the storage fails. A session that cannot be read is left out, with a warning in the log.
    ///
    /// # Cancel safety
    /// The call only reads.
    ///
    /// ADK: none.
    pub async fn unfinished(&self, request: ListUnfinished) -> Result<ListUnfinishedResponse, RunError> {
        let mut list = ListSessions::new(self.app_name().clone()).with_limit(request.limit.unwrap_or(PAGE).max(1));
        list.after = request.after;
        let page = self.sessions().list_sessions(list).await?;
        let mut response = ListUnfinishedResponse { items: Vec::new(), next: page.next };
        for session in page.sessions {
            if request.idle_since.is_some_and(|time| session.last_update_time() > time) {
                // They come in the order of their last events.
                response.next = None;
                break;
            }
            let key = session.key().clone();
            match self.status(&key).await {
                Ok(status) if status.is_unfinished() => response.items.push(status),
                Ok(_) => {}
                // Deleted meanwhile.
                Err(RunError::SessionNotFound(_)) => {}
                Err(RunError::Session(error)) if !is_of_one_session(&error) => return Err(RunError::Session(error)),
                Err(error) => tracing::warn!(session = %key, %error, "the status of a session is not known"),
            }
        }
        Ok(response)
    }
}

impl RunnerParts {
    async fn status(self: &Arc<Self>, session: Session) -> Result<SessionStatus, RunError> {
        Ok(self.status_and_rest(session).await?.0)
    }

    /// Returns also whether the last invocation rests: nothing of it would run before an answer comes, and no process works on it.
    pub(crate) async fn status_and_rest(self: &Arc<Self>, session: Session) -> Result<(SessionStatus, bool), RunError> {
        let key = session.key().clone();
        let invocation = last_invocation(&session.events);
        let forked_from = resting_source(&session);
        let last_update_time = session.last_update_time();
        // A claim and a redaction are the only changes without an event.
        let changed = session.events.last().map(|last| changed_at(last.timestamp(), &session.events));
        let claimed = changed.is_none_or(|changed| micros(last_update_time) > micros(changed));
        let is_dead = self.heartbeat.is_some() && !self.is_alive(last_update_time);
        let (progress, rests) = match &invocation {
            None => (RunProgress::New, true),
            Some(_) if self.active.of(&key).is_some_and(|run| run.end().is_none()) => (RunProgress::RunsHere, false),
            Some(invocation) => match self.replayed(&key, invocation).await {
                // The error event may be that of an attempt, behind which another one waits.
                Ok((RunProgress::Unfinished, _)) => match failed(&session.events, invocation) {
                    Some((error, path)) => {
                        let is_final = ends_root(&self.root.outline(), &path);
                        (RunProgress::Failed { error, path }, is_final && (!claimed || is_dead))
                    }
                    None => (RunProgress::Unfinished, false),
                },
                // Whether another version of the program may try again is not known.
                Err(RunError::Node { error, path }) if error.class() == WORKFLOW_CHANGED => {
                    (RunProgress::Changed { error, path }, false)
                }
                Err(RunError::Node { error, path }) => match failed(&session.events, invocation) {
                    // Recorded.
                    Some((error, path)) => (RunProgress::Failed { error, path }, !claimed || is_dead),
                    None => return Err(RunError::Node { error, path }),
                },
                replayed => replayed?,
            },
        };
        let questions = open_questions(&session.events);
        // A copy that was not continued is run by no process, however new its events are; nor is one whose heartbeats have ended.
        let rests = rests || forked_from.is_some() || is_dead;
        // Of a failed run, only heartbeats prove that another attempt waits for its time.
        let may_run = !rests && self.is_alive(last_update_time);
        let progress = match progress {
            RunProgress::Failed { .. } if may_run && claimed => RunProgress::RunsElsewhere,
            RunProgress::Unfinished | RunProgress::Waiting | RunProgress::MayBeDone if may_run => {
                RunProgress::RunsElsewhere
            }
            progress => progress,
        };
        let status = SessionStatus { session: key, invocation, progress, questions, last_update_time, forked_from };
        Ok((status, rests))
    }

    /// Replays an invocation without running anything; returns also whether no body would run. The run is no run of the Runner: it is neither
    /// followed nor joined.
    async fn replayed(
        self: &Arc<Self>,
        key: &SessionKey,
        invocation: &InvocationId,
    ) -> Result<(RunProgress, bool), RunError> {
        let request = Box::new(RunRequest::new(key).invocation_id(invocation.clone()));
        let run = Arc::new(ActiveRun::new(&request));
        let opened = match self.open_entered(key.clone(), request, &run).await {
            Err(RunError::InvocationAborted { .. }) => return Ok((RunProgress::Aborted, true)),
            opened => opened?,
        };
        let Opened::Own(mut opening) = opened else { return Ok((RunProgress::RunsHere, false)) };
        opening.runs_elsewhere = true;
        let begun = match opening.begin(self, &run, &mut ShownMessage::default()).await? {
            Begun::Before { invocation, .. } | Begun::Now(invocation) => invocation,
        };
        let progress = match recorded(self, &begun, None, &run).await {
            Ok(()) => match run.final_outcome() {
                Outcome::Done(..) => RunProgress::Done,
                Outcome::Waiting(_) => RunProgress::Waiting,
                Outcome::Aborted => RunProgress::Aborted,
                Outcome::Elsewhere { .. } | Outcome::Cut(_) => RunProgress::Unfinished,
            },
            Err(RunError::Unfinished { .. }) if may_be_done(&begun.ic) => RunProgress::MayBeDone,
            Err(RunError::Unfinished { .. }) => RunProgress::Unfinished,
            Err(error) => return Err(error),
        };
        Ok((progress, rests(&begun.ic)))
    }
}

/// Returns the last invocation that counts and has more than changes of the state.
fn last_invocation(events: &[Arc<Event>]) -> Option<InvocationId> {
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

/// Returns whether a failure at `path` has ended the root node: none of the runs above it is tried again, or has a body that may go past it.
fn ends_root(root: &Outline, path: &NodePath) -> bool {
    let mut names = path.segments().map(|segment| segment.rsplit_once('@').map_or(segment, |(name, _)| name));
    let is_of_root = names.next().is_some_and(|name| root.name == name);
    let last = names.try_fold(root, |above, name| {
        let graph = above.graph.as_ref().filter(|_| !above.retries)?;
        graph.nodes.iter().find(|node| node.name == name)
    });
    is_of_root && last.is_some_and(|node| !node.retries)
}

/// Returns the failure that an unfinished invocation ended with: its last event is an error event.
fn failed(events: &[Arc<Event>], invocation: &InvocationId) -> Option<(NodeError, NodePath)> {
    let own = effective_events_of(events, invocation);
    let last = last_of_runs(&own)?;
    let error = NodeError::new(last.error_code()?.to_owned(), last.error_message().unwrap_or_default().to_owned());
    Some((error, last.path().clone()))
}

/// Returns whether an error concerns what is stored of one session, and not the storage.
fn is_of_one_session(error: &SessionError) -> bool {
    matches!(error, SessionError::Corrupt { .. } | SessionError::PayloadLost(_))
}

fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}
