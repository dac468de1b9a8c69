//! Model clients of providers, over HTTP. Their builders have settings that [`model`](crate::model()) cannot read
//! from a name.
//!
//! Each provider is a feature of its own. `docs/models.md` describes keys, base URLs, time-outs and retries.

#[cfg(feature = "anthropic")]
pub use pleach_model_http::anthropic;
#[cfg(feature = "gemini")]
pub use pleach_model_http::gemini;
#[cfg(any(feature = "anthropic", feature = "gemini", feature = "openai"))]
pub use pleach_model_http::{HttpModel, HttpModelBuilder, ModelSetupError};
#[cfg(feature = "openai")]
pub use pleach_model_http::{ollama, openai};
