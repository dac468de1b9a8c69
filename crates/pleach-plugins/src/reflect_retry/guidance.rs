//! Creates the results that a model receives instead of a failure.
//!
//! The texts are the same as in google-adk 2.13.0.

use pleach_agent::python_text;
use pleach_context::NodeError;
use pleach_core::Map;
use serde_json::{Value, json};

/// The mark of a result from this plugin.
pub(super) const RESPONSE_TYPE: &str = "ERROR_HANDLED_BY_REFLECT_AND_RETRY_PLUGIN";

/// The failure of a call.
#[derive(Clone, Copy)]
pub(super) enum Failure<'a> {
    /// The tool failed with this error.
    Raised(&'a NodeError),
    /// An error that was found in the tool's result.
    Found(&'a Value),
}

impl Failure<'_> {
    fn class(self) -> String {
        match self {
            Self::Raised(error) => error.class().to_owned(),
            Self::Found(_) => "ToolError".to_owned(),
        }
    }

    /// Returns the failure without its class.
    pub(super) fn text(self) -> String {
        match self {
            Self::Raised(error) => error.message().to_owned(),
            Self::Found(value) => python_text(value),
        }
    }

    fn details(self) -> String {
        match self {
            Self::Raised(error) => format!("{}: {}", error.class(), error.message()),
            Self::Found(value) => python_text(value),
        }
    }
}

/// Returns the result that a model reads about a failure that it may fix.
pub(super) fn reflection(tool: &str, args: &Map, failure: Failure<'_>, retry: u32, of: u32) -> Value {
    let details = failure.details();
    let args = arguments(args);
    let text = format!(
        "The call to tool `{tool}` failed.

**Error Details:**
```
{details}
```

**Tool Arguments Used:**
```json
{args}
```

**Reflection Guidance:**
This is retry attempt **{retry} of {of}**. Analyze the error and the arguments you provided. Do not repeat the exact same call. Consider the following before your next attempt:

1.  **Invalid Parameters**: Does the error suggest that one or more arguments are incorrect, badly formatted, or missing? Review the tool's schema and your arguments.
2.  **State or Preconditions**: Did a previous step fail or not produce the necessary state/resource for this tool to succeed?
3.  **Alternative Approach**: Is this the right tool for the job? Could another tool or a different sequence of steps achieve the goal?
4.  **Simplify the Task**: Can you break the problem down into smaller, simpler steps?
5.  **Wrong Function Name**: Does the error indicates the tool is not found? Please check again and only use available tools.

Formulate a new plan based on your analysis and try a corrected or different approach."
    );
    response(failure, retry, text)
}

/// Returns the result that a model reads when a tool has failed too often.
pub(super) fn surrender(tool: &str, args: &Map, failure: Failure<'_>, retries: u32) -> Value {
    let details = failure.details();
    let args = arguments(args);
    let text = format!(
        "The tool `{tool}` has failed consecutively {retries} times and the retry limit has been exceeded.

**Last Error:**
```
{details}
```

**Last Arguments Used:**
```json
{args}
```

**Final Instruction:**
**Do not attempt to use the `{tool}` tool again for this task.** You must now try a different approach. Acknowledge the failure and devise a new strategy, potentially using other available tools or informing the user that the task cannot be completed."
    );
    response(failure, retries, text)
}

fn response(failure: Failure<'_>, retry_count: u32, guidance: String) -> Value {
    json!({
        "response_type": RESPONSE_TYPE,
        "error_type": failure.class(),
        "error_details": failure.text(),
        "retry_count": retry_count,
        "reflection_guidance": guidance,
    })
}

/// Returns the arguments as JSON over several lines, without escaping letters of other scripts.
fn arguments(args: &Map) -> String {
    // A map of JSON values can always be written.
    serde_json::to_string_pretty(args).unwrap_or_default()
}
