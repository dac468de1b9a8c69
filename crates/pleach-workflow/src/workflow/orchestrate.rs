//! The loop of a workflow run: start what is ready, wait for something to end, trigger what follows.
//!
//! What is ready and what follows is decided by [`Schedule`]; what a resume skips by the engine's replay rules. This
//! file only starts runs and reports their ends.

use std::sync::Arc;

use pleach_context::{
    ChildFailure, CompletedRun, Context, Flow, History, NodeError, NodeInput, NodeKind, NodeSpec, Place, RunOutcome,
    RunRecord, Yield,
};
use pleach_core::{Branch, Event, NodePath, Route};
use rustc_hash::FxHashMap;

use super::checkpoint;
use super::ends::Ends;
use super::schedule::Schedule;
use super::triggers::Trigger;
use crate::engine::{Decision, Finished, NodeRun, RunSet, RunSetup, Standing, conform, decide, is_waiting};
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
    ends: Ends<Completion>,
    /// The runs that have completed since the last checkpoint; only resumable apps tell of them.
    completed: Vec<CompletedRun>,
    /// Whose output the terminal nodes' output is, too.
    claims: Arc<[NodePath]>,
    started: u64,
    path_buffer: String,
}

/// The end of a run, as its orchestrator sees it.
struct Completion {
    node: usize,
    path: NodePath,
    end: End,
}

enum End {
    Done { output: NodeInput, route: Option<Route>, branch: Option<Branch>, replayed: bool },
    Interrupted(Vec<String>),
    Waiting { replayed: bool },
    Failed(ChildFailure),
}

impl<'a> Orchestration<'a> {
    pub(super) fn new(graph: &'a Graph, spec: &'a NodeSpec, limit: Option<usize>, ctx: Context) -> Self {
        let nested = ctx.parent().is_some_and(|parent| !parent.node_path().is_root());
        let history = ctx.invocation().history();
        let times = history.as_ref().map(|history| completion_times(graph, history, ctx.node_path()));
        Self {
            graph,
            spec,
            limit,
            runs: if nested { RunSet::after_others() } else { RunSet::default() },
            finished: Vec::new(),
            history,
            ends: Ends::new(times.unwrap_or_default()),
            completed: Vec::new(),
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
            while let Some((node, trigger, run)) = self.next(&mut schedule) {
                if self.start(node, trigger, run)? {
                    self.checkpoint(&schedule).await;
                } else {
                    schedule.replays(node);
                }
            }
            self.next_batch(&mut batch).await;
            if batch.is_empty() {
                self.check_divergence()?;
                return self.finish(&schedule).await;
            }
            let mut failure = None;
            for completion in batch.drain(..) {
                if let Some(failed) = self.handle(&mut schedule, completion).await {
                    failure.get_or_insert(failed);
                }
            }
            if let Some(failure) = failure {
                // Dropping the runs cancels the siblings that are still under way (R640).
                return Err(NodeError::child(&self.spec.name, failure));
            }
        }
    }

    /// The next run to start.
    fn next(&self, schedule: &mut Schedule) -> Option<(usize, Trigger, u32)> {
        let history = self.history.as_ref().filter(|_| self.limit.is_some() && self.ends.is_replaying());
        schedule.next(history.map(|history| {
            |node: usize, run: u32| {
                let spec = self.graph.nodes[node].node.spec();
                let path = self.ctx.node_path().child_in(&mut String::new(), &spec.name, run);
                history.run(&path).is_some_and(|record| completion_time(self.graph, node, record).is_some())
            }
        }))
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
        let mut executes = spec.kind != NodeKind::Workflow;
        if let Some(history) = &self.history {
            if let Some(record) = history.run(&path) {
                setup.isolation_scope = record.isolation_scope.clone();
                let completion = |end| Completion { node, path: path.clone(), end };
                match decide(spec, Some(record), false)? {
                    Decision::Run(answers) => setup.resume_inputs = answers,
                    Decision::Wait(ids) => {
                        self.ends.waiting(completion(End::Interrupted(ids)));
                        return Ok(false);
                    }
                    Decision::WaitForMore => {
                        self.ends.replayed(record.completed_at(), completion(End::Waiting { replayed: true }));
                        return Ok(false);
                    }
                    Decision::FastForward(replayed) => {
                        let branch = replayed.branch.or(setup.branch);
                        let end = End::Done { output: replayed.output, route: replayed.route, branch, replayed: true };
                        let time = completion_time(self.graph, node, record).unwrap_or_else(|| record.completed_at());
                        self.ends.replayed(time, completion(end));
                        return Ok(false);
                    }
                }
                match completion_time(self.graph, node, record) {
                    Some(time) => self.ends.nested(path.clone(), time),
                    None => executes = true,
                }
            }
            if executes {
                self.ctx.note_execution();
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

    /// Waits until there are ends to handle; without any, the workflow has come to rest.
    async fn next_batch(&mut self, batch: &mut Vec<Completion>) {
        while batch.is_empty() {
            let due = self.ends.is_due();
            if self.runs.is_empty() {
                if !due {
                    return;
                }
            } else if due {
                self.runs.pass(&mut self.finished).await;
            } else {
                let (ctx, unsure) = (&self.ctx, self.ends.is_unsure());
                self.runs.next_batch(&mut self.finished, || unsure && ctx.has_executing()).await;
            }
            if self.ends.is_unsure() {
                self.ctx.take_executing().iter().for_each(|path| self.ends.executes(path));
            }
            for finished in self.finished.drain(..) {
                let (seq, ended) = (finished.seq, finished.ended);
                let completion = completion(self.graph, finished);
                let completes = matches!(completion.end, End::Done { .. });
                let path = completion.path.clone();
                self.ends.ended(&path, ended, seq, completes, completion);
            }
            self.ends.take(batch);
        }
    }

    /// Everything held back waits for a run that will never come: the workflow is not the one that was recorded.
    fn check_divergence(&self) -> Result<(), NodeError> {
        let (Some(time), Some(history)) = (self.ends.stuck_at(), &self.history) else { return Ok(()) };
        let awaited = history.children(self.ctx.node_path()).iter().find(|path| {
            history.run(path).is_some_and(|record| [record.completed_at(), record.ended_at()].contains(&time))
        });
        let awaited = awaited.map_or("", |path| path.as_str());
        let message = format!(
            "Replay divergence detected: history continues with '{awaited}', which this workflow does not reach."
        );
        Err(NodeError::new("WorkflowInvariantError", message))
    }

    async fn handle(&mut self, schedule: &mut Schedule, completion: Completion) -> Option<ChildFailure> {
        let Completion { node, path, end } = completion;
        match end {
            End::Failed(failure) => {
                schedule.failed(node);
                return Some(failure);
            }
            End::Interrupted(ids) => {
                schedule.interrupted(node, ids);
                self.checkpoint(schedule).await;
            }
            End::Waiting { replayed } => {
                self.note_completed(&path, true);
                schedule.waiting(node);
                if !replayed {
                    self.checkpoint(schedule).await;
                }
            }
            End::Done { output, route, branch, replayed } => {
                self.note_completed(&path, replayed || output.is_told_of(&path));
                let echo = replayed && self.ctx.invocation().is_resumable() && !output.is_null();
                let echo =
                    echo.then(|| checkpoint::echo(&self.ctx, path, &output, &std::mem::take(&mut self.completed)));
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

    /// In a resumable app the next checkpoint tells that the run has completed, unless history does already.
    fn note_completed(&mut self, path: &NodePath, told: bool) {
        let known = || self.history.as_ref().and_then(|history| history.run(path)).is_some_and(RunRecord::is_marked);
        if self.ctx.invocation().is_resumable() && !known() {
            self.completed.push(CompletedRun { path: path.clone(), told });
        }
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
            let completed = std::mem::take(&mut self.completed);
            let snapshot = checkpoint::snapshot(&self.ctx, self.graph, schedule, &completed);
            self.send(snapshot).await;
        }
    }

    /// Sends an event of the workflow itself; the runs go on meanwhile.
    async fn send(&mut self, event: Event) {
        let ctx = self.ctx.clone();
        self.runs.drive_while(ctx.deliver(event)).await;
    }
}

/// When the recorded children of a run completed: those that are not executed any more (R1020).
fn completion_times(graph: &Graph, history: &History, path: &NodePath) -> Vec<u64> {
    let names = graph.nodes.iter().enumerate().map(|(index, node)| (node.node.spec().name.as_str(), index));
    let nodes: FxHashMap<&str, usize> = names.collect();
    let time = |child: &NodePath| completion_time(graph, *nodes.get(child.name())?, history.run(child)?);
    history.children(path).iter().filter_map(time).collect()
}

/// When a run completed, as far as its record tells; only its replay tells whether a nested workflow did.
fn completion_time(graph: &Graph, node: usize, record: &RunRecord) -> Option<u64> {
    let spec = graph.nodes[node].node.spec();
    if spec.kind == NodeKind::Workflow {
        return (!record.is_open() && !record.failed).then(|| record.ended_at());
    }
    match Standing::of(spec, record, false) {
        // Its successors start behind those of the question, as in ADK; where other nodes lead to them, too, the order of
        // the triggers counts.
        Standing::Answered if graph.leads_alone(node) => Some(record.asked_at()),
        standing => standing.is_complete().then(|| record.completed_at()),
    }
}

fn completion(graph: &Graph, finished: Finished) -> Completion {
    let Finished { node, ctx, .. } = finished;
    let end = match ctx.take_outcome() {
        RunOutcome::Failed(failure) => End::Failed(*failure),
        RunOutcome::Interrupted(ids) => End::Interrupted(ids),
        RunOutcome::Done { output, route, .. }
            if is_waiting(graph.nodes[node].node.spec(), &output, route.as_ref()) =>
        {
            End::Waiting { replayed: false }
        }
        RunOutcome::Done { output, route, branch } => End::Done { output, route, branch, replayed: false },
    };
    Completion { node, path: ctx.node_path().clone(), end }
}
