//! Executing the calls of one response.
// L100–L115

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use pleach_context::engine::{Engine as _, LaneSetup};
use pleach_context::telemetry::{OpenSpan, SpanEnd, execute_tool};
use pleach_context::{NodeError, Tool, ToolContext};
use pleach_core::{AuthConfig, BoxFuture, Content, Event, FunctionResponse, Map, Part, ToolConfirmation};
use pleach_workflow::{Called, ToolCall};
use serde_json::{Value, json};
use tracing::Instrument as _;

use super::recorded::PendingCall;
use super::tools::ToolTable;
use super::{AgentRun, StepEnd};
use crate::guidance::SET_MODEL_RESPONSE;

/// A call that has been executed.
struct Executed<'c> {
    pending: &'c PendingCall,
    ctx: ToolContext,
    /// `None` for a call whose result comes later.
    response: Option<Map>,
    confirmation: Option<ToolConfirmation>,
    credential: Option<AuthConfig>,
}

impl AgentRun<'_> {
    /// Executes calls together, and stores their responses in one event, in the order of the calls.
    pub(super) async fn execute_with(
        &mut self,
        calls: Vec<PendingCall>,
        tools: &ToolTable,
    ) -> Result<StepEnd, NodeError> {
        let this = &*self;
        let execute = |(place, pending)| async move { (place, this.execute_one(pending, tools).await) };
        let mut running: FuturesUnordered<_> = calls.iter().enumerate().map(execute).collect();
        let mut executed: Vec<Option<Executed<'_>>> = calls.iter().map(|_| None).collect();
        let mut failed = None;
        while let Some((place, result)) = running.next().await {
            match result {
                Ok(call) => executed[place] = Some(call),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        // What still runs is cancelled.
        drop(running);
        let executed: Vec<Executed<'_>> = executed.into_iter().flatten().collect();
        match failed {
            None => self.answer(executed).await,
            Some(error) => {
                self.answer_before_failure(executed).await?;
                Err(error)
            }
        }
    }

    async fn execute_one<'c>(&self, pending: &'c PendingCall, tools: &ToolTable) -> Result<Executed<'c>, NodeError> {
        let ctx = self.ctx.engine().lane(LaneSetup::default());
        let id = pending.call.id.clone().unwrap_or_default();
        ctx.engine().set_function_call_id(id.clone());
        self.give_answers(pending, &ctx)?;
        let name = pending.call.name.as_deref().unwrap_or_default();
        let mut args = pending.call.args.clone().unwrap_or_default();
        let (value, may_be_pending) = match tools.get(name) {
            Some(tool) => {
                let span = OpenSpan::new(execute_tool(&**tool, &ctx));
                let call = ToolCall { tool: &**tool, ctx: &ctx, callbacks: &self.agent.callbacks };
                let called = call.make(&mut args).instrument(span.span().clone()).await;
                match &called {
                    Ok(_) => span.end(SpanEnd::Completed),
                    Err(error) => span.fail(error.code()),
                }
                let Called::Result(value) = called? else {
                    return Err(NodeError::value("a call of an agent asks by its event"));
                };
                (value, tool.is_long_running())
            }
            None => (self.unknown(name, &mut args, &ctx, tools).await?, false),
        };
        let actions = ctx.actions();
        let confirmation = actions.requested_tool_confirmations().get(&id).cloned();
        let credential = actions.requested_auth_configs().get(&id).cloned();
        let response = if may_be_pending && is_falsy(&value) { None } else { Some(as_response(value)) };
        Ok(Executed { pending, ctx, response, confirmation, credential })
    }

    /// Answers a call of a function that the agent does not have.
    // L102
    async fn unknown(
        &self,
        name: &str,
        args: &mut Map,
        ctx: &ToolContext,
        tools: &ToolTable,
    ) -> Result<Value, NodeError> {
        let tool = UnknownTool(name.to_owned());
        let call = ToolCall { tool: &tool, ctx, callbacks: &self.agent.callbacks };
        if let Some(answer) = call.before(args).await? {
            return call.after(args, answer).await;
        }
        let text = format!(
            "Invoking `{name}()` failed as no tool with that name is available. The tools you can call are: {}. You could retry, but it is IMPORTANT that you only call a tool from that list.",
            tools.names()
        );
        let error = NodeError::value(text.clone());
        Ok(call.on_error(args, &error).await?.unwrap_or_else(|| json!({"error": text})))
    }

    /// Stores the responses of a batch, and what its calls ask for.
    // L110, L115
    async fn answer(&mut self, executed: Vec<Executed<'_>>) -> Result<StepEnd, NodeError> {
        let mut waits = false;
        for (place, call) in executed.iter().enumerate() {
            let Some(config) = &call.credential else { continue };
            if executed[..place].iter().any(|earlier| earlier.credential.as_ref() == Some(config)) {
                continue;
            }
            let id = call.pending.call.id.as_deref().unwrap_or_default();
            self.ctx.emit(self.credential_event(id, config)?).await?;
            waits = true;
        }
        let asked: Vec<_> =
            executed.iter().filter_map(|call| Some((&call.pending.call, call.confirmation.clone()?))).collect();
        let asks_all = asked.len() == executed.len();
        let mut question = if asked.is_empty() { None } else { Some(self.confirmation_event(&asked)?) };
        let asks = question.is_some();
        // A job that was only started goes on elsewhere: the model is asked once its result has come.
        waits |= asks || executed.iter().any(|call| call.response.is_none());
        if asks_all && let Some(question) = question.take() {
            self.ctx.emit(question).await?;
        }
        let end = self.respond(&executed, asks && !asks_all).await?;
        if let Some(question) = question {
            self.ctx.emit(question).await?;
        }
        Ok(if waits { StepEnd::Waiting } else { end })
    }

    /// Stores the responses of calls that have ended before another one failed.
    // L103
    async fn answer_before_failure(&mut self, executed: Vec<Executed<'_>>) -> Result<(), NodeError> {
        let is_plain = |call: &Executed<'_>| {
            let actions = call.ctx.actions();
            call.confirmation.is_none()
                && call.credential.is_none()
                && actions.transfer_to_agent().is_none()
                && actions.escalate() != Some(true)
                && actions.skip_summarization() != Some(true)
        };
        let plain: Vec<Executed<'_>> = executed.into_iter().filter(is_plain).collect();
        self.respond(&plain, false).await.map(drop)
    }

    /// Stores the responses in one event.
    async fn respond(&mut self, executed: &[Executed<'_>], clears_skip: bool) -> Result<StepEnd, NodeError> {
        executed.iter().for_each(|call| self.ctx.engine().merge_lane(&call.ctx));
        let parts: Vec<Part> = executed.iter().filter_map(Executed::part).collect();
        if parts.is_empty() {
            return Ok(StepEnd::Waiting);
        }
        if clears_skip {
            self.ctx.with_actions(|actions| actions.set_skip_summarization(None))?;
        }
        let actions = self.ctx.actions();
        let is_final = actions.skip_summarization() == Some(true);
        let transfers = actions.transfer_to_agent().is_some();
        let answer = executed.iter().find_map(Executed::answer);
        self.ctx.emit(Event::new().with_content(Content::new("user", parts))).await?;
        if let Some(answer) = answer {
            return self.say_answer(&answer).await;
        }
        Ok(if is_final || transfers { StepEnd::Done } else { StepEnd::Continue })
    }

    /// Stores the answer that a model has given by a call.
    // L61
    async fn say_answer(&mut self, answer: &Value) -> Result<StepEnd, NodeError> {
        let text = crate::json_text(answer)
            .map_err(|error| NodeError::validation(format!("the answer has no JSON form: {error}")))?;
        let mut event = Event::new().with_content(Content::model(text));
        self.keep_answer(&mut event)?;
        self.ctx.emit(event).await?;
        Ok(StepEnd::Done)
    }
}

impl Executed<'_> {
    fn part(&self) -> Option<Part> {
        let call = &self.pending.call;
        let (id, name) = (call.id.clone().unwrap_or_default(), call.name.clone().unwrap_or_default());
        Some(Part::function_response(FunctionResponse::new(id, name, self.response.clone()?)))
    }

    /// The answer that a call of `set_model_response` gives.
    fn answer(&self) -> Option<Value> {
        if self.pending.call.name.as_deref() != Some(SET_MODEL_RESPONSE) {
            return None;
        }
        self.ctx.actions().set_model_response().cloned()
    }
}

/// Returns the response that a result is sent as.
// L105
fn as_response(value: Value) -> Map {
    match value {
        Value::Object(fields) => fields,
        other => Map::from_iter([("result".to_owned(), other)]),
    }
}

/// Returns whether a long-running tool has only started something.
// L106
fn is_falsy(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(true) => false,
    }
}

/// A function that a model has called and the agent does not have.
struct UnknownTool(String);

impl Tool for UnknownTool {
    fn name(&self) -> &str {
        &self.0
    }

    fn run<'a>(&'a self, _: &'a Map, _: &'a ToolContext) -> BoxFuture<'a, Result<Value, NodeError>> {
        Box::pin(async move { Err(NodeError::value(format!("there is no tool `{}`", self.0))) })
    }
}
