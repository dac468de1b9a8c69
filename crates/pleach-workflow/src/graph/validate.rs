//! The checks of a graph, in ADK's order.
// R610

use std::collections::BTreeMap;

use pleach_context::{AgentMode, Schema};
use smol_str::SmolStr;

use super::compiled::START_NAME;
use super::dead_ends;
use super::draft::{Draft, Link};
use super::error::Fault;
use super::handle::End;

/// Returns all faults of a draft.
pub(crate) fn faults(draft: &Draft) -> Vec<Fault> {
    let mut faults: Vec<Fault> = draft.spec.faults.iter().map(Fault::from).collect();
    faults.extend(draft.nodes.iter().flat_map(|node| node.spec().faults.iter().map(Fault::from)));
    faults.extend(draft.misuses.iter().cloned());
    let checks: [fn(&Draft) -> Vec<Fault>; 12] = [
        duplicate_names,
        missing_start,
        routed_start,
        unreachable,
        start_incoming,
        duplicate_edges,
        default_in_list,
        unconditional_cycle,
        schema_mismatch,
        chat_agent_wiring,
        dead_ends::untaken_routes,
        dead_ends::idle_joins,
    ];
    if !draft.links.is_empty() {
        faults.extend(checks.iter().flat_map(|check| check(draft)));
    }
    faults.extend(undeclared_params(draft));
    faults.extend(too_deep(draft));
    faults
}

/// Limits the nesting: every level needs stack when the workflow runs, is drawn or is dropped.
fn too_deep(draft: &Draft) -> Option<Fault> {
    const MAX_LEVELS: u32 = 128;
    let message =
        format!("Workflows are nested more than {MAX_LEVELS} levels deep. Merge some of them into one graph.");
    (draft.spec.levels > MAX_LEVELS).then(|| Fault::graph("nested_too_deep", message))
}

fn duplicate_names(draft: &Draft) -> Vec<Fault> {
    // START is a node of the graph as well, so no other node may have its name.
    let mut counts = BTreeMap::from([(START_NAME, 1)]);
    for node in &draft.nodes {
        *counts.entry(node.spec().name.clone()).or_insert(0) += 1;
    }
    let doubled: Vec<&SmolStr> = counts.iter().filter(|(_, count)| **count > 1).map(|(name, _)| name).collect();
    if doubled.is_empty() {
        return Vec::new();
    }
    let message = format!(
        "Duplicate node names found: {}. Names are stored in paths and must differ: rename one of each.",
        quoted(&doubled)
    );
    vec![Fault::graph("duplicate_node_names", message)]
}

fn missing_start(draft: &Draft) -> Vec<Fault> {
    let found = draft.links.iter().any(|link| link.from == End::Start || link.to == End::Start);
    if found {
        Vec::new()
    } else {
        vec![Fault::graph(
            "missing_start",
            "START node not found: no edge leaves START. Add one with `wf.edge(START, node)`.",
        )]
    }
}

fn routed_start(draft: &Draft) -> Vec<Fault> {
    let routed = draft.links.iter().filter(|link| link.from == End::Start && link.route.is_some());
    let fault = |link: &Link| {
        format!(
            "Edges from START must not have routes: START -> {}. Use `edge` instead of `route`.",
            draft.name_of(link.to)
        )
    };
    routed.map(|link| Fault::graph("start_edge_route", fault(link))).collect()
}

fn unreachable(draft: &Draft) -> Vec<Fault> {
    let adjacency = draft.adjacency();
    let mut reached = vec![false; draft.nodes.len()];
    let from_start = draft.links.iter().filter(|link| link.from == End::Start);
    let mut open: Vec<End> = from_start.map(|link| link.to).collect();
    while let Some(end) = open.pop() {
        let End::Node { index, .. } = end else { continue };
        if !std::mem::replace(&mut reached[index], true) {
            open.extend(adjacency.out[index].iter().map(|link| link.to));
        }
    }
    let mut lost: Vec<&SmolStr> =
        draft.nodes.iter().zip(&reached).filter(|(_, reached)| !**reached).map(|(node, _)| &node.spec().name).collect();
    lost.sort_unstable();
    if lost.is_empty() {
        return Vec::new();
    }
    vec![Fault::graph(
        "unreachable_node",
        format!(
            "The following nodes are unreachable from START: {}. Add an edge that leads to them, or remove them.",
            quoted(&lost)
        ),
    )]
}

fn start_incoming(draft: &Draft) -> Vec<Fault> {
    let back = draft.links.iter().filter(|link| link.to == End::Start);
    let fault = |link: &Link| {
        format!(
            "START node must not have incoming edges: {} -> START. Lead the edge to the first node instead.",
            draft.name_of(link.from)
        )
    };
    back.map(|link| Fault::graph("start_incoming_edge", fault(link))).collect()
}

fn duplicate_edges(draft: &Draft) -> Vec<Fault> {
    let mut by_pair: BTreeMap<(usize, usize), Vec<&Link>> = BTreeMap::new();
    let mut faults = Vec::new();
    for link in &draft.links {
        let pair = by_pair.entry((place(link.from), place(link.to))).or_default();
        let clash = pair.iter().any(|earlier| match (&earlier.route, &link.route) {
            (Some(a), Some(b)) => a.overlaps(b),
            _ => true,
        });
        if clash {
            let message = format!(
                "Duplicate edge found: {} -> {}. Remove one, or put different routes on the two.",
                draft.name_of(link.from),
                draft.name_of(link.to)
            );
            faults.push(Fault::graph("duplicate_edge", message));
        }
        pair.push(link);
    }
    faults
}

fn place(end: End) -> usize {
    match end {
        End::Start => usize::MAX,
        End::Node { index, .. } => index,
    }
}

fn default_in_list(draft: &Draft) -> Vec<Fault> {
    let mixed = draft.links.iter().filter(|link| link.route.as_ref().is_some_and(super::EdgeRoute::default_in_list));
    let message = |link: &Link| {
        let (from, to) = (draft.name_of(link.from), draft.name_of(link.to));
        format!("DEFAULT_ROUTE cannot be combined with other routes: {from} -> {to}. Add a separate edge for DEFAULT.")
    };
    mixed.map(|link| Fault::graph("default_route_in_list", message(link))).collect()
}

/// A cycle of edges without routes would never end.
fn unconditional_cycle(draft: &Draft) -> Vec<Fault> {
    let plain = |links: &Vec<&Link>| {
        let plain = links.iter().filter(|link| link.route.is_none() && link.to != End::Start);
        plain.map(|link| place(link.to)).collect()
    };
    let next: Vec<Vec<usize>> = draft.adjacency().out.iter().map(plain).collect();
    let mut seen = vec![false; next.len()];
    for start in 0..next.len() {
        if let Some(cycle) = find_cycle(&next, &mut seen, start) {
            let names: Vec<&str> = cycle.iter().map(|index| draft.nodes[*index].spec().name.as_str()).collect();
            let message =
                format!("Unconditional cycle detected: {}. Put a route on one of its edges.", names.join(" -> "));
            return vec![Fault::graph("unconditional_cycle", message)];
        }
    }
    Vec::new()
}

/// Depth-first search without recursion: graphs may be thousands of nodes deep.
fn find_cycle(next: &[Vec<usize>], seen: &mut [bool], start: usize) -> Option<Vec<usize>> {
    let mut path: Vec<(usize, usize)> = vec![(start, 0)];
    let mut on_path = vec![false; next.len()];
    if std::mem::replace(&mut seen[start], true) {
        return None;
    }
    on_path[start] = true;
    while let Some((node, edge)) = path.last_mut() {
        let Some(&to) = next[*node].get(*edge) else {
            on_path[*node] = false;
            path.pop();
            continue;
        };
        *edge += 1;
        if on_path[to] {
            let from = path.iter().position(|(node, _)| *node == to).unwrap_or(0);
            return Some(path[from..].iter().map(|(node, _)| *node).chain([to]).collect());
        }
        if !std::mem::replace(&mut seen[to], true) {
            on_path[to] = true;
            path.push((to, 0));
        }
    }
    None
}

fn schema_mismatch(draft: &Draft) -> Vec<Fault> {
    let node = |end: End| match end {
        End::Node { index, .. } => Some(&draft.nodes[index]),
        End::Start => None,
    };
    let differs = |given: Option<&Schema>, taken: Option<&Schema>| match (given, taken) {
        (Some(given), Some(taken)) => !given.is_same(taken),
        _ => false,
    };
    let mut faults = Vec::new();
    for link in &draft.links {
        let (Some(from), Some(to)) = (node(link.from), node(link.to)) else { continue };
        if differs(from.spec().output_schema.as_ref(), to.spec().input_schema.as_ref()) {
            let message = format!(
                "Schema mismatch on edge {} -> {}. Make the output schema of the first the input schema of the second.",
                from.spec().name,
                to.spec().name
            );
            faults.push(Fault::graph("schema_mismatch", message));
        }
    }
    faults
}

/// An agent that converses continues the session's conversation, so it would not see the output of another node.
// R1201
fn chat_agent_wiring(draft: &Draft) -> Vec<Fault> {
    let mut faults = Vec::new();
    for link in &draft.links {
        let (End::Node { index: from, .. }, End::Node { index: to, .. }) = (link.from, link.to) else { continue };
        let node = &draft.nodes[to];
        if node.agent().is_some_and(|agent| agent.is_llm && agent.mode_below(false) == AgentMode::Chat) {
            let (from, to) = (&draft.nodes[from].spec().name, &node.spec().name);
            let message = format!(
                "Agent '{to}' converses with the user and cannot follow node '{from}', whose output it would not see. Put it directly after START, or set its mode to single_turn or task."
            );
            faults.push(Fault::graph("chat_agent_wiring", message));
        }
    }
    faults
}

/// Every declared state parameter of a node must be a field of the workflow's state schema.
// R164
fn undeclared_params(draft: &Draft) -> Vec<Fault> {
    let Some(schema) = draft.spec.state_schema.as_ref().filter(|schema| schema.is_enforced()) else {
        return Vec::new();
    };
    let mut faults = Vec::new();
    for node in &draft.nodes {
        for key in node.spec().state_params.iter().filter(|key| !key.contains(':')) {
            if schema.fields().iter().any(|field| field.name == *key) {
                continue;
            }
            let message = format!(
                "FunctionNode '{}' parameter '{key}' is not declared in state_schema '{}'. Add the field to the schema, or remove the parameter.",
                node.spec().name,
                schema.name()
            );
            faults.push(Fault { rule: "undeclared_state_param", class: "StateSchemaError", message });
        }
    }
    faults
}

fn quoted(names: &[&SmolStr]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    format!("[{}]", names.join(", "))
}
