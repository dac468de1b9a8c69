//! The actions of the user in one turn.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use pleach::{Content, Event, FunctionCall, FunctionResponse, Map, Part, RunConfig, RunRequest, StreamingMode};
use serde_json::Value;

/// A turn of the user.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn<'a>(pub(super) &'a Value);

impl<'a> Turn<'a> {
    /// The session of the turn, unless it is the first one.
    pub(super) fn session(&self) -> Option<&'a str> {
        self.0.get("session_id")?.as_str()
    }

    /// The number of events after which the caller closes the stream.
    pub(super) fn close_after(&self) -> Option<usize> {
        self.0.get("close_after")?.as_u64().and_then(|events| usize::try_from(events).ok())
    }

    /// The request to the Runner. `seen` are all events that were handed out so far, and `answered` are the calls that
    /// `answer_open` has answered in earlier turns.
    pub(super) fn request(
        &self,
        user: &str,
        session: &str,
        seen: &[Arc<Event>],
        answered: &mut BTreeSet<String>,
    ) -> anyhow::Result<RunRequest> {
        let mut request = RunRequest::new((user, session)).config(self.config()?);
        let message = match self.answer_open(seen, answered)? {
            Some(answer) => Some(Content::new("user", [Part::function_response(answer)])),
            None => self.message(seen)?,
        };
        if let Some(message) = message {
            request = request.message(message);
        }
        if let Some(delta) = self.0.get("state_delta") {
            request = request.state_delta(delta.as_object().context("`state_delta` is an object")?.clone());
        }
        if self.0.get("invocation").and_then(Value::as_str) == Some("same") {
            let last = seen.last().context("there is no invocation to continue")?;
            request = request.invocation_id(last.invocation_id().clone());
        }
        Ok(request)
    }

    /// The answer that `"answer_open": {NAME: RESPONSE, ...}` describes. It is for the newest call of one of these
    /// functions that no `answer_open` has answered yet. If there is such a call, the answer is sent instead of the
    /// message.
    fn answer_open(
        &self,
        seen: &[Arc<Event>],
        answered: &mut BTreeSet<String>,
    ) -> anyhow::Result<Option<FunctionResponse>> {
        let Some(answers) = self.0.get("answer_open").and_then(Value::as_object) else { return Ok(None) };
        for call in newest_calls(seen) {
            let Some((name, id)) = call.name.as_deref().zip(call.id.as_ref()) else { continue };
            if let Some(answer) = answers.get(name).filter(|_| answered.insert(id.clone())) {
                let answer = answer.as_object().with_context(|| format!("{answer} is not a response"))?;
                return Ok(Some(FunctionResponse::new(id.clone(), name, answer.clone())));
            }
        }
        Ok(None)
    }

    fn message(&self, seen: &[Arc<Event>]) -> anyhow::Result<Option<Content>> {
        let (mut role, mut parts) = ("user", Vec::new());
        match self.0.get("message") {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => parts.push(Part::text(text.as_str())),
            Some(message) => {
                role = message.get("role").and_then(Value::as_str).unwrap_or(role);
                let given = message.get("parts").context("a message has `parts`")?;
                parts = serde_json::from_value(given.clone()).context("the parts of a message")?;
            }
        }
        for answer in self.0.get("answers").and_then(Value::as_array).into_iter().flatten() {
            parts.push(Part::function_response(response(answer, seen)?));
        }
        Ok((!parts.is_empty()).then(|| Content::new(role, parts)))
    }

    fn config(&self) -> anyhow::Result<RunConfig> {
        let mut config = RunConfig::default();
        for (key, value) in self.0.get("run_config").and_then(Value::as_object).into_iter().flatten() {
            config = match (key.as_str(), value) {
                ("streaming", Value::String(mode)) if mode == "sse" => config.streaming(StreamingMode::Sse),
                ("max_llm_calls", Value::Number(calls)) => {
                    // A negative number means no limit, like zero.
                    let calls = calls.as_i64().and_then(|calls| u32::try_from(calls.max(0)).ok());
                    config.max_llm_calls(calls.context("`max_llm_calls` is a number of calls")?)
                }
                ("custom_metadata", Value::Object(metadata)) => config.custom_metadata(metadata.clone()),
                _ => bail!("unknown setting of a run: `{key}`: {value}"),
            };
        }
        Ok(config)
    }
}

/// Reads `{"id", "response", "name"?}`, an answer to a question or a call.
fn response(answer: &Value, seen: &[Arc<Event>]) -> anyhow::Result<FunctionResponse> {
    let id = answer.get("id").context("an answer has an `id`")?;
    let (id, default_name) = match id {
        Value::String(id) => (id.clone(), "adk_request_input".to_owned()),
        id => {
            let name = id.get("last_call").and_then(Value::as_str).with_context(|| format!("{id} is not an id"))?;
            let back = id.get("back").and_then(Value::as_u64).unwrap_or_default();
            (last_call(name, back, seen)?, name.to_owned())
        }
    };
    let name = answer.get("name").and_then(Value::as_str).map_or(default_name, str::to_owned);
    let response = match answer.get("response").context("an answer has a `response`")? {
        Value::Object(response) => response.clone(),
        other => Map::from_iter([("result".to_owned(), other.clone())]),
    };
    Ok(FunctionResponse::new(id, name, response))
}

/// The id of the last complete call of this function that was handed out, or of the call `back` calls before it.
fn last_call(name: &str, back: u64, seen: &[Arc<Event>]) -> anyhow::Result<String> {
    let mut named = newest_calls(seen).filter(|call| call.name.as_deref() == Some(name));
    let call = named.nth(usize::try_from(back)?).with_context(|| format!("`{name}` was not called"))?;
    call.id.clone().with_context(|| format!("the call of `{name}` has no id"))
}

/// All complete calls that were handed out, the last one first.
fn newest_calls(seen: &[Arc<Event>]) -> impl Iterator<Item = &FunctionCall> {
    let complete = seen.iter().rev().filter(|event| !event.is_partial());
    complete.flat_map(|event| event.function_calls().collect::<Vec<_>>().into_iter().rev())
}
