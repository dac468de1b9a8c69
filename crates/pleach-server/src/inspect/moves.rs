//! The route that starts or continues a run, with a message, an answer or a resume. The run continues without its
//! client, which follows the session instead.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;
use http::StatusCode;
use pleach_context::{RunConfig, StreamingMode};
use pleach_core::{InvocationId, SessionKey};
use pleach_runner::{AnswerOptions, Run, RunRequest, Runner};
use serde_json::json;

use super::load::require;
use super::mover::require_mover;
use crate::Caller;
use crate::api::Api;
use crate::body::MoveBody;
use crate::error::{ApiError, json_response};
use crate::path::SessionPath;
use crate::runs::{Failure, check_is_question, prepare_detached, start as start_task};

/// How long the reply waits for the first event of the run. This event shows that the run was not refused.
const PATIENCE: Duration = Duration::from_secs(2);

/// Starts a run. The reply is 202 once the run has begun, or has not been refused for [`PATIENCE`]. If the invocation
/// is known by then, the reply names it.
///
/// # Errors
/// 403 without a Runner, 400 and 409 for requests that the Runner refuses.
pub(super) async fn start(
    State(api): State<Arc<Api>>,
    SessionPath(key): SessionPath,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, ApiError> {
    let runner = require_mover(&api, key.app_name.as_str())?;
    let body = MoveBody::of(api.payload(request).await?)?;
    require(&api, &key).await?;
    // Only a resume joins an active run of its invocation. An answer waits for its turn.
    let joins = body.resume.clone().map(InvocationId::from);
    let (run, invocation) = begin(runner, &key, &caller, body)?;
    let session = key.session_id.to_string();
    let mut events = start_task(&api, prepare_detached(&api, runner, key, joins.as_ref(), run).await?);
    let first = tokio::select! {
        first = events.recv() => first,
        () = api.clock.sleep(PATIENCE) => None,
    };
    let invocation = match first {
        Some(Ok(event)) => Some(event.invocation_id().clone()),
        Some(Err(failure)) => return Err(failure_reply(failure, &session)),
        None => invocation,
    };
    Ok(json_response(StatusCode::ACCEPTED, json!({ "invocationId": invocation }).to_string()))
}

/// Creates the run, and returns the invocation that it continues.
fn begin(
    runner: &Runner,
    key: &SessionKey,
    caller: &Caller,
    body: MoveBody,
) -> Result<(Run, Option<InvocationId>), ApiError> {
    let config = || RunConfig::default().streaming(StreamingMode::Sse);
    match (body.message, body.answer, body.resume) {
        (Some(text), None, None) => {
            let request = RunRequest::new(key).message(text).config(config()).yield_user_message(true);
            Ok((runner.start(request), None))
        }
        (None, Some(given), None) => {
            check_is_question(&given.question_id)?;
            let invocation = InvocationId::from(given.invocation_id);
            let question = (invocation.clone(), given.question_id);
            let options = AnswerOptions::new().only_if_open(true).config(config());
            let options = match caller {
                Caller::User(user) => options.caller(user.clone()),
                Caller::Anyone | Caller::Unknown => options,
            };
            let run = runner.answer_with(key, [(question, given.value)], options);
            Ok((run.map_err(|error| failure_reply(Failure::Run(error), key.session_id.as_str()))?, Some(invocation)))
        }
        (None, None, Some(id)) => {
            let invocation = InvocationId::from(id);
            let request = RunRequest::new(key).invocation_id(&invocation).config(config());
            Ok((runner.start(request), Some(invocation)))
        }
        _ => Err(ApiError::bad_request("Send exactly one of `message`, `answer` and `resume`.")),
    }
}

/// Returns the reply to a run that has failed or was refused. Errors of nodes are also in the session's log, which the
/// page shows.
fn failure_reply(failure: Failure, session: &str) -> ApiError {
    failure.answer(session)
}
