//! [`ReplayPlan`]: the recorded runs of a workflow's nodes, by node and number, with the decision of the resume about
//! each.

use std::sync::Arc;

use pleach_context::History;
use pleach_context::engine::{HistoryHandle, PlannedRun, PlannedRuns, RecordedRun, ReplayState, RunRecord};
use pleach_core::NodePath;

use crate::graph::Graph;

/// The recorded runs directly below one run of a workflow, by node and number.
#[derive(Debug)]
pub(super) struct ReplayPlan(PlannedRuns);

impl ReplayPlan {
    /// Reads the runs below `path`.
    ///
    /// # Errors
    /// The first run that belongs to no node of the graph.
    pub(super) fn read<'h>(graph: &Graph, history: &'h History, path: &NodePath) -> Result<Self, RecordedRun<'h>> {
        let children = history.children(path);
        let prefix = if path.is_root() { 0 } else { path.as_str().len() + 1 };
        let mut runs: Vec<PlannedRun> = Vec::with_capacity(children.len());
        let mut begins = vec![0; graph.nodes.len() + 1];
        for run in children {
            // Nodes often run in the order in which they were added.
            let guess = runs.last().map_or(0, |last| last.node + 1);
            let (node, number) = node_and_number(graph, &run.path.as_str()[prefix..], guess).ok_or(run)?;
            let rules = graph.nodes[node as usize].replay;
            let state = rules.state_of(run.record, false, history.records_ends());
            let time = completion_time(graph, node as usize, state, run.record);
            if rules.is_agent && follows_transfer(history, &run, path, number) {
                // This run belongs to the previous run of the node, which therefore ends with it.
                if let Some(first) = runs.iter_mut().rev().find(|run| run.node == node) {
                    first.time = time;
                }
                continue;
            }
            runs.push(PlannedRun { node, number, key: run.key, state, time });
            begins[node as usize + 1] += 1;
        }
        for node in 0..graph.nodes.len() {
            begins[node + 1] += begins[node];
        }
        let places = by_node(&runs, &begins);
        let mut plan = Self(PlannedRuns { graph: Arc::clone(&graph.names), runs, places, begins });
        plan.infer_completions(graph, history, history.is_complete(path));
        Ok(plan)
    }

    /// Takes the plan for the run at `path` that the check for a changed workflow has made, if it was made for this
    /// graph.
    pub(super) fn take(graph: &Graph, history: &History, path: &NodePath) -> Option<Self> {
        HistoryHandle::of(history).take_plan(path).filter(|plan| Arc::ptr_eq(&plan.graph, &graph.names)).map(Self)
    }

    /// Keeps the plan until the run at `path` starts.
    pub(super) fn keep(self, history: &History, path: &NodePath) {
        HistoryHandle::of(history).keep_plan(path, self.0);
    }

    /// Finds runs that must have completed after their last event although no note records it, as in google-adk's
    /// histories.
    // R706, R1010
    fn infer_completions(&mut self, graph: &Graph, history: &History, all: bool) {
        for place in 0..self.0.runs.len() {
            let run = self.0.runs[place];
            let (node, record) = (run.node as usize, history.at(run.key).record);
            let rules = graph.nodes[node].replay;
            let is_unsure = rules.is_workflow
                || (run.state == ReplayState::ToRun
                    && !record.failed
                    && rules.state_if_continued(record, false) != ReplayState::ToRun);
            if !is_unsure || !(all || self.is_followed(graph, history, run)) {
                continue;
            }
            if rules.is_workflow {
                HistoryHandle::of(history).note_complete(run.key);
                continue;
            }
            let state = rules.state_if_continued(record, false);
            let time = completion_time(graph, node, state, record);
            self.0.runs[place] = PlannedRun { state, time, ..run };
        }
    }

    /// Returns `true` if there is a later run that can have started only after this one completed. That is the node's
    /// next run, a run of a successor without other predecessors, or a join, which waits for all predecessors.
    fn is_followed(&self, graph: &Graph, history: &History, run: PlannedRun) -> bool {
        let node = run.node as usize;
        let began_after = |later: &PlannedRun| history.at(later.key).record.began_after(history.at(run.key).record);
        let needs_it = |to: usize| graph.nodes[to].join.is_some() || graph.names.predecessors[to].len() <= 1;
        let successors = graph.out(node).iter().map(|edge| edge.to).filter(|to| needs_it(*to));
        // The last run of a node is the one that began last.
        let mut last = std::iter::once(node).chain(successors).filter_map(|node| self.runs(node).next_back());
        last.any(began_after)
    }

    /// Returns all runs, in the order of history.
    pub(super) fn all(&self) -> &[PlannedRun] {
        &self.0.runs
    }

    /// Returns the runs of a node, in order.
    pub(super) fn runs(&self, node: usize) -> impl ExactSizeIterator<Item = &PlannedRun> + DoubleEndedIterator + Clone {
        self.0.places[self.of(node)].iter().map(|place| &self.0.runs[*place as usize])
    }

    /// Returns the run of a node with this number.
    pub(super) fn run(&self, node: usize, number: u32) -> Option<&PlannedRun> {
        let places = &self.0.places[self.of(node)];
        // Usually no earlier number is missing.
        let at = |place: usize| places.get(place).map(|place| &self.0.runs[*place as usize]);
        let guess = at((number as usize).wrapping_sub(1)).filter(|run| run.number == number);
        guess.or_else(|| at(places.binary_search_by_key(&number, |place| self.0.runs[*place as usize].number).ok()?))
    }

    /// Returns the completion times of the replayed runs.
    // R1020
    pub(super) fn completion_times(&self) -> Vec<u32> {
        self.0.runs.iter().filter_map(|run| run.time).collect()
    }

    fn of(&self, node: usize) -> std::ops::Range<usize> {
        self.0.begins[node] as usize..self.0.begins[node + 1] as usize
    }
}

/// Returns `true` if the run starts regardless of the concurrency limit, because history answers it. A nested
/// workflow that was running had a slot, but a nested workflow whose last event is an answer did not.
// R623
pub(super) fn needs_no_room(run: &PlannedRun, history: &History) -> bool {
    let record = history.at(run.key).record;
    let had_slot = run.state != ReplayState::ToRun || record.has_recorded_completion() || !record.is_just_answered();
    had_slot && run.time.is_some()
}

/// Returns `true` if an agent below the previous run of an agent has transferred back to it. The run then belongs to
/// the previous run.
// R708
fn follows_transfer(history: &History, run: &RecordedRun<'_>, workflow: &NodePath, number: u32) -> bool {
    let name = run.path.name();
    let hands_back = |below: RecordedRun<'_>| below.record.transfer_to_agent() == Some(name);
    number > 1 && history.children(&workflow.child(name, &(number - 1).to_string())).any(hands_back)
}

/// Returns the node and the run number for the last segment of a path.
fn node_and_number(graph: &Graph, leaf: &str, guess: u32) -> Option<(u32, u32)> {
    let guessed = graph.names.nodes.get(guess as usize);
    if let Some(number) = guessed.and_then(|name| leaf.strip_prefix(name.as_str())?.strip_prefix('@')) {
        return Some((guess, number.parse().ok()?));
    }
    let (name, number) = leaf.split_once('@')?;
    Some((*graph.index.get(name)?, number.parse().ok()?))
}

/// Returns the indices of the runs by node, then by number: a counting sort, because history is mostly in order.
fn by_node(runs: &[PlannedRun], begins: &[u32]) -> Vec<u32> {
    let mut places = vec![0; runs.len()];
    let mut next = begins.to_vec();
    for (place, run) in (0..).zip(runs) {
        let next = &mut next[run.node as usize];
        places[*next as usize] = place;
        *next += 1;
    }
    let number = |place: &u32| runs[*place as usize].number;
    for node in begins.windows(2) {
        let places = &mut places[node[0] as usize..node[1] as usize];
        if !places.is_sorted_by_key(number) {
            places.sort_unstable_by_key(number);
        }
    }
    places
}

fn completion_time(graph: &Graph, node: usize, state: ReplayState, record: &RunRecord) -> Option<u32> {
    match state {
        // A workflow, or a run whose delegate had ended, probably completed with its last event.
        ReplayState::ToRun if graph.nodes[node].replay.is_workflow || record.delegated => {
            (!record.is_open() && !record.failed).then(|| record.ended_at())
        }
        // Successors start in the order of the questions, as in ADK. If they have other predecessors, the order of
        // triggers decides.
        ReplayState::CompletedByAnswer if graph.leads_alone(node) => Some(record.asked_at()),
        state => state.is_complete().then(|| record.completed_at()),
    }
}
