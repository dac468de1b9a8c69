//! [`ModelInfo`]: the metadata of a model's answer.

use crate::{Map, Owned};

/// The part of an event that only answers of models have. ADK: `LlmResponse`
// R101
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelInfo {
    /// The version of the model that answered.
    pub model_version: Option<String>,
    /// The sources that ground the answer, for example search results.
    pub grounding_metadata: Option<Owned>,
    /// Why a live turn ended.
    pub turn_complete_reason: Option<String>,
    /// The status of a background interaction.
    pub interaction_status: Option<String>,
    /// Why the model stopped, for example `STOP`; unknown words are kept.
    pub finish_reason: Option<String>,
    /// Whether the user interrupted the model.
    pub interrupted: Option<bool>,
    /// Tokens used.
    pub usage_metadata: Option<Owned>,
    /// How to resume a live session.
    pub live_session_resumption_update: Option<Owned>,
    /// Names a live session.
    pub live_session_id: Option<String>,
    /// The server is about to close a live session.
    pub go_away: Option<Owned>,
    /// Whether speech is detected.
    pub voice_activity: Option<Owned>,
    /// The text of what the user said.
    pub input_transcription: Option<Owned>,
    /// The text of what the model said.
    pub output_transcription: Option<Owned>,
    /// Mean log probability of the answer's tokens.
    pub avg_logprobs: Option<f64>,
    /// Log probabilities of the tokens.
    pub logprobs_result: Option<Owned>,
    /// About the context cache; its keys are snake_case over HTTP too.
    pub cache_metadata: Option<Map>,
    /// Sources cited.
    pub citation_metadata: Option<Owned>,
    /// Names an interaction kept by the model's provider.
    pub interaction_id: Option<String>,
    /// Names an environment kept by the model's provider.
    pub environment_id: Option<String>,
}
