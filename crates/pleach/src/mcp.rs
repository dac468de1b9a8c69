//! MCP: tools, resources and prompts of servers that are child processes or reached over HTTP.
//!
//! `docs/mcp.md` describes how servers are started, kept and ended, and what models see of them.

pub use pleach_mcp::{
    McpCommand, McpEndpoint, McpError, McpProgress, McpPrompt, McpPromptArgument, McpResource, McpResourceContents,
    McpResourceTemplate, McpServer, McpSetupError, McpTool, McpToolAnnotations, McpToolset, McpToolsetBuilder,
};
