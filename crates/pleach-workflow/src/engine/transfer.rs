//! Transfers between agents: decides which agent runs next, and at which place in the tree of runs.
// R204, R708, L140, L141

use std::ops::Deref;
use std::sync::Arc;

use pleach_context::engine::{ChildSetup, NodeEnd, NodeResult, RunHandle, RunResult};
use pleach_context::{AgentMode, AgentSpec, ChildFailure, Node, NodeError, NodeInput};
use pleach_core::{BoxFuture, NodePath};
use smol_str::{SmolStr, format_smolstr};

use super::RunSetup;
use super::child_run::run_one;
use super::run_setup::{CallerChoice, task_scope};

/// The agents from the root of a tree, or from the agent that was called, down to the agent that runs.
pub(super) struct Transfers<'a> {
    agents: Vec<Place<'a>>,
    /// The agent that has called the first one.
    caller: Option<Arc<AgentSpec>>,
    /// The options that the caller of the first one has chosen.
    choice: CallerChoice,
    /// The number of runs directly below the caller.
    called: u32,
    /// The node that the first agent runs as, once its run has ended.
    node: Option<AgentNodeRuns>,
    /// The paths of all runs.
    paths: Vec<NodePath>,
}

/// The runs of an agent that a graph or a body runs as a node.
struct AgentNodeRuns {
    /// The context of the first run. It notes the event that decides when the node's end is handled.
    own: RunHandle,
    /// The paths of the runs.
    runs: Vec<NodePath>,
    /// Whether the agent answers only once. If so, the last agent answers for it.
    answers_once: bool,
}

/// An agent and its place in the tree of runs.
struct Place<'a> {
    node: AgentNode<'a>,
    /// The context under which the agent runs.
    above: RunHandle,
    /// The context of its last run, under which its sub-agents run.
    own: Option<RunHandle>,
}

/// The node of an agent.
enum AgentNode<'a> {
    Given(&'a dyn Node),
    /// A sub-agent of an agent above it.
    Sub(Arc<dyn Node>),
}

impl Deref for AgentNode<'_> {
    type Target = dyn Node;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Given(node) => *node,
            Self::Sub(node) => &**node,
        }
    }
}

/// The effect of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferStep {
    /// The agent runs one of its sub-agents.
    Down,
    /// The agent's parent runs again.
    Up,
    /// The agent's parent runs another of its sub-agents.
    Beside,
}

impl<'a> Transfers<'a> {
    /// Begins with an agent that `above` runs.
    pub(super) fn from(above: &RunHandle, node: &'a dyn Node) -> Self {
        Self::of(Place { node: AgentNode::Given(node), above: above.clone(), own: None })
    }

    fn of(first: Place<'a>) -> Self {
        let caller = first.node.agent().and_then(|spec| spec.parent());
        let caller = caller.filter(|caller| first.above.event_author() == caller.name);
        Self { agents: vec![first], caller, choice: CallerChoice::default(), called: 1, node: None, paths: Vec::new() }
    }

    /// Begins with the agent below the root agent that `entry` leads to. Its path is the same as after transfers from
    /// the root.
    pub(super) fn entering(root: &RunHandle, node: &'a dyn Node, entry: &[SmolStr]) -> Self {
        let mut this = Self::from(root, node);
        for name in entry {
            let Some(sub) = this.last().sub_agent(name) else { break };
            let above = this.last().context();
            this.last().own = Some(above.clone());
            this.agents.push(Place { node: sub, above, own: None });
        }
        this
    }

    fn last(&mut self) -> &mut Place<'a> {
        self.agents.last_mut().unwrap_or_else(|| unreachable!("the first agent is never removed"))
    }

    /// Runs the last agent at its next path, and then the agents that it transfers to.
    pub(super) async fn enter(&mut self, input: NodeInput) -> RunResult {
        let setup = self.next_setup();
        let end = self.run_last(input.clone(), setup).await?;
        self.follow(input, end).await
    }

    /// Runs the first agent, and then the agents that it transfers to. If a body runs the first agent, it is treated
    /// as a node of a graph. If another agent calls it, the rules of the call apply.
    // L141
    pub(super) async fn run(mut self, input: NodeInput, mut setup: RunSetup) -> RunResult {
        if let Some(choice) = setup.choice.take() {
            self.choice = *choice;
        }
        let end = self.run_last(input.clone(), setup).await?;
        if !matches!(&end, NodeEnd::Done(result) if result.transfer_to_agent.is_some()) {
            return Ok(end);
        }
        if self.caller.is_some() {
            return self.follow(input, end).await;
        }
        let own = self.last().context();
        let is_task = self.last().node.agent().is_some_and(|agent| agent.mode == Some(AgentMode::Task));
        Ok(match self.follow_as_node(own, input, end).await? {
            NodeEnd::Done(result) => NodeEnd::of_body(result, is_task),
            end => end,
        })
    }

    /// Runs the agents that the first one transfers to. `own` is the context of the first one's run, which has ended.
    async fn follow_as_node(&mut self, own: RunHandle, input: NodeInput, end: NodeEnd) -> RunResult {
        // All agents that work on a task share its conversation, and all agents of a lane share the lane's.
        self.choice.isolation_scope = own.isolation_scope();
        self.choice.override_branch = Some(own.branch());
        self.choice.use_sub_branch = false;
        self.node = Some(AgentNodeRuns {
            runs: vec![own.node_path().clone()],
            answers_once: self
                .last()
                .node
                .agent()
                .is_some_and(|agent| agent.mode_below(false) == AgentMode::SingleTurn),
            own,
        });
        self.follow(input, end).await
    }

    /// Runs the agents that the last agent transfers to, after it has ended.
    async fn follow(&mut self, input: NodeInput, mut end: NodeEnd) -> RunResult {
        while let NodeEnd::Done(result @ NodeResult { transfer_to_agent: Some(target), .. }) = &end {
            let called = self.agents.iter().filter_map(|place| place.node.agent());
            let agents: Vec<_> = self.caller.iter().chain(called).collect();
            let step = match transfer_step(&agents, target) {
                Ok(step) => step,
                Err(error) => return Err(self.refuse(error).await),
            };
            match (step, self.agents.len()) {
                (TransferStep::Down, _) => self.push(target),
                // The caller is waiting for this end and continues.
                (TransferStep::Up, 1) => {
                    return Ok(NodeEnd::Done(NodeResult { branch: result.branch.clone(), ..NodeResult::default() }));
                }
                (TransferStep::Beside, 1) => self.replace_first(target),
                (TransferStep::Up, _) => drop(self.agents.pop()),
                (TransferStep::Beside, _) => {
                    self.agents.pop();
                    self.push(target);
                }
            }
            let setup = self.next_setup();
            end = self.run_last(input.clone(), setup).await?;
        }
        Ok(end)
    }

    /// Returns the failure of a refused transfer. If the agent runs as a node, it leaves an error event, as every
    /// failure of a node does.
    async fn refuse(&mut self, error: NodeError) -> ChildFailure {
        let own = self.last().context();
        if self.node.is_some() {
            own.deliver_failure(&error).await;
        }
        ChildFailure { error, path: own.node_path().clone() }
    }

    /// Returns the setup of the next run of the last agent.
    fn next_setup(&mut self) -> RunSetup {
        let choice = self.choice.clone();
        // The run ids below a caller derive from its call, so the ids of two calls differ, even in a later process.
        let call = choice.run_id.filter(|_| self.agents.len() == 1);
        let run_id = call.map(|id| {
            self.called += 1;
            format_smolstr!("{id}+{}", self.called)
        });
        let above = self.last().above.clone();
        let path = self.last().next_path(run_id.as_deref());
        let branch = self.choice.branch(&above, &path);
        if let Some(node) = self.node.as_mut().filter(|_| self.agents.len() == 1) {
            node.runs.push(path.clone());
        }
        RunSetup {
            branch,
            path,
            isolation_scope: choice.isolation_scope,
            follows_transfer: true,
            output_for: self.output_for(),
            answers_for: self.answers_for(),
            ..RunSetup::default()
        }
    }

    fn answers_for(&self) -> Option<Arc<[NodePath]>> {
        self.node.as_ref().filter(|node| node.answers_once).map(|node| Arc::from(&*node.runs))
    }

    /// Returns the runs that the last agent's output belongs to, if that agent runs again as the graph node or
    /// answers for it.
    fn output_for(&self) -> Option<Arc<[NodePath]>> {
        match &self.node {
            Some(node) if self.agents.len() == 1 => node.own.output_for(),
            Some(node) if node.answers_once => Some(node.own.output_for_of_child()),
            _ => None,
        }
    }

    async fn run_last(&mut self, input: NodeInput, setup: RunSetup) -> RunResult {
        if self.paths.contains(&setup.path) {
            let error = NodeError::data(format!("An earlier run of the agent already has the path '{}'.", setup.path));
            return Err(ChildFailure { error, path: setup.path });
        }
        self.paths.push(setup.path.clone());
        let place = self.last();
        let own = place.context_of(&setup);
        let end = run_one(&place.above, &*place.node, input, setup).await?;
        place.own = Some(own);
        // The agents above may have ended before, but the runs that contain them end after this one.
        if let Some(last) = place.above.last_event() {
            self.agents.iter().for_each(|place| place.above.note_event(last));
            self.node.iter().for_each(|node| node.own.note_event(last));
        }
        Ok(end)
    }

    fn replace_first(&mut self, peer: &str) {
        let peer = self.caller.as_ref().and_then(|caller| caller.sub_agent(peer)).cloned();
        if let Some(peer) = peer {
            self.last().node = AgentNode::Sub(peer);
        }
    }

    fn push(&mut self, name: &str) {
        let place = self.last();
        if let Some(node) = place.sub_agent(name) {
            let above = place.context();
            self.agents.push(Place { node, above, own: None });
        }
    }
}

/// Runs the agents that an agent of a graph transfers to. `own` is the context of that agent's run, which has ended.
/// After that, an agent that converses waits for the next message of the user, and a task that is not finished waits
/// as well. An agent that answers once ends with the answer of the last agent.
// L180
pub(super) fn follow_in_graph<'a>(
    node: &'a dyn Node,
    own: RunHandle,
    input: NodeInput,
    end: NodeEnd,
) -> BoxFuture<'a, RunResult> {
    Box::pin(async move {
        let above = own.parent().cloned().unwrap_or_else(|| own.clone());
        let path = own.node_path();
        if let Ok(run) = path.run_id().parse() {
            above.count_child(&node.spec().name, run);
        }
        let first = Place { node: AgentNode::Given(node), above, own: Some(own.clone()) };
        let end = Transfers::of(first).follow_as_node(own, input, end).await?;
        Ok(match end {
            NodeEnd::Done(_) if node.agent().is_some_and(|agent| agent.converses()) => NodeEnd::Waiting,
            NodeEnd::Done(result) => NodeEnd::of_body(result, node.spec().wait_for_output),
            end => end,
        })
    })
}

/// Decides the effect of a transfer by the last of these agents. Each agent is a sub-agent of the previous one.
///
/// # Errors
/// A `WorkflowDataError` for an agent that the last one must not transfer to, a `ValueError` for an agent that it
/// cannot reach.
pub fn transfer_step(agents: &[&Arc<AgentSpec>], target: &str) -> Result<TransferStep, NodeError> {
    let mut from_last = agents.iter().rev();
    let refused = |why: String| Err(NodeError::value(why));
    let Some(own) = from_last.next() else { return refused(unknown(target)) };
    if own.name == target {
        return Err(NodeError::data(format!("Agent '{target}' cannot transfer to itself.")));
    }
    if own.sub_agent(target).is_some() {
        return Ok(TransferStep::Down);
    }
    let Some(parent) = from_last.next().filter(|parent| parent.is_llm) else { return refused(unknown(target)) };
    if parent.name == target {
        return if own.disallow_transfer_to_parent {
            Err(forbidden(&own.name, "parent", target))
        } else {
            Ok(TransferStep::Up)
        };
    }
    match parent.sub_agent(target) {
        Some(_) if own.disallow_transfer_to_peers => Err(forbidden(&own.name, "peer", target)),
        Some(_) => Ok(TransferStep::Beside),
        None => refused(unknown(target)),
    }
}

fn forbidden(agent: &str, relation: &str, target: &str) -> NodeError {
    let setting = if relation == "parent" { "disallow_transfer_to_parent" } else { "disallow_transfer_to_peers" };
    NodeError::data(format!("Cannot transfer from '{agent}' to {relation} agent '{target}': {setting} is set."))
}

fn unknown(target: &str) -> String {
    format!("Transfer target agent '{target}' not found.")
}

impl<'a> Place<'a> {
    fn sub_agent(&self, name: &str) -> Option<AgentNode<'a>> {
        let sub = match &self.node {
            AgentNode::Given(node) => AgentNode::Given(&**node.agent()?.sub_agent(name)?),
            AgentNode::Sub(node) => AgentNode::Sub(Arc::clone(node.agent()?.sub_agent(name)?)),
        };
        Some(sub)
    }

    /// Returns the path of the agent's next run.
    fn next_path(&self, run_id: Option<&str>) -> NodePath {
        self.above.next_child_path(&self.node.spec().name, run_id)
    }

    /// Returns a context for the runs below the agent.
    fn context_of(&self, setup: &RunSetup) -> RunHandle {
        let spec = self.node.spec();
        let isolation_scope = setup.isolation_scope.clone().or_else(|| task_scope(&*self.node, &setup.path));
        let (path, branch) = (setup.path.clone(), setup.branch.clone());
        let (answers_for, output_for) = (setup.answers_for.clone(), setup.output_for.clone());
        let child = ChildSetup { path, branch, isolation_scope, answers_for, output_for, ..ChildSetup::default() };
        self.above.child(spec, setup.name.as_ref().unwrap_or(&spec.name), child)
    }

    /// Returns the context of the agent's last run, or the context of its next run if it has not run yet.
    fn context(&self) -> RunHandle {
        self.own.clone().unwrap_or_else(|| {
            let setup = RunSetup { path: self.next_path(None), branch: self.above.branch(), ..RunSetup::default() };
            self.context_of(&setup)
        })
    }
}
