//! Clients of model providers over HTTP.
//!
//! Owns the wire formats of Gemini, of OpenAI-compatible chat completions and of Anthropic messages, and the one HTTP client
//! under them: time-outs, retries, limits, keys. It knows no agent, runs no tool and stores nothing.
//!
//! | feature | what it adds |
//! | --- | --- |
//! | `openai` | `openai`, `ollama`: every server with OpenAI's chat completions |

mod builder;
mod endpoint;
mod environment;
#[cfg(feature = "openai")]
mod history;
mod http;
mod model;
mod retry;
mod setup_error;
mod wire;

#[cfg(feature = "openai")]
mod openai;

pub use builder::HttpModelBuilder;
pub use model::HttpModel;
#[cfg(feature = "openai")]
pub use openai::{ollama, openai};
pub use setup_error::ModelSetupError;
