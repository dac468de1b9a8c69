//! Runs the code of a response.
// L71

use pleach_context::NodeError;
use pleach_context::engine::LaneSetup;
use pleach_core::{Content, Event, without_nul};
use pleach_model::{LlmRequest, LlmResponse};

use super::AgentRun;
use crate::code::{CodeExecutor, show_as_text, split_at_code};

impl<'a> AgentRun<'a> {
    /// Returns the executor of the code that the agent's model writes.
    fn code_executor(&self) -> Option<&'a dyn CodeExecutor> {
        self.agent.code_executor.as_deref()
    }

    /// Shows the model its code and the results as text.
    pub(super) fn show_code(&self, request: &mut LlmRequest) {
        let Some(executor) = self.code_executor() else { return };
        for content in &mut request.contents {
            if let Some(shown) = show_as_text(content, executor) {
                *content = shown.into();
            }
        }
    }

    /// Cuts a response after its first code block and returns the code. Returns `None` if there is no code to execute.
    pub(super) fn take_code(&self, response: &mut LlmResponse) -> Option<String> {
        let executor = self.code_executor()?;
        if response.is_partial() || self.code_failures >= executor.error_retry_attempts() {
            return None;
        }
        split_at_code(response.content.as_mut()?, executor)
    }

    /// Executes code and stores its output and files.
    pub(super) async fn execute_code(&mut self, code: &str) -> Result<(), NodeError> {
        let Some(executor) = self.code_executor() else { return Ok(()) };
        let lane = self.handle.lane(LaneSetup::default());
        let work = lane.work();
        let output = executor.execute(&lane, code).await?;
        for file in &output.files {
            // Code that a model wrote may not store files outside the session.
            let name = without_nul(file.name.trim_start_matches("user:"));
            lane.save_artifact(&name, file.content.clone()).await?;
        }
        drop(work);
        self.handle.merge_lane(&lane);
        self.code_failures = if output.has_failed() { self.code_failures + 1 } else { 0 };
        self.handle.emit(Event::new().with_content(Content::new("model", [output.to_part()]))).await
    }
}
