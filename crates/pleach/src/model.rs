//! Models: the trait, its requests and responses, and a scripted model for tests.
//!
//! ```
//! use futures::StreamExt as _;
//! use pleach::model::{LlmRequest, Model, ModelCall, ScriptedModel};
//! use pleach::{Content, Result, SystemClock};
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<()> {
//!     let model = ScriptedModel::saying("Sunny.");
//!     let mut request = LlmRequest::new("scripted");
//!     request.contents.push(Content::user("Oslo?").into());
//!     let mut responses = model.generate(ModelCall::new(&request, &SystemClock));
//!     while let Some(response) = responses.next().await {
//!         assert_eq!(response?.content, Some(Content::model("Sunny.")));
//!     }
//!     Ok(())
//! }
//! ```

pub use pleach_model::{
    Aggregator, CLIENT_CALL_ID_PREFIX, FunctionCallingConfig, GenerateConfig, HttpOptions, HttpRetryOptions,
    LlmRequest, LlmResponse, Model, ModelCall, ModelCapabilities, ModelError, ModelErrorKind, ModelWait, RecordedCall,
    RequestTool, ResponseStream, SafetySetting, ScriptedModel, ScriptedReply, SharedContent, ThinkingConfig,
    ToolConfig, is_client_call_id,
};
