//! [`McpProgress`]: how far a call has come.

/// How far a call of a tool has come, as its server reports it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct McpProgress {
    /// The tool, by the name that models call.
    pub tool: String,
    /// How much is done; it grows from report to report.
    pub progress: f64,
    /// How much there is to do, if the server knows.
    pub total: Option<f64>,
    /// What the server says of it.
    pub message: Option<String>,
}
