//! Settings of one invocation.

use std::collections::BTreeMap;

use pleach_core::{Content, Map, drop_reserved_metadata};
use pleach_model::HttpOptions;
use pleach_session::GetSessionConfig;

/// The streaming mode of model answers. ADK: `StreamingMode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StreamingMode {
    /// One complete event per model answer.
    #[default]
    None,
    /// Fragments as they arrive, then the complete event.
    Sse,
}

/// Settings of one invocation. ADK: `RunConfig`.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RunConfig {
    /// The streaming mode of model answers.
    pub streaming_mode: StreamingMode,
    /// The number of model calls that a run may make; each resume starts a new count. 0 means no limit, and `None`
    /// means the limit of the app.
    pub max_llm_calls: Option<u32>,
    /// The metadata for every event of the invocation. Keys of the event itself win. Keys that are reserved for the
    /// runtime are dropped: those that begin with `__adk_internal_`, `_adk_`, `_pleach_` or `pleach_`.
    // R1107, R1109
    pub custom_metadata: Map,
    /// The part of the history that is loaded.
    pub get_session_config: GetSessionConfig,
    /// The contents that models see before the message that began the invocation. They are not stored.
    // L54
    pub model_input_context: Vec<Content>,
    /// The labels of every request to a model, for example for billing. They win over the labels of an agent's
    /// generation config.
    // L28
    pub labels: BTreeMap<String, String>,
    /// The options for sending requests to models, merged into the options of each agent: see [`HttpOptions::merge`].
    // L26
    pub http_options: Option<HttpOptions>,
}

impl RunConfig {
    /// The limit of model calls if neither the config, the app nor the environment sets one.
    pub const MAX_LLM_CALLS: u32 = 500;

    /// Sets how model answers are streamed.
    #[must_use]
    pub fn streaming(mut self, mode: StreamingMode) -> Self {
        self.streaming_mode = mode;
        self
    }

    /// Sets how many model calls a run may make; each resume starts a new count. 0 means no limit.
    #[must_use]
    pub fn max_llm_calls(mut self, calls: u32) -> Self {
        self.max_llm_calls = Some(calls);
        self
    }

    /// Sets the metadata for every event. Reserved keys are dropped.
    // R1109
    #[must_use]
    pub fn custom_metadata(mut self, mut metadata: Map) -> Self {
        drop_reserved_metadata(&mut metadata);
        self.custom_metadata = metadata;
        self
    }

    /// Sets the contents that models see in this invocation before the message that began it, such as the page that a
    /// user looks at. They are not stored, so pass them again on a resume that needs them.
    // L54
    #[must_use]
    pub fn model_input_context(mut self, contents: impl IntoIterator<Item = Content>) -> Self {
        self.model_input_context = contents.into_iter().collect();
        self
    }

    /// Adds a label to every request to a model. Providers without labels drop them.
    // L28
    #[must_use]
    pub fn label(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.insert(name.into(), value.into());
        self
    }

    /// Sets how requests to models are sent, for example with a header that names the tenant. Headers are merged with
    /// the agent's headers and win over them. A time limit, retries and an extra body replace the agent's. The address
    /// stays the agent's.
    // L26
    #[must_use]
    pub fn http_options(mut self, options: HttpOptions) -> Self {
        self.http_options = Some(options);
        self
    }

    /// Sets which part of the history is loaded.
    #[must_use]
    pub fn get_session(mut self, config: GetSessionConfig) -> Self {
        self.get_session_config = config;
        self
    }
}
