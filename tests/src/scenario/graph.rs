//! Workflows: nodes and the edges between them.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Context as _;
use pleach::{Dynamic, EdgeRoute, Node, NodeRef, Route, START, Schema, Workflow, WorkflowBuilder};
use serde_json::Value;

use super::described::{Described, Refusal};
use super::world::World;

/// Builds a workflow.
pub(super) fn build(described: &Described<'_>, world: &Arc<World>) -> Result<Arc<dyn Node>, Refusal> {
    write(described, settings(described)?, world)
}

/// Builds a workflow whose input has this schema.
pub(super) fn build_with_input(
    described: &Described<'_>,
    schema: Schema,
    world: &Arc<World>,
) -> Result<Arc<dyn Node>, Refusal> {
    let mut wf = settings(described)?;
    wf.input_schema(schema);
    write(described, wf, world)
}

/// Returns true if the first node of a workflow takes an object.
pub(super) fn takes_object(described: &Described<'_>) -> bool {
    let edges = described.get("edges").and_then(Value::as_array).into_iter().flatten();
    let begins = |edge: &&Value| edge.get(0).or_else(|| edge.get("from")).and_then(Value::as_str) == Some("START");
    let first = edges.filter(begins).find_map(|edge| edge.get(1).or_else(|| edge.get("to"))?.as_str());
    let node = first.and_then(|key| described.get("nodes")?.get(key));
    node.and_then(|node| node.get("input_type")).and_then(Value::as_str) == Some("dict")
}

fn write(described: &Described<'_>, wf: WorkflowBuilder, world: &Arc<World>) -> Result<Arc<dyn Node>, Refusal> {
    let mut graph = GraphWriter { nodes: members(described, world)?, known: Vec::new(), wf };
    for item in described.get("edges").and_then(Value::as_array).into_iter().flatten() {
        match item {
            Value::Array(chain) => graph.chain(chain)?,
            edge => graph.edge(edge)?,
        }
    }
    Ok(Arc::new(graph.wf.build()?))
}

fn members(described: &Described<'_>, world: &Arc<World>) -> Result<BTreeMap<String, Arc<dyn Node>>, Refusal> {
    let nodes = described.get("nodes").and_then(Value::as_object).into_iter().flatten();
    nodes.map(|(key, node)| Ok((key.clone(), world.build(node, Some(key))?))).collect()
}

fn settings(described: &Described<'_>) -> anyhow::Result<WorkflowBuilder> {
    let mut wf = Workflow::builder(described.name());
    if let Some(limit) = described.get("max_concurrency").filter(|limit| !limit.is_null()) {
        let limit = limit.as_u64().and_then(|limit| usize::try_from(limit).ok());
        wf.max_concurrency(limit.context("`max_concurrency` is a number of nodes")?);
    }
    if let Some(policy) = described.retry()? {
        wf.retry(policy);
    }
    if let Some(limit) = described.timeout()? {
        wf.timeout(limit);
    }
    if let Some(schema) = described.schema("input_schema")? {
        wf.input_schema(schema);
    }
    if let Some(schema) = described.schema("output_schema")? {
        wf.output_schema(schema);
    }
    if let Some(schema) = described.schema("state_schema")? {
        wf.state_schema(schema);
    }
    Ok(wf)
}

/// An end of an edge.
#[derive(Clone, Copy)]
enum End {
    Start,
    Node(NodeRef<Dynamic, Dynamic>),
}

/// An element of a chain.
enum Element {
    Ends(Vec<End>),
    Routes(Vec<(EdgeRoute, Vec<End>)>),
}

/// Adds nodes and edges to a graph. A node belongs to the graph once an edge mentions it.
struct GraphWriter {
    nodes: BTreeMap<String, Arc<dyn Node>>,
    known: Vec<(Arc<dyn Node>, NodeRef<Dynamic, Dynamic>)>,
    wf: WorkflowBuilder,
}

impl GraphWriter {
    /// The end that a key names. Two keys of one library node are the same node.
    fn end(&mut self, key: &Value) -> anyhow::Result<End> {
        let key = key.as_str().with_context(|| format!("{key} is not the key of a node"))?;
        if key == "START" {
            return Ok(End::Start);
        }
        let node = self.nodes.get(key).with_context(|| format!("an edge names the unknown node `{key}`"))?;
        if let Some((_, handle)) = self.known.iter().find(|(known, _)| Arc::ptr_eq(known, node)) {
            return Ok(End::Node(*handle));
        }
        let handle = self.wf.add_dynamic(Arc::clone(node));
        self.known.push((Arc::clone(node), handle));
        Ok(End::Node(handle))
    }

    /// One key, or a list of keys.
    fn ends(&mut self, keys: &Value) -> anyhow::Result<Vec<End>> {
        match keys {
            Value::Array(keys) => keys.iter().map(|key| self.end(key)).collect(),
            key => Ok(vec![self.end(key)?]),
        }
    }

    fn link(&mut self, from: End, to: End, route: Option<EdgeRoute>) {
        let wf = &mut self.wf;
        match (from, to, route) {
            (End::Start, End::Start, None) => wf.edge(START, START),
            (End::Start, End::Node(to), None) => wf.edge(START, to),
            (End::Node(from), End::Start, None) => wf.edge(from, START),
            (End::Node(from), End::Node(to), None) => wf.edge(from, to),
            (End::Start, End::Start, Some(on)) => wf.route(START, on, START),
            (End::Start, End::Node(to), Some(on)) => wf.route(START, on, to),
            (End::Node(from), End::Start, Some(on)) => wf.route(from, on, START),
            (End::Node(from), End::Node(to), Some(on)) => wf.route(from, on, to),
        };
    }

    fn edge(&mut self, edge: &Value) -> anyhow::Result<()> {
        let at = |key: &str| edge.get(key).with_context(|| format!("edge {edge} has no `{key}`"));
        let (from, to) = (self.end(at("from")?)?, self.end(at("to")?)?);
        let on = edge.get("route").filter(|on| !on.is_null()).map(route).transpose()?;
        self.link(from, to, on);
        Ok(())
    }

    fn element(&mut self, element: &Value) -> anyhow::Result<Element> {
        let Some(map) = element.get("routes") else { return Ok(Element::Ends(self.ends(element)?)) };
        let mut routes = Vec::new();
        for entry in map.as_array().context("`routes` is a list of pairs")? {
            let (on, to) = entry.get(0).zip(entry.get(1)).context("`routes` holds pairs of a route and targets")?;
            routes.push((route(on)?, self.ends(to)?));
        }
        Ok(Element::Routes(routes))
    }

    fn chain(&mut self, chain: &[Value]) -> Result<(), Refusal> {
        let mut from: Option<Element> = None;
        for element in chain {
            let to = self.element(element)?;
            if let Some(from) = from {
                self.step_of_chain(from, &to)?;
            }
            from = Some(to);
        }
        Ok(())
    }

    /// Adds the edges from one element of a chain to the next: every pair, ordered by the first node.
    fn step_of_chain(&mut self, from: Element, to: &Element) -> Result<(), Refusal> {
        match (from, to) {
            // The builder has no chains, so this mistake in the chain notation is detected here.
            (Element::Routes(_), Element::Routes(_)) => Err(Refusal::Construction {
                class: "WorkflowConfigurationError".to_owned(),
                rule: "consecutive_routing_maps".to_owned(),
                message: "Consecutive routing maps are not allowed in a chain.".to_owned(),
            }),
            (Element::Ends(from), Element::Routes(routes)) => {
                for from in from {
                    self.routed(from, routes);
                }
                Ok(())
            }
            (Element::Routes(routes), Element::Ends(to)) => {
                self.every_pair(routes.into_iter().flat_map(|(_, ends)| ends), to);
                Ok(())
            }
            (Element::Ends(from), Element::Ends(to)) => {
                self.every_pair(from, to);
                Ok(())
            }
        }
    }

    fn routed(&mut self, from: End, routes: &[(EdgeRoute, Vec<End>)]) {
        if routes.is_empty() {
            // The builder gets the empty map, so that the builder reports it.
            let nothing: [(EdgeRoute, NodeRef<Dynamic, Dynamic>); 0] = [];
            match from {
                End::Start => self.wf.routes(START, nothing),
                End::Node(from) => self.wf.routes(from, nothing),
            };
        }
        for (on, targets) in routes {
            for to in targets {
                self.link(from, *to, Some(on.clone()));
            }
        }
    }

    fn every_pair(&mut self, from: impl IntoIterator<Item = End>, to: &[End]) {
        for from in from {
            for to in to {
                self.link(from, *to, None);
            }
        }
    }
}

fn route(value: &Value) -> anyhow::Result<EdgeRoute> {
    let route: Route = serde_json::from_value(value.clone()).with_context(|| format!("{value} is not a route"))?;
    Ok(route.into())
}
