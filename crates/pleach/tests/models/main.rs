//! Tests of providers' models: making them by name, and using them in an agent.
#![cfg_attr(feature = "openai", expect(clippy::unwrap_used, reason = "test code: a panic is how a rule fails"))]

mod names;
#[cfg(feature = "openai")]
mod over_http;
#[cfg(all(feature = "anthropic", feature = "gemini", feature = "openai"))]
mod wire_cases;
