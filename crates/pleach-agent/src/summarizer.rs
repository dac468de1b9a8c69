//! [`LlmSummarizer`]: summarises events with a model.
// R1150

use std::fmt;
use std::sync::Arc;

use futures_util::StreamExt as _;
use pleach_context::{NodeError, SystemClock};
use pleach_core::{BoxError, BoxFuture, Clock, Content, Event, Map, ModelInfo, Part, REQUEST_CREDENTIAL};
use pleach_model::{LlmRequest, LlmResponse, Model, ModelCall};
use pleach_session::{EventsSummarizer, Summary, summary_event};
use serde_json::Value;

use crate::python;

/// The placeholder for the history in a prompt.
const HISTORY: &str = "{conversation_history}";

/// google-adk's prompt, so that the requests are the same.
const PROMPT: &str = "The following is a conversation history between a user and an AI agent. It may or may not start from a \
compacted history. Please identify and reiterate the user request, summarize the context so far, focusing on key decisions \
made and information obtained, as well as any unresolved questions or tasks. CRITICAL INSTRUCTIONS: 1. Explicitly identify \
and state the primary language used by the user at the top of your summary (e.g., \"Conversation Language: English\"). \
2. If the agent called any tools, accurately list the exact tool names used to maintain tool grounding. The rest of the \
summary should be concise and capture the essence of the interaction.\n\n{conversation_history}";

/// The maximum number of characters of a call's arguments, or of its result, in a prompt.
const MAX_CALL_CHARS: usize = 2_000;

/// Summarises events with a model. ADK: `LlmEventSummarizer`
///
/// The prompt contains texts and thoughts, calls, and the results of calls. The arguments of a call and its result are
/// each cut at 2,000 characters. Requests for credentials are left out. The first response with a content is the
/// summary.
///
/// ```
/// use pleach_agent::LlmSummarizer;
/// use pleach_model::ScriptedModel;
///
/// let summarizer = LlmSummarizer::new(ScriptedModel::saying("They talked about Oslo."));
/// let german = summarizer.with_prompt("Fasse zusammen:\n{conversation_history}");
/// assert!(german.is_ok());
/// ```
#[doc(alias = "LlmEventSummarizer")]
pub struct LlmSummarizer {
    model: Arc<dyn Model>,
    prompt: String,
    clock: Arc<dyn Clock>,
}

impl LlmSummarizer {
    /// Makes a summarizer with google-adk's prompt.
    pub fn new(model: impl Model) -> Self {
        Self { model: Arc::new(model), prompt: PROMPT.to_owned(), clock: Arc::new(SystemClock) }
    }

    /// Sets the prompt. The text of the events replaces `{conversation_history}` in it.
    ///
    /// # Errors
    /// A `ValueError` if the prompt does not contain `{conversation_history}`.
    pub fn with_prompt(mut self, prompt: impl Into<String>) -> Result<Self, NodeError> {
        self.prompt = prompt.into();
        if !self.prompt.contains(HISTORY) {
            return Err(NodeError::value(format!(
                "the prompt of a summarizer has no place for the events: `{HISTORY}`"
            ))
            .with_hint("put it where the model is to read the conversation"));
        }
        Ok(self)
    }

    /// Sets the clock for the waits between the attempts of a model call.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    async fn ask(&self, events: &[Arc<Event>]) -> Result<Option<LlmResponse>, BoxError> {
        let mut request = LlmRequest::new(self.model.name());
        request.contents.push(Content::user(self.prompt.replace(HISTORY, &history(events))).into());
        let mut responses = self.model.generate(ModelCall::new(&request, &*self.clock));
        while let Some(response) = responses.next().await {
            let response = response?;
            if response.content.is_some() {
                return Ok(Some(response));
            }
        }
        Ok(None)
    }
}

impl EventsSummarizer for LlmSummarizer {
    fn maybe_summarize_events<'a>(&'a self, events: &'a [Arc<Event>]) -> BoxFuture<'a, Summary> {
        Box::pin(async move {
            if events.is_empty() {
                return Ok(None);
            }
            let Some(LlmResponse { content: Some(content), info, .. }) = self.ask(events).await? else {
                return Ok(None);
            };
            let mut summary = summary_event(events, content);
            if let Some(summary) = &mut summary {
                let usage = ModelInfo { usage_metadata: info.usage_metadata, ..ModelInfo::default() };
                LlmResponse { info: usage, ..LlmResponse::default() }.apply_to(summary);
            }
            Ok(summary)
        })
    }
}

impl fmt::Debug for LlmSummarizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LlmSummarizer").field("model", &self.model.name()).finish_non_exhaustive()
    }
}

/// Returns the events as lines of text.
fn history(events: &[Arc<Event>]) -> String {
    let mut lines = Vec::new();
    for event in events {
        let Some(content) = event.content().filter(|content| !is_about_a_credential(content)) else { continue };
        // The thoughts that led to an earlier summary are not part of that summary.
        let is_summary = event.actions().compaction().is_some();
        for part in content.parts().iter().filter(|part| !(is_summary && part.is_thought() && part.text.is_some())) {
            lines_of(part, event.author(), &mut lines);
        }
    }
    lines.join("\n")
}

fn lines_of(part: &Part, author: &str, lines: &mut Vec<String>) {
    if let Some(text) = part.text.as_ref().filter(|text| !text.is_empty()) {
        let thought = if part.is_thought() { " (thought)" } else { "" };
        lines.push(format!("{author}{thought}: {text}"));
    }
    if let Some(call) = &part.function_call {
        let name = call.name.as_deref().unwrap_or("None");
        lines.push(format!("{author} called tool: {name}({})", shortened(call.args.as_ref())));
    }
    if let Some(response) = &part.function_response {
        let name = response.name.as_deref().unwrap_or("None");
        lines.push(format!("Tool response from {name}: {}", shortened(response.response.as_ref())));
    }
}

fn shortened(values: Option<&Map>) -> String {
    let text = values.map_or_else(|| "None".to_owned(), |values| python::repr(&Value::Object(values.clone())));
    match text.char_indices().nth(MAX_CALL_CHARS) {
        Some((end, _)) => format!("{}... [truncated {} chars]", &text[..end], text[end..].chars().count()),
        None => text,
    }
}

fn is_about_a_credential(content: &Content) -> bool {
    let is_credential = |name: Option<&str>| name == Some(REQUEST_CREDENTIAL);
    content.function_calls().any(|call| is_credential(call.name.as_deref()))
        || content.function_responses().any(|response| is_credential(response.name.as_deref()))
}
