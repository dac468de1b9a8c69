//! The loop of a workflow run: start what is ready, wait for something to end, trigger what follows.
//!
//! What is ready and what follows is decided by [`Schedule`]; what a resume skips by the engine's replay rules. This
//! file only starts runs and reports their ends.

use std::sync::Arc;

use pleach_context::{ChildFailure, Context, Flow, History, NodeError, NodeInput, NodeSpec, Place, RunOutcome, Yield};
use pleach_core::{Branch, Event, NodePath, Route};

use super::checkpoint;
use super::schedule::Schedule;
use super::triggers::Trigger;
use crate::engine::{Decision, Finished, NodeRun, ReplayGate, RunSet, RunSetup, conform, decide, is_waiting};
use crate::graph::Graph;

/// One run of a workflow.
pub(super) struct Orchestration<'a> {
    graph: &'a Graph,
    spec: &'a NodeSpec,
    limit: Option<usize>,
    ctx: Context,
    runs: RunSet<'a>,
    finished: Vec<Finished>,
    history: Option<Arc<History>>,
    gate: ReplayGate<Completion>,
    /// Completions that need no run: answered from history, or still waiting for a person.
    replayed: Vec<Completion>,
    /// Whose output the terminal nodes' output is, too.
    claims: Arc<[NodePath]>,
    started: u64,
    path_buffer: String,
}

/// The end of a run, as its orchestrator sees it.
struct Completion {
    seq: u64,
    node: usize,
    path: NodePath,
    end: End,
}

enum End {
    Done { output: NodeInput, route: Option<Route>, branch: Option<Branch>, replayed: bool },
    Interrupted(Vec<String>),
    Waiting,
    Failed(ChildFailure),
}

impl<'a> Orchestration<'a> {
    pub(super) fn new(graph: &'a Graph, spec: &'a NodeSpec, limit: Option<usize>, ctx: Context) -> Self {
        let nested = ctx.parent().is_some_and(|parent| !parent.node_path().is_root());
        let history = ctx.invocation().history();
        let gate = history.as_ref().map(|history| ReplayGate::new(history, ctx.node_path())).unwrap_or_default();
        Self {
            graph,
            spec,
            limit,
            runs: if nested { RunSet::after_others() } else { RunSet::default() },
            finished: Vec::new(),
            history,
            gate,
            replayed: Vec::new(),
            claims: ctx.output_for_of_child(),
            started: 0,
            path_buffer: String::new(),
            ctx,
        }
    }

    pub(super) async fn run(mut self, input: NodeInput) -> Result<Flow, NodeError> {
        self.ctx.set_graph_names(Arc::clone(&self.graph.names));
        let mut schedule = Schedule::new(self.graph, self.limit, input, self.ctx.branch());
        let mut batch = Vec::new();
        loop {
            while let Some((node, trigger, run)) = schedule.next() {
                if self.start(node, trigger, run)? {
                    self.checkpoint(&schedule).await;
                }
            }
            if self.replayed.is_empty() && self.runs.is_empty() {
                self.check_divergence()?;
                return self.finish(&schedule).await;
            }
            self.next_batch(&mut batch).await;
            let mut failure = None;
            for completion in batch.drain(..) {
                self.gate.complete(&completion.path);
                if let Some(failed) = self.handle(&mut schedule, completion).await {
                    failure.get_or_insert(failed);
                }
            }
            if let Some(failure) = failure {
                // Dropping the runs cancels the siblings that are still under way (R640).
                return Err(NodeError::child(&self.spec.name, failure));
            }
            while let Some(completion) = self.gate.release() {
                self.replayed.push(completion);
            }
        }
    }

    /// Starts a run, or answers it from history; says whether it is really run.
    fn start(&mut self, node: usize, trigger: Trigger, run: u32) -> Result<bool, NodeError> {
        let graph_node = &self.graph.nodes[node];
        let spec = graph_node.node.spec();
        let path = self.ctx.node_path().child_in(&mut self.path_buffer, &spec.name, run);
        let seq = self.started;
        self.started += 1;
        let branch = self.branch(&trigger, &path);
        let mut setup = RunSetup { branch, ..RunSetup::default() };
        if let Some(record) = self.history.as_ref().and_then(|history| history.run(&path)) {
            setup.isolation_scope = record.isolation_scope.clone();
            let end = match decide(spec, Some(record), false)? {
                Decision::Run(answers) => {
                    setup.resume_inputs = answers;
                    None
                }
                Decision::Wait(ids) => Some(End::Interrupted(ids)),
                Decision::FastForward(replayed) => {
                    let branch = replayed.branch.or_else(|| setup.branch.clone());
                    Some(End::Done { output: replayed.output, route: replayed.route, branch, replayed: true })
                }
            };
            if let Some(end) = end {
                let completion = Completion { seq, node, path: path.clone(), end };
                self.replayed.extend(self.gate.hold(&path, completion));
                return Ok(false);
            }
        }
        // What does not fit is the workflow's failure, not the node's (R305).
        let input = conform(spec, &spec.name, trigger.input)?;
        setup.path = path;
        setup.output_for = graph_node.is_terminal().then(|| Arc::clone(&self.claims));
        setup.place = u32::try_from(node).ok().map(|node| Place { node, by: trigger.by });
        self.runs.push(seq, node, NodeRun::new(&*graph_node.node, &self.ctx, input, setup));
        Ok(true)
    }

    /// The branch that a run starts on (R402, R626).
    fn branch(&self, trigger: &Trigger, path: &NodePath) -> Option<Branch> {
        let base = trigger.branch.clone().unwrap_or_else(|| self.ctx.branch());
        if trigger.use_sub_branch { Some(Branch::below(base.as_ref(), path.leaf())) } else { base }
    }

    /// Waits until something has ended; replayed ends come in their historical order, the others as they were started.
    async fn next_batch(&mut self, batch: &mut Vec<Completion>) {
        if self.replayed.is_empty() {
            self.runs.next_batch(&mut self.finished).await;
        } else {
            self.runs.pass(&mut self.finished).await;
        }
        let graph = self.graph;
        batch.extend(self.finished.drain(..).map(|finished| completion(graph, finished)));
        batch.append(&mut self.replayed);
        if self.history.is_some() {
            batch.sort_by_key(|completion| (self.gate.place(&completion.path), completion.seq));
        }
    }

    /// Everything held back waits for a run that will never come: the workflow is not the one that was recorded.
    fn check_divergence(&self) -> Result<(), NodeError> {
        if !self.gate.is_holding() {
            return Ok(());
        }
        let awaited = self.gate.awaited().map_or("", |path| path.as_str());
        let message = format!(
            "Replay divergence detected: history continues with '{awaited}', which this workflow does not reach."
        );
        Err(NodeError::new("WorkflowInvariantError", message))
    }

    async fn handle(&mut self, schedule: &mut Schedule, completion: Completion) -> Option<ChildFailure> {
        let Completion { node, path, end, .. } = completion;
        match end {
            End::Failed(failure) => {
                schedule.failed(node);
                return Some(failure);
            }
            End::Interrupted(ids) => {
                schedule.interrupted(node, ids);
                self.checkpoint(schedule).await;
            }
            End::Waiting => {
                schedule.waiting(node);
                self.checkpoint(schedule).await;
            }
            End::Done { output, route, branch, replayed } => {
                let echo = (replayed && self.ctx.invocation().is_resumable() && !output.is_null())
                    .then(|| checkpoint::echo(&self.ctx, path, &output));
                schedule.completed(self.graph, node, output, route.as_ref(), branch);
                match echo {
                    Some(echo) => self.send(echo).await,
                    None if replayed => {}
                    None => self.checkpoint(schedule).await,
                }
            }
        }
        None
    }

    /// What the workflow gives: the one output of its terminal nodes (R641, R642).
    async fn finish(mut self, schedule: &Schedule) -> Result<Flow, NodeError> {
        if self.ctx.is_aborted() {
            return Ok(Flow::NOTHING);
        }
        let interrupts = schedule.interrupts();
        if !interrupts.is_empty() {
            self.ctx.add_interrupts(&interrupts);
            return Ok(Flow::NOTHING);
        }
        let mut outputs = schedule.terminal_outputs(self.graph);
        if outputs.len() > 1 {
            let (name, count) = (&self.spec.name, outputs.len());
            let message = format!(
                "Workflow {name}: multiple terminal nodes produced output ({count}). A workflow must have at most one terminal output."
            );
            return Err(NodeError::new("WorkflowConfigurationError", message));
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
        if self.ctx.invocation().is_resumable() {
            let end = checkpoint::end_of_agent(&self.ctx);
            self.send(end).await;
        }
        Ok(Flow::Done(last))
    }

    async fn checkpoint(&mut self, schedule: &Schedule) {
        if self.ctx.invocation().is_resumable() {
            let snapshot = checkpoint::snapshot(&self.ctx, self.graph, schedule);
            self.send(snapshot).await;
        }
    }

    /// Sends an event of the workflow itself; the runs go on meanwhile.
    async fn send(&mut self, event: Event) {
        let ctx = self.ctx.clone();
        self.runs.drive_while(ctx.deliver(event)).await;
    }
}

fn completion(graph: &Graph, finished: Finished) -> Completion {
    let Finished { seq, node, ctx } = finished;
    let end = match ctx.take_outcome() {
        RunOutcome::Failed(failure) => End::Failed(*failure),
        RunOutcome::Interrupted(ids) => End::Interrupted(ids),
        RunOutcome::Done { output, route, .. }
            if is_waiting(graph.nodes[node].node.spec(), &output, route.as_ref()) =>
        {
            End::Waiting
        }
        RunOutcome::Done { output, route, branch } => End::Done { output, route, branch, replayed: false },
    };
    Completion { seq, node, path: ctx.node_path().clone(), end }
}
