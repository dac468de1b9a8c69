//! The routes that list open questions in pages, and that answer a question.

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use pleach::{
    AnswerOptions, GetSessionConfig, InboxItem, ListQuestions, Question, QuestionCursor, QuestionKind, RunError,
    SessionKey, open_questions,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Service;
use super::caller::Caller;
use super::problem::Problem;
use super::routes::begun;

/// The maximum number of questions on a page.
const PAGE: usize = 50;

#[derive(Deserialize)]
pub(super) struct Wanted {
    /// The role that the questions are assigned to.
    assignee: Option<String>,
    limit: Option<usize>,
    /// The `next` of the previous page.
    after: Option<String>,
}

#[derive(Serialize)]
pub(super) struct Page {
    items: Vec<Item>,
    next: Option<String>,
}

/// An open question and the expense that it is about.
#[derive(Serialize)]
struct Item {
    employee: String,
    expense: String,
    question: Question,
}

pub(super) async fn inbox(
    State(service): State<Service>,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> Result<Json<Page>, Problem> {
    let Query(wanted) = wanted?;
    let runner = &service.runner;
    let mut list = ListQuestions::new(runner.app_name()).with_limit(wanted.limit.unwrap_or(PAGE).clamp(1, PAGE));
    list.assignee = wanted.assignee;
    list.after = wanted.after.as_deref().map(cursor).transpose()?;
    let page = runner.inbox_page(list).await?;
    let next = page.next.map(|next| serde_json::json!(next).to_string());
    Ok(Json(Page { items: page.items.into_iter().map(Item::from).collect(), next }))
}

fn cursor(text: &str) -> Result<QuestionCursor, Problem> {
    serde_json::from_str(text).map_err(|error| Problem::of_field("after", error.to_string()))
}

impl From<InboxItem> for Item {
    fn from(InboxItem { session, question }: InboxItem) -> Self {
        Self { employee: session.user_id.to_string(), expense: session.session_id.to_string(), question }
    }
}

/// Answers a question, once. The run continues after the stored answer.
pub(super) async fn answer(
    State(service): State<Service>,
    Path((employee, id, question)): Path<(String, String, String)>,
    caller: Caller,
    answer: Result<Json<Value>, JsonRejection>,
) -> Result<StatusCode, Problem> {
    let Json(mut answer) = answer?;
    let session = SessionKey::new(service.runner.app_name(), employee, id);
    let question = asked(&service, &session, &question, &caller).await?;
    if let Value::Object(fields) = &mut answer {
        // This overwrites a value in the body.
        fields.insert("by".to_owned(), caller.user.into());
    }
    // If two answers are sent, the second one is refused, even if it arrives while the first one is being processed.
    let options = AnswerOptions::new().only_if_open(true).queue(true);
    let run = service.runner.answer_with(&session, [(&question, answer)], options)?;
    begun(run.detach()).await.map_err(|error: RunError| error.into()).map(|_| StatusCode::ACCEPTED)
}

/// Finds the open question that a caller wants to answer. Sleeps and waits for signals are also stored as questions,
/// but people do not answer them.
async fn asked(service: &Service, session: &SessionKey, id: &str, caller: &Caller) -> Result<Question, Problem> {
    let stored = service.runner.sessions().get_session(session, GetSessionConfig::all()).await?;
    let events = stored.ok_or_else(|| RunError::SessionNotFound(session.clone()))?.events;
    let is_it = |question: &Question| question.id == id && question.kind == QuestionKind::UserInput;
    match open_questions(&events).into_iter().find(is_it) {
        Some(question) if caller.is_asked(&question) => Ok(question),
        Some(_) => Err(Problem::new(StatusCode::FORBIDDEN, "this question is for others")),
        None if events.iter().flat_map(|event| event.questions()).any(|question| is_it(&question)) => {
            Err(Problem::new(StatusCode::CONFLICT, "this question has already been answered"))
        }
        None => Err(Problem::new(StatusCode::NOT_FOUND, "there is no such question")),
    }
}
