//! Which graph node runs next: pure decisions over plain data, tested without a runtime. Rules R621–R628.

use std::collections::{BTreeSet, VecDeque};

use pleach_context::NodeInput;
use pleach_core::{Branch, Map, Route};
use serde_json::Value;
use smol_str::SmolStr;

use crate::graph::{Graph, START_NAME};

/// Where a node of the graph stands. The numbers are those of checkpoints (R1030).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Status {
    #[default]
    Inactive = 0,
    Running = 2,
    Completed = 3,
    Waiting = 4,
    Failed = 5,
}

/// A reason for a node to run.
#[derive(Clone, Debug)]
pub(crate) struct Trigger {
    pub(crate) input: NodeInput,
    pub(crate) use_sub_branch: bool,
    /// The branch to start from; `None` is the workflow's own, `Some(None)` the root.
    pub(crate) branch: Option<Option<Branch>>,
    pub(crate) by: SmolStr,
}

/// The state of one workflow run.
#[derive(Debug)]
pub(crate) struct Schedule {
    pub(crate) nodes: Vec<NodeState>,
    /// The nodes that may start now, in the order in which they first got a pending trigger.
    ready: BTreeSet<(u64, usize)>,
    next_order: u64,
    running: usize,
    limit: Option<usize>,
    start_input: NodeInput,
    start_branch: Option<Branch>,
}

/// The state of one graph node.
#[derive(Debug, Default)]
pub(crate) struct NodeState {
    pub(crate) status: Status,
    /// How often it has been started.
    pub(crate) runs: u32,
    /// The questions that it waits for.
    pub(crate) interrupts: Vec<String>,
    /// What its last completed run gave.
    pub(crate) output: NodeInput,
    branch: Option<Branch>,
    triggers: VecDeque<Trigger>,
    order: u64,
    /// For a join: which predecessors have completed since it last fired.
    arrived: Vec<bool>,
    arrivals: usize,
}

impl NodeState {
    fn may_start(&self) -> bool {
        let busy = self.status == Status::Running || (self.status == Status::Waiting && !self.interrupts.is_empty());
        !busy && !self.triggers.is_empty()
    }
}

impl Schedule {
    /// Starts a run: START triggers its successors with the workflow's input (R621).
    pub(crate) fn new(graph: &Graph, limit: Option<usize>, input: NodeInput, branch: Option<Branch>) -> Self {
        let nodes = graph
            .nodes
            .iter()
            .map(|node| NodeState { arrived: vec![false; node.awaited.len()], ..NodeState::default() });
        let mut schedule = Self {
            nodes: nodes.collect(),
            ready: BTreeSet::new(),
            next_order: 0,
            running: 0,
            limit,
            start_input: input.clone(),
            start_branch: branch,
        };
        let use_sub_branch = graph.start.len() > 1;
        for edge in &graph.start {
            if graph.nodes[edge.to].is_join() {
                schedule.fire_join(graph, edge.to, &START_NAME);
            } else {
                schedule.push(edge.to, Trigger { input: input.clone(), use_sub_branch, branch: None, by: START_NAME });
            }
        }
        schedule
    }

    fn push(&mut self, node: usize, trigger: Trigger) {
        let state = &mut self.nodes[node];
        if state.triggers.is_empty() {
            state.order = self.next_order;
            self.next_order += 1;
        }
        state.triggers.push_back(trigger);
        if state.may_start() {
            self.ready.insert((state.order, node));
        }
    }

    /// Takes the next node to start, with its trigger and the number of its run.
    pub(crate) fn next(&mut self) -> Option<(usize, Trigger, u32)> {
        if self.limit.is_some_and(|limit| self.running >= limit) {
            return None;
        }
        let (_, node) = self.ready.pop_first()?;
        let state = &mut self.nodes[node];
        let trigger = state.triggers.pop_front()?;
        state.status = Status::Running;
        state.interrupts.clear();
        state.runs += 1;
        self.running += 1;
        Some((node, trigger, state.runs))
    }

    fn stop(&mut self, node: usize, status: Status) {
        self.running -= 1;
        let state = &mut self.nodes[node];
        state.status = status;
        if state.may_start() {
            self.ready.insert((state.order, node));
        }
    }

    /// A run failed.
    pub(crate) fn failed(&mut self, node: usize) {
        self.stop(node, Status::Failed);
    }

    /// A run waits for answers; the node is not started again before they come (R622).
    pub(crate) fn interrupted(&mut self, node: usize, ids: Vec<String>) {
        self.nodes[node].interrupts = ids;
        self.stop(node, Status::Waiting);
    }

    /// A run waits for more triggers (R307).
    pub(crate) fn waiting(&mut self, node: usize) {
        self.stop(node, Status::Waiting);
    }

    /// A run completed: its successors are triggered with its output.
    pub(crate) fn completed(
        &mut self,
        graph: &Graph,
        node: usize,
        output: NodeInput,
        route: Option<&Route>,
        branch: Option<Branch>,
    ) {
        self.nodes[node].output = output.clone();
        self.nodes[node].branch = branch.clone();
        self.stop(node, Status::Completed);
        let graph_node = &graph.nodes[node];
        let name = &graph_node.node.spec().name;
        let followers = graph_node.followed(route).count();
        if followers == 0 && !graph_node.is_terminal() {
            tracing::warn!(node = %name, ?route, "no edge matches the route; the branch ends");
        }
        for edge in graph_node.followed(route) {
            if graph.nodes[edge.to].is_join() {
                let join = &mut self.nodes[edge.to];
                join.arrivals += usize::from(!std::mem::replace(&mut join.arrived[edge.join_slot], true));
                self.fire_join(graph, edge.to, name);
            } else {
                // A run that ended on the root branch leaves the choice to the workflow's own branch, as ADK does.
                let branch = branch.clone().map(Some);
                let trigger =
                    Trigger { input: output.clone(), use_sub_branch: followers > 1, branch, by: name.clone() };
                self.push(edge.to, trigger);
            }
        }
    }

    /// Triggers a join once all its predecessors have completed since it last fired (R628).
    fn fire_join(&mut self, graph: &Graph, join: usize, by: &SmolStr) {
        if self.nodes[join].arrivals < graph.nodes[join].expected {
            return;
        }
        let awaited = &graph.nodes[join].awaited;
        let complete = |node: usize| self.nodes[node].status == Status::Completed;
        if !awaited.iter().filter_map(|awaited| awaited.node).all(complete) {
            return;
        }
        let mut outputs = Map::new();
        let mut branches = Vec::with_capacity(awaited.len());
        for predecessor in awaited {
            let (output, branch) = match predecessor.node {
                Some(node) => (&self.nodes[node].output, self.nodes[node].branch.as_ref()),
                None => (&self.start_input, self.start_branch.as_ref()),
            };
            outputs.insert(predecessor.name.to_string(), output.to_value());
            branches.push(branch);
        }
        let branch = Some(Branch::common_prefix(branches));
        let state = &mut self.nodes[join];
        state.arrived.fill(false);
        state.arrivals = 0;
        let input = NodeInput::json(Value::Object(outputs));
        self.push(join, Trigger { input, use_sub_branch: false, branch, by: by.clone() });
    }

    /// The questions that nodes of the run wait for.
    pub(crate) fn interrupts(&self) -> Vec<String> {
        let waiting = self.nodes.iter().filter(|state| state.status == Status::Waiting);
        let mut ids: Vec<String> = waiting.flat_map(|state| state.interrupts.iter().cloned()).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// The outputs of the terminal nodes.
    pub(crate) fn terminal_outputs(&self, graph: &Graph) -> Vec<NodeInput> {
        let terminal = graph.nodes.iter().zip(&self.nodes).filter(|(node, _)| node.is_terminal());
        terminal.filter(|(_, state)| !state.output.is_null()).map(|(_, state)| state.output.clone()).collect()
    }
}
