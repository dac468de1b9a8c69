//! Requests to models, and their responses.
//!
//! Owns the [`Model`] trait, [`LlmRequest`] with its [`GenerateConfig`], [`LlmResponse`], the [`Aggregator`] that
//! combines a stream's fragments into one response, and [`ScriptedModel`] for tests. Requests share the contents of a
//! session's events ([`SharedContent`]). The crate knows no provider's protocol, and neither runs tools nor reads a
//! clock.

mod aggregate;
mod config;
mod error;
mod http_options;
mod instructions;
mod model;
mod request;
mod request_tool;
mod response;
mod scripted;
mod shared_content;
mod wire;

pub use aggregate::Aggregator;
pub use config::{FunctionCallingConfig, GenerateConfig, SafetySetting, ThinkingConfig, ToolConfig};
pub use error::{ModelError, ModelErrorKind};
pub use http_options::{HttpOptions, HttpRetryOptions};
pub use instructions::insert_input_context;
pub use model::{Model, ModelCall, ModelCapabilities, ModelWait, ResponseStream};
pub use request::LlmRequest;
pub use request_tool::RequestTool;
pub use response::LlmResponse;
pub use scripted::{RecordedCall, ScriptedModel, ScriptedReply};
pub use shared_content::{CLIENT_CALL_ID_PREFIX, SharedContent, is_client_call_id};
