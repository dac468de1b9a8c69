//! Settings of one invocation.

use pleach_core::Map;
use pleach_session::GetSessionConfig;

use crate::history::is_note;

/// How model answers are streamed. ADK: `StreamingMode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StreamingMode {
    /// One complete event per model answer.
    #[default]
    None,
    /// Fragments as they come, then the complete event.
    Sse,
}

/// Settings of one invocation. ADK: `RunConfig`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunConfig {
    /// How model answers are streamed.
    pub streaming_mode: StreamingMode,
    /// How many model calls the invocation may make; 0 means no limit.
    pub max_llm_calls: u32,
    /// Put on every event of the invocation; keys of the event itself win. Keys starting with `__adk_internal_` are dropped, and
    /// so are those under which the engine records what it has done, such as `_adk_completed_runs`.
    // R1107, R1109
    pub custom_metadata: Map,
    /// Which part of the history is loaded.
    pub get_session_config: GetSessionConfig,
}

impl Default for RunConfig {
    fn default() -> Self {
        Self {
            streaming_mode: StreamingMode::None,
            max_llm_calls: 500,
            custom_metadata: Map::new(),
            get_session_config: GetSessionConfig::default(),
        }
    }
}

impl RunConfig {
    /// Sets how model answers are streamed.
    #[must_use]
    pub fn streaming(mut self, mode: StreamingMode) -> Self {
        self.streaming_mode = mode;
        self
    }

    /// Sets how many model calls the invocation may make; 0 means no limit.
    #[must_use]
    pub fn max_llm_calls(mut self, calls: u32) -> Self {
        self.max_llm_calls = calls;
        self
    }

    /// Sets what is put on every event; reserved keys are dropped.
    // R1109
    #[must_use]
    pub fn custom_metadata(mut self, metadata: Map) -> Self {
        self.custom_metadata =
            metadata.into_iter().filter(|(key, _)| !key.starts_with("__adk_internal_") && !is_note(key)).collect();
        self
    }

    /// Sets which part of the history is loaded.
    #[must_use]
    pub fn get_session(mut self, config: GetSessionConfig) -> Self {
        self.get_session_config = config;
        self
    }
}
