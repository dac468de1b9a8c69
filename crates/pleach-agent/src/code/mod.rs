//! [`CodeExecutor`]: runs the code that a model writes.
// L71

mod block;
mod output;

use pleach_context::{CallbackContext, NodeError};
use pleach_core::BoxFuture;

pub(crate) use block::{show_as_text, split_at_code};
pub(crate) use output::is_failed;
pub use output::{CodeOutput, OutputFile};

/// Runs the code that an agent's model writes, and shows it the result. ADK: `BaseCodeExecutor`
///
/// The code is the first fenced block of a response (or a part with `executableCode` that no result follows). What follows it is
/// dropped. Two events are stored: the response up to the code, as a part `executableCode`, and what the code gave, as a part
/// `codeExecutionResult`; then the model is asked again, and reads both as text. After
/// [`error_retry_attempts`](Self::error_retry_attempts) failures in a row, responses are stored as they come.
///
/// A run that is cut off before the result is stored executes the code once more. Nothing isolates the code from the process but the executor itself.
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
    /// Runs code. An executor that keeps variables between calls finds them by `ctx.session().id()`.
    ///
    /// # Errors
    /// The agent's run fails; what the code itself got wrong is [`CodeOutput::failed`], and the model reads it.
    ///
    /// # Cancel safety
    /// The future is dropped when the run is; the executor ends the program then.
    fn execute<'a>(&'a self, ctx: &'a CallbackContext, code: &'a str) -> BoxFuture<'a, Result<CodeOutput, NodeError>>;

    /// What begins and ends a block of code in a text; the first pair also shows code to the model.
    fn code_block_delimiters(&self) -> &[(&str, &str)] {
        &[("```tool_code\n", "\n```"), ("```python\n", "\n```")]
    }

    /// What begins and ends a result in the text that the model reads.
    fn execution_result_delimiters(&self) -> (&str, &str) {
        ("```tool_output\n", "\n```")
    }

    /// After how many failures in a row of one run no code is executed any more.
    fn error_retry_attempts(&self) -> u32 {
        2
    }
}
