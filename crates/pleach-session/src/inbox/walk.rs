//! The inbox of a service that keeps no projection.

use foldhash::HashSet;
use pleach_core::SessionKey;

use super::{InboxItem, ListQuestions, ListQuestionsResponse, QuestionCursor, asked_questions};
use crate::{GetSessionConfig, ListSessions, SessionResult, SessionService};

/// How many sessions are listed at once.
const PAGE: usize = 100;

/// Lists open questions by loading every session, one after the other.
///
/// Its time grows with the histories of all sessions. Backends with a projection fall back to it when the projection cannot
/// be written.
///
/// # Errors
/// Those of [`SessionService::list_sessions`] and [`SessionService::get_session`].
///
/// # Cancel safety
/// It only reads.
pub async fn walk_questions<S: SessionService + ?Sized>(
    sessions: &S,
    request: &ListQuestions,
) -> SessionResult<ListQuestionsResponse> {
    let mut wanted = ListSessions::new(request.app_name.clone()).with_limit(PAGE);
    wanted.user_id.clone_from(&request.user_id);
    let mut items = Vec::new();
    // A session that is appended to meanwhile moves to the end of the list: it may be listed again, and is never missed.
    let mut seen: HashSet<SessionKey> = HashSet::default();
    loop {
        let page = sessions.list_sessions(wanted.clone()).await?;
        for listed in page.sessions {
            if !seen.insert(listed.key().clone()) {
                continue;
            }
            if let Some(session) = sessions.get_session(listed.key(), GetSessionConfig::all()).await? {
                for asked in asked_questions(&session.events) {
                    if request.wants(&asked.question) {
                        let cursor = QuestionCursor::new(session.key(), asked.question.asked_at, asked.place);
                        items.push((cursor, InboxItem { session: session.key().clone(), question: asked.question }));
                    }
                }
            }
        }
        let Some(next) = page.next else { break };
        wanted = wanted.with_after(next);
    }
    Ok(ListQuestionsResponse::page(items, request))
}
