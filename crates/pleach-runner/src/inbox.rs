//! What waits for a person: the open questions of a session, of a user, of an app.

use std::sync::Arc;

use pleach_context::live_events;
use pleach_core::{Event, Question, SessionId, SessionKey, UserId};
use pleach_session::{GetSessionConfig, ListSessions};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::answer::fits;
use crate::runner::RunnerParts;
use crate::{RunError, Runner, seal};

/// How many sessions are listed at once.
const PAGE: usize = 100;

/// An open question, and the session that it stands in.
#[derive(Clone, Debug, PartialEq)]
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

/// The questions of a session's events that wait for an answer, in the order asked.
///
/// Only what counts after rewinds (R1141). Of several questions with one id the last one is listed, because that is the
/// one an answer reaches (R905, R909). A question is closed by a user's answer that fits it (R907), and by the seal of
/// an aborted invocation (R128); what a long-running tool itself returns does not close it.
#[must_use]
pub fn open_questions(events: &[Arc<Event>]) -> Vec<Question> {
    let mut desk = Desk::default();
    for event in live_events(events) {
        if event.author() == "user" {
            desk.take_answers(event);
        } else {
            if event.error_code() == Some(seal::CODE) {
                event.function_responses().filter_map(|response| response.id.as_deref()).for_each(|id| desk.close(id));
            }
            event.questions().into_iter().for_each(|question| desk.ask(question));
        }
    }
    desk.asked.into_iter().flatten().collect()
}

/// Questions while a history is read; an answered one leaves an empty place.
#[derive(Default)]
struct Desk {
    asked: Vec<Option<Question>>,
    places: FxHashMap<String, usize>,
}

impl Desk {
    fn ask(&mut self, question: Question) {
        self.close(&question.id);
        self.places.insert(question.id.clone(), self.asked.len());
        self.asked.push(Some(question));
    }

    fn close(&mut self, id: &str) {
        if let Some(place) = self.places.get(id) {
            self.asked[*place] = None;
        }
    }

    fn take_answers(&mut self, event: &Event) {
        for response in event.function_responses() {
            let Some(id) = response.id.as_deref() else { continue };
            match self.places.get(id).map(|place| &self.asked[*place]) {
                // An answer that another writer stored although it does not fit leaves the question open.
                Some(Some(question)) if fits(question.response_schema.as_ref(), response).is_err() => {}
                Some(_) => self.close(id),
                // An answer to a call on a branch that is named after a question answers that question (R1003).
                None => event.branch().into_iter().flat_map(|branch| branch.run_ids()).for_each(|id| self.close(id)),
            }
        }
    }
}
