//! Edges and their routes.

use pleach_core::{DEFAULT_ROUTE, IntoRoute, Route, RouteKey};

/// The condition of a routed edge: one or several route values, or the default route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EdgeRoute {
    /// Followed when the node chose one of these.
    Keys(Vec<RouteKey>),
    /// Followed when no other routed edge of the node is followed.
    Default,
}

impl EdgeRoute {
    fn is_default(key: &RouteKey) -> bool {
        matches!(key, RouteKey::Str(text) if text == DEFAULT_ROUTE)
    }

    /// Returns `true` if the default route is one of several values, which is not allowed.
    // R610
    pub(crate) fn default_in_list(&self) -> bool {
        matches!(self, Self::Keys(keys) if keys.iter().any(Self::is_default))
    }

    fn matches(&self, route: Option<&Route>) -> bool {
        match (self, route) {
            (Self::Keys(keys), Some(route)) => keys.iter().any(|key| route.keys().contains(key)),
            _ => false,
        }
    }

    /// Returns `true` if one route value would follow both edges.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Keys(a), Self::Keys(b)) => a.iter().any(|key| b.contains(key)),
            (Self::Default, Self::Default) => true,
            _ => false,
        }
    }
}

impl<T: IntoRoute> From<T> for EdgeRoute {
    fn from(route: T) -> Self {
        match route.into_route() {
            Route::One(key) if Self::is_default(&key) => Self::Default,
            Route::One(key) => Self::Keys(vec![key]),
            Route::Many(keys) => Self::Keys(keys),
        }
    }
}

/// An edge out of a node.
#[derive(Clone, Debug)]
pub(crate) struct Edge {
    pub(crate) to: usize,
    pub(crate) route: Option<EdgeRoute>,
    /// The index of the predecessor among the predecessors of a join.
    pub(crate) join_slot: u32,
    /// The edge's index in declaration order.
    pub(crate) declared: u32,
}

impl Edge {
    fn is_default(&self) -> bool {
        matches!(self.route, Some(EdgeRoute::Default))
    }

    fn matches(&self, route: Option<&Route>) -> bool {
        self.route.as_ref().is_some_and(|on| on.matches(route))
    }
}

/// Sorts a node's edges from declaration order into the order in which they are followed: default edges last.
// R624
pub(crate) fn sort(edges: &mut [Edge]) {
    edges.sort_by_key(Edge::is_default);
}

/// Returns the edges that a completion follows. `edges` must be [sorted](sort).
// R624
#[inline]
pub(crate) fn followed<'a>(edges: &'a [Edge], route: Option<&'a Route>) -> impl Iterator<Item = &'a Edge> {
    let has_default = edges.last().is_some_and(Edge::is_default);
    let default = has_default && !edges.iter().any(|edge| edge.matches(route));
    edges.iter().filter(move |edge| match edge.route {
        None => true,
        Some(EdgeRoute::Default) => default,
        Some(EdgeRoute::Keys(_)) => edge.matches(route),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(routes: &[Option<EdgeRoute>]) -> Vec<Edge> {
        let edges = routes.iter().cloned().enumerate();
        let mut edges: Vec<Edge> = edges.map(|(to, route)| Edge { to, route, join_slot: 0, declared: 0 }).collect();
        sort(&mut edges);
        edges
    }

    fn targets(edges: &[Edge], route: Option<Route>) -> Vec<usize> {
        followed(edges, route.as_ref()).map(|edge| edge.to).collect()
    }

    #[test]
    fn r624_unconditional_edges_do_not_stand_in_for_a_route() {
        let edges = edges(&[Some("x".into()), None, Some(EdgeRoute::Default), Some(vec!["x", "y"].into())]);
        assert_eq!(targets(&edges, Some("x".into())), [0, 1, 3]);
        assert_eq!(targets(&edges, Some("zz".into())), [1, 2]);
        assert_eq!(targets(&edges, None), [1, 2]);
        assert_eq!(targets(&edges, Some(DEFAULT_ROUTE.into())), [1, 2]);
    }

    #[test]
    fn e95_true_is_one_and_false_is_zero() {
        let edges = edges(&[Some(1.into()), Some(false.into())]);
        assert_eq!(targets(&edges, Some(true.into())), [0]);
        assert_eq!(targets(&edges, Some(0.into())), [1]);
        assert_eq!(targets(&edges, Some("True".into())), [] as [usize; 0]);
    }
}
