//! Summarises the history before the prompt is built from it.
// R1150

use pleach_context::engine::Prompt;
use pleach_model::Model;
use pleach_session::estimated_tokens;

use super::AgentRun;
use crate::llm_agent::IncludeContents;

impl AgentRun<'_> {
    /// Summarises the history if the prompt has become too long, and stores the summary.
    pub(super) async fn compact(&self, model: &dyn Model) {
        let invocation = self.handle.invocation();
        let Some(compaction) = invocation.compaction() else { return };
        let estimate = || {
            let contents = self.contents(IncludeContents::Default, model.capabilities().pairs_calls_by_id);
            estimated_tokens(contents.iter().map(|content| &**content))
        };
        let scope = self.handle.isolation_scope();
        let prompt = Prompt { agent: &self.agent.agent.name, scope: scope.as_deref(), estimate: &estimate };
        if let Some(summary) = compaction.before_prompt(&invocation.events(), prompt).await {
            self.handle.deliver_summary(summary).await;
        }
    }
}
