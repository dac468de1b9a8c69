//! One part of a message.

use crate::content::{
    Blob, CodeExecutionResult, ExecutableCode, FileData, FunctionCall, FunctionResponse, ToolCall, ToolResponse,
    VideoMetadata,
};
use crate::json::json_object;
use crate::{Bytes, Map, Owned};

json_object! {
    /// One part of a message: usually exactly one of text, media, call or response. ADK: `types.Part`
    pub struct Part keep {
        /// The resolution at which the model processes media.
        media_resolution: Option<Box<Owned>> = "media_resolution" | "mediaResolution",
        /// The result of running code.
        code_execution_result: Option<Box<CodeExecutionResult>> = "code_execution_result" | "codeExecutionResult",
        /// Code to run.
        executable_code: Option<Box<ExecutableCode>> = "executable_code" | "executableCode",
        /// Media stored elsewhere.
        file_data: Option<Box<FileData>> = "file_data" | "fileData",
        /// A function to call.
        function_call: Option<Box<FunctionCall>> = "function_call" | "functionCall",
        /// The result of a called function.
        function_response: Option<Box<FunctionResponse>> = "function_response" | "functionResponse",
        /// Media in the message itself.
        inline_data: Option<Box<Blob>> = "inline_data" | "inlineData",
        /// Text.
        text: Option<String> = "text",
        /// Whether the part is a model's thinking and not its response.
        thought: Option<bool> = "thought",
        /// An opaque token that lets the model continue its own thoughts.
        thought_signature: Option<Bytes> = "thought_signature" | "thoughtSignature",
        /// A selection from a video.
        video_metadata: Option<Box<VideoMetadata>> = "video_metadata" | "videoMetadata",
        /// A call of a tool on the model's side.
        tool_call: Option<Box<ToolCall>> = "tool_call" | "toolCall",
        /// The result of a tool on the model's side.
        tool_response: Option<Box<ToolResponse>> = "tool_response" | "toolResponse",
        /// The application's own metadata: user data, whose keys are never renamed.
        part_metadata: Option<Box<Map>> = "part_metadata" | "partMetadata",
        /// The text of spoken media.
        audio_transcription: Option<Box<Owned>> = "audio_transcription" | "audioTranscription",
        /// How the media are to be processed.
        media_processing: Option<Box<Owned>> = "media_processing" | "mediaProcessing",
        /// Metadata of spoken media.
        speech_metadata: Option<Box<Owned>> = "speech_metadata" | "speechMetadata",
    }
}

impl Part {
    /// Creates a text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    /// Creates a part with media of the given type.
    pub fn bytes(mime_type: impl Into<String>, data: impl Into<Bytes>) -> Self {
        let blob = Blob { data: Some(data.into()), mime_type: Some(mime_type.into()), ..Blob::default() };
        Self { inline_data: Some(Box::new(blob)), ..Self::default() }
    }

    /// Creates a part that calls a function.
    pub fn function_call(call: FunctionCall) -> Self {
        Self { function_call: Some(Box::new(call)), ..Self::default() }
    }

    /// Creates a part that answers a call.
    pub fn function_response(response: FunctionResponse) -> Self {
        Self { function_response: Some(Box::new(response)), ..Self::default() }
    }

    /// Returns `true` if the part is a model's thinking.
    pub fn is_thought(&self) -> bool {
        self.thought == Some(true)
    }
}

impl From<&str> for Part {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Part {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}
