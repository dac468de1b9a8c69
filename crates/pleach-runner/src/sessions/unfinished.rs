//! [`Runner::unfinished`] lists the invocations that processes have left unfinished, and [`Runner::resume_unfinished`]
//! resumes them.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use foldhash::HashSet;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use pleach_core::{Event, Session, SessionHead, SessionId, UserId};
use pleach_session::{GetSessionConfig, ListCursor, ListSessions, is_rewind, report_fault};

use crate::app::inner::RunnerInner;
use crate::sessions::status::last_invocation;
use crate::{Detached, RunError, RunProgress, RunRequest, Runner, SessionStatus};

/// The number of sessions that a page covers if no limit is set.
const PAGE: usize = 100;

/// The number of sessions that a page of [`Runner::resume_unfinished`] covers if no limit is set. Large pages save
/// work, because each page costs a query and a write of notes.
const RECOVERED_PAGE: usize = 2000;

/// The number of sessions read at once.
const AT_ONCE: usize = 8;

/// The number of events of a session that are read first.
const NEWEST: usize = 64;

/// The sessions that [`Runner::unfinished`] covers.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ListUnfinished {
    /// The position after which the page starts: `next` of the previous page.
    pub after: Option<ListCursor>,
    /// A time in seconds since the epoch. Sessions that have changed later are left out.
    pub idle_since: Option<f64>,
    /// The number of sessions that a page covers. By default 100, or 2,000 for [`Runner::resume_unfinished`].
    pub limit: Option<usize>,
    /// Whether to leave out sessions that a recovery has found not to be resumable, until they change.
    pub(crate) only_resumable: bool,
}

impl ListUnfinished {
    /// Returns a request for all sessions, in the order of their last events.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Leaves out sessions whose last change is older than `time`.
    #[must_use]
    pub fn since(mut self, time: SystemTime) -> Self {
        let update_time = seconds(time);
        self.after = Some(ListCursor { update_time, user_id: UserId::from(""), session_id: SessionId::from("") });
        self
    }

    /// Leaves out sessions whose last change is newer than `time`, because another process may work on them.
    #[must_use]
    pub fn idle_since(mut self, time: SystemTime) -> Self {
        self.idle_since = Some(seconds(time));
        self
    }

    /// Continues after a page.
    #[must_use]
    pub fn after(mut self, cursor: ListCursor) -> Self {
        self.after = Some(cursor);
        self
    }

    /// Sets the number of sessions that a page covers. [`Runner::resume_unfinished`] reads all pages.
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
    /// Returns the sessions of the app whose last invocation needs attention, because it has failed, or has not ended
    /// and this Runner does not run it. Their progress is [`RunProgress::Failed`], [`RunProgress::Unfinished`],
    /// [`RunProgress::Dead`], [`RunProgress::MayBeDone`] and [`RunProgress::Changed`]. [Forks](Runner::fork) that
    /// nothing has continued are left out.
    ///
    /// [`resume_unfinished`](Self::resume_unfinished) resumes the sessions that were cut off.
    ///
    /// One page reads [`ListUnfinished::limit`] sessions that are not known to have ended; perhaps it returns none of
    /// them. The call first reads the newest 64 events of a session. If these do not show that the last invocation has
    /// ended or waits, it reads the whole history.
    ///
    /// A session that has ended or waits is read only once, because the store keeps a note of it
    /// ([`note_settled`](pleach_session::SessionService::note_settled)). Later calls, including those of other processes, read it again
    /// only if it has changed, or if the graph, the agents or the version of pleach have changed. If the store keeps no notes, the Runner
    /// and its clones remember 10,000 such sessions.
    ///
    /// # Errors
    /// [`RunError::Session`] if the storage fails. A session that cannot be read is left out, with one warning in the log.
    ///
    /// # Cancel safety
    /// The call changes no session. It only notes which sessions have ended.
    ///
    /// ADK: none.
    pub async fn unfinished(&self, request: ListUnfinished) -> Result<ListUnfinishedResponse, RunError> {
        let page_size = request.limit.unwrap_or(PAGE).max(1);
        let list = ListSessions::new(self.app_name().clone()).with_limit(page_size).without_state();
        let mut list = list.unsettled_for(&self.parts.program);
        list.after = request.after;
        let page = self.sessions().list_sessions(list).await?;
        let mut response = ListUnfinishedResponse { items: Vec::new(), next: page.next };
        let mut wanted = Vec::new();
        for session in page.sessions {
            if request.idle_since.is_some_and(|time| session.last_update_time() > time) {
                // The sessions are sorted by their last events, so all further ones are newer.
                response.next = None;
                break;
            }
            let is_known = request.only_resumable && self.parts.unresumable.has(&session.head);
            if !is_known && !self.parts.ended.has(&session.head) {
                wanted.push(session.head);
            }
        }
        let mut heads = wanted.clone().into_iter();
        let statuses = wanted.into_iter().map(|head| Arc::clone(&self.parts).inspect_or_report(head));
        let mut statuses = stream::iter(statuses).buffered(AT_ONCE);
        let mut ended = Vec::new();
        while let Some(status) = statuses.try_next().await? {
            if let Some(head) = heads.next().filter(|_| request.only_resumable && !status.may_resume_later()) {
                self.parts.unresumable.note(&head);
            }
            match status {
                ListedStatus::Open(status) => response.items.extend(Some(*status).filter(SessionStatus::is_unfinished)),
                ListedStatus::Ended(head) => ended.push(head),
                ListedStatus::Unknown => {}
            }
        }
        self.parts.note_ended(&ended).await;
        Ok(response)
    }

    /// Resumes all [`RunProgress::Unfinished`] sessions at once, and returns their runs. The runs work in the
    /// background; you may await their handles or drop them.
    ///
    /// Call it when a process starts, and then every minute: when a killed process is restarted, its sessions have not
    /// been idle for long enough yet.
    /// ```
    /// # use std::time::{Duration, SystemTime};
    /// # use pleach_runner::{ListUnfinished, Runner, RunError};
    /// # async fn recover(runner: Runner, now: SystemTime) -> Result<(), RunError> {
    /// let (day, minutes) = (Duration::from_secs(86_400), Duration::from_secs(120));
    /// let resumed = runner.resume_unfinished(ListUnfinished::new().since(now - day).idle_since(now - minutes)).await?;
    /// tracing::info!(runs = resumed.len(), "resumed what was cut off");
    /// # Ok(())
    /// # }
    /// ```
    /// Several processes may call it at the same time. Before a run executes anything, it stores an event with the number of the
    /// recovery, at the listed revision. So if several processes resume a session, all runs except one fail with
    /// [`SessionError::Stale`](pleach_session::SessionError::Stale).
    ///
    /// With [heartbeats](crate::RunnerBuilder::heartbeat), sessions that another process works on are left out, and
    /// `idle_since` is not needed. Without heartbeats nothing shows whether another process still works on an idle
    /// session. If one does, its run fails at its next event, and the step in progress runs twice. So choose an idle
    /// time that is longer than any step, and longer than any pause between two attempts.
    ///
    /// A run that ends its process each time would take one process down after the other. Therefore a session that was resumed
    /// [several times](crate::RunnerBuilder::max_recoveries) without progress is [`RunProgress::Dead`], and is not resumed again.
    ///
    /// Sessions that have failed, may be done or have changed are not resumed: a failure whose cause is not fixed would
    /// be repeated each time. To decide for yourself, or to resume only some sessions at once, use
    /// [`unfinished`](Self::unfinished).
    ///
    /// # Errors
    /// The errors of [`unfinished`](Self::unfinished). Runs that were already resumed continue. The error of a run is
    /// returned by its handle and logged.
    ///
    /// # Cancel safety
    /// The runs that were resumed continue.
    ///
    /// ADK: none.
    pub async fn resume_unfinished(&self, request: ListUnfinished) -> Result<Vec<Detached>, RunError> {
        let limit = request.limit.or(Some(RECOVERED_PAGE));
        let (mut runs, mut next) = (Vec::new(), Some(ListUnfinished { limit, ..request }));
        // If a run has changed its session, the session appears again at the end of the list. Skip it there.
        let mut resumed = HashSet::default();
        while let Some(request) = next.take() {
            let page = self.unfinished(request.clone()).await?;
            next = page.next.map(|cursor| request.after(cursor));
            for cut in page.items {
                if let (RunProgress::Unfinished, Some(invocation)) = (cut.progress, cut.invocation)
                    && resumed.insert(cut.session.clone())
                {
                    let attempt = cut.recoveries.saturating_add(1);
                    tracing::info!(session = %cut.session, %invocation, attempt, "an interrupted run is resumed");
                    let request = RunRequest::new(&cut.session).invocation_id(invocation).at(cut.revision);
                    runs.push(self.start(RunRequest { recovery: Some(attempt), ..request }).detach());
                }
            }
        }
        Ok(runs)
    }
}

/// The result of reading a listed session.
enum ListedStatus {
    /// The session has not ended.
    Open(Box<SessionStatus>),
    /// The session has ended or waits, and needs no attention until its revision changes.
    Ended(SessionHead),
    /// The session has changed since it was listed, or cannot be read.
    Unknown,
}

impl ListedStatus {
    /// Returns `true` if a recovery may resume the session although it does not change.
    fn may_resume_later(&self) -> bool {
        let is_at_work = |progress: &RunProgress| {
            matches!(progress, RunProgress::Unfinished | RunProgress::RunsHere | RunProgress::RunsElsewhere)
        };
        matches!(self, Self::Open(status) if is_at_work(&status.progress))
    }
}

impl RunnerInner {
    /// Notes that these sessions need no attention until their revisions change. If the note cannot be stored, later
    /// calls read the sessions again.
    async fn note_ended(&self, heads: &[SessionHead]) {
        if heads.is_empty() {
            return;
        }
        heads.iter().for_each(|head| self.ended.note(head));
        if let Err(error) = self.services.sessions.note_settled(&self.program, heads).await {
            self.ended.warn_of_no_notes(&error);
        }
    }

    async fn inspect_or_report(self: Arc<Self>, listed: SessionHead) -> Result<ListedStatus, RunError> {
        match self.inspect(&listed).await {
            // The session was deleted in the meantime.
            Err(RunError::SessionNotFound(_)) => Ok(ListedStatus::Unknown),
            Err(RunError::Session(error)) if error.is_of_one_session() => {
                report_fault(listed.key(), &error);
                Ok(ListedStatus::Unknown)
            }
            Err(RunError::Session(error)) => Err(RunError::Session(error)),
            Err(error) => {
                tracing::warn!(session = %listed.key(), %error, "the status of a session could not be determined");
                Ok(ListedStatus::Unknown)
            }
            status => status,
        }
    }

    /// Determines the status of a listed session.
    ///
    /// For most sessions the newest events show that the session needs no attention. If they do not, the whole history
    /// is read.
    async fn inspect(self: &Arc<Self>, listed: &SessionHead) -> Result<ListedStatus, RunError> {
        let newest = self.load_some(listed.key(), GetSessionConfig::recent(NEWEST)).await?;
        if newest.events.len() < NEWEST {
            return self.inspect_whole(listed, newest).await;
        }
        if shows_last_invocation(&newest.events) {
            let same = newest.head.revision() == listed.revision();
            // If the result is different or an error, older events may be missing, so the whole history is read.
            if let Ok((status, _)) = self.status_and_rest(newest).await
                && same
                && matches!(status.progress, RunProgress::Done | RunProgress::Waiting | RunProgress::Aborted)
                && status.forked_from.is_none()
            {
                return Ok(ListedStatus::Ended(listed.clone()));
            }
        }
        let whole = self.load_all(listed.key()).await?;
        self.inspect_whole(listed, whole).await
    }

    async fn inspect_whole(self: &Arc<Self>, listed: &SessionHead, session: Session) -> Result<ListedStatus, RunError> {
        // Some session services list no revisions, so a later change would not be noticed. Their sessions are not
        // noted.
        let same = session.head.revision() == listed.revision();
        let (status, _) = self.status_and_rest(session).await?;
        let works = matches!(status.progress, RunProgress::RunsHere | RunProgress::RunsElsewhere);
        if works || status.is_unfinished() {
            return Ok(ListedStatus::Open(Box::new(status)));
        }
        Ok(if same { ListedStatus::Ended(listed.clone()) } else { ListedStatus::Unknown })
    }
}

/// Returns `true` if the newest events of a session include its whole last invocation, which begins with a message of
/// the user, and none of them is a rewind of earlier events.
fn shows_last_invocation(newest: &[Arc<Event>]) -> bool {
    let Some(invocation) = last_invocation(newest) else { return false };
    let begins = |event: &Event| {
        event.is_from_user() && event.content().is_some() && event.function_responses().next().is_none()
    };
    let first = newest.iter().position(|event| *event.invocation_id() == invocation);
    first.is_some_and(|first| first > 0 && begins(&newest[first])) && !newest.iter().any(|event| is_rewind(event))
}

fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a log of words: `a<` is a user's message that begins `a`, `a!` an answer, `a.` an event of a node, `a~` a rewind.
    fn check(log: &str, expected: bool) {
        let event = |word: &str| {
            let mut event = match &word[1..] {
                "<" => {
                    let mut message = Event::message("go");
                    message.set_author("user");
                    message
                }
                "!" => {
                    let response = pleach_core::FunctionResponse::new("q", "f", pleach_core::Map::new());
                    let part = pleach_core::Part::function_response(response);
                    Event::from_author("user").with_content(pleach_core::Content::new("user", [part]))
                }
                _ => Event::from_author("node"),
            };
            if word.ends_with('~') {
                event.actions_mut().set_rewind_before_invocation_id(Some("a".to_owned()));
            }
            event.set_invocation_id(&word[..1]);
            Arc::new(event)
        };
        let events: Vec<Arc<Event>> = log.split_whitespace().map(event).collect();
        assert_eq!(shows_last_invocation(&events), expected, "{log}");
    }

    #[test]
    fn the_newest_events_suffice_if_they_include_the_whole_last_invocation() {
        check("a. b< b. b.", true);
        check("a. b< b. b! b.", true);
        check("a< b. a.", false);
        check("b. b< b.", false);
        check("a. b! b.", false);
        check("b< b.", false);
        check("a. b< b. c~ b.", false);
        check("", false);
    }
}
