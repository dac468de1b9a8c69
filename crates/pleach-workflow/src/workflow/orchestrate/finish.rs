//! Ends a workflow run: with the output of its terminal nodes, or with a failure.

use pleach_context::engine::RunRecord;
use pleach_context::{ChildFailure, Flow, NodeError, Yield};
use pleach_core::BoxFuture;

use super::Orchestration;
use crate::workflow::checkpoint;
use crate::workflow::schedule::Schedule;

impl Orchestration<'_> {
    /// Ends the workflow with the output of its terminal nodes.
    // R641, R642
    pub(super) fn finish<'s>(&'s mut self, schedule: &'s Schedule) -> BoxFuture<'s, Result<Flow, NodeError>> {
        Box::pin(self.finish_now(schedule))
    }

    async fn finish_now(&mut self, schedule: &Schedule) -> Result<Flow, NodeError> {
        if self.handle.is_aborted() {
            return Ok(Flow::NOTHING);
        }
        let interrupts = schedule.interrupts();
        if !interrupts.is_empty() {
            self.handle.add_interrupts(&interrupts);
            return Ok(Flow::NOTHING);
        }
        let mut outputs = schedule.terminal_outputs(self.graph);
        if outputs.len() > 1 {
            let (name, count) = (&self.spec.name, outputs.len());
            let message = format!(
                "Workflow {name}: multiple terminal nodes produced output ({count}). A workflow must have at most one terminal output."
            );
            let hint = "join the nodes, or let only one of them return a value";
            return Err(NodeError::new("WorkflowConfigurationError", message).with_hint(hint));
        }
        let last = match outputs.pop() {
            Some(output) => {
                let output = match &self.spec.output_schema {
                    Some(schema) => output.conform(schema)?,
                    None => output,
                };
                Some(Yield::Delegated(output))
            }
            None => None,
        };
        self.report_dead_ends(schedule);
        if self.handle.invocation().is_resumable() {
            self.outgoing.push(checkpoint::end_of_agent(&self.handle));
            self.send_outgoing().await;
        }
        Ok(Flow::Done(last))
    }

    fn report_dead_ends(&self, schedule: &Schedule) {
        let ends = schedule.dead_ends(self.graph, self.handle.node_path());
        if ends.is_empty() {
            return;
        }
        for end in &ends {
            tracing::warn!("{end}");
        }
        self.handle.invocation().note_dead_ends(ends);
    }

    /// Checks for errors after all runs have ended.
    pub(super) fn check_end(&mut self) -> Result<(), NodeError> {
        self.check_divergence()?;
        let Some(error) = self.runs.take_background_failure() else { return Ok(()) };
        let failure = error.child_failure().cloned();
        Err(failure.map_or(error, |failure| NodeError::child(&self.spec.name, failure)))
    }

    /// Fails because a node's schema has refused the node's input. Nodes that became ready together with that node
    /// start first, as in ADK.
    pub(super) fn refuse<'s>(&'s mut self, schedule: &'s mut Schedule) -> BoxFuture<'s, Result<Flow, NodeError>> {
        let refused = self.refused.take().map_or(Ok(Flow::NOTHING), Err);
        Box::pin(async move {
            self.runs.begin(&mut self.finished).await;
            self.collect(schedule);
            self.handle_rest(schedule).await;
            refused
        })
    }

    pub(super) fn fail<'s>(
        &'s mut self,
        schedule: &'s mut Schedule,
        failure: Box<ChildFailure>,
    ) -> BoxFuture<'s, Result<Flow, NodeError>> {
        Box::pin(async move {
            self.handle_rest(schedule).await;
            Err(NodeError::child(&self.spec.name, *failure))
        })
    }

    /// Handles the runs that ended together with a failure. Dropping the run set cancels the others.
    // R640
    async fn handle_rest(&mut self, schedule: &mut Schedule) {
        for end in self.ends.rest() {
            self.handle(schedule, end);
            self.send_outgoing().await;
        }
    }

    /// Returns an error if held completions wait for a recorded run that this workflow never starts.
    fn check_divergence(&self) -> Result<(), NodeError> {
        let (Some(time), Some(replay)) = (self.ends.stuck_at(), &self.replay) else { return Ok(()) };
        let times = |run: &RunRecord| [run.completed_at(), run.asked_at(), run.ended_at()];
        let mut runs = replay.history.children(self.handle.node_path());
        let awaited = runs.find(|run| times(run.record).contains(&time));
        let awaited = awaited.map_or("", |run| run.path.as_str());
        let message = format!(
            "Replay divergence detected: history continues with '{awaited}', which this workflow does not reach."
        );
        let hint = "resume with the workflow that recorded it, or start a new invocation";
        Err(NodeError::new("WorkflowInvariantError", message).with_hint(hint))
    }
}
