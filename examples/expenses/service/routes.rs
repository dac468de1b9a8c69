//! The routes that submit an expense, read its status, and retry a failed one.

use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use axum::{Json, Router};
use pleach::prelude::*;
use pleach::{Detached, IdGen as _, InvocationId, Question, RandomIds, RunProgress};
use serde::Serialize;
use serde_json::{Value, json};

use super::Service;
use super::events::events;
use super::expense::{OUTCOME, Outcome, REPORT, Report};
use super::inbox::{answer, inbox};
use super::problem::Problem;

/// Returns the routes of the service. A layer in front of them decides who may call which route. Only who may answer
/// depends on the question, so the route for answers checks that itself.
pub(crate) fn router(service: Service) -> Router {
    Router::new()
        .route("/employees/{employee}/expenses", post(submit))
        .route("/employees/{employee}/expenses/{id}", get(status))
        .route("/employees/{employee}/expenses/{id}/events", get(events))
        .route("/employees/{employee}/expenses/{id}/answers/{question}", post(answer))
        .route("/employees/{employee}/expenses/{id}/retry", post(retry))
        .route("/inbox", get(inbox))
        .route("/health", get(health))
        .with_state(service)
}

/// Starts the run of an expense in a new session. The reply is sent once the report is stored. The run then continues
/// in the background.
///
/// The header `Idempotency-Key` becomes the id of the expense. With it, a report may be sent again, but is filed only
/// once.
async fn submit(
    State(service): State<Service>,
    Path(employee): Path<String>,
    headers: HeaderMap,
    report: Result<Json<Report>, JsonRejection>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let Json(report) = report?;
    if report.cents == 0 {
        return Err(Problem::of_field("cents", "the amount must be above 0"));
    }
    let id = match headers.get("idempotency-key").map(|key| key.to_str()) {
        Some(Ok(key)) => key.to_owned(),
        Some(Err(_)) => return Err(Problem::new(StatusCode::BAD_REQUEST, "the idempotency key is not ASCII")),
        None => RandomIds.uuid().to_string(),
    };
    let session = SessionKey::new(service.runner.app_name(), employee, id.as_str());
    match service.stored(&session).await?.as_ref().map(|session| REPORT.of(session)).transpose()?.flatten() {
        Some(filed) if filed == report => {}
        Some(_) => return Err(Problem::new(StatusCode::CONFLICT, "another report was sent with this key")),
        None => {
            let request = RunRequest::new(session).invocation_id(id.as_str()).message(Message::data(&report));
            begun(service.runner.start(request).detach()).await?;
        }
    }
    Ok((StatusCode::ACCEPTED, Json(json!({"id": id}))))
}

/// The status of an expense.
#[derive(Serialize)]
struct Status {
    id: String,
    employee: String,
    progress: &'static str,
    /// The class of the error, if the expense has failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    questions: Vec<Question>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<Outcome>,
}

async fn status(
    State(service): State<Service>,
    Path((employee, id)): Path<(String, String)>,
) -> Result<Json<Status>, Problem> {
    let status = service.runner.status((employee.as_str(), id.as_str())).await?;
    let (progress, error) = match &status.progress {
        RunProgress::Waiting => ("waiting", None),
        // The text of the error may contain texts of the bank, so it is left out. It was already logged.
        RunProgress::Failed { error, .. } => ("failed", Some(error.class().to_owned())),
        RunProgress::Unfinished => ("interrupted", None),
        RunProgress::Done => ("done", None),
        RunProgress::Aborted => ("aborted", None),
        _ => ("running", None),
    };
    let stored = service.stored(&status.session).await?;
    let outcome = stored.map(|session| OUTCOME.of(&session)).transpose()?.flatten();
    Ok(Json(Status { id, employee, progress, error, questions: status.questions, outcome }))
}

/// Resumes a failed expense. Completed nodes do not run again.
async fn retry(
    State(service): State<Service>,
    Path((employee, id)): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    let status = service.runner.status((employee.as_str(), id.as_str())).await?;
    // An interrupted expense is continued automatically, and may be running in another process.
    match (status.progress, status.invocation) {
        (RunProgress::Failed { .. }, Some(invocation)) => {
            begun(service.runner.resume(employee, id, invocation).detach()).await?;
            Ok(StatusCode::ACCEPTED)
        }
        _ => Err(Problem::new(StatusCode::CONFLICT, "this expense has not failed")),
    }
}

async fn health(State(service): State<Service>) -> Result<&'static str, Problem> {
    service.runner.sessions().health_check().await?;
    Ok("ok")
}

/// Waits until a run has stored its message or answer, or returns the error that prevented it.
pub(super) async fn begun(mut run: Detached) -> Result<InvocationId, RunError> {
    match run.invocation_id().await {
        Ok(id) => Ok(id),
        // Awaiting the handle returns the typed error.
        Err(stopped) => (&mut run).await.and(Err(stopped)),
    }
}
