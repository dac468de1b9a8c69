//! Tools of MCP servers for agents, and the servers' resources and prompts.
//!
//! [`McpToolset`] is a toolset: it lists the tools of a server and calls them. The protocol is that of the crate `rmcp`; this crate owns
//! how a server is reached and ended ([`McpCommand`], [`McpEndpoint`]), when its list is asked for again, what a model sees of tools and results, and
//! how every failure of a server becomes a result that the model sees.

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
