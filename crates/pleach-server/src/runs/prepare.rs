//! [`prepare`]: turns a request into a run.

use std::sync::Arc;

use http::{HeaderMap, StatusCode};
use pleach_context::{RunConfig, StreamingMode};
use pleach_core::{Content, InvocationId, SIGNAL, SessionKey, TIMER, Uuid};
use pleach_runner::{Message, Run, RunRequest, Runner};
use pleach_session::GetSessionConfig;
use pleach_session::prepare::turn_key;
use sha2::{Digest as _, Sha256};

use super::failure::{ending, no_session};
use super::slots::RunSlot;
use super::{SessionTurn, SessionTurns};
use crate::api::Api;
use crate::body::RunBody;
use crate::caller::Caller;
use crate::error::ApiError;

/// The header that lets a client repeat a message without running it twice.
const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// The longest value of [`IDEMPOTENCY_KEY`], in bytes.
const LONGEST_KEY: usize = 255;

/// A run that may start.
pub(crate) struct Prepared {
    pub(crate) runner: Runner,
    pub(crate) run: Run,
    pub(crate) key: SessionKey,
    /// The invocation of a message that the client may have sent before.
    pub(crate) repeatable: Option<InvocationId>,
    /// Whether files are sent in a separate block.
    pub(crate) splits_artifacts: bool,
    /// The invocation that a message names, which may have ended.
    pub(crate) named: Option<InvocationId>,
    /// Whether the run yields its message as its first event, once the message is stored. The stream begins only then,
    /// when it is known that the session exists.
    pub(crate) announces: bool,
    /// Whether the client asks for fragments.
    pub(crate) streams: bool,
    /// Whether the run continues after its client has disconnected.
    pub(crate) detaches: bool,
    pub(crate) slot: RunSlot,
    /// The turn of the run; `None` for a request that joins a run.
    pub(crate) turn: Option<SessionTurn>,
}

/// Checks a request, in the same order as google-adk.
///
/// # Errors
/// - 400 without an app, 404 or 403 for an app that is not served, 403 for another user.
/// - 422 for settings that exclude each other, 404 for a session that does not exist.
/// - 409 if other runs of the session take too long, 429 if the user has too many runs, 503 during a shutdown.
pub(crate) async fn prepare(
    api: &Arc<Api>,
    caller: &Caller,
    headers: &HeaderMap,
    body: RunBody,
    streams: bool,
) -> Result<Prepared, ApiError> {
    let user = body.user_id.as_str().into();
    caller.check(&user)?;
    for answer in body.new_message.iter().flat_map(Content::function_responses) {
        check_is_question(answer.id.as_deref().unwrap_or_default())?;
    }
    let app = body.app_name.as_deref().filter(|name| !name.is_empty()).or(api.default_app.as_deref());
    // H51
    let app = app.ok_or_else(|| ApiError::bad_request("app_name is required when ADK_DEFAULT_APP_NAME is not set"))?;
    let runner = api.runner(app)?.clone();
    // H57
    if streams && body.streaming && body.service_tier.as_deref() == Some("deferred") {
        let detail =
            "service_tier 'deferred' cannot be combined with streaming: a deferred request has nothing to stream.";
        return Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, detail));
    }
    if api.is_ending() {
        return Err(ending());
    }
    let key = SessionKey::new(app, user, body.session_id.as_str());
    let repeatable = invocation_of_key(headers, &key, &body)?;
    // If the caller may not answer, the reply must be a status and not a stream.
    let checks_answers = answers(&body) && matches!(caller, Caller::User(_));
    let announces = streams && repeatable.is_none() && (starts_invocation(&body) || checks_answers);
    // If the run announces its message, it reports a missing session itself, before the stream begins. So the store is
    // read only once.
    if streams && !announces && !api.auto_create_session && !exists(api, &key).await? {
        return Err(no_session(&body.session_id));
    }
    let slot = api.slots.take("runs", &key.app_name, &key.user_id, api.limits.runs_per_user)?;
    let splits_artifacts = body.function_call_event_id.as_deref().is_none_or(str::is_empty);
    let named = named_invocation(&body);
    let turn = turn(api, &key, named.as_ref().or(repeatable.as_ref())).await?;
    let streams = streams && body.streaming;
    let request = request(&key, body, repeatable.as_ref(), streams).state_rights(api.caller_rights.of(caller).state());
    let request = match caller {
        Caller::User(user) => request.caller(user.clone()),
        Caller::Anyone | Caller::Unknown => request,
    };
    let run = runner.start(request.yield_user_message(announces || named.is_some()));
    let detaches = api.detaches_runs;
    Ok(Prepared { runner, run, key, repeatable, splits_artifacts, named, announces, streams, detaches, slot, turn })
}

/// Prepares a run that the inspector starts. The run continues without a client. If it may join an active run of its
/// invocation, `invocation` names that.
///
/// # Errors
/// 409 if other runs of the session take too long, 429 if the user has too many runs, 503 during a shutdown.
#[cfg(feature = "inspect")]
pub(crate) async fn prepare_detached(
    api: &Arc<Api>,
    runner: &Runner,
    key: SessionKey,
    invocation: Option<&InvocationId>,
    run: Run,
) -> Result<Prepared, ApiError> {
    if api.is_ending() {
        return Err(ending());
    }
    let slot = api.slots.take("runs", &key.app_name, &key.user_id, api.limits.runs_per_user)?;
    let turn = turn(api, &key, invocation).await?;
    Ok(Prepared {
        runner: runner.clone(),
        run,
        key,
        repeatable: None,
        splits_artifacts: false,
        named: None,
        announces: false,
        streams: false,
        detaches: true,
        slot,
        turn,
    })
}

/// Waits until the earlier runs of the session have ended, but no longer than `slow_client_timeout`.
///
/// # Errors
/// 409 if they take longer, 503 if the server shuts down while the request waits.
async fn turn(api: &Api, key: &SessionKey, joins: Option<&InvocationId>) -> Result<Option<SessionTurn>, ApiError> {
    let mut ended = api.ending.subscribe();
    tokio::select! {
        biased;
        turn = take_or_join(&api.turns, key, joins) => Ok(turn),
        _ = ended.wait_for(|ending| *ending) => Err(ending()),
        () = api.clock.sleep(api.limits.slow_client_timeout) => {
            Err(ApiError::conflict("Other runs of this session have not ended in time: send the request again. Nothing was stored."))
        }
    }
}

async fn take_or_join(turns: &SessionTurns, key: &SessionKey, joins: Option<&InvocationId>) -> Option<SessionTurn> {
    match joins {
        Some(invocation) => turns.take_or_join(turn_key(key), invocation).await,
        None => Some(turns.take(turn_key(key)).await),
    }
}

/// Checks that an answer is for a question to a person, and not for a sleep or a wait for a signal.
///
/// # Errors
/// 400, with the id.
pub(crate) fn check_is_question(id: &str) -> Result<(), ApiError> {
    if !id.starts_with(TIMER) && !id.starts_with(SIGNAL) {
        return Ok(());
    }
    let detail = format!("{id} is a sleep, which ends by itself, or a wait for a signal: it takes no answer.");
    Err(ApiError::bad_request(detail))
}

/// Returns true if the message answers questions.
fn answers(body: &RunBody) -> bool {
    body.new_message.as_ref().is_some_and(|message| message.function_responses().next().is_some())
}

/// Returns the invocation that a message names, unless it is an answer.
fn named_invocation(body: &RunBody) -> Option<InvocationId> {
    let is_named = body.new_message.is_some() && !answers(body);
    body.invocation_id.as_deref().filter(|id| is_named && !id.is_empty()).map(InvocationId::from)
}

/// Returns true if the request has a message that starts an invocation. The message is then the first event of the run.
fn starts_invocation(body: &RunBody) -> bool {
    body.new_message.is_some() && !answers(body) && body.invocation_id.as_deref().is_none_or(str::is_empty)
}

/// Returns whether there is a session, without reading its events.
pub(crate) async fn exists(api: &Api, key: &SessionKey) -> Result<bool, ApiError> {
    Ok(api.sessions.get_session(key, GetSessionConfig::recent(0)).await?.is_some())
}

// H54, H59, H61
fn request(key: &SessionKey, body: RunBody, repeatable: Option<&InvocationId>, streams: bool) -> RunRequest {
    let mode = if streams { StreamingMode::Sse } else { StreamingMode::None };
    let config = RunConfig::default().streaming(mode).custom_metadata(body.custom_metadata.unwrap_or_default());
    let mut request = RunRequest::new(key).config(config).state_delta(body.state_delta.unwrap_or_default());
    if let Some(message) = body.new_message {
        request = request.message(Message::from(message));
    }
    let named = body.invocation_id.filter(|id| !id.is_empty()).map(InvocationId::from);
    match named.as_ref().or(repeatable) {
        Some(id) => request.invocation_id(id),
        None => request,
    }
}

/// Returns the invocation of an idempotency key. Answers need no key: repeating an answer stores nothing.
///
/// # Errors
/// 400 for a key that is empty, too long, or sent together with the id of an invocation.
fn invocation_of_key(headers: &HeaderMap, key: &SessionKey, body: &RunBody) -> Result<Option<InvocationId>, ApiError> {
    let Some(value) = headers.get(IDEMPOTENCY_KEY) else { return Ok(None) };
    let fits = |text: &&str| !text.trim().is_empty() && text.len() <= LONGEST_KEY;
    let Some(text) = value.to_str().ok().filter(fits) else {
        let detail = format!("The header Idempotency-Key must have 1 to {LONGEST_KEY} visible characters.");
        return Err(ApiError::bad_request(detail));
    };
    if body.invocation_id.is_some() {
        return Err(ApiError::bad_request("Send either the header Idempotency-Key or an invocationId."));
    }
    Ok((!answers(body) && body.new_message.is_some()).then(|| invocation_of(key, text)))
}

/// Returns the invocation id of an idempotency key. The same key in the same session always has the same id.
fn invocation_of(session: &SessionKey, key: &str) -> InvocationId {
    let mut hash = Sha256::new();
    for text in [session.app_name.as_str(), session.user_id.as_str(), session.session_id.as_str(), key] {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    }
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.finalize()[..16]);
    InvocationId::of_uuid(Uuid::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idempotency_key_names_one_invocation_of_one_session() {
        let id = |user: &str, session: &str, key| invocation_of(&SessionKey::new("app", user, session), key);
        assert_eq!(id("u", "s", "k"), id("u", "s", "k"));
        assert_eq!(id("u", "s", "k").as_str().len(), "e-".len() + 36);
        // The id must not change: a client may repeat a request after an update of the server.
        assert_eq!(id("u", "s", "k"), "e-ef9df835-a293-2f4b-2b33-7a454c76b93b");
        let ids = [id("u", "s", "k"), id("us", "", "k"), id("u", "sk", ""), id("u", "s", "k2"), id("v", "s", "k")];
        let distinct: std::collections::HashSet<_> = ids.iter().collect();
        assert_eq!(distinct.len(), ids.len());
    }
}
