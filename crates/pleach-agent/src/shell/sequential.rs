//! [`SequentialAgent`]: runs its sub-agents one after the other.
// L176

use std::fmt;
use std::sync::Arc;

use super::builder::shell_agent;
use super::child::ChildSetup;
use super::{Conduct, Shell, ShellRun};
use crate::run::StepEnd;
use pleach_context::NodeError;

/// Runs its sub-agents one after the other, in the same conversation. ADK: `SequentialAgent`
///
/// ```
/// use pleach_agent::{LlmAgent, SequentialAgent};
/// use pleach_model::ScriptedModel;
///
/// let writer = LlmAgent::builder("writer").model(ScriptedModel::saying("A draft.")).output_key("draft").build()?;
/// let editor = LlmAgent::builder("editor").model(ScriptedModel::saying("Edited.")).instruction("Edit: {draft}").build()?;
/// let pipe = SequentialAgent::builder("pipe").sub_agent(writer).sub_agent(editor).build()?;
/// # drop(pipe);
/// # Ok::<_, pleach_workflow::BuildError>(())
/// ```
#[derive(Clone)]
pub struct SequentialAgent(Arc<Shell>);

shell_agent!(SequentialAgent, Sequential);

impl Conduct for SequentialAgent {
    async fn conduct(&self, run: &ShellRun<'_>) -> Result<StepEnd, NodeError> {
        let at = run.recorded.at;
        for (place, child) in run.children().iter().enumerate().skip(at.child) {
            let since = at.since.filter(|_| place == at.child);
            if since.is_none() {
                run.checkpoint([("current_sub_agent", child.spec().name.as_str().into())]).await?;
            }
            let end = run
                .child(child, ChildSetup { since: since.unwrap_or_else(|| run.now()), ..ChildSetup::default() })
                .await?;
            if end == StepEnd::Waiting || run.handle.invocation().is_aborted() {
                return Ok(end);
            }
        }
        Ok(StepEnd::Done)
    }
}
