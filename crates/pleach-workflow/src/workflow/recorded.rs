//! [`Recorded`]: which runs of a workflow's nodes history knows, by node and number, read once.

use pleach_context::{History, NodeKind, RecordedRun, RunKey, RunRecord};
use pleach_core::NodePath;

use crate::engine::Standing;
use crate::graph::Graph;

/// The recorded runs directly below one run of a workflow.
#[derive(Debug)]
pub(super) struct Recorded {
    /// By node, then by number.
    runs: Vec<Entry>,
    /// Where the runs of each node begin in `runs`.
    begins: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    node: u32,
    number: u32,
    key: RunKey,
}

impl Recorded {
    /// Reads the runs below `path`; fails with the first that is of no node of the graph.
    pub(super) fn read<'h>(graph: &Graph, history: &'h History, path: &NodePath) -> Result<Self, RecordedRun<'h>> {
        let mut runs: Vec<Entry> = Vec::with_capacity(history.children(path).len());
        for run in history.children(path) {
            let Some((name, number)) = run.path.leaf().split_once('@') else { return Err(run) };
            // Nodes often run in the order in which they were added.
            let guess = runs.last().map_or(0, |last| last.node + 1);
            let node = graph.names.nodes.get(guess as usize).filter(|guessed| *guessed == name).map(|_| guess);
            let (Some(node), Ok(number)) = (node.or_else(|| graph.index.get(name).copied()), number.parse()) else {
                return Err(run);
            };
            runs.push(Entry { node, number, key: run.key });
        }
        // Stable sorts know what is sorted for the most part.
        runs.sort();
        let mut begins = vec![0; graph.nodes.len() + 1];
        for run in &runs {
            begins[run.node as usize + 1] += 1;
        }
        for node in 0..graph.nodes.len() {
            begins[node + 1] += begins[node];
        }
        Ok(Self { runs, begins })
    }

    /// The runs of a node.
    fn of(&self, node: usize) -> &[Entry] {
        &self.runs[self.begins[node] as usize..self.begins[node + 1] as usize]
    }

    /// The runs of a node, from the first on.
    pub(super) fn runs<'h>(&self, history: &'h History, node: usize) -> impl Iterator<Item = RecordedRun<'h>> {
        self.of(node).iter().map(|run| history.at(run.key))
    }

    /// The run of a node with this number.
    pub(super) fn run<'h>(&self, history: &'h History, node: usize, number: u32) -> Option<RecordedRun<'h>> {
        let runs = self.of(node);
        let place = runs.binary_search_by_key(&number, |run| run.number).ok()?;
        Some(history.at(runs[place].key))
    }

    /// When the runs completed that are not executed any more (R1020).
    pub(super) fn completion_times(&self, graph: &Graph, history: &History) -> Vec<u64> {
        let time = |run: &Entry| completion_time(graph, run.node as usize, history.at(run.key).record);
        self.runs.iter().filter_map(time).collect()
    }
}

/// When a run completed, as far as its record tells; only its replay tells whether a nested workflow did.
pub(super) fn completion_time(graph: &Graph, node: usize, record: &RunRecord) -> Option<u64> {
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

/// Whether a run starts however many others run: history answers it. A nested workflow that was under way had room; one
/// that was just answered does not (R623).
pub(super) fn needs_no_room(graph: &Graph, node: usize, record: &RunRecord) -> bool {
    let nested = graph.nodes[node].node.spec().kind == NodeKind::Workflow;
    let under_way = !nested || record.is_marked() || !record.is_just_answered();
    under_way && completion_time(graph, node, record).is_some()
}
