//! [`ModelInfo`]: the metadata of a model's response.

use crate::{Map, Owned};

/// The part of an event that only a model's responses have. ADK: `LlmResponse`
// R101
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelInfo {
    /// The version of the model that responded.
    pub model_version: Option<String>,
    /// The sources that ground the response, for example search results.
    pub grounding_metadata: Option<Owned>,
    /// The reason why a live turn ended.
    pub turn_complete_reason: Option<String>,
    /// The status of a background interaction.
    pub interaction_status: Option<String>,
    /// The reason why the model stopped, for example `STOP`; unknown reasons are kept.
    pub finish_reason: Option<String>,
    /// Whether the user interrupted the model.
    pub interrupted: Option<bool>,
    /// The usage that the model reported, such as its token counts.
    pub usage_metadata: Option<Owned>,
    /// The handle with which a live session can be resumed.
    pub live_session_resumption_update: Option<Owned>,
    /// The id of a live session.
    pub live_session_id: Option<String>,
    /// The server's announcement that it will close the live session.
    pub go_away: Option<Owned>,
    /// The start or end of speech that a live session detected.
    pub voice_activity: Option<Owned>,
    /// The text of what the user said.
    pub input_transcription: Option<Owned>,
    /// The text of what the model said.
    pub output_transcription: Option<Owned>,
    /// The mean log probability of the response's tokens.
    pub avg_logprobs: Option<f64>,
    /// The log probabilities of the tokens.
    pub logprobs_result: Option<Owned>,
    /// Metadata of the context cache; its keys are in snake_case even over HTTP.
    pub cache_metadata: Option<Map>,
    /// The cited sources.
    pub citation_metadata: Option<Owned>,
    /// The id of an interaction that the model's provider keeps.
    pub interaction_id: Option<String>,
    /// The id of an environment that the model's provider keeps.
    pub environment_id: Option<String>,
}
