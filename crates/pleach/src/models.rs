//! Models of providers, reached over HTTP: builders for what [`model`](crate::model()) does not read from a name.
//!
//! Each provider is a feature of its own. [`docs/models.md`](https://github.com/pleach/pleach/blob/main/docs/models.md)
//! describes keys, base URLs, time-outs and retries.

#[cfg(feature = "openai")]
pub use pleach_model_http::{HttpModel, HttpModelBuilder, ModelSetupError, ollama, openai};
