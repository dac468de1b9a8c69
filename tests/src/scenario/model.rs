//! The model of a scenario's agent: a list of responses.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use pleach::model::{LlmRequest, LlmResponse, Model, ModelCall, ModelError, ModelErrorKind, ResponseStream};
use pleach::{NodeError, to_camel};
use serde_json::{Map, Value, json};

use super::env::{Env, Failure};
use super::response::response;
use super::run::scripted_error;
use super::vars::said;
use super::world::World;

/// A model that answers call n with item n of its list and records its requests.
pub(crate) struct ScriptedLlm {
    agent: String,
    responses: Vec<Value>,
    used: AtomicUsize,
    world: Arc<World>,
}

impl ScriptedLlm {
    /// The model of the agent of this name.
    pub(crate) fn new(agent: &str, responses: &[Value], world: &Arc<World>) -> Self {
        let (agent, world) = (agent.to_owned(), Arc::clone(world));
        Self { agent, responses: responses.to_vec(), used: AtomicUsize::new(0), world }
    }

    /// Begins a call. Returns the fragments to send and the environment of their expressions.
    fn begin(&self, call: &ModelCall<'_>) -> Result<(Vec<Value>, Env), NodeError> {
        self.world.request(asked(&self.agent, call.request, call.streaming));
        let number = self.used.fetch_add(1, Ordering::Relaxed);
        let exhausted = || NodeError::new("RuntimeError", "scripted model exhausted");
        let item = self.responses.get(number).ok_or_else(exhausted)?;
        let mut chunks = match item.get("chunks").and_then(Value::as_array) {
            Some(chunks) => chunks.clone(),
            None => vec![item.clone()],
        };
        if let Some(failing) = chunks.iter().position(|chunk| chunk.get("raise").is_some()) {
            chunks.truncate(failing + 1);
        }
        let contents = &call.request.contents;
        let mut vars = Map::new();
        vars.insert("last_text".to_owned(), said(contents.last().map(|last| &**last)).into());
        vars.insert("call".to_owned(), number.into());
        vars.insert("contents".to_owned(), contents.iter().map(camel).collect());
        Ok((chunks, Env::of_model(Arc::clone(&self.world), vars)))
    }

    fn failure(&self, error: NodeError) -> ModelError {
        ModelError::new(self.name(), ModelErrorKind::Other).with_cause(error)
    }
}

impl Model for ScriptedLlm {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn generate<'a>(&'a self, call: ModelCall<'a>) -> ResponseStream<'a> {
        let responses = move |begun: Result<(Vec<Value>, Env), NodeError>| match begun {
            Ok((chunks, env)) => {
                let env = Arc::new(env);
                let each = move |chunk| {
                    let env = Arc::clone(&env);
                    async move { said_by(&chunk, &env).await.map_err(|error| self.failure(error)) }
                };
                stream::iter(chunks).then(each).boxed()
            }
            Err(error) => stream::iter([Err(self.failure(error))]).boxed(),
        };
        stream::once(async move { self.begin(&call) }).flat_map(responses).boxed()
    }
}

/// Makes one response, or the failure in its place.
async fn said_by(chunk: &Value, env: &Env) -> Result<LlmResponse, NodeError> {
    if let Some(delay) = chunk.get("delay_ms").and_then(Value::as_u64) {
        tokio::time::sleep(Duration::from_millis(delay)).await;
    }
    let Some(raised) = chunk.get("raise") else {
        return response(chunk, env).map_err(|Failure { error, .. }| error);
    };
    let text = |key: &str| raised.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let error = scripted_error(&text("type"), text("message"));
    Err(error.unwrap_or_else(|| env.fault(&format!("unknown error type `{}`", text("type"))).error))
}

/// A request as the trace shows it.
fn asked(agent: &str, request: &LlmRequest, streaming: bool) -> Value {
    let config = &request.config;
    let tools: Vec<&str> = request.declarations().filter_map(|declared| declared.name.as_deref()).collect();
    let contents: Vec<Value> = request.contents.iter().map(camel).collect();
    let mut asked = json!({
        "agent": agent,
        "system_instruction": config.system_instruction,
        "contents": contents,
        "tools": tools,
    });
    if let Some(kind) = &config.response_mime_type {
        asked["response_mime_type"] = kind.as_str().into();
    }
    if config.response_schema.is_some() || config.response_json_schema.is_some() {
        asked["has_response_schema"] = true.into();
    }
    if streaming {
        asked["stream"] = true.into();
    }
    asked
}

fn camel(content: &impl serde::Serialize) -> Value {
    to_camel(content).expect("a content has string keys only")
}
