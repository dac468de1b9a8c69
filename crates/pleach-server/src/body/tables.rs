//! The shapes of the bodies, of messages and of events.
// H33, H38, H39, H45, H46, H75

use super::shape::Kind::{Any, Bytes, Flag, List, Model, Number, Object, Set, Text};
use super::shape::{Field, Shape, defaulted, optional, required};

pub(super) static RUN: Shape = Shape::open(&[
    optional("appName", Text),
    required("userId", Text),
    required("sessionId", Text),
    optional("newMessage", Model(&CONTENT)),
    defaulted("streaming", Flag),
    optional("stateDelta", Object),
    optional("functionCallEventId", Text),
    optional("invocationId", Text),
    optional("customMetadata", Object),
    optional("serviceTier", Text),
]);

pub(super) static CREATE: Shape = Shape::open(&[
    optional("sessionId", Text),
    optional("state", Object),
    optional("events", List(&Model(&EVENT))),
    optional("options", Object),
]);

pub(super) static UPDATE: Shape = Shape::open(&[required("stateDelta", Object)]);

#[cfg(feature = "dev")]
pub(super) static TELEMETRY: Shape = Shape::open(&[required("telemetry", Flag)]);

#[cfg(feature = "inspect")]
pub(super) static MOVE: Shape =
    Shape::closed(&[optional("message", Text), optional("answer", Model(&ANSWER)), optional("resume", Text)]);

#[cfg(feature = "inspect")]
static ANSWER: Shape =
    Shape::closed(&[required("questionId", Text), required("invocationId", Text), required("value", Any)]);

#[cfg(feature = "inspect")]
pub(super) static FORK: Shape = Shape::closed(&[required("eventId", Text), optional("sessionId", Text)]);

pub(super) static MEMORY: Shape = Shape::open(&[required("sessionId", Text)]);

pub(super) static ARTIFACT: Shape =
    Shape::open(&[required("filename", Text), required("artifact", Model(&PART)), optional("customMetadata", Object)]);

pub(super) static CONTENT: Shape = Shape::closed(&[optional("parts", List(&Model(&PART))), optional("role", Text)]);

pub(super) static PART: Shape = Shape::closed(&[
    optional("mediaResolution", Object),
    optional("codeExecutionResult", Model(&CODE_RESULT)),
    optional("executableCode", Model(&CODE)),
    optional("fileData", Model(&FILE)),
    optional("functionCall", Model(&CALL)),
    optional("functionResponse", Model(&RESPONSE)),
    optional("inlineData", Model(&BLOB)),
    optional("text", Text),
    optional("thought", Flag),
    optional("thoughtSignature", Bytes),
    optional("videoMetadata", Model(&VIDEO)),
    optional("toolCall", Model(&TOOL_CALL)),
    optional("toolResponse", Model(&TOOL_RESPONSE)),
    optional("partMetadata", Object),
    optional("audioTranscription", Object),
    optional("mediaProcessing", Any),
    optional("speechMetadata", Object),
]);

pub(super) static CODE_RESULT: Shape =
    Shape::closed(&[optional("outcome", Text), optional("output", Text), optional("id", Text)]);

pub(super) static CODE: Shape =
    Shape::closed(&[optional("code", Text), optional("language", Text), optional("id", Text)]);

pub(super) static FILE: Shape =
    Shape::closed(&[optional("displayName", Text), optional("fileUri", Text), optional("mimeType", Text)]);

pub(super) static BLOB: Shape =
    Shape::closed(&[optional("data", Bytes), optional("displayName", Text), optional("mimeType", Text)]);

pub(super) static CALL: Shape = Shape::closed(&[
    optional("id", Text),
    optional("args", Object),
    optional("name", Text),
    optional("partialArgs", List(&Model(&PARTIAL_ARG))),
    optional("willContinue", Flag),
]);

pub(super) static PARTIAL_ARG: Shape = Shape::closed(&[
    optional("boolValue", Flag),
    optional("jsonPath", Text),
    optional("nullValue", Text),
    optional("numberValue", Number),
    optional("stringValue", Text),
    optional("willContinue", Flag),
]);

pub(super) static RESPONSE: Shape = Shape::closed(&[
    optional("willContinue", Flag),
    optional("scheduling", Text),
    optional("parts", List(&Model(&RESPONSE_PART))),
    optional("id", Text),
    optional("name", Text),
    optional("response", Object),
]);

pub(super) static RESPONSE_PART: Shape = Shape::closed(&[
    optional("inlineData", Model(&BLOB)),
    optional("fileData", Model(&FILE)),
    optional("mediaProcessing", Any),
]);

pub(super) static VIDEO: Shape =
    Shape::closed(&[optional("endOffset", Text), optional("fps", Number), optional("startOffset", Text)]);

pub(super) static TOOL_CALL: Shape =
    Shape::closed(&[optional("id", Text), optional("toolType", Text), optional("args", Object)]);

pub(super) static TOOL_RESPONSE: Shape =
    Shape::closed(&[optional("id", Text), optional("toolType", Text), optional("response", Object)]);

pub(super) static EVENT: Shape = Shape::open(&[
    optional("modelVersion", Text),
    optional("content", Model(&CONTENT)),
    optional("groundingMetadata", Object),
    optional("partial", Flag),
    optional("turnComplete", Flag),
    optional("turnCompleteReason", Text),
    optional("interactionStatus", Text),
    optional("finishReason", Text),
    optional("errorCode", Text),
    optional("errorMessage", Text),
    optional("interrupted", Flag),
    optional("customMetadata", Object),
    optional("usageMetadata", Object),
    optional("liveSessionResumptionUpdate", Object),
    optional("liveSessionId", Text),
    optional("goAway", Object),
    optional("voiceActivity", Object),
    optional("inputTranscription", Object),
    optional("outputTranscription", Object),
    optional("avgLogprobs", Number),
    optional("logprobsResult", Object),
    optional("cacheMetadata", Object),
    optional("citationMetadata", Object),
    optional("interactionId", Text),
    optional("environmentId", Text),
    defaulted("invocationId", Text),
    defaulted("author", Text),
    defaulted("actions", Model(&ACTIONS)),
    any("output"),
    defaulted("nodeInfo", Model(&NODE)),
    optional("longRunningToolIds", Set(&Text)),
    optional("branch", Text),
    optional("isolationScope", Text),
    defaulted("id", Text),
    defaulted("timestamp", Number),
]);

pub(super) static NODE: Shape =
    Shape::open(&[defaulted("path", Text), optional("outputFor", List(&Text)), optional("messageAsOutput", Flag)]);

pub(super) static ACTIONS: Shape = Shape::closed(&[
    optional("skipSummarization", Flag),
    defaulted("stateDelta", Object),
    defaulted("artifactDelta", Object),
    optional("transferToAgent", Text),
    optional("transferReason", Text),
    optional("escalate", Flag),
    defaulted("requestedAuthConfigs", Object),
    defaulted("requestedToolConfirmations", Object),
    optional("compaction", Object),
    optional("endOfAgent", Flag),
    optional("agentState", Object),
    optional("rewindBeforeInvocationId", Text),
    any("route"),
    optional("renderUiWidgets", List(&Object)),
    any("setModelResponse"),
]);

/// An optional member of any kind.
const fn any(name: &'static str) -> Field {
    optional(name, Any)
}
