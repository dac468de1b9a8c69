//! What waits for a person: the open questions of a session, of a user, of an app.

use pleach_core::{Question, SessionId, SessionKey, UserId};
use pleach_session::{GetSessionConfig, ListSessions, open_questions};
use rustc_hash::FxHashSet;
use serde::Serialize;

use crate::runner::RunnerParts;
use crate::{RunError, Runner};

/// How many sessions are listed at once.
const PAGE: usize = 100;

/// An open question and its session, as JSON: `{"session": {"app_name", "user_id", "session_id"}, "question": {…}}`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InboxItem {
    /// The session.
    pub session: SessionKey,
    /// The question; [`Runner::answer`] answers it by its id.
    pub question: Question,
}

impl Runner {
    /// The open questions of a session in the order asked: see [`open_questions`].
    ///
    /// ADK has no such call; the rules are R901, R905, R909 and R1141.
    ///
    /// # Errors
    /// [`RunError::SessionNotFound`], [`RunError::BlankId`], and [`RunError::Session`] when the storage fails.
    ///
    /// # Cancel safety
    /// It only reads.
    pub async fn questions(
        &self,
        user: impl Into<UserId>,
        session: impl Into<SessionId>,
    ) -> Result<Vec<Question>, RunError> {
        Ok(open_questions(&self.parts.load_all(&self.key(user, session)).await?.events))
    }

    /// The open questions of all sessions of a user, in the order asked; a user without sessions has none.
    ///
    /// Every session is read once, one after the other. What is asked or answered meanwhile may be in the list or not.
    ///
    /// # Errors
    /// [`RunError::Session`] when the storage fails.
    ///
    /// # Cancel safety
    /// It only reads.
    pub async fn inbox(&self, user: impl Into<UserId>) -> Result<Vec<InboxItem>, RunError> {
        self.parts.inbox(ListSessions::new(self.app_name()).with_user(user)).await
    }

    /// The open questions of all users of the app, in the order asked: for the person who answers for everybody.
    ///
    /// Every session of the app is read once. See [`Runner::inbox`].
    ///
    /// # Errors
    /// [`RunError::Session`] when the storage fails.
    ///
    /// # Cancel safety
    /// It only reads.
    pub async fn inbox_of_all_users(&self) -> Result<Vec<InboxItem>, RunError> {
        self.parts.inbox(ListSessions::new(self.app_name())).await
    }
}

impl RunnerParts {
    async fn inbox(&self, wanted: ListSessions) -> Result<Vec<InboxItem>, RunError> {
        let sessions = &self.services.sessions;
        let mut wanted = wanted.with_limit(PAGE);
        let mut items = Vec::new();
        // A session that goes on meanwhile moves to the end of the list: it may be listed again, and is never missed.
        let mut seen: FxHashSet<SessionKey> = FxHashSet::default();
        loop {
            let page = sessions.list_sessions(wanted.clone()).await?;
            for listed in page.sessions {
                if !seen.insert(listed.key().clone()) {
                    continue;
                }
                let Some(session) = sessions.get_session(listed.key(), GetSessionConfig::all()).await? else {
                    continue;
                };
                let item = |question| InboxItem { session: session.key().clone(), question };
                items.extend(open_questions(&session.events).into_iter().map(item));
            }
            let Some(next) = page.next else { break };
            wanted = wanted.with_after(next);
        }
        items.sort_by(|a, b| {
            let times = a.question.asked_at.total_cmp(&b.question.asked_at);
            times.then_with(|| a.session.cmp(&b.session))
        });
        Ok(items)
    }
}
