//! The request for open questions, and its response.

use std::cmp::Ordering;

use pleach_core::{AppName, Question, SessionId, SessionKey, UserId};
use serde::{Deserialize, Serialize};

/// A request for the open questions of an app's sessions, in the order they were asked.
#[derive(Clone, Debug, PartialEq)]
pub struct ListQuestions {
    /// The app whose questions are listed.
    pub app_name: AppName,
    /// The user whose sessions are searched; `None` for every user.
    pub user_id: Option<UserId>,
    /// The assignee whose questions are listed; `None` for all questions.
    pub assignee: Option<String>,
    /// The position after which the list starts: the `next` of the previous page.
    pub after: Option<QuestionCursor>,
    /// The largest number of questions to list; `None` for all.
    pub limit: Option<usize>,
}

impl ListQuestions {
    /// Requests every open question of the app.
    pub fn new(app_name: impl Into<AppName>) -> Self {
        Self { app_name: app_name.into(), user_id: None, assignee: None, after: None, limit: None }
    }

    /// Lists only questions of this user's sessions.
    pub fn with_user(mut self, user_id: impl Into<UserId>) -> Self {
        self.user_id = Some(user_id.into());
        self
    }

    /// Lists only questions that are assigned to `assignee`.
    pub fn with_assignee(mut self, assignee: impl Into<String>) -> Self {
        self.assignee = Some(assignee.into());
        self
    }

    /// Continues after `cursor`.
    pub fn with_after(mut self, cursor: QuestionCursor) -> Self {
        self.after = Some(cursor);
        self
    }

    /// Returns at most `limit` questions.
    pub fn with_limit(mut self, limit: usize) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Returns `true` if `question` names the requested assignee, or none is requested.
    pub fn wants(&self, question: &Question) -> bool {
        self.assignee.is_none() || self.assignee == question.assignee
    }
}

/// An open question and its session, as JSON: `{"session": {"app_name", "user_id", "session_id"}, "question": {…}}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InboxItem {
    /// The session.
    pub session: SessionKey,
    /// The question.
    pub question: Question,
}

/// A position in the order of [`ListQuestions`]: the time the question was asked, then user and session, then the place
/// in the session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuestionCursor {
    /// The time the question was asked, in seconds since the epoch.
    pub asked_at: f64,
    /// The user of the session.
    pub user_id: UserId,
    /// The id of the session.
    pub session_id: SessionId,
    /// The number of questions that the session asked before this one, including closed ones.
    pub place: u32,
}

impl QuestionCursor {
    /// Creates the position of a question of `session`.
    pub fn new(session: &SessionKey, asked_at: f64, place: u32) -> Self {
        Self { asked_at, user_id: session.user_id.clone(), session_id: session.session_id.clone(), place }
    }

    /// Compares two positions.
    pub fn order(&self, other: &Self) -> Ordering {
        self.asked_at
            .total_cmp(&other.asked_at)
            .then_with(|| self.user_id.cmp(&other.user_id))
            .then_with(|| self.session_id.cmp(&other.session_id))
            .then_with(|| self.place.cmp(&other.place))
    }
}

/// The open questions that were found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListQuestionsResponse {
    /// The questions in the order they were asked; questions asked at the same time are ordered by user and session.
    pub items: Vec<InboxItem>,
    /// The start of the next page; `None` on the last page, and if the limit is zero.
    pub next: Option<QuestionCursor>,
}

impl ListQuestionsResponse {
    /// Sorts `items`, drops those up to the request's cursor, and keeps as many as the request allows.
    pub fn page(mut items: Vec<(QuestionCursor, InboxItem)>, request: &ListQuestions) -> Self {
        if let Some(after) = &request.after {
            items.retain(|(place, _)| place.order(after).is_gt());
        }
        items.sort_by(|(left, _), (right, _)| left.order(right));
        Self::cut(items.into_iter().map(|(place, item)| (place, Some(item))).collect(), request.limit)
    }

    /// Keeps the first `limit` of `rows`, which must be in order. A row without an item counts towards the limit, so
    /// that a page with such a row does not look like the last page.
    pub fn cut(mut rows: Vec<(QuestionCursor, Option<InboxItem>)>, limit: Option<usize>) -> Self {
        let limit = limit.unwrap_or(usize::MAX);
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next = if more { rows.last().map(|(place, _)| place.clone()) } else { None };
        Self { items: rows.into_iter().filter_map(|(_, item)| item).collect(), next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_without_an_item_does_not_end_the_pages() {
        let session = SessionKey::new("a", "u", "s");
        let rows = (0..3).map(|place| (QuestionCursor::new(&session, 1.0, place), None)).collect();
        let page = ListQuestionsResponse::cut(rows, Some(2));
        assert_eq!((page.items.len(), page.next.map(|next| next.place)), (0, Some(1)));
    }
}
