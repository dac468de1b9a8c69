//! The open questions of a session, a user or an app.

use pleach_core::{Question, UserId};
use pleach_session::{InboxItem, ListQuestions, ListQuestionsResponse, open_questions};

use crate::{RunError, Runner, SessionRef};

impl Runner {
    /// Returns the open questions of a session in the order asked. See [`open_questions`].
    ///
    /// ADK has no such call.
    ///
    /// # Errors
    /// [`RunError::SessionNotFound`], [`RunError::BlankId`], and [`RunError::Session`] if the storage fails.
    ///
    /// # Cancel safety
    /// The call only reads.
    // R901, R905, R909, R1141
    pub async fn questions(&self, session: impl Into<SessionRef>) -> Result<Vec<Question>, RunError> {
        let key = self.parts.session_key(&session.into()).await?;
        Ok(open_questions(&self.parts.load_all(&key).await?.events))
    }

    /// Returns the open questions of all sessions of a user, in the order asked. Sleeps and waits for signals are left
    /// out, because no person answers them.
    ///
    /// Histories are not loaded. The list may or may not reflect concurrent questions and answers. For pages, use
    /// [`Runner::inbox_page`].
    ///
    /// # Errors
    /// [`RunError::Session`] if the storage fails.
    ///
    /// # Cancel safety
    /// The call only reads.
    pub async fn inbox(&self, user: impl Into<UserId>) -> Result<Vec<InboxItem>, RunError> {
        self.list_questions(ListQuestions::new(self.app_name()).with_user(user)).await
    }

    /// Returns the open questions of all users of the app, in the order asked.
    ///
    /// See [`Runner::inbox`].
    ///
    /// # Errors
    /// [`RunError::Session`] if the storage fails.
    ///
    /// # Cancel safety
    /// The call only reads.
    pub async fn inbox_of_all_users(&self) -> Result<Vec<InboxItem>, RunError> {
        self.list_questions(ListQuestions::new(self.app_name())).await
    }

    /// Returns the open questions of all users of the app that are assigned to `assignee`, in the order asked.
    ///
    /// `assignee` is compared exactly with the value of [`RequestInput::assign_to`](pleach_core::RequestInput::assign_to). See
    /// [`Runner::inbox`].
    ///
    /// # Errors
    /// [`RunError::Session`] if the storage fails.
    ///
    /// # Cancel safety
    /// The call only reads.
    pub async fn inbox_for(&self, assignee: impl Into<String>) -> Result<Vec<InboxItem>, RunError> {
        self.list_questions(ListQuestions::new(self.app_name()).with_assignee(assignee)).await
    }

    /// Returns a page of open questions, in the order asked, and the position of the next page.
    ///
    /// ```
    /// # use pleach_runner::{Runner, RunError};
    /// # use pleach_session::ListQuestions;
    /// # async fn all(runner: Runner) -> Result<(), RunError> {
    /// let mut list = ListQuestions::new(runner.app_name()).with_assignee("managers").with_limit(50);
    /// loop {
    ///     let page = runner.inbox_page(list.clone()).await?;
    ///     for item in page.items {
    ///         println!("{}: {}", item.session, item.question.message);
    ///     }
    ///     match page.next {
    ///         Some(next) => list = list.with_after(next),
    ///         None => return Ok(()),
    ///     }
    /// }
    /// # }
    /// ```
    /// Sleeps and waits for signals are left out, because no person answers them. So a page may have fewer questions
    /// than its limit, or none, even if there is a next page. The request may name another app than this Runner's. See
    /// [`Runner::inbox`].
    ///
    /// # Errors
    /// [`RunError::Session`] if the storage fails.
    ///
    /// # Cancel safety
    /// The call only reads.
    pub async fn inbox_page(&self, request: ListQuestions) -> Result<ListQuestionsResponse, RunError> {
        let mut page = self.parts.services.sessions.list_questions(request).await?;
        page.items.retain(|item| item.question.kind.is_for_people());
        Ok(page)
    }

    async fn list_questions(&self, request: ListQuestions) -> Result<Vec<InboxItem>, RunError> {
        Ok(self.inbox_page(request).await?.items)
    }
}
