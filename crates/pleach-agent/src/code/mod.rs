//! [`CodeExecutor`]: runs the code that a model writes.
// L71

mod block;
mod output;

use pleach_context::{CallbackContext, NodeError};
use pleach_core::BoxFuture;

pub(crate) use block::{show_as_text, split_at_code};
pub(crate) use output::is_failed;
pub use output::{CodeOutput, OutputFile};

/// Runs the code that an agent's model writes. ADK: `BaseCodeExecutor`
///
/// The code is the first fenced block of a response, or a part with `executableCode` that no result follows. The rest
/// of the response after the code is dropped. Two events are stored: the response up to the code, with the code as a
/// part `executableCode`, and the output of the code as a part `codeExecutionResult`. Then the model is called again
/// and reads both parts as text. After [`error_retry_attempts`](Self::error_retry_attempts) failures in a row, no code
/// is executed, and responses are stored as they are.
///
/// If a run is cut off before the result is stored, a resume executes the code again. Only the executor itself can
/// isolate the code from the process.
///
/// # Example
/// ```
/// use pleach_agent::{CodeExecutor, CodeOutput, LlmAgent};
/// use pleach_context::{CallbackContext, NodeError};
/// use pleach_core::BoxFuture;
/// use pleach_model::ScriptedModel;
///
/// /// Knows one program.
/// struct Adder;
///
/// impl CodeExecutor for Adder {
///     fn execute<'a>(
///         &'a self,
///         _: &'a CallbackContext,
///         code: &'a str,
///     ) -> BoxFuture<'a, Result<CodeOutput, NodeError>> {
///         Box::pin(async move {
///             Ok(match code {
///                 "print(1 + 2)" => CodeOutput::printed("3"),
///                 _ => CodeOutput::failed("SyntaxError"),
///             })
///         })
///     }
/// }
///
/// let model = ScriptedModel::saying("```python\nprint(1 + 2)\n```").then_text("It is 3.");
/// let helper = LlmAgent::builder("helper").model(model).code_executor(Adder).build();
/// assert!(helper.is_ok());
/// ```
pub trait CodeExecutor: Send + Sync + 'static {
    /// Runs code. If an executor keeps variables between calls, it finds them by `ctx.session().id()`.
    ///
    /// # Errors
    /// An error fails the agent's run. For a failure of the code itself, return [`CodeOutput::failed`], which the model
    /// reads.
    ///
    /// # Cancel safety
    /// The future is dropped together with the run. The executor must then end the program.
    fn execute<'a>(&'a self, ctx: &'a CallbackContext, code: &'a str) -> BoxFuture<'a, Result<CodeOutput, NodeError>>;

    /// Returns the pairs of texts that begin and end a block of code. The first pair is also used to show code to the
    /// model.
    fn code_block_delimiters(&self) -> &[(&str, &str)] {
        &[("```tool_code\n", "\n```"), ("```python\n", "\n```")]
    }

    /// Returns the texts that begin and end a result in the text that the model reads.
    fn execution_result_delimiters(&self) -> (&str, &str) {
        ("```tool_output\n", "\n```")
    }

    /// Returns the number of consecutive failures after which a run executes no more code.
    fn error_retry_attempts(&self) -> u32 {
        2
    }
}
