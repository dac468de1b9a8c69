//! The settings of a request: sampling, tools, answer schema, safety and labels.

use std::collections::BTreeMap;

use pleach_core::Owned;
use serde_json::Value;

use crate::wire::wire_object;
use crate::{HttpOptions, RequestTool};

wire_object! {
    /// The settings of one request, with google-genai's names. ADK: `types.GenerateContentConfig`
    ///
    /// JSON: an object without absent fields, in snake_case; [`to_camel`](pleach_core::to_camel) returns the names of
    /// the wire. Either casing is read. An unknown key is an error.
    ///
    /// ```
    /// use pleach_core::to_camel;
    /// use pleach_model::GenerateConfig;
    /// use serde_json::json;
    ///
    /// let config = GenerateConfig { temperature: Some(0.2), max_output_tokens: Some(100), ..GenerateConfig::default() };
    /// assert_eq!(to_camel(&config).unwrap(), json!({"temperature": 0.2, "maxOutputTokens": 100}));
    /// ```
    #[derive(Debug)]
    pub struct GenerateConfig {
        /// How the request is sent. This is not part of its body.
        http_options: HttpOptions = "httpOptions",
        /// The application's instruction for the model.
        system_instruction: String = "systemInstruction",
        /// How randomly the next token is chosen; 0 always takes the likeliest.
        temperature: f64 = "temperature",
        /// The total probability of the likeliest tokens. The next token is chosen among them.
        top_p: f64 = "topP",
        /// The number of the likeliest tokens. The next token is chosen among them.
        top_k: f64 = "topK",
        /// How many answers are generated; only the first is used.
        candidate_count: u32 = "candidateCount",
        /// The maximum number of tokens of an answer.
        max_output_tokens: u32 = "maxOutputTokens",
        /// Texts that end the answer.
        stop_sequences: Vec<String> = "stopSequences",
        /// Whether log probabilities are returned.
        response_logprobs: bool = "responseLogprobs",
        /// The number of candidates per token for which log probabilities are returned.
        logprobs: u32 = "logprobs",
        /// The penalty on tokens that have already occurred.
        presence_penalty: f64 = "presencePenalty",
        /// The penalty on tokens that grows with the number of their occurrences.
        frequency_penalty: f64 = "frequencyPenalty",
        /// The seed that makes answers repeatable, if the model supports it.
        seed: i64 = "seed",
        /// The media type of the answer, for example `application/json`.
        response_mime_type: String = "responseMimeType",
        /// The JSON Schema of the answer. A client of a provider translates it into the provider's dialect.
        response_schema: Value = "responseSchema",
        /// The JSON Schema of the answer for providers that take one as it is.
        response_json_schema: Value = "responseJsonSchema",
        /// How requests are routed between models.
        routing_config: Box<Owned> = "routingConfig",
        /// How a model is selected.
        model_selection_config: Box<Owned> = "modelSelectionConfig",
        /// The kinds of harm that are blocked.
        safety_settings: Vec<SafetySetting> = "safetySettings",
        /// The tools that the model may call.
        tools: Vec<RequestTool> = "tools",
        /// How the model may call its tools.
        tool_config: Box<ToolConfig> = "toolConfig",
        /// Labels of the request, for billing and reports. They are user data, so their keys keep their casing.
        labels: BTreeMap<String, String> = "labels",
        /// The name of a context cache.
        cached_content: String = "cachedContent",
        /// The kinds of content that the answer may have, for example `TEXT`.
        response_modalities: Vec<String> = "responseModalities",
        /// The level of detail at which media is read.
        media_resolution: String = "mediaResolution",
        /// The voice of generated speech.
        speech_config: Box<Owned> = "speechConfig",
        /// Whether audio gets timestamps.
        audio_timestamp: bool = "audioTimestamp",
        /// The settings for the model's thinking.
        thinking_config: ThinkingConfig = "thinkingConfig",
        /// How images are generated.
        image_config: Box<Owned> = "imageConfig",
        /// Whether answers to civic questions are enhanced.
        enable_enhanced_civic_answers: bool = "enableEnhancedCivicAnswers",
        /// The templates that screen prompts and answers.
        model_armor_config: Box<Owned> = "modelArmorConfig",
        /// The serving tier, for example `flex`.
        service_tier: String = "serviceTier",
    }
}

wire_object! {
    /// How much a model thinks before it answers. ADK: `types.ThinkingConfig`
    #[derive(Debug)]
    pub struct ThinkingConfig {
        /// Whether thoughts are returned.
        include_thoughts: bool = "includeThoughts",
        /// The number of tokens for thinking; 0 turns thinking off, -1 leaves the number to the model.
        thinking_budget: i64 = "thinkingBudget",
        /// How thoroughly the model thinks, for example `LOW`.
        thinking_level: String = "thinkingLevel",
    }
}

wire_object! {
    /// The probability from which a kind of harm is blocked. ADK: `types.SafetySetting`
    #[derive(Debug)]
    pub struct SafetySetting {
        /// The kind of harm, for example `HARM_CATEGORY_HARASSMENT`.
        category: String = "category",
        /// Whether the threshold applies to probability or severity.
        method: String = "method",
        /// The threshold, for example `BLOCK_ONLY_HIGH`.
        threshold: String = "threshold",
    }
}

wire_object! {
    /// How a model may use its tools. ADK: `types.ToolConfig`
    #[derive(Debug)]
    pub struct ToolConfig {
        /// The functions that may, or must, be called.
        function_calling_config: FunctionCallingConfig = "functionCallingConfig",
        /// Settings of retrieval.
        retrieval_config: Owned = "retrievalConfig",
        /// Whether calls of the provider's own tools are part of the answer.
        include_server_side_tool_invocations: bool = "includeServerSideToolInvocations",
    }
}

wire_object! {
    /// The functions that a model may, or must, call. ADK: `types.FunctionCallingConfig`
    #[derive(Debug)]
    pub struct FunctionCallingConfig {
        /// `AUTO`, `ANY` (a call is required) or `NONE`.
        mode: String = "mode",
        /// The functions that `ANY` may call.
        allowed_function_names: Vec<String> = "allowedFunctionNames",
        /// Whether arguments are streamed in pieces.
        stream_function_call_arguments: bool = "streamFunctionCallArguments",
    }
}

impl GenerateConfig {
    /// Returns the labels for modification, and creates them if absent.
    pub fn labels_mut(&mut self) -> &mut BTreeMap<String, String> {
        self.labels.get_or_insert_default()
    }
}

#[cfg(test)]
mod tests {
    use pleach_core::to_camel;
    use serde_json::{Value, json};

    use super::GenerateConfig;

    fn full() -> Value {
        json!({
            "httpOptions": {"timeout": 5000, "headers": {"X-A": "1"}},
            "systemInstruction": "Be brief.",
            "temperature": 0.5, "topP": 0.9, "topK": 5.0, "candidateCount": 1, "maxOutputTokens": 100,
            "stopSequences": ["X"], "responseLogprobs": true, "logprobs": 3,
            "presencePenalty": 0.1, "frequencyPenalty": 0.2, "seed": 3,
            "responseMimeType": "application/json",
            "responseSchema": {"type": "object", "properties": {"snake_name": {"type": "string"}}},
            "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_ONLY_HIGH"}],
            "tools": [
                {"functionDeclarations": [{"name": "f", "parametersJsonSchema": {"type": "object"}}]},
                {"googleSearch": {"timeRangeFilter": {}}},
            ],
            "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
            "labels": {"cost_center": "a"}, "cachedContent": "caches/1", "responseModalities": ["TEXT"],
            "mediaResolution": "MEDIA_RESOLUTION_LOW", "speechConfig": {"voiceConfig": {"voiceName": "Kore"}},
            "thinkingConfig": {"includeThoughts": true, "thinkingBudget": 10, "thinkingLevel": "LOW"},
        })
    }

    #[test]
    fn l211_every_setting_has_its_name_of_the_wire() {
        let config: GenerateConfig = serde_json::from_value(full()).unwrap();
        assert_eq!(to_camel(&config).unwrap(), full());
        // Names inside schemas and labels belong to the user.
        let stored = serde_json::to_value(&config).unwrap();
        assert_eq!(stored["response_schema"]["properties"], full()["responseSchema"]["properties"]);
        assert_eq!(serde_json::from_value::<GenerateConfig>(stored).unwrap(), config);
    }

    #[test]
    fn unknown_settings_are_refused_by_name() {
        let error = serde_json::from_value::<GenerateConfig>(json!({"temprature": 1})).unwrap_err();
        assert!(error.to_string().starts_with("unknown field `temprature`"), "{error}");
    }
}
