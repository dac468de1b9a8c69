//! Tools of MCP servers for agents, and the servers' resources and prompts.
//!
//! [`McpToolset`] is a toolset: it lists the tools of a server and calls them. The crate `rmcp` implements the
//! protocol. This crate starts, reaches and ends servers ([`McpCommand`], [`McpEndpoint`]), and decides when to list
//! tools again. It converts tools and results for models, and turns every failure of a server into a result that the
//! model sees.

mod builder;
mod command;

mod connection;
mod content;
mod declared;
mod endpoint;
mod error;
mod fence;
mod limits;
mod members;
mod names;
mod progress;
mod prompts;
mod resources;
mod result;
mod setup_error;
mod tool;
mod toolset;

pub use builder::McpToolsetBuilder;
pub use command::McpCommand;
pub use connection::McpServer;
pub use declared::McpToolAnnotations;
pub use endpoint::McpEndpoint;
pub use error::McpError;
pub use progress::McpProgress;
pub use prompts::{McpPrompt, McpPromptArgument};
pub use resources::{McpResource, McpResourceContents, McpResourceTemplate};
pub use setup_error::McpSetupError;
pub use tool::McpTool;
pub use toolset::McpToolset;
