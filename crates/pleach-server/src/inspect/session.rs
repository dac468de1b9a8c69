//! The overview of one session: its invocations and its open questions.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use pleach_core::{EventId, Question, QuestionKind, Session, SessionKey};
use pleach_inspect::{InvocationSummary, invocations};
use pleach_session::open_questions;
use serde::Serialize;

use super::load;
use super::mover::mover;
use crate::api::Api;
use crate::error::ApiError;
use crate::json::reply;
use crate::path::SessionPath;

/// The overview of a session, which the page shows first.
#[derive(Serialize)]
struct Summary<'a> {
    app_name: &'a str,
    user_id: &'a str,
    id: &'a str,
    last_update_time: f64,
    event_count: usize,
    /// The id of the last event. A client follows the session from there on.
    last_event: Option<EventId>,
    invocations: Vec<InvocationSummary>,
    open_questions: Vec<Question>,
    read_only: bool,
}

pub(super) async fn read(State(api): State<Arc<Api>>, SessionPath(key): SessionPath) -> Result<Response, ApiError> {
    load::read(&api, &key, summary).await
}

fn summary(api: &Api, session: &Session) -> Result<Response, ApiError> {
    let SessionKey { app_name, user_id, session_id } = session.key();
    reply(&Summary {
        app_name: app_name.as_str(),
        user_id: user_id.as_str(),
        id: session_id.as_str(),
        last_update_time: session.last_update_time(),
        event_count: session.events.len(),
        last_event: session.events.last().map(|event| event.id().clone()),
        invocations: invocations(&session.events),
        open_questions: open_questions(&session.events).into_iter().map(without_credential).collect(),
        read_only: mover(api, app_name.as_str()).is_none(),
    })
}

/// Removes the payload of a request for a credential. The payload is a credential that clients are to complete, and is
/// only for clients that sign in.
fn without_credential(mut question: Question) -> Question {
    if question.kind == QuestionKind::Credential {
        question.payload = None;
    }
    question
}
