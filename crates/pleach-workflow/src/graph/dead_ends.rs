//! Checks for branches that are known to end before a last node: routes without an edge, joins that never run.

use std::collections::BTreeMap;

use pleach_context::NodeKind;

use super::draft::{Adjacency, Draft, Link};
use super::edge::EdgeRoute;
use super::error::Fault;
use super::handle::End;

/// Every route that a node is known to choose needs an edge, or the node a default edge or one without a route.
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

/// A join never runs when two of its predecessors lie behind edges of which one run of a node follows only one, and that
/// node runs at most once.
pub(super) fn idle_joins(draft: &Draft) -> Vec<Fault> {
    let adjacency = draft.adjacency();
    let is_join = |index: &usize| draft.nodes[*index].spec().kind == NodeKind::Join;
    (0..draft.nodes.len()).filter(is_join).filter_map(|join| idle_join(draft, &adjacency, join)).collect()
}

fn idle_join(draft: &Draft, adjacency: &Adjacency<'_>, join: usize) -> Option<Fault> {
    /// With how many of the following predecessors each one is compared: keeps the check of wide joins linear.
    const NEIGHBOURS: usize = 64;
    let mut by_predecessor: BTreeMap<usize, Vec<Way<'_>>> = BTreeMap::new();
    for link in &adjacency.into[join] {
        if let End::Node { index, .. } = link.from {
            by_predecessor.entry(index).or_default().push(way(adjacency, link));
        }
    }
    let ways: Vec<(usize, Vec<Way<'_>>)> = by_predecessor.into_iter().collect();
    let (one, other, at) = ways.iter().enumerate().find_map(|(place, (one, ways_of_one))| {
        ways[place + 1..].iter().take(NEIGHBOURS).find_map(|(other, ways_of_other)| {
            let at = parts_at(draft, ways_of_one, ways_of_other)?;
            Some((*one, *other, at))
        })
    })?;
    let name = |index: usize| &draft.nodes[index].spec().name;
    let message = format!(
        "Join '{}' can never run: of its predecessors '{}' and '{}' only one runs, as node '{}' chooses. Use a plain node instead of the join.",
        name(join),
        name(one),
        name(other),
        name(at)
    );
    Some(Fault::graph("idle_join", message))
}

/// The edges from START to a join by way of one predecessor; empty when a node on it has several incoming edges, and so
/// may run more than once.
type Way<'a> = Vec<&'a Link>;

fn way<'a>(adjacency: &Adjacency<'a>, last: &'a Link) -> Way<'a> {
    /// Longer ways are not checked.
    const MOST: usize = 64;
    let mut way = vec![last];
    let mut from = last.from;
    while let End::Node { index, .. } = from {
        match adjacency.into[index].as_slice() {
            [only] if way.len() < MOST => {
                way.push(only);
                from = only.from;
            }
            _ => return Vec::new(),
        }
    }
    way.reverse();
    way
}

/// The node whose choice excludes one of two predecessors, if each way to one excludes each way to the other.
fn parts_at(draft: &Draft, ones: &[Way<'_>], others: &[Way<'_>]) -> Option<usize> {
    let mut at = None;
    for one in ones {
        for other in others {
            at = Some(exclusive(draft, one, other)?);
        }
    }
    at
}

/// The node at which two ways part, if a run of it follows only one of them.
fn exclusive(draft: &Draft, one: &[&Link], other: &[&Link]) -> Option<usize> {
    let (a, b) = one.iter().zip(other).find(|(a, b)| !std::ptr::eq(**a, **b))?;
    let End::Node { index, .. } = a.from else { return None };
    let (Some(on_a), Some(on_b)) = (&a.route, &b.route) else { return None };
    let never_both = match (on_a, on_b) {
        (EdgeRoute::Default, EdgeRoute::Default) => false,
        (EdgeRoute::Default, _) | (_, EdgeRoute::Default) => true,
        // A node may choose several routes at once, unless its type says that it chooses one.
        _ => draft.nodes[index].spec().routes.is_some() && !on_a.overlaps(on_b),
    };
    never_both.then_some(index)
}
