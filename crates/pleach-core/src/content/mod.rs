//! Messages and their parts, in google-genai's shape.

mod call;
mod media;
mod message;
mod part;

pub use call::{
    CodeExecutionResult, ExecutableCode, FunctionCall, FunctionDeclaration, FunctionResponse, FunctionResponsePart,
    ToolCall, ToolResponse,
};
pub use media::{Blob, FileData, VideoMetadata};
pub use message::{Content, Message};
pub use part::Part;
