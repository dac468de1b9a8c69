//! [`ParallelAgent`]: runs its sub-agents at the same time.
// L177

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use pleach_context::NodeError;
use pleach_core::Branch;

use super::builder::shell_agent;
use super::child::ChildSetup;
use super::{Conduct, Shell, ShellRun, recorded};
use crate::run::StepEnd;

/// Runs its sub-agents at the same time, each on a branch of its own, so that they do not see each other's events.
/// ADK: `ParallelAgent`
///
/// The first failure cancels the other sub-agents. If a sub-agent escalates, all of them end at once. The escalation of
/// an agent further down only ends the loop or parallel agent directly above that agent.
///
/// ```
/// use pleach_agent::{LlmAgent, ParallelAgent};
/// use pleach_model::ScriptedModel;
///
/// let agent = |name: &str| LlmAgent::builder(name).model(ScriptedModel::saying("Found.")).build();
/// let search = ParallelAgent::builder("search").sub_agent(agent("web")?).sub_agent(agent("files")?).build()?;
/// # drop(search);
/// # Ok::<_, pleach_workflow::BuildError>(())
/// ```
#[derive(Clone)]
pub struct ParallelAgent(Arc<Shell>);

shell_agent!(ParallelAgent, Parallel);

impl Conduct for ParallelAgent {
    async fn conduct(&self, run: &ShellRun<'_>) -> Result<StepEnd, NodeError> {
        if !run.children().is_empty() {
            run.checkpoint([]).await?;
        }
        let since = run.handle.since();
        let base = run.handle.branch().filter(|branch| !branch.is_empty());
        let branch = |name: &str| {
            let own = format!("{}.{name}", run.shell.agent.name);
            Branch::from(base.as_ref().map_or(own.clone(), |base| format!("{base}.{own}")).as_str())
        };
        let child =
            |child| run.child(child, ChildSetup { since, branch: Some(branch(&child.spec().name)), round: None });
        let mut running: FuturesUnordered<_> = run.children().iter().map(child).collect();
        let mut end = StepEnd::Done;
        let mut seen = run.recorded.first;
        let mut has_escalated = false;
        loop {
            let next = poll_fn(|cx| {
                has_escalated |= recorded::has_escalated(&run.shell.agent, &run.handle, &mut seen);
                if has_escalated { Poll::Ready(None) } else { running.poll_next_unpin(cx) }
            });
            let Some(ended) = next.await else { break };
            if ended? == StepEnd::Waiting {
                end = StepEnd::Waiting;
            }
        }
        if has_escalated {
            run.handle.escalate();
        }
        Ok(end)
    }
}
