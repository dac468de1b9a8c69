//! [`Schedule`]: decides which graph node runs next. Pure decisions over plain data, tested without a runtime.
// R621–R628

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use pleach_context::{DeadEnd, NodeInput, NodeSpec};
use pleach_core::{Branch, Map, NodePath, Route};
use rustc_hash::FxHashMap;
use serde_json::Value;

use super::triggers::{Queue, Trigger, Triggers};
use crate::graph::{Edge, Graph, Join};

/// The status of a graph node. The numbers are stored in checkpoints.
// R1030
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Status {
    #[default]
    Inactive = 0,
    Running = 2,
    Completed = 3,
    Waiting = 4,
    Failed = 5,
}

/// Whether a run occupies a slot of the concurrency limit while a resume replays.
// R623
#[derive(Clone, Copy, Debug)]
pub(crate) enum Room {
    /// The run needs no slot, because history answers it.
    None,
    /// The run needs a slot: it began before the pause and executes again.
    Again,
    /// The run needs a slot: it has not begun before.
    New,
}

/// The state of one workflow run.
#[derive(Debug)]
pub(crate) struct Schedule {
    nodes: Vec<NodeState>,
    /// The arrivals at joins, by join index.
    joins: Vec<Arrivals>,
    /// The kept outputs, by their index.
    kept: Vec<Kept>,
    triggers: Triggers,
    /// The nodes that may start, in the order in which they first got a pending trigger.
    ready: BinaryHeap<Reverse<(u64, usize)>>,
    /// Ready nodes held back by the concurrency limit. Replayed runs are exempt from the limit and start before them.
    aside: BinaryHeap<Reverse<(u64, usize)>>,
    /// The triggers of nodes in `aside` whose run began before the pause. They are removed from the node's queue, so
    /// that later triggers get their own place in the order.
    // R629
    begun: FxHashMap<usize, Trigger>,
    next_order: u64,
    running: usize,
    limit: Option<usize>,
    /// The open questions of waiting nodes.
    interrupts: FxHashMap<usize, Vec<String>>,
    /// The output of START.
    start: Kept,
    /// The nodes that chose a route without an edge, with the route.
    untaken: Vec<(usize, Option<Route>)>,
}

/// The state of one graph node. Small, because each workflow run has one per node.
#[derive(Clone, Copy, Debug, Default)]
struct NodeState {
    status: Status,
    /// The number of the last run.
    runs: u32,
    /// Whether history answers the current run, so that it does not occupy a slot.
    // R623
    replays: bool,
    pending: Queue,
    order: u64,
}

/// The output and branch of a node's last completed run, for joins and the workflow's output.
#[derive(Clone, Debug, Default)]
struct Kept {
    output: NodeInput,
    branch: Option<Branch>,
}

/// The predecessors of a join that have completed since it last fired.
#[derive(Debug)]
struct Arrivals {
    arrived: Vec<bool>,
    count: usize,
}

impl Schedule {
    /// Starts a run: START triggers its successors with the workflow's input.
    // R621
    pub(crate) fn new(graph: &Graph, limit: Option<usize>, input: NodeInput, branch: Option<Branch>) -> Self {
        let arrivals = |join: &Join| Arrivals { arrived: vec![false; join.awaited.len()], count: 0 };
        let mut schedule = Self {
            nodes: vec![NodeState::default(); graph.nodes.len()],
            joins: graph.joins.iter().map(arrivals).collect(),
            kept: vec![Kept::default(); graph.kept as usize],
            triggers: Triggers::default(),
            ready: BinaryHeap::new(),
            aside: BinaryHeap::new(),
            begun: FxHashMap::default(),
            next_order: 0,
            running: 0,
            limit,
            interrupts: FxHashMap::default(),
            start: Kept { output: input.clone(), branch },
            untaken: Vec::new(),
        };
        let use_sub_branch = graph.start.len() > 1;
        for edge in &graph.start {
            match graph.nodes[edge.to].join {
                Some(join) => schedule.fire_join(graph, edge.to, join, None),
                None => {
                    schedule.push(edge.to, Trigger { input: input.clone(), use_sub_branch, branch: None, by: None })
                }
            }
        }
        schedule
    }

    fn push(&mut self, node: usize, trigger: Trigger) {
        let state = &mut self.nodes[node];
        if state.pending.is_empty() {
            state.order = self.next_order;
            self.next_order += 1;
            self.triggers.push(&mut state.pending, trigger);
            self.offer(node);
        } else {
            self.triggers.push(&mut state.pending, trigger);
        }
    }

    /// Makes a node ready if it has a trigger, is not running and does not wait for an answer.
    // R622
    fn offer(&mut self, node: usize) {
        let state = &self.nodes[node];
        if state.pending.is_empty() {
            return;
        }
        let busy = match state.status {
            Status::Running => true,
            Status::Waiting => self.interrupts.contains_key(&node),
            _ => false,
        };
        if !busy && !self.begun.contains_key(&node) {
            self.ready.push(Reverse((state.order, node)));
        }
    }

    /// Takes the next node to start, with its trigger and run number. While a resume replays, `room` returns whether
    /// a run needs a slot.
    pub(crate) fn next(&mut self, room: Option<impl Fn(usize, u32) -> Room>) -> Option<(usize, Trigger, u32)> {
        let node = match room {
            _ if self.limit.is_none_or(|limit| self.running < limit) => self.first_ready()?,
            Some(room) => self.first_without_room(room)?,
            None => return None,
        };
        let begun = self.begun.remove(&node);
        let state = &mut self.nodes[node];
        let trigger = begun.or_else(|| self.triggers.pop(&mut state.pending))?;
        state.status = Status::Running;
        state.runs += 1;
        self.running += 1;
        Some((node, trigger, state.runs))
    }

    fn first_ready(&mut self) -> Option<usize> {
        // Entries are reversed, so the greater one comes first; `None` is less than every entry.
        let from = if self.aside.peek() > self.ready.peek() { &mut self.aside } else { &mut self.ready };
        from.pop().map(|Reverse((_, node))| node)
    }

    fn first_without_room(&mut self, room: impl Fn(usize, u32) -> Room) -> Option<usize> {
        while let Some(entry) = self.ready.pop() {
            let Reverse((_, node)) = entry;
            match room(node, self.nodes[node].runs + 1) {
                Room::None => return Some(node),
                Room::Again => {
                    let trigger = self.triggers.pop(&mut self.nodes[node].pending)?;
                    self.begun.insert(node, trigger);
                }
                Room::New => {}
            }
            self.aside.push(entry);
        }
        None
    }

    /// Raises the number of a node's runs to `count`. If the node is an agent, transfers can start it as well.
    pub(crate) fn count_runs(&mut self, node: usize, count: u32) {
        let runs = &mut self.nodes[node].runs;
        *runs = count.max(*runs);
    }

    /// Returns `true` if no node is ready.
    pub(crate) fn is_idle(&self) -> bool {
        self.ready.is_empty() && self.aside.is_empty()
    }

    /// Records that history answers the run that was just started.
    pub(crate) fn replays(&mut self, node: usize) {
        self.nodes[node].replays = true;
        self.running -= 1;
    }

    fn stop(&mut self, node: usize, status: Status) {
        if !std::mem::take(&mut self.nodes[node].replays) {
            self.running -= 1;
        }
        self.nodes[node].status = status;
        self.offer(node);
    }

    /// Records that a run failed.
    pub(crate) fn failed(&mut self, node: usize) {
        self.stop(node, Status::Failed);
    }

    /// Records that a run waits for answers. The node does not start again before they arrive.
    // R622
    pub(crate) fn interrupted(&mut self, node: usize, ids: Vec<String>) {
        self.interrupts.insert(node, ids);
        self.stop(node, Status::Waiting);
    }

    /// Records that a run waits for more triggers.
    // R307
    pub(crate) fn waiting(&mut self, node: usize) {
        self.stop(node, Status::Waiting);
    }

    /// Records that a run completed, and triggers its successors with its output.
    pub(crate) fn completed(
        &mut self,
        graph: &Graph,
        node: usize,
        output: NodeInput,
        route: Option<&Route>,
        branch: Option<Branch>,
    ) {
        let graph_node = &graph.nodes[node];
        if let Some(kept) = graph_node.kept {
            self.kept[kept as usize] = Kept { output: output.clone(), branch: branch.clone() };
        }
        self.stop(node, Status::Completed);
        let mut edges = graph.followed(node, route);
        let (mut edge, mut after) = (edges.next(), edges.next());
        if edge.is_none() && !graph.is_terminal(node) {
            self.untaken.push((node, route.cloned()));
        }
        let by = u32::try_from(node).ok();
        let use_sub_branch = after.is_some();
        // After a run that ended on the root branch, successors start on the workflow's branch, as in ADK.
        let trigger = Trigger { input: output, use_sub_branch, branch: branch.map(Some), by };
        while let Some(Edge { to, join_slot, .. }) = edge {
            (edge, after) = (after, edges.next());
            if let Some(join) = graph.nodes[*to].join {
                let arrivals = &mut self.joins[join as usize];
                arrivals.count += usize::from(!std::mem::replace(&mut arrivals.arrived[*join_slot as usize], true));
                self.fire_join(graph, *to, join, by);
            } else if edge.is_some() {
                self.push(*to, trigger.clone());
            } else {
                self.push(*to, trigger);
                return;
            }
        }
    }

    /// Triggers a join once all its predecessors have completed since it last fired.
    // R628
    fn fire_join(&mut self, graph: &Graph, node: usize, join: u32, by: Option<u32>) {
        let Join { awaited, expected } = &graph.joins[join as usize];
        let arrivals = &mut self.joins[join as usize];
        if arrivals.count < *expected {
            return;
        }
        arrivals.arrived.fill(false);
        arrivals.count = 0;
        let mut outputs = Vec::with_capacity(awaited.len());
        let mut branches = Vec::with_capacity(awaited.len());
        for predecessor in awaited {
            let kept = predecessor.node.and_then(|node| graph.nodes[node].kept);
            let Kept { output, branch } = kept.map_or(&self.start, |kept| &self.kept[kept as usize]);
            outputs.push((String::from(predecessor.name.as_str()), joined(output, graph.nodes[node].node.spec())));
            branches.push(branch.as_ref());
        }
        let branch = Some(Branch::common_prefix(branches));
        let input = NodeInput::json(Value::Object(Map::from_iter(outputs)));
        self.push(node, Trigger { input, use_sub_branch: false, branch, by });
    }

    /// Returns the started nodes with their status and open questions.
    pub(crate) fn started(&self) -> impl Iterator<Item = (usize, Status, &[String])> {
        let nodes = self.nodes.iter().enumerate().filter(|(_, state)| state.status != Status::Inactive);
        nodes.map(|(node, state)| {
            let waits = state.status == Status::Waiting;
            let ids = self.interrupts.get(&node).filter(|_| waits);
            (node, state.status, ids.map(Vec::as_slice).unwrap_or_default())
        })
    }

    /// Returns the open questions of all nodes, sorted.
    pub(crate) fn interrupts(&self) -> Vec<String> {
        let mut ids: Vec<String> = self.interrupts.values().flatten().cloned().collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Returns the places where the run stopped before a terminal node. `workflow` is the path of the run.
    pub(crate) fn dead_ends(&self, graph: &Graph, workflow: &NodePath) -> Vec<DeadEnd> {
        let name = |node: usize| graph.nodes[node].node.spec().name.clone();
        let untaken = self.untaken.iter();
        let mut ends: Vec<DeadEnd> =
            untaken.map(|(node, route)| DeadEnd::route(workflow.clone(), name(*node), route.as_ref())).collect();
        let started = self.joins.iter().enumerate().filter(|(_, arrivals)| arrivals.count > 0);
        for (number, arrivals) in started {
            let awaited = graph.joins[number].awaited.iter().zip(&arrivals.arrived);
            let missing = awaited.filter(|(awaited, arrived)| awaited.node.is_some() && !**arrived);
            let missing = missing.map(|(awaited, _)| awaited.name.clone()).collect();
            let join = graph.nodes.iter().position(|node| node.join.is_some_and(|join| join as usize == number));
            let workflow = workflow.clone();
            ends.extend(join.map(|join| DeadEnd::Join { workflow, node: name(join), missing }));
        }
        ends
    }

    /// Returns the outputs of the terminal nodes.
    pub(crate) fn terminal_outputs(&self, graph: &Graph) -> Vec<NodeInput> {
        let kept = graph.terminal.iter().filter_map(|node| graph.nodes[*node].kept);
        let outputs = kept.map(|kept| &self.kept[kept as usize].output);
        outputs.filter(|output| !output.is_null()).cloned().collect()
    }
}

/// Returns an output as a value of a join's map. A join with a schema reads messages with that schema.
// R304, R628
fn joined(output: &NodeInput, join: &NodeSpec) -> Value {
    match (&join.input_schema, output.content()) {
        (Some(schema), Some(content)) if schema.is_enforced() => schema.data_of(content),
        _ => output.to_value(),
    }
}

#[cfg(test)]
mod tests;
