//! [`Recorded`]: which runs of a workflow's nodes history knows, by node and number, and how they stand.

use std::sync::Arc;

use pleach_context::History;
use pleach_context::engine::{GraphNames, RecordedRun, RunKey, RunRecord};
use pleach_core::NodePath;

use crate::engine::ReplayState;
use crate::graph::Graph;

/// The recorded runs directly below one run of a workflow.
#[derive(Debug)]
pub(super) struct ReplayPlan {
    /// Those of the graph whose nodes these are.
    names: Arc<GraphNames>,
    /// In the order of history.
    runs: Vec<PlannedRun>,
    /// The places in `runs`, by node, then by number.
    places: Vec<u32>,
    /// Where each node begins in `places`.
    begins: Vec<u32>,
}

/// What is known about a recorded run before anything runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlannedRun {
    /// Which node of the graph ran.
    pub(super) node: u32,
    /// Which of the node's runs it is.
    number: u32,
    /// Where history keeps the run.
    pub(super) key: RunKey,
    /// How the run stands.
    pub(super) state: ReplayState,
    /// When it completed, as far as its record tells; only its replay tells whether a nested workflow did.
    pub(super) time: Option<u32>,
}

impl ReplayPlan {
    /// Reads the runs below `path`; fails with the first that is of no node of the graph.
    pub(super) fn read<'h>(graph: &Graph, history: &'h History, path: &NodePath) -> Result<Self, RecordedRun<'h>> {
        let children = history.children(path);
        let prefix = if path.is_root() { 0 } else { path.as_str().len() + 1 };
        let mut runs: Vec<PlannedRun> = Vec::with_capacity(children.len());
        let mut begins = vec![0; graph.nodes.len() + 1];
        for run in children {
            // Nodes often run in the order in which they were added.
            let guess = runs.last().map_or(0, |last| last.node + 1);
            let (node, number) = node_and_number(graph, &run.path.as_str()[prefix..], guess).ok_or(run)?;
            let state = ReplayState::of(graph.nodes[node as usize].replay, run.record, false);
            let time = completion_time(graph, node as usize, state, run.record);
            runs.push(PlannedRun { node, number, key: run.key, state, time });
            begins[node as usize + 1] += 1;
        }
        for node in 0..graph.nodes.len() {
            begins[node + 1] += begins[node];
        }
        let places = by_node(&runs, &begins);
        let mut plan = Self { names: Arc::clone(&graph.names), runs, places, begins };
        plan.infer_completions(graph, history, history.is_complete(path));
        Ok(plan)
    }

    /// Finds the runs whose output is a child's and that completed behind it although nothing notes that: google-adk has no
    /// such note.
    // R706, R1010
    fn infer_completions(&mut self, graph: &Graph, history: &History, all: bool) {
        for place in 0..self.runs.len() {
            let run = self.runs[place];
            let (node, record) = (run.node as usize, history.at(run.key).record);
            let rules = graph.nodes[node].replay;
            let is_unsure =
                rules.is_workflow || (record.delegated && run.state == ReplayState::ToRun && !record.failed);
            if !is_unsure || !(all || self.is_followed(graph, history, run)) {
                continue;
            }
            if rules.is_workflow {
                history.note_complete(run.key);
                continue;
            }
            let state = ReplayState::behind_delegate(rules, record, false);
            let time = completion_time(graph, node, state, record);
            self.runs[place] = PlannedRun { state, time, ..run };
        }
    }

    /// Whether a later run exists that only the completion of this one starts: the node's next one, or one of a successor
    /// to which no other node leads, or a join, which waits for all.
    fn is_followed(&self, graph: &Graph, history: &History, run: PlannedRun) -> bool {
        let node = run.node as usize;
        let began_behind = |later: &PlannedRun| history.at(later.key).record.began_after(history.at(run.key).record);
        let needs_it = |to: usize| graph.nodes[to].join.is_some() || graph.names.predecessors[to].len() <= 1;
        let successors = graph.out(node).iter().map(|edge| edge.to).filter(|to| needs_it(*to));
        // The last run of a node began last.
        let mut last = std::iter::once(node).chain(successors).filter_map(|node| self.runs(node).next_back());
        last.any(began_behind)
    }

    /// Whether the runs are those of this graph's nodes.
    pub(super) fn is_of(&self, graph: &Graph) -> bool {
        Arc::ptr_eq(&self.names, &graph.names)
    }

    /// All runs, in the order of history.
    pub(super) fn all(&self) -> &[PlannedRun] {
        &self.runs
    }

    /// The runs of a node, from the first on.
    pub(super) fn runs(&self, node: usize) -> impl ExactSizeIterator<Item = &PlannedRun> + DoubleEndedIterator + Clone {
        self.places[self.of(node)].iter().map(|place| &self.runs[*place as usize])
    }

    /// The run of a node with this number.
    pub(super) fn run(&self, node: usize, number: u32) -> Option<&PlannedRun> {
        let places = &self.places[self.of(node)];
        // Mostly nothing is missing before it.
        let at = |place: usize| places.get(place).map(|place| &self.runs[*place as usize]);
        let guess = at((number as usize).wrapping_sub(1)).filter(|run| run.number == number);
        guess.or_else(|| at(places.binary_search_by_key(&number, |place| self.runs[*place as usize].number).ok()?))
    }

    /// When the runs completed that are not executed any more.
    // R1020
    pub(super) fn completion_times(&self) -> Vec<u32> {
        self.runs.iter().filter_map(|run| run.time).collect()
    }

    fn of(&self, node: usize) -> std::ops::Range<usize> {
        self.begins[node] as usize..self.begins[node + 1] as usize
    }
}

impl PlannedRun {
    /// Whether the run starts however many others run: history answers it. A nested workflow that was under way had room;
    /// one that was just answered does not.
    // R623
    pub(super) fn needs_no_room(&self, history: &History) -> bool {
        let record = history.at(self.key).record;
        let had_slot =
            self.state != ReplayState::ToRun || record.has_recorded_completion() || !record.is_just_answered();
        had_slot && self.time.is_some()
    }
}

/// The node that a run with this last path segment is of, and the run's number.
fn node_and_number(graph: &Graph, leaf: &str, guess: u32) -> Option<(u32, u32)> {
    let guessed = graph.names.nodes.get(guess as usize);
    if let Some(number) = guessed.and_then(|name| leaf.strip_prefix(name.as_str())?.strip_prefix('@')) {
        return Some((guess, number.parse().ok()?));
    }
    let (name, number) = leaf.split_once('@')?;
    Some((*graph.index.get(name)?, number.parse().ok()?))
}

/// The places of the runs, by node, then by number: counted in, since history is in order for the most part.
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
        // One that only has to end behind its delegate probably completed then.
        ReplayState::ToRun if graph.nodes[node].replay.is_workflow || record.delegated => {
            (!record.is_open() && !record.failed).then(|| record.ended_at())
        }
        // Its successors start behind those of the question, as in ADK; where other nodes lead to them, too, the order of
        // the triggers counts.
        ReplayState::CompletedByAnswer if graph.leads_alone(node) => Some(record.asked_at()),
        state => state.is_complete().then(|| record.completed_at()),
    }
}
