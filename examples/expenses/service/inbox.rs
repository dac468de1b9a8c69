//! The inbox: open questions in pages, and the answers to them.

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use pleach::{AnswerOptions, InboxItem, ListQuestions, Question, QuestionCursor, RunError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Service;
use super::problem::Problem;
use super::routes::begun;

/// How many questions a page has at most.
const PAGE: usize = 50;

#[derive(Deserialize)]
pub(super) struct Wanted {
    /// The role that is asked.
    assignee: Option<String>,
    limit: Option<usize>,
    /// The `next` of the page before.
    after: Option<String>,
}

#[derive(Serialize)]
pub(super) struct Page {
    items: Vec<Item>,
    next: Option<String>,
}

/// A question, and the expense that it is about.
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

/// Answers a question, once. The run continues behind the stored answer.
pub(super) async fn answer(
    State(service): State<Service>,
    Path((employee, id, question)): Path<(String, String, String)>,
    answer: Result<Json<Value>, JsonRejection>,
) -> Result<StatusCode, Problem> {
    let Json(answer) = answer?;
    // Of two answers the second one is refused, also when it comes while the first one is processed.
    let options = AnswerOptions::new().only_if_open(true).queue(true);
    let run = service.runner.answer_with((employee, id), [(question, answer)], options)?;
    begun(run.detach()).await.map_err(|error: RunError| error.into()).map(|_| StatusCode::ACCEPTED)
}
