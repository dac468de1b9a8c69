//! One step of an agent: a call of the model and the handling of its responses.
// L81–L87, L133, L155–L162

use std::pin::pin;
use std::sync::Arc;

use futures_util::StreamExt as _;
use pleach_context::engine::mark_reported;
use pleach_context::{AgentMode, NodeError, StreamingMode};
use pleach_core::{Content, Event, EventId, FunctionCall, Map, bound_message};
use pleach_model::{LlmRequest, LlmResponse, Model, ModelCall, ModelError, ModelWait, ResponseStream};

use super::call_numbers::PendingCall;
use super::fragment_ids::FragmentIds;
use super::model_span::ModelSpan;
use super::model_wait::show_wait;
use super::tools::ToolTable;
use super::{AgentRun, StepEnd};

/// The error code of an empty answer. ADK: `MODEL_RETURNED_NO_CONTENT`
const NO_CONTENT: &str = "MODEL_RETURNED_NO_CONTENT";

/// The call of a model in one step.
struct Call {
    tools: ToolTable,
    streaming: bool,
    /// The id of the next event. Its fragments have the same id.
    event_id: EventId,
    fragments: FragmentIds,
}

impl AgentRun<'_> {
    /// Calls the model once and executes the calls in its responses.
    pub(super) async fn step(&mut self) -> Result<StepEnd, NodeError> {
        let model = self.model()?;
        let work = self.handle.work();
        let (mut request, mut tools) = (LlmRequest::new(model.name()), ToolTable::default());
        self.fill(&mut request, &mut tools, &*model).await?;
        let streaming = self.handle.invocation().run_config().streaming_mode == StreamingMode::Sse;
        let mut call = Call { tools, streaming, event_id: self.new_event_id(), fragments: FragmentIds::default() };
        let instead = self.before_model(&mut request).await?;
        drop(work);
        if let Some(response) = instead {
            return Ok(self.take_response(&mut call, response).await?.unwrap_or(StepEnd::Done));
        }
        self.label(&mut request);
        self.handle.invocation().count_llm_call()?;
        // The request is read while its responses arrive, and callbacks may read it later.
        self.responses(&*model, &Arc::new(request), &mut call).await
    }

    async fn responses(
        &mut self,
        model: &dyn Model,
        request: &Arc<LlmRequest>,
        call: &mut Call,
    ) -> Result<StepEnd, NodeError> {
        let services = Arc::clone(self.handle.invocation().services());
        let (handle, name, answer) = (self.handle, self.agent.agent.name.as_str(), call.event_id.clone());
        let shows_wait = move |wait: &ModelWait<'_>| show_wait(name, &answer, handle, wait);
        let asked = ModelCall::new(request, &*services.clock).streaming(call.streaming).ids(&*services.ids);
        let asked = asked.on_wait(&shows_wait);
        let mut responses = model.generate(asked);
        // If the stream ends without a complete answer, the agent is done.
        let mut end = StepEnd::Done;
        let mut is_silent = true;
        let mut span = ModelSpan::open(request, model.provider(), &self.agent.agent.name, &call.event_id, self.handle);
        loop {
            let work = self.handle.work();
            let next = span.around(pin!(self.next_response(&mut responses, request))).await;
            let response = match next.inspect_err(|error| span.failed(error.code()))? {
                Some(response) => response,
                None => break,
            };
            drop(work);
            if !response.is_partial() {
                span.answered(&response);
            }
            if let Some(led) = self.take_response(call, response).await? {
                end = led;
                is_silent = false;
            }
            if end == StepEnd::Waiting || self.handle.invocation().is_aborted() {
                return Ok(end);
            }
        }
        span.complete();
        if is_silent {
            // Without this event, the session would show a message without an answer.
            let said = "the model ended its answer without saying or calling anything";
            self.take_response(call, LlmResponse::error(NO_CONTENT, said)).await?;
        }
        Ok(end)
    }

    /// Returns the next response after all changes by callbacks; `None` at the end of the stream.
    async fn next_response(
        &self,
        responses: &mut ResponseStream<'_>,
        request: &LlmRequest,
    ) -> Result<Option<LlmResponse>, NodeError> {
        let response = match responses.next().await {
            None => return Ok(None),
            Some(Ok(response)) => response,
            Some(Err(error)) => self.on_model_error(request, failure(error)).await?,
        };
        Ok(Some(match self.after_model(&response).await? {
            // L137
            Some(other) => other.replacing(&response),
            None => response,
        }))
    }

    async fn before_model(&self, request: &mut LlmRequest) -> Result<Option<LlmResponse>, NodeError> {
        match self.plugins().before_model(self.handle, request).await? {
            Some(response) => Ok(Some(response)),
            None => self.agent.callbacks.before_model(self.handle, request).await,
        }
    }

    async fn after_model(&self, response: &LlmResponse) -> Result<Option<LlmResponse>, NodeError> {
        match self.plugins().after_model(self.handle, response).await? {
            Some(other) => Ok(Some(other)),
            None => self.agent.callbacks.after_model(self.handle, response).await,
        }
    }

    async fn on_model_error(&self, request: &LlmRequest, error: NodeError) -> Result<LlmResponse, NodeError> {
        let other = match self.plugins().on_model_error(self.handle, request, &error).await? {
            Some(other) => Some(other),
            None => self.agent.callbacks.on_model_error(self.handle, request, &error).await?,
        };
        other.ok_or(error)
    }

    /// Stores a response and executes its calls. Returns the outcome; `None` if no event is stored for the response.
    // L86
    async fn take_response(
        &mut self,
        call: &mut Call,
        mut response: LlmResponse,
    ) -> Result<Option<StepEnd>, NodeError> {
        keep_content(&mut response.content)?;
        response.report_missing_content(call.streaming);
        self.process_plan(&mut response).await?;
        if response.is_blank() {
            return Ok(None);
        }
        let code = self.take_code(&mut response);
        let is_partial = response.is_partial();
        if let Some(content) = &mut response.content {
            call.fragments.identify(content, is_partial, &*self.handle.invocation().services().ids);
        }
        let is_error = response.error_code.is_some();
        let calls: Vec<PendingCall> = match is_partial {
            true => Vec::new(),
            false => response.function_calls().map(|call| self.numbers.number(call)).collect(),
        };
        let mut event = Event::new();
        response.apply_to(&mut event);
        event.set_id(call.event_id.clone());
        if event.function_calls().next().is_some() {
            let long_running = event.function_calls().filter(|made| call.is_long_running(made));
            let ids = long_running.filter_map(|made| made.id.clone()).collect();
            event.set_long_running_tool_ids(Some(ids));
        }
        if is_partial {
            self.handle.emit(event).await?;
            return Ok(Some(StepEnd::Done));
        }
        if is_error {
            // The error event of a failed attempt looks the same. The note distinguishes the two.
            mark_reported(&mut event);
        }
        if let Some(agent) = self.handle.agent_within_run() {
            self.handle.claim_calls(&agent, event.function_calls());
        }
        self.keep_answer(&mut event)?;
        let ends = event.function_calls().next().is_none() && event.is_final_response();
        self.handle.emit_noted(event).await?;
        call.event_id = self.new_event_id();
        if let Some(code) = code {
            self.execute_code(&code).await?;
            return Ok(Some(StepEnd::Continue));
        }
        if calls.is_empty() {
            return Ok(Some(match ends {
                // Text of an agent with a task is a question to the user.
                true if self.mode == AgentMode::Task => StepEnd::Asks,
                true => StepEnd::Done,
                false => StepEnd::Continue,
            }));
        }
        self.execute_with(calls, &call.tools).await.map(Some)
    }

    /// Executes the calls that an earlier attempt of the run has left open.
    pub(super) async fn execute(&mut self, calls: Vec<PendingCall>) -> Result<StepEnd, NodeError> {
        let model = self.model()?;
        let work = self.handle.work();
        let tools = self.tools(&*model).await?;
        drop(work);
        self.execute_with(calls, &tools).await
    }

    fn new_event_id(&self) -> EventId {
        EventId::from(self.handle.invocation().services().ids.uuid())
    }
}

impl Call {
    fn is_long_running(&self, made: &FunctionCall) -> bool {
        let tool = made.name.as_deref().and_then(|name| self.tools.get(name));
        tool.is_some_and(|tool| tool.is_long_running())
    }
}

/// Makes a model's content storable before anything acts on it: U+0000 becomes U+FFFD in texts, names and arguments.
///
/// # Errors
/// A `ValueError` if the arguments are nested too deeply for an event. No part of the response has been acted on.
fn keep_content(content: &mut Option<Content>) -> Result<(), NodeError> {
    bound_message(content, &mut Map::new())
        .map_err(|fault| NodeError::value(format!("the response of the model: {fault}")))?;
    if content.as_mut().is_some_and(Content::replace_nul) {
        tracing::warn!("the response of the model contains U+0000, which no store accepts: it was replaced");
    }
    Ok(())
}

/// Converts a model's error to the error of a node. If a node's error caused it, that error is returned unchanged.
// L170
fn failure(error: ModelError) -> NodeError {
    match error.cause().and_then(|cause| cause.downcast_ref::<NodeError>()) {
        Some(cause) => cause.clone(),
        None => NodeError::new("ModelError", error.to_string()).with_status(error.code().to_owned()).with_source(error),
    }
}
