//! What waits for a person: the open questions of a session, of a user, of an app.

use pleach_core::{Question, UserId};
use pleach_session::{InboxItem, ListQuestions, open_questions};

use crate::{RunError, Runner, SessionRef};

impl Runner {
    /// The open questions of a session in the order asked: see [`open_questions`].
    ///
    /// ADK has no such call.
    ///
    /// # Errors
    /// [`RunError::SessionNotFound`], [`RunError::BlankId`], and [`RunError::Session`] when the storage fails.
    ///
    /// # Cancel safety
    /// It only reads.
    // R901, R905, R909, R1141
    pub async fn questions(&self, session: impl Into<SessionRef>) -> Result<Vec<Question>, RunError> {
        let key = self.parts.session_key(&session.into()).await?;
        Ok(open_questions(&self.parts.load_all(&key).await?.events))
    }

    /// The open questions of all sessions of a user, in the order asked; a user without sessions has none.
    ///
    /// Histories are not loaded: see [`SessionService::list_questions`](pleach_session::SessionService::list_questions), which
    /// also gives pages. What is asked or answered meanwhile may be in the list or not.
    ///
    /// # Errors
    /// [`RunError::Session`] when the storage fails.
    ///
    /// # Cancel safety
    /// It only reads.
    pub async fn inbox(&self, user: impl Into<UserId>) -> Result<Vec<InboxItem>, RunError> {
        self.list_questions(ListQuestions::new(self.app_name()).with_user(user)).await
    }

    /// The open questions of all users of the app, in the order asked: for the person who answers for everybody.
    ///
    /// See [`Runner::inbox`].
    ///
    /// # Errors
    /// [`RunError::Session`] when the storage fails.
    ///
    /// # Cancel safety
    /// It only reads.
    pub async fn inbox_of_all_users(&self) -> Result<Vec<InboxItem>, RunError> {
        self.list_questions(ListQuestions::new(self.app_name())).await
    }

    /// The open questions of all users of the app that are assigned to `assignee`, in the order asked.
    ///
    /// `assignee` is compared as it is with what [`RequestInput::assign_to`](pleach_core::RequestInput::assign_to) was given.
    /// See [`Runner::inbox`].
    ///
    /// # Errors
    /// [`RunError::Session`] when the storage fails.
    ///
    /// # Cancel safety
    /// It only reads.
    pub async fn inbox_for(&self, assignee: impl Into<String>) -> Result<Vec<InboxItem>, RunError> {
        self.list_questions(ListQuestions::new(self.app_name()).with_assignee(assignee)).await
    }

    async fn list_questions(&self, request: ListQuestions) -> Result<Vec<InboxItem>, RunError> {
        Ok(self.parts.services.sessions.list_questions(request).await?.items)
    }
}
