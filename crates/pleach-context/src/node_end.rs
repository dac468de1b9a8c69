//! [`NodeEnd`]: the end of a node run. The root node, dynamic children, graph nodes and replayed runs share it.

use pleach_core::{Branch, Route};

use crate::{ChildFailure, NodeInput};

/// The result of a node run: its end, or its failure and the run that failed.
pub type RunResult = Result<NodeEnd, ChildFailure>;

/// The end of a node run without a failure.
#[derive(Clone, Debug)]
pub enum NodeEnd {
    /// The run completed.
    Done(NodeResult),
    /// The run waits for answers to these questions.
    Interrupted(Vec<String>),
    /// The run waits for more input: for another trigger of its graph node, or another call.
    // R307
    Waiting,
}

/// The values that a completed run passes on to its successors.
#[derive(Clone, Debug, Default)]
pub struct NodeResult {
    /// The output; null if there is none.
    pub output: NodeInput,
    /// The route that the run chose.
    pub route: Option<Box<Route>>,
    /// The branch that the run ended on; `None` is the root branch.
    pub branch: Option<Branch>,
    /// The agent to which the run's agent transfers.
    pub transfer_to_agent: Option<Box<str>>,
}

impl NodeEnd {
    /// Returns the end of a run whose body has ended without asking a question. A node that waits for its output
    /// ([`NodeSpec::wait_for_output`](crate::NodeSpec::wait_for_output)) completes only if it has an output or a route,
    /// or transfers to an agent.
    // R307
    #[must_use]
    pub fn of_body(result: NodeResult, wait_for_output: bool) -> Self {
        let is_empty = result.output.is_null() && result.route.is_none() && result.transfer_to_agent.is_none();
        if wait_for_output && is_empty { Self::Waiting } else { Self::Done(result) }
    }

    /// Returns true if the run completed.
    #[must_use]
    pub fn is_done(&self) -> bool {
        matches!(self, Self::Done(_))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn r307_a_node_that_waits_for_output_is_done_with_an_output_or_a_route() {
        let output = || NodeInput::json(json!(1));
        let route = || Some(Box::new(Route::from("on")));
        for (output, route, wait_for_output, done) in [
            (NodeInput::Null, None, false, true),
            (output(), None, false, true),
            (NodeInput::Null, None, true, false),
            (NodeInput::json(json!(null)), None, true, false),
            (output(), None, true, true),
            (NodeInput::Null, route(), true, true),
            (output(), route(), true, true),
        ] {
            let row = format!("{output:?}, {route:?}, {wait_for_output}");
            let end = NodeEnd::of_body(NodeResult { output, route, ..NodeResult::default() }, wait_for_output);
            assert_eq!(end.is_done(), done, "{row}");
            assert_eq!(matches!(end, NodeEnd::Waiting), !done, "{row}");
        }
    }
}
