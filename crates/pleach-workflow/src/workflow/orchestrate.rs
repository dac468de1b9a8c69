//! The loop of a workflow run: start ready nodes, wait for runs to end, trigger successors.
//!
//! [`Schedule`] decides which nodes are ready and what a completion triggers; the engine's replay rules decide what a
//! resume replays. This file starts runs and reports their ends; `finish.rs` ends the workflow.

mod finish;

use std::sync::Arc;

use pleach_context::engine::{GraphPosition, NodeEnd, NodeResult, PlannedRun, RecordedRun, RunHandle, RunRecord};
use pleach_context::{ChildFailure, Flow, NodeError, NodeInput, NodeSpec};
use pleach_core::{BoxFuture, Branch, Event, NodePath};

use super::checkpoint;
use super::completion::{Completion, EndedRun, PendingEnd};
use super::ends::Ends;
use super::replay_plan::needs_no_room;
use super::schedule::{Room, Schedule};
use super::triggers::Trigger;
use super::workflow_replay::WorkflowReplay;
use crate::engine::{Decision, Executed, Finished, NodeRun, RunSet, RunSetup, conform, decide};
use crate::graph::Graph;

/// One run of a workflow.
pub(super) struct Orchestration<'a> {
    graph: &'a Graph,
    spec: &'a NodeSpec,
    limit: Option<usize>,
    handle: RunHandle,
    runs: RunSet<'a>,
    finished: Vec<Executed<Finished>>,
    replay: Option<WorkflowReplay>,
    ends: Ends<PendingEnd, Finished>,
    /// The runs that have completed since the last checkpoint; empty unless the app is resumable.
    completed: Vec<NodePath>,
    /// The error of a node that could not start because its schema has refused its input.
    refused: Option<NodeError>,
    /// The workflow's own events that are not sent yet.
    outgoing: Vec<Event>,
    /// The runs that the output of the terminal nodes belongs to.
    output_for: Arc<[NodePath]>,
    /// The branch that the workflow is on.
    branch: Option<Branch>,
    started: u64,
    path_buffer: String,
}

impl<'a> Orchestration<'a> {
    /// Returns a run of the workflow that has not started a node yet.
    ///
    /// # Errors
    /// A `WorkflowChangedError` for a recorded run that does not belong to a node of the graph.
    pub(super) fn new(
        graph: &'a Graph,
        spec: &'a NodeSpec,
        limit: Option<usize>,
        handle: RunHandle,
    ) -> Result<Self, NodeError> {
        let nested = handle.parent().is_some_and(|parent| !parent.node_path().is_root());
        let replay = match handle.invocation().history() {
            Some(history) => Some(WorkflowReplay::read(graph, history, &handle)?),
            None => None,
        };
        let times = replay.as_ref().map(|replay| replay.plan.completion_times());
        Ok(Self {
            graph,
            spec,
            limit,
            runs: RunSet::new(handle.clone(), nested),
            finished: Vec::new(),
            replay,
            ends: Ends::new(times.unwrap_or_default()),
            completed: Vec::new(),
            refused: None,
            outgoing: Vec::new(),
            output_for: handle.output_for_of_child(),
            branch: handle.branch(),
            started: 0,
            path_buffer: String::new(),
            handle,
        })
    }

    /// Returns the run and its schedule. Both are boxed, because each level of nested workflows polls the next one.
    /// Without optimisation, every value that passes through the polled function takes several times its size on the
    /// stack.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new).
    #[inline(never)]
    pub(super) fn begin(
        graph: &'a Graph,
        spec: &'a NodeSpec,
        limit: Option<usize>,
        handle: RunHandle,
        input: NodeInput,
    ) -> Result<(Box<Self>, Box<Schedule>), NodeError> {
        let this = Box::new(Self::new(graph, spec, limit, handle)?);
        this.handle.set_graph_names(Arc::clone(&graph.names));
        let schedule = Schedule::new(graph, limit, input, this.branch.clone());
        Ok((this, Box::new(schedule)))
    }

    /// Runs the workflow to its end.
    ///
    /// The future is polled once for each level of nested workflows. To save stack, local values live in functions
    /// that return before the next level is polled, and rarely awaited futures are boxed.
    pub(super) async fn run(&mut self, schedule: &mut Schedule) -> Result<Flow, NodeError> {
        loop {
            while self.start_next(schedule)? {
                if !self.outgoing.is_empty() {
                    self.send_outgoing().await;
                }
            }
            if self.refused.is_some() {
                return self.refuse(schedule).await;
            }
            if self.take_replayed(schedule) {
                if !self.outgoing.is_empty() {
                    self.send_outgoing().await;
                }
                continue;
            }
            if !self.next_batch(schedule).await {
                self.check_end()?;
                return self.finish(schedule).await;
            }
            let mut failed = None;
            while self.handle_next(schedule, &mut failed) {
                if !self.outgoing.is_empty() {
                    self.send_outgoing().await;
                }
            }
            if let Some(failure) = failed {
                return self.fail(schedule, failure).await;
            }
        }
    }

    #[inline(never)]
    fn start_next(&mut self, schedule: &mut Schedule) -> Result<bool, NodeError> {
        let Some((node, trigger, run)) = self.next(schedule) else { return Ok(false) };
        self.start(schedule, node, trigger, run)?;
        Ok(true)
    }

    /// Handles the next replayed completion, if no run is active. Replayed completions never fail.
    #[inline(never)]
    fn take_replayed(&mut self, schedule: &mut Schedule) -> bool {
        if !self.runs.is_empty() {
            return false;
        }
        let Some(end) = self.ends.next_replayed() else { return false };
        self.handle(schedule, end);
        true
    }

    #[inline(never)]
    fn handle_next(&mut self, schedule: &mut Schedule, failed: &mut Option<Box<ChildFailure>>) -> bool {
        let Some(end) = self.ends.next_chosen() else { return false };
        if let Some(failure) = self.handle(schedule, end) {
            failed.get_or_insert_with(|| Box::new(failure));
        }
        true
    }

    /// Returns the next run to start.
    fn next(&self, schedule: &mut Schedule) -> Option<(usize, Trigger, u32)> {
        let replay = self.replay.as_ref().filter(|_| self.limit.is_some() && self.ends.is_replaying());
        schedule.next(replay.map(|replay| {
            |node: usize, number: u32| match replay.plan.run(node, number) {
                Some(run) if needs_no_room(run, &replay.history) => Room::None,
                Some(_) => Room::Again,
                None => Room::New,
            }
        }))
    }

    /// Starts a run, or answers it from history.
    fn start(&mut self, schedule: &mut Schedule, node: usize, trigger: Trigger, number: u32) -> Result<(), NodeError> {
        let seq = self.started;
        self.started += 1;
        let Some(mut setup) = self.prepare(schedule, node, &trigger, number)? else { return Ok(()) };
        let graph_node = &self.graph.nodes[node];
        let spec = graph_node.node.spec();
        // An input that does not fit is the workflow's failure, not the node's (R305).
        let input = match conform(spec, &spec.name, trigger.input) {
            Ok(input) => input,
            Err(error) => {
                self.refused.get_or_insert(error);
                self.checkpoint(schedule);
                return Ok(());
            }
        };
        setup.output_for = self.graph.is_terminal(node).then(|| Arc::clone(&self.output_for));
        setup.position = u32::try_from(node).ok().map(|node| GraphPosition { node, by: trigger.by });
        self.runs.push(seq, node, NodeRun::new(&*graph_node.node, &self.handle, input, setup));
        self.checkpoint(schedule);
        Ok(())
    }

    /// Returns the setup of a run, or `None` if history answers the run.
    fn prepare(
        &mut self,
        schedule: &mut Schedule,
        node: usize,
        trigger: &Trigger,
        number: u32,
    ) -> Result<Option<RunSetup>, NodeError> {
        let run = self.replay.as_ref().and_then(|replay| Some((replay, replay.plan.run(node, number)?)));
        let graph_node = &self.graph.nodes[node];
        let Some((replay, PlannedRun { key, state, time, .. })) = run else {
            if self.replay.is_some() && !graph_node.replay.is_workflow {
                self.handle.note_execution();
            }
            let spec = graph_node.node.spec();
            let path = self.handle.node_path().child_in(&mut self.path_buffer, &spec.name, number);
            return Ok(Some(RunSetup { branch: self.branch(trigger, &path), path, ..RunSetup::default() }));
        };
        let RecordedRun { key, path, record } = replay.history.at(*key);
        let run = EndedRun::Replayed(key);
        let end = match decide(&*graph_node.node, graph_node.replay, *state, record)? {
            Decision::Run(resume_inputs) => {
                let branch = self.branch(trigger, path);
                let isolation_scope = record.isolation_scope().cloned();
                let path = path.clone();
                match *time {
                    Some(time) => self.ends.nested(path.clone(), time),
                    None => self.handle.note_execution(),
                }
                return Ok(Some(RunSetup { path, branch, isolation_scope, resume_inputs, ..RunSetup::default() }));
            }
            Decision::Replay(NodeEnd::Done(mut result)) => {
                // Some events of an LLM agent may be on the branches of agents below it.
                let is_resumable = self.handle.invocation().is_resumable();
                let keeps_own = graph_node.node.agent().is_some_and(|agent| agent.is_llm || is_resumable);
                let recorded = result.branch.take().filter(|_| !keeps_own);
                result.branch = recorded.or_else(|| self.branch(trigger, path));
                if self.runs.is_empty() && schedule.is_idle() && time.is_some_and(|time| self.ends.pass_next(time)) {
                    // Nothing else can start before this completion is handled, so it is handled directly.
                    self.complete(schedule, node, &run, result, true);
                    return Ok(None);
                }
                NodeEnd::Done(result)
            }
            Decision::Replay(end) => end,
        };
        schedule.replays(node);
        let waits = matches!(end, NodeEnd::Interrupted(_));
        let pending = PendingEnd::Replayed(Completion { node, run, end: Ok(end), needs_echo: true });
        if waits {
            self.ends.waiting(pending);
        } else {
            self.ends.replayed(time.unwrap_or_else(|| record.completed_at()), pending);
        }
        Ok(None)
    }

    /// Returns the branch that a run starts on.
    // R402, R626
    fn branch(&self, trigger: &Trigger, path: &NodePath) -> Option<Branch> {
        let base = trigger.branch.as_ref().unwrap_or(&self.branch).clone();
        if trigger.use_sub_branch { Some(Branch::below(base.as_ref(), path.leaf())) } else { base }
    }

    /// Waits until there are ends to handle or a slot for another run is free. Returns `false` if the workflow has
    /// ended.
    async fn next_batch(&mut self, schedule: &mut Schedule) -> bool {
        loop {
            match (self.ends.is_due(), self.runs.is_empty()) {
                (true, true) => {}
                (true, false) => self.runs.pass(&mut self.finished).await,
                (false, true) => return false,
                (false, false) => {
                    let (handle, unsure) = (&self.handle, self.ends.is_unsure());
                    self.runs.next_batch(&mut self.finished, || unsure && handle.has_executing()).await;
                }
            }
            let has_room = self.collect(schedule);
            if self.ends.choose() || has_room {
                return true;
            }
        }
    }

    /// Adds the finished runs to the ends to be handled; returns `true` if one of them freed a slot.
    fn collect(&mut self, schedule: &mut Schedule) -> bool {
        if self.replay.is_some() {
            // Always taken, because otherwise the list would grow with the rounds of a loop.
            self.handle.take_executing().iter().for_each(|path| self.ends.executes(path));
        }
        if !self.ends.is_unsure() {
            self.ends.all_executed(&mut self.finished);
            return false;
        }
        let mut room = false;
        for run in self.finished.drain(..) {
            let Finished { node, handle, end } = &run.end;
            if self.ends.is_unsure() && run.order.has_own() && !self.graph.nodes[*node].replay.is_workflow {
                self.ends.executes(handle.node_path());
                self.handle.note_execution();
            }
            let completes = end.as_ref().is_ok_and(NodeEnd::is_done);
            match self.ends.nested_ended(handle.node_path(), completes) {
                Some(time) => {
                    // It has only replayed, so it does not occupy a slot, and runs that wait for one may start.
                    schedule.replays(*node);
                    room = true;
                    self.ends.replayed(time, run.end.into());
                }
                None => self.ends.executed(run),
            }
        }
        room
    }

    /// Handles an end: triggers successors and queues the workflow's own events. Returns the failure of a failed run.
    fn handle(&mut self, schedule: &mut Schedule, end: PendingEnd) -> Option<ChildFailure> {
        let Completion { node, run, end, needs_echo } = end.into_completion(self.graph);
        let ran = matches!(run, EndedRun::Executed(_));
        let graph_node = &self.graph.nodes[node];
        if graph_node.replay.is_agent {
            schedule.count_runs(node, self.handle.child_count(&graph_node.node.spec().name));
        }
        match end {
            Err(failure) => {
                schedule.failed(node);
                return Some(failure);
            }
            Ok(NodeEnd::Interrupted(ids)) => {
                schedule.interrupted(node, ids);
                self.checkpoint(schedule);
            }
            Ok(NodeEnd::Waiting) => {
                // An agent that waits for the user reads from its own events what it has done, so it needs no note.
                if !self.graph.nodes[node].replay.is_agent {
                    self.note_completed(&run);
                }
                schedule.waiting(node);
                if ran {
                    self.checkpoint(schedule);
                }
            }
            Ok(NodeEnd::Done(result)) => self.complete(schedule, node, &run, result, needs_echo),
        }
        None
    }

    fn complete(&mut self, schedule: &mut Schedule, node: usize, run: &EndedRun, result: NodeResult, needs_echo: bool) {
        let NodeResult { output, route, branch, .. } = result;
        let ran = matches!(run, EndedRun::Executed(_));
        self.note_completed(run);
        // Records an output that no other event records, such as the answer to a child's question.
        if needs_echo && self.handle.invocation().is_resumable() && !output.is_null() {
            let branch = if ran { branch.clone() } else { self.branch.clone() };
            let path = self.path(run).clone();
            let completed = std::mem::take(&mut self.completed);
            self.outgoing.push(checkpoint::echo(&self.handle, path, branch, &output, &completed));
        }
        schedule.completed(self.graph, node, output, route.as_deref(), branch);
        if ran {
            self.checkpoint(schedule);
        }
    }

    fn path<'p>(&'p self, run: &'p EndedRun) -> &'p NodePath {
        match (run, &self.replay) {
            (EndedRun::Replayed(key), Some(replay)) => replay.history.at(*key).path,
            (EndedRun::Replayed(_), None) => unreachable!("without history nothing ran before"),
            (EndedRun::Executed(path), _) => path,
        }
    }

    /// Records the completed run in the next checkpoint of a resumable app, unless history already does.
    fn note_completed(&mut self, run: &EndedRun) {
        if !self.handle.invocation().is_resumable() {
            return;
        }
        let path = self.path(run);
        let known = self
            .replay
            .as_ref()
            .and_then(|replay| replay.history.run(path))
            .is_some_and(RunRecord::has_recorded_completion);
        if !known {
            self.completed.push(path.clone());
        }
    }

    fn checkpoint(&mut self, schedule: &Schedule) {
        if self.handle.invocation().is_resumable() {
            let completed = std::mem::take(&mut self.completed);
            self.outgoing.push(checkpoint::snapshot(&self.handle, self.graph, schedule, &completed));
        }
    }

    /// Sends the workflow's own events while the runs make progress.
    fn send_outgoing(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            for event in std::mem::take(&mut self.outgoing) {
                self.runs.drive_while(self.handle.deliver(event)).await;
            }
        })
    }
}
