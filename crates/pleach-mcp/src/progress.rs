//! [`McpProgress`]: the progress of a call.

/// The progress of a call, as the server reports it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct McpProgress {
    /// The name with which models call the tool.
    pub tool: String,
    /// The amount of work that is done. It grows from report to report.
    pub progress: f64,
    /// The total amount, if the server knows it.
    pub total: Option<f64>,
    /// The server's message.
    pub message: Option<String>,
}
