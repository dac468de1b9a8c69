//! What an LLM agent asks its model: the pure parts.
//!
//! Owns the template grammar of instructions ([`inject_session_state`]), the conversation that an agent sees
//! ([`conversation`]), and the texts and declarations that agents add to a request ([`guidance`]). It runs no agent, calls
//! no model and no tool, and does no I/O but what a [`TemplateSource`] does.

mod call_ids;
mod contents;
pub mod guidance;
mod json_text;
mod python;
mod schema;
mod template;

pub use call_ids::ensure_call_ids;
pub use contents::{ConversationView, conversation, current_turn};
pub use json_text::json_text;
pub use schema::{OutputWrapper, json_in_text};
pub use template::{TemplateError, TemplateSource, inject_session_state};
