//! [`DeadEnd`]: a place where a workflow run stopped before a last node of its graph.

use std::fmt::{self, Write as _};

use pleach_core::{NodePath, Route};
use smol_str::SmolStr;

/// The maximum number of characters shown of a route. A route can be long text from outside the program.
const SHOWN: usize = 64;

/// A place where a completed workflow run stopped before a last node of its graph.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeadEnd {
    /// A node completed with a route that none of its edges takes.
    Route {
        /// The workflow run.
        workflow: NodePath,
        /// The node.
        node: SmolStr,
        /// The route, shortened; `None` if the node chose none.
        route: Option<String>,
    },
    /// A join waited for predecessors that did not complete.
    Join {
        /// The workflow run.
        workflow: NodePath,
        /// The join.
        node: SmolStr,
        /// The predecessors that did not complete.
        missing: Vec<SmolStr>,
    },
}

impl DeadEnd {
    /// Returns the dead end of a node whose route no edge takes.
    #[must_use]
    pub fn route(workflow: NodePath, node: SmolStr, route: Option<&Route>) -> Self {
        Self::Route { workflow, node, route: route.map(shown) }
    }
}

/// Returns the route as text, shortened.
fn shown(route: &Route) -> String {
    let mut text = String::new();
    for (place, key) in route.keys().iter().enumerate() {
        let separator = if place > 0 { ", " } else { "" };
        // Writing to a string does not fail.
        let _ = write!(text, "{separator}{key}");
        if let Some((end, _)) = text.char_indices().nth(SHOWN) {
            text.truncate(end);
            text.push('…');
            break;
        }
    }
    text
}

impl fmt::Display for DeadEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Route { workflow, node, route: Some(route) } => write!(
                f,
                "node '{node}' of {workflow} chose route {route:?}, which no edge takes: add an edge for it or a DEFAULT edge"
            ),
            Self::Route { workflow, node, route: None } => write!(
                f,
                "node '{node}' of {workflow} chose no route, and all its edges need one: choose one or add a DEFAULT edge"
            ),
            Self::Join { workflow, node, missing } => {
                let missing: Vec<String> = missing.iter().map(|name| format!("'{name}'")).collect();
                write!(
                    f,
                    "join '{node}' of {workflow} did not run, because {} did not complete: join only nodes that always run",
                    missing.join(", ")
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_route_is_shortened() {
        let end = |route: Route| match DeadEnd::route(NodePath::root(), "a".into(), Some(&route)) {
            DeadEnd::Route { route, .. } => route.unwrap_or_default(),
            DeadEnd::Join { .. } => String::new(),
        };
        assert_eq!(end("é".repeat(64).into()), "é".repeat(64));
        assert_eq!(end("é".repeat(65).into()), format!("{}…", "é".repeat(64)));
        assert_eq!(end(vec!["ab"; 1000].into()).chars().count(), 65);
        assert_eq!(end([1, 2].into()), "1, 2");
    }
}
