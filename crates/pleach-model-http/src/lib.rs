//! Clients of model providers over HTTP.
//!
//! This crate owns the wire formats of Gemini, of OpenAI-compatible chat completions and of Anthropic messages, and
//! sends the requests: keys, time-outs, retries and limits. It neither knows agents nor runs tools or stores anything.
//!
//! | feature | what it adds |
//! | --- | --- |
//! | `anthropic` | `anthropic`: Anthropic messages |
//! | `gemini` | `gemini`: Gemini with a key |
//! | `openai` | `openai`, `ollama`: every server with OpenAI's chat completions |

#[cfg(any(feature = "anthropic", feature = "gemini", feature = "openai"))]
#[cfg_attr(
    all(not(feature = "anthropic"), not(all(feature = "gemini", feature = "openai"))),
    expect(dead_code, reason = "a format needs a part of it")
)]
mod arguments;
mod builder;
#[cfg(any(feature = "anthropic", feature = "gemini"))]
mod distinct;
mod endpoint;
mod environment;
#[cfg_attr(
    not(any(feature = "anthropic", feature = "gemini", feature = "openai")),
    expect(dead_code, reason = "without a provider, only failures are read")
)]
mod finish;
#[cfg(any(feature = "anthropic", feature = "openai"))]
mod functions;
#[cfg(any(feature = "anthropic", feature = "openai"))]
mod history;
mod http;
mod model;
mod retry;
mod schema;
#[cfg(any(feature = "anthropic", feature = "openai"))]
mod settings;
mod setup_error;
mod wire;

#[cfg(feature = "anthropic")]
mod anthropic;
#[cfg(feature = "gemini")]
mod gemini;
#[cfg(feature = "openai")]
mod openai;

#[cfg(feature = "anthropic")]
pub use anthropic::anthropic;
pub use builder::HttpModelBuilder;
#[cfg(feature = "gemini")]
pub use gemini::gemini;
pub use model::HttpModel;
#[cfg(feature = "openai")]
pub use openai::{ollama, openai};
pub use setup_error::ModelSetupError;
