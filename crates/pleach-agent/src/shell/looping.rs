//! [`LoopAgent`]: runs its sub-agents round after round.
// L178

use std::fmt;
use std::sync::Arc;

use pleach_context::NodeError;

use super::builder::{ShellAgentBuilder, shell_agent};
use super::child::ChildSetup;
use super::{Conduct, Shell, ShellRun};
use crate::run::StepEnd;

/// Runs its sub-agents in order, round after round, until one escalates or the last round ends. ADK: `LoopAgent`
///
/// ```
/// use pleach_agent::{LlmAgent, LoopAgent};
/// use pleach_model::ScriptedModel;
///
/// let editor = LlmAgent::builder("editor").model(ScriptedModel::saying("Better.").repeating()).build()?;
/// let polish = LoopAgent::builder("polish").sub_agent(editor).max_iterations(3).build()?;
/// # drop(polish);
/// # Ok::<_, pleach_workflow::BuildError>(())
/// ```
#[derive(Clone)]
pub struct LoopAgent(Arc<Shell>);

shell_agent!(LoopAgent, Loop);

impl ShellAgentBuilder<LoopAgent> {
    /// Sets the maximum number of rounds. Without a maximum, the loop only ends when a sub-agent escalates.
    pub fn max_iterations(mut self, rounds: u32) -> Self {
        self.max_iterations = Some(rounds);
        self
    }
}

impl Conduct for LoopAgent {
    async fn conduct(&self, run: &ShellRun<'_>) -> Result<StepEnd, NodeError> {
        let limit = self.0.max_iterations;
        let mut at = run.recorded.at;
        if run.children().is_empty() {
            return Ok(StepEnd::Done);
        }
        while limit.is_none_or(|limit| at.round < limit) {
            for child in &run.children()[at.child.min(run.children().len())..] {
                let since = at.since.take();
                if since.is_none() {
                    let name = child.spec().name.as_str();
                    run.checkpoint([("current_sub_agent", name.into()), ("times_looped", at.round.into())]).await?;
                }
                let since = since.unwrap_or_else(|| run.now());
                let end = run.child(child, ChildSetup { since, branch: None, round: Some(at.round) }).await?;
                if end == StepEnd::Waiting || run.handle.invocation().is_aborted() {
                    return Ok(end);
                }
                if run.handle.has_escalated() || at.escalated {
                    return Ok(StepEnd::Done);
                }
            }
            at.round += 1;
            at.child = 0;
            // A loop whose sub-agents never wait must not keep other tasks from running.
            tokio::task::yield_now().await;
        }
        Ok(StepEnd::Done)
    }
}
