//! Describes the structure of an app for the UI's graph: agents, nodes and edges.
// H105

use pleach_context::{AgentMode, AgentSpec, Confirmation, GraphOutline, Instruction, Node, NodeKind, NodeSpec};
use pleach_core::{Map, RouteKey};
use pleach_runner::Runner;
use serde_json::{Value, json};

use super::traces;

/// The name of START in graphs.
pub(super) const START: &str = "__START__";

/// The position of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    Root,
    /// Below an LLM agent.
    SubAgent,
    /// Below an agent that runs its sub-agents in a fixed way, without a model.
    Step,
    Graph,
}

/// Describes an app.
pub(super) fn describe(runner: &Runner) -> Value {
    let mut app = json!({ "name": runner.app_name().as_str(), "root_agent": node(&**runner.root(), Position::Root) });
    let plugins: Vec<Value> =
        runner.plugin_names().filter(|name| *name != traces::PLUGIN).map(|name| json!({ "name": name })).collect();
    if !plugins.is_empty() {
        app["plugins"] = plugins.into();
    }
    if runner.is_resumable() {
        app["resumability_config"] = json!({ "is_resumable": true });
    }
    app
}

fn node(node: &dyn Node, position: Position) -> Map {
    let spec = node.spec();
    let mut map = declared(spec);
    if let Some(agent) = node.agent() {
        add_agent(&mut map, agent, position);
    }
    if spec.kind == NodeKind::Workflow {
        let outline = node.outline().graph.unwrap_or_default();
        map.insert("edges".into(), configured(node, &outline).into());
        map.insert("graph".into(), graph(node, &outline));
    }
    map
}

/// Returns the settings that every node declares.
fn declared(spec: &NodeSpec) -> Map {
    let mut map = Map::from_iter([
        ("name".to_owned(), Value::from(spec.name.as_str())),
        ("description".to_owned(), Value::from(spec.description.as_str())),
        ("rerun_on_resume".to_owned(), Value::from(spec.rerun_on_resume)),
        ("wait_for_output".to_owned(), Value::from(spec.wait_for_output)),
    ]);
    if let Some(Ok(retry)) = spec.retry.as_ref().map(serde_json::to_value) {
        map.insert("retry_config".into(), without_nulls(retry));
    }
    if let Some(routes) = spec.routes {
        map.insert("routes".into(), routes.into());
    }
    if let Some(timeout) = spec.timeout {
        map.insert("timeout".into(), timeout.as_secs_f64().into());
    }
    map
}

fn add_agent(map: &mut Map, agent: &AgentSpec, position: Position) {
    let in_graph = position == Position::Graph;
    // The mode that an agent has as a graph node applies only in the graph.
    let mode = match position {
        Position::SubAgent | Position::Graph => Some(agent.mode_below(false)),
        Position::Root | Position::Step => agent.mode,
    };
    let below = if agent.is_llm { Position::SubAgent } else { Position::Step };
    let sub_agents: Vec<Value> = agent.sub_agents.iter().map(|sub| node(&**sub, below).into()).collect();
    map.insert("rerun_on_resume".into(), (in_graph && agent.is_llm).into());
    let waits = in_graph && agent.is_llm && mode != Some(AgentMode::SingleTurn);
    map.insert("wait_for_output".into(), waits.into());
    map.insert("sub_agents".into(), sub_agents.into());
    if agent.is_llm {
        add_llm_agent(map, agent, mode);
        let sees_nothing = in_graph && mode == Some(AgentMode::SingleTurn);
        map.insert("include_contents".into(), if sees_nothing { "none" } else { "default" }.into());
    }
    map.extend(agent.settings.clone());
}

fn add_llm_agent(map: &mut Map, agent: &AgentSpec, mode: Option<AgentMode>) {
    let tools: Vec<Value> = tool_names(agent).map(|name| json!({ "name": name, "type": "tool" })).collect();
    let model = agent.model.as_ref().map_or("", |model| model.name());
    map.insert("model".into(), model.into());
    for (key, instruction) in [("instruction", &agent.instruction), ("global_instruction", &agent.global_instruction)] {
        match instruction {
            Some(Instruction::Template(text)) => map.insert(key.into(), text.as_ref().into()),
            Some(Instruction::Provider(_)) => None,
            None => map.insert(key.into(), "".into()),
        };
    }
    map.insert("tools".into(), tools.into());
    if let Some(mode) = mode {
        let mode = match mode {
            AgentMode::Chat => "chat",
            AgentMode::Task => "task",
            AgentMode::SingleTurn => "single_turn",
        };
        map.insert("mode".into(), mode.into());
    }
    map.insert("disallow_transfer_to_parent".into(), agent.disallow_transfer_to_parent.into());
    map.insert("disallow_transfer_to_peers".into(), agent.disallow_transfer_to_peers.into());
}

/// Returns the names of an agent's tools and toolsets, without the tools that call a sub-agent.
pub(super) fn tool_names(agent: &AgentSpec) -> impl Iterator<Item = &str> {
    let is_sub_agent = |name: &str| agent.sub_agents.iter().any(|sub| sub.spec().name == name);
    // The tools of a toolset are known only in an invocation.
    let toolsets = agent.toolsets.iter().map(|set| set.name());
    agent.tools.iter().map(|tool| tool.name()).chain(toolsets).filter(move |name| !is_sub_agent(name))
}

/// Describes a node of a graph, with its type.
fn member(workflow: &dyn Node, graph: &GraphOutline, place: usize) -> Value {
    let Some(inner) = workflow.child(&graph.nodes[place].name) else {
        return json!({ "name": graph.nodes[place].name.as_str(), "type": "node" });
    };
    let mut map = node(inner, Position::Graph);
    let kind = match inner.spec().kind {
        NodeKind::Function => {
            // If a function decides whether to ask, there is no fixed value to show.
            let asks = match inner.spec().confirmation {
                Confirmation::Never => Some(false),
                Confirmation::Always => Some(true),
                Confirmation::Conditional => None,
            };
            map.extend(asks.map(|asks| ("require_confirmation".to_owned(), asks.into())));
            map.insert("parameter_binding".into(), "state".into());
            "function"
        }
        NodeKind::Tool => "tool",
        NodeKind::Join => "join",
        NodeKind::Workflow => "workflow",
        NodeKind::Agent => "agent",
        NodeKind::Plain => "node",
    };
    map.insert("type".into(), kind.into());
    map.into()
}

fn graph(workflow: &dyn Node, graph: &GraphOutline) -> Value {
    let start = json!({ "name": START, "type": "start", "rerun_on_resume": false });
    let members: Vec<Value> = (0..graph.nodes.len()).map(|place| member(workflow, graph, place)).collect();
    let edges = graph.edges.iter().map(|edge| {
        let from = edge.from.map_or(&start, |from| &members[from]);
        let mut map = json!({ "from_node": from, "to_node": members[edge.to] });
        match edge.on.as_slice() {
            [] => {}
            [key] => map["route"] = route(key),
            keys => map["route"] = keys.iter().map(route).collect(),
        }
        map
    });
    let edges: Vec<Value> = edges.collect();
    let nodes: Vec<Value> = std::iter::once(start).chain(members).collect();
    json!({ "nodes": nodes, "edges": edges })
}

fn route(key: &RouteKey) -> Value {
    match key {
        RouteKey::Str(text) => text.as_str().into(),
        RouteKey::Int(number) => (*number).into(),
        RouteKey::Bool(truth) => (*truth).into(),
    }
}

/// Returns the edges as google-adk's `Workflow` accepts them: chains of nodes, and maps from a route to the node that
/// it leads to.
fn configured(workflow: &dyn Node, graph: &GraphOutline) -> Vec<Value> {
    let item = |place: usize| match &graph.nodes[place] {
        function if function.kind == NodeKind::Function => {
            json!({ "name": function.name.as_str(), "type": "function" })
        }
        _ => member(workflow, graph, place),
    };
    let mut rows: Vec<Row> = Vec::new();
    for edge in &graph.edges {
        let row = match rows.last_mut() {
            Some(row) if row.continues(edge.from, !edge.on.is_empty()) => row,
            _ => {
                rows.push(Row { first: edge.from, ..Row::default() });
                let row = rows.last_mut().expect("a row was added");
                row.items.push(edge.from.map_or_else(|| "START".into(), item));
                row
            }
        };
        if edge.on.is_empty() {
            row.items.push(item(edge.to));
            row.last = Some(edge.to);
        } else {
            let targets = edge.on.iter().map(|key| (key.to_string(), item(edge.to)));
            row.routes.extend(targets);
        }
    }
    rows.into_iter().map(Row::into_value).collect()
}

/// One entry of this list: a chain of nodes, or one node and the nodes that its routes lead to.
#[derive(Default)]
struct Row {
    first: Option<usize>,
    items: Vec<Value>,
    /// The last node of the chain.
    last: Option<usize>,
    routes: Map,
}

impl Row {
    fn continues(&self, from: Option<usize>, is_routed: bool) -> bool {
        if is_routed { !self.routes.is_empty() && self.first == from } else { self.last.is_some() && self.last == from }
    }

    fn into_value(mut self) -> Value {
        if !self.routes.is_empty() {
            self.items.push(self.routes.into());
        }
        self.items.into()
    }
}

fn without_nulls(mut value: Value) -> Value {
    if let Value::Object(map) = &mut value {
        map.retain(|_, member| !member.is_null());
    }
    value
}
