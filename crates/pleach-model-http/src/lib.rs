//! Clients of model providers over HTTP.
//!
//! Owns the wire formats of Gemini, of OpenAI-compatible chat completions and of Anthropic messages, and the one HTTP client
//! under them: time-outs, retries, limits, keys. It knows no agent, runs no tool and stores nothing.
//!
//! | feature | what it adds |
//! | --- | --- |
//! | `gemini` | `gemini`: Gemini with a key |
//! | `openai` | `openai`, `ollama`: every server with OpenAI's chat completions |

mod builder;
mod endpoint;
mod environment;
#[cfg(feature = "openai")]
mod history;
mod http;
mod model;
mod retry;
#[cfg(feature = "openai")]
mod schema;
mod setup_error;
mod wire;

#[cfg(feature = "gemini")]
mod gemini;
#[cfg(feature = "openai")]
mod openai;

pub use builder::HttpModelBuilder;
#[cfg(feature = "gemini")]
pub use gemini::gemini;
pub use model::HttpModel;
#[cfg(feature = "openai")]
pub use openai::{ollama, openai};
pub use setup_error::ModelSetupError;
