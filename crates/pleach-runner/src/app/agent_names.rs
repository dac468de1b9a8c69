//! Warns about names that several agents of a tree share.
// L3

use std::collections::HashSet;
use std::sync::Arc;

use pleach_context::{AgentSpec, Node};

/// Warns about each name that several agents below `root` have: a transfer or the user's next message reaches only the
/// first of them.
pub(crate) fn warn_of_repeated_names(root: &dyn Node) {
    let Some(agent) = root.agent() else { return };
    for name in repeated_names(agent) {
        tracing::warn!(
            agent = name,
            "several agents of the tree have this name: transfers and messages reach the first one"
        );
    }
}

/// Returns the names that several agents have, without duplicates, in the order of the tree.
fn repeated_names(agent: &Arc<AgentSpec>) -> Vec<&str> {
    let (mut known, mut repeated) = (HashSet::new(), Vec::new());
    let mut left = vec![agent];
    while let Some(agent) = left.pop() {
        let name = agent.name.as_str();
        if !known.insert(name) && !repeated.contains(&name) {
            repeated.push(name);
        }
        left.extend(agent.sub_agents.iter().rev().filter_map(|sub| sub.agent()));
    }
    repeated
}

#[cfg(test)]
mod tests {
    use pleach_context::{Context, Flow, NodeError, NodeInput, NodeKind, NodeSpec};
    use pleach_core::BoxFuture;

    use super::*;

    struct Agent(NodeSpec, Arc<AgentSpec>);

    impl Node for Agent {
        fn spec(&self) -> &NodeSpec {
            &self.0
        }

        fn run<'a>(&'a self, _: Context, _: NodeInput) -> BoxFuture<'a, Result<Flow, NodeError>> {
            Box::pin(async { Ok(Flow::Done(None)) })
        }

        fn agent(&self) -> Option<&Arc<AgentSpec>> {
            Some(&self.1)
        }
    }

    fn agent(name: &str, below: impl IntoIterator<Item = Agent>) -> Agent {
        let mut spec = AgentSpec::new(name);
        spec.sub_agents = below.into_iter().map(|agent| Arc::new(agent) as Arc<dyn Node>).collect();
        Agent(NodeSpec::new(name).kind(NodeKind::Agent), Arc::new(spec))
    }

    // L3
    #[test]
    fn l3_names_that_several_agents_have_are_found_once() {
        let tree =
            agent("root", [agent("a", [agent("writer", [])]), agent("b", [agent("writer", []), agent("root", [])])]);
        assert_eq!(repeated_names(&tree.1), ["writer", "root"]);
        assert!(repeated_names(&agent("root", [agent("a", [])]).1).is_empty());
    }
}
