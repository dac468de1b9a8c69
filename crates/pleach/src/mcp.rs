//! MCP: tools, resources and prompts of servers that run as child processes or are reached over HTTP.
//!
//! `docs/mcp.md` describes how servers are started, kept running and stopped, and what models see of them.

pub use pleach_mcp::{
    McpCommand, McpEndpoint, McpError, McpProgress, McpPrompt, McpPromptArgument, McpResource, McpResourceContents,
    McpResourceTemplate, McpServer, McpSetupError, McpTool, McpToolAnnotations, McpToolset, McpToolsetBuilder,
};
