//! Checks for places where every run stops before a terminal node: routes without an edge, and joins that never run.

use std::collections::BTreeMap;

use pleach_context::NodeKind;

use super::draft::{Adjacency, Draft, Link};
use super::edge::EdgeRoute;
use super::error::Fault;
use super::handle::End;

/// Reports routes that a node can choose but no edge takes.
pub(super) fn untaken_routes(draft: &Draft) -> Vec<Fault> {
    let adjacency = draft.adjacency();
    let mut faults = Vec::new();
    for (node, out) in draft.nodes.iter().zip(&adjacency.out) {
        let takes_all = |link: &&Link| matches!(link.route, None | Some(EdgeRoute::Default));
        if out.is_empty() || out.iter().any(takes_all) {
            continue;
        }
        for route in node.spec().routes.into_iter().flatten() {
            let wanted = EdgeRoute::from(*route);
            if out.iter().any(|link| link.route.as_ref().is_some_and(|on| on.overlaps(&wanted))) {
                continue;
            }
            let message = format!(
                "Node '{}' can choose route '{route}', which no edge takes: add an edge for it or a DEFAULT edge.",
                node.spec().name
            );
            faults.push(Fault::graph("untaken_route", message));
        }
    }
    faults
}

/// Reports joins that never run: two of their predecessors exclude each other, because they follow different routes
/// of a node that runs at most once.
pub(super) fn idle_joins(draft: &Draft) -> Vec<Fault> {
    let adjacency = draft.adjacency();
    let is_join = |index: &usize| draft.nodes[*index].spec().kind == NodeKind::Join;
    (0..draft.nodes.len()).filter(is_join).filter_map(|join| idle_join(draft, &adjacency, join)).collect()
}

fn idle_join(draft: &Draft, adjacency: &Adjacency<'_>, join: usize) -> Option<Fault> {
    /// The number of following predecessors that each one is compared with; keeps the check of wide joins linear.
    const NEIGHBOURS: usize = 64;
    let mut by_predecessor: BTreeMap<usize, Vec<JoinPath<'_>>> = BTreeMap::new();
    for link in &adjacency.into[join] {
        if let End::Node { index, .. } = link.from {
            by_predecessor.entry(index).or_default().push(join_path(adjacency, link));
        }
    }
    let paths: Vec<(usize, Vec<JoinPath<'_>>)> = by_predecessor.into_iter().collect();
    let (one, other, at) = paths.iter().enumerate().find_map(|(place, (one, paths_of_one))| {
        paths[place + 1..].iter().take(NEIGHBOURS).find_map(|(other, paths_of_other)| {
            let at = deciding_node(draft, paths_of_one, paths_of_other)?;
            Some((*one, *other, at))
        })
    })?;
    let name = |index: usize| &draft.nodes[index].spec().name;
    let message = format!(
        "Join '{}' can never run: it waits for '{}' and '{}', but node '{}' routes to only one of them. Use a plain node instead of the join.",
        name(join),
        name(one),
        name(other),
        name(at)
    );
    Some(Fault::graph("idle_join", message))
}

/// The edges from START to a join through one predecessor. Empty if a node on the path has several incoming edges, so
/// that it may run more than once.
type JoinPath<'a> = Vec<&'a Link>;

fn join_path<'a>(adjacency: &Adjacency<'a>, last: &'a Link) -> JoinPath<'a> {
    /// Longer paths are not checked.
    const MAX_LENGTH: usize = 64;
    let mut links = vec![last];
    let mut from = last.from;
    while let End::Node { index, .. } = from {
        match adjacency.into[index].as_slice() {
            [only] if links.len() < MAX_LENGTH => {
                links.push(only);
                from = only.from;
            }
            _ => return Vec::new(),
        }
    }
    links.reverse();
    links
}

/// Returns the node whose choice excludes one of two predecessors, if every path to one excludes every path to the
/// other.
fn deciding_node(draft: &Draft, ones: &[JoinPath<'_>], others: &[JoinPath<'_>]) -> Option<usize> {
    let mut at = None;
    for one in ones {
        for other in others {
            at = Some(diverging_node(draft, one, other)?);
        }
    }
    at
}

/// Returns the node at which two paths diverge, if a run of it follows only one of them.
fn diverging_node(draft: &Draft, one: &[&Link], other: &[&Link]) -> Option<usize> {
    let (a, b) = one.iter().zip(other).find(|(a, b)| !std::ptr::eq(**a, **b))?;
    let End::Node { index, .. } = a.from else { return None };
    let (Some(on_a), Some(on_b)) = (&a.route, &b.route) else { return None };
    let never_both = match (on_a, on_b) {
        (EdgeRoute::Default, EdgeRoute::Default) => false,
        (EdgeRoute::Default, _) | (_, EdgeRoute::Default) => true,
        // A node may choose several routes at once, unless its type names the routes.
        _ => draft.nodes[index].spec().routes.is_some() && !on_a.overlaps(on_b),
    };
    never_both.then_some(index)
}
