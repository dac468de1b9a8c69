//! The loop of a workflow run: start what is ready, wait for something to end, trigger what follows.
//!
//! What is ready and what follows is decided by [`Schedule`]; what a resume skips by the engine's replay rules. This
//! file only starts runs and reports their ends.

use std::sync::Arc;

use pleach_context::{
    ChildFailure, Context, Flow, History, NodeError, NodeInput, NodeKind, NodeSpec, Place, RecordedRun, RunOutcome,
    RunRecord, Yield,
};
use pleach_core::{Branch, Event, NodePath, Route};

use super::changed::{NOT_IN_IT, changed};
use super::checkpoint;
use super::ends::Ends;
use super::recorded::{Recorded, completion_time, needs_no_room};
use super::schedule::Schedule;
use super::triggers::Trigger;
use crate::engine::{Decision, Finished, NodeRun, Replayed, RunSet, RunSetup, conform, decide, is_waiting};
use crate::graph::Graph;

/// One run of a workflow.
pub(super) struct Orchestration<'a> {
    graph: &'a Graph,
    spec: &'a NodeSpec,
    limit: Option<usize>,
    ctx: Context,
    runs: RunSet<'a>,
    finished: Vec<Finished>,
    past: Option<Past>,
    ends: Ends<Completion>,
    /// The runs that have completed since the last checkpoint; only resumable apps tell of them.
    completed: Vec<NodePath>,
    /// Whose output the terminal nodes' output is, too.
    claims: Arc<[NodePath]>,
    started: u64,
    path_buffer: String,
}

/// What history tells of this run's nodes.
struct Past {
    history: Arc<History>,
    recorded: Recorded,
}

/// The end of a run, as its orchestrator sees it.
struct Completion {
    node: usize,
    path: NodePath,
    end: End,
}

enum End {
    Done { output: NodeInput, route: Option<Route>, branch: Option<Branch>, replayed: bool, told: bool },
    Interrupted(Vec<String>),
    Waiting { replayed: bool },
    Failed(ChildFailure),
}

impl<'a> Orchestration<'a> {
    /// # Errors
    /// A recorded run that is of none of the graph's nodes.
    pub(super) fn new(
        graph: &'a Graph,
        spec: &'a NodeSpec,
        limit: Option<usize>,
        ctx: Context,
    ) -> Result<Self, NodeError> {
        let nested = ctx.parent().is_some_and(|parent| !parent.node_path().is_root());
        let past = match ctx.invocation().history() {
            Some(history) => Some(Past::read(graph, history, &ctx)?),
            None => None,
        };
        let times = past.as_ref().map(|past| past.recorded.completion_times(graph, &past.history));
        Ok(Self {
            graph,
            spec,
            limit,
            runs: if nested { RunSet::after_others() } else { RunSet::default() },
            finished: Vec::new(),
            past,
            ends: Ends::new(times.unwrap_or_default()),
            completed: Vec::new(),
            claims: ctx.output_for_of_child(),
            started: 0,
            path_buffer: String::new(),
            ctx,
        })
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
            if !self.next_batch(&mut schedule, &mut batch).await {
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
                // What ended in the same moment counts (R640); dropping the runs cancels those that are still under way.
                for completion in self.ends.rest() {
                    self.handle(&mut schedule, completion).await;
                }
                return Err(NodeError::child(&self.spec.name, failure));
            }
        }
    }

    /// The next run to start.
    fn next(&self, schedule: &mut Schedule) -> Option<(usize, Trigger, u32)> {
        let past = self.past.as_ref().filter(|_| self.limit.is_some() && self.ends.is_replaying());
        schedule.next(past.map(|past| {
            |node: usize, number: u32| {
                let run = past.recorded.run(&past.history, node, number);
                run.is_some_and(|run| needs_no_room(self.graph, node, run.record))
            }
        }))
    }

    /// Starts a run, or answers it from history; says whether it is really run.
    fn start(&mut self, node: usize, trigger: Trigger, number: u32) -> Result<bool, NodeError> {
        let seq = self.started;
        self.started += 1;
        let Some(mut setup) = self.replay(node, &trigger, number)? else { return Ok(false) };
        let graph_node = &self.graph.nodes[node];
        let spec = graph_node.node.spec();
        // What does not fit is the workflow's failure, not the node's (R305).
        let input = conform(spec, &spec.name, trigger.input)?;
        setup.output_for = graph_node.is_terminal().then(|| Arc::clone(&self.claims));
        setup.place = u32::try_from(node).ok().map(|node| Place { node, by: trigger.by });
        self.runs.push(seq, node, NodeRun::new(&*graph_node.node, &self.ctx, input, setup));
        Ok(true)
    }

    /// What a run starts with; `None` when history answers it.
    fn replay(&mut self, node: usize, trigger: &Trigger, number: u32) -> Result<Option<RunSetup>, NodeError> {
        let spec = self.graph.nodes[node].node.spec();
        let run = self.past.as_ref().and_then(|past| past.recorded.run(&past.history, node, number));
        let Some(RecordedRun { path, record, .. }) = run else {
            if self.past.is_some() && spec.kind != NodeKind::Workflow {
                self.ctx.note_execution();
            }
            let path = self.ctx.node_path().child_in(&mut self.path_buffer, &spec.name, number);
            return Ok(Some(RunSetup { branch: self.branch(trigger, &path), path, ..RunSetup::default() }));
        };
        let path = path.clone();
        let time = completion_time(self.graph, node, record);
        let end = match decide(spec, Some(record), false)? {
            Decision::Run(resume_inputs) => {
                let branch = self.branch(trigger, &path);
                let isolation_scope = record.isolation_scope.clone();
                match time {
                    Some(time) => self.ends.nested(path.clone(), time),
                    None => self.ctx.note_execution(),
                }
                return Ok(Some(RunSetup { path, branch, isolation_scope, resume_inputs, ..RunSetup::default() }));
            }
            Decision::Wait(ids) => {
                self.ends.waiting(Completion { node, path, end: End::Interrupted(ids) });
                return Ok(None);
            }
            Decision::WaitForMore => End::Waiting { replayed: true },
            Decision::FastForward(Replayed { output, route, branch }) => {
                let branch = branch.or_else(|| self.branch(trigger, &path));
                End::Done { output, route, branch, replayed: true, told: false }
            }
        };
        let time = time.unwrap_or_else(|| record.completed_at());
        self.ends.replayed(time, Completion { node, path, end });
        Ok(None)
    }

    /// The branch that a run starts on (R402, R626).
    fn branch(&self, trigger: &Trigger, path: &NodePath) -> Option<Branch> {
        let base = trigger.branch.clone().unwrap_or_else(|| self.ctx.branch());
        if trigger.use_sub_branch { Some(Branch::below(base.as_ref(), path.leaf())) } else { base }
    }

    /// Waits until there are ends to handle, or room for another run; false when the workflow has come to rest.
    async fn next_batch(&mut self, schedule: &mut Schedule, batch: &mut Vec<Completion>) -> bool {
        let mut room = false;
        while batch.is_empty() && !room {
            match (self.ends.is_due(), self.runs.is_empty()) {
                (true, true) => {}
                (true, false) => self.runs.pass(&mut self.finished).await,
                (false, true) => return false,
                (false, false) => {
                    let (ctx, unsure) = (&self.ctx, self.ends.is_unsure());
                    self.runs.next_batch(&mut self.finished, || unsure && ctx.has_executing()).await;
                }
            }
            if self.ends.is_unsure() {
                self.ctx.take_executing().iter().for_each(|path| self.ends.executes(path));
            }
            for finished in self.finished.drain(..) {
                let (seq, ended) = (finished.seq, finished.ended);
                let completion = completion(self.graph, finished);
                let completes = matches!(completion.end, End::Done { .. });
                match self.ends.settle(&completion.path, completes) {
                    Some(time) => {
                        // It only replayed, and needed no room; who waits for it may need it to come before.
                        schedule.replays(completion.node);
                        room = true;
                        self.ends.replayed(time, completion);
                    }
                    None => self.ends.executed(ended, seq, completion),
                }
            }
            self.ends.take(batch);
        }
        true
    }

    /// Everything held back waits for a run that will never come: the workflow is not the one that was recorded.
    fn check_divergence(&self) -> Result<(), NodeError> {
        let (Some(time), Some(past)) = (self.ends.stuck_at(), &self.past) else { return Ok(()) };
        let times = |run: &RunRecord| [run.completed_at(), run.asked_at(), run.ended_at()];
        let mut runs = past.history.children(self.ctx.node_path());
        let awaited = runs.find(|run| times(run.record).contains(&time));
        let awaited = awaited.map_or("", |run| run.path.as_str());
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
                self.note_completed(&path);
                schedule.waiting(node);
                if !replayed {
                    self.checkpoint(schedule).await;
                }
            }
            End::Done { output, route, branch, replayed, told } => {
                self.note_completed(&path);
                // What no event tells, the answer to a child's question for example, is told here, too.
                let echo = (!told && self.ctx.invocation().is_resumable() && !output.is_null()).then(|| {
                    let branch = if replayed { self.ctx.branch() } else { branch.clone() };
                    checkpoint::echo(&self.ctx, path, branch, &output, &std::mem::take(&mut self.completed))
                });
                schedule.completed(self.graph, node, output, route.as_ref(), branch);
                if let Some(echo) = echo {
                    self.send(echo).await;
                }
                if !replayed {
                    self.checkpoint(schedule).await;
                }
            }
        }
        None
    }

    /// In a resumable app the next checkpoint tells that the run has completed, unless history does already.
    fn note_completed(&mut self, path: &NodePath) {
        let known = || self.past.as_ref().and_then(|past| past.history.run(path)).is_some_and(RunRecord::is_marked);
        if self.ctx.invocation().is_resumable() && !known() {
            self.completed.push(path.clone());
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

impl Past {
    fn read(graph: &Graph, history: Arc<History>, ctx: &Context) -> Result<Self, NodeError> {
        match Recorded::read(graph, &history, ctx.node_path()) {
            Ok(recorded) => Ok(Self { recorded, history }),
            Err(run) => Err(changed(ctx.node_name(), ctx.node_path(), run.path.name(), NOT_IN_IT)),
        }
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
        RunOutcome::Done { output, route, branch } => {
            // A nested workflow finds what it gave again by replaying.
            let nested = graph.nodes[node].node.spec().kind == NodeKind::Workflow;
            let told = nested || ctx.has_told(&output);
            End::Done { output, route, branch, replayed: false, told }
        }
    };
    Completion { node, path: ctx.node_path().clone(), end }
}
