//! [`OpenTask`]: a task that an agent works on during several turns.
// R1210

use std::collections::HashSet;
use std::sync::Arc;

use pleach_context::{NodeKind, Outline};
use pleach_core::{Event, FunctionResponse, InvocationId};
use pleach_session::{ends_aborted, newest_effective_events};
use serde_json::Value;

/// A task whose agent waits for the user.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OpenTask {
    /// The isolation scope of the task's conversation.
    pub(crate) scope: Arc<str>,
    pub(crate) invocation: InvocationId,
}

/// The name of the function with which an agent ends its task.
const FINISH_TASK: &str = "finish_task";

/// Returns `true` if a run of this tree can open a task. An agent can. A node with `rerun_on_resume` can as well,
/// because it may run an agent as a dynamic child. If no node can, the events of a session need not be searched for
/// tasks.
pub(crate) fn may_open_tasks(root: &Outline) -> bool {
    match &root.graph {
        Some(graph) => graph.nodes.iter().any(may_open_tasks),
        None => root.kind == NodeKind::Agent || root.rerun_on_resume,
    }
}

/// Returns the newest task of a session that is neither finished nor aborted.
pub(crate) fn open_task(events: &[Arc<Event>]) -> Option<OpenTask> {
    // Most sessions have no task.
    events.iter().rev().find(|event| event.isolation_scope().is_some())?;
    let (mut finished, mut aborted) = (HashSet::new(), HashSet::new());
    for event in newest_effective_events(events).filter(|event| event.actions().compaction().is_none()) {
        if ends_aborted(event) {
            aborted.insert(event.invocation_id().as_str());
        }
        let scope = event.isolation_scope();
        for response in event.function_responses() {
            if is_end(response) {
                finished.extend(scope);
            }
            // A task's scope is the id of the call that started it, so the task is over once that call is answered,
            // even if another agent ended it. Answers in the scope itself do not end it: the task may have made a call
            // with the same id.
            finished.extend(response.id.as_deref().filter(|id| scope != Some(*id)));
        }
        // A user's event in the scope of a task does not open the task, because it may be a late answer.
        let Some(scope) = scope.filter(|_| event.author() != "user") else { continue };
        if !finished.contains(scope) && !aborted.contains(event.invocation_id().as_str()) {
            return Some(OpenTask { scope: scope.into(), invocation: event.invocation_id().clone() });
        }
    }
    None
}

/// Returns `true` if a response ends a task; a response with an error does not.
fn is_end(response: &FunctionResponse) -> bool {
    let result = response.response.as_ref().and_then(|response| response.get("result")).and_then(Value::as_str);
    response.name.as_deref() == Some(FINISH_TASK) && matches!(result, Some("Task completed." | "Task failed."))
}

#[cfg(test)]
mod tests {
    use pleach_context::{GraphOutline, NodeSpec};
    use pleach_core::{Content, Part};

    use super::*;

    fn in_scope(event: Event) -> Arc<Event> {
        let mut event = event;
        event.set_isolation_scope(Some("d1".into()));
        Arc::new(event)
    }

    #[test]
    fn r1210_a_task_is_over_once_its_call_is_answered() {
        let mut events = vec![in_scope(Event::message("Which size?"))];
        assert_eq!(open_task(&events).map(|task| task.scope.to_string()).as_deref(), Some("d1"));
        let other = FunctionResponse::new("d2", "worker", pleach_core::Map::new());
        events.push(Arc::new(Event::message(Content::new("user", [Part::function_response(other)]))));
        assert!(open_task(&events).is_some(), "another call");
        let answer = FunctionResponse::new("d1", "worker", pleach_core::Map::new());
        events.push(Arc::new(Event::message(Content::new("user", [Part::function_response(answer)]))));
        assert!(open_task(&events).is_none());
    }

    fn graph(node: Outline) -> Outline {
        let graph = GraphOutline { nodes: vec![plain(), node], edges: Vec::new() };
        let spec = NodeSpec::new("wf").kind(NodeKind::Workflow).rerun_on_resume(true);
        Outline { graph: Some(graph), ..Outline::of(&spec) }
    }

    fn plain() -> Outline {
        Outline::of(&NodeSpec::new("plain"))
    }

    fn caller() -> Outline {
        Outline::of(&NodeSpec::new("caller").rerun_on_resume(true))
    }

    #[test]
    fn r1210_only_trees_with_agents_or_callers_are_searched_for_tasks() {
        let agent = || Outline::of(&NodeSpec::new("agent").kind(NodeKind::Agent));
        for (root, expected) in [
            (plain(), false),
            (graph(plain()), false),
            (graph(graph(plain())), false),
            (caller(), true),
            (agent(), true),
            (graph(agent()), true),
            (graph(graph(caller())), true),
        ] {
            assert_eq!(may_open_tasks(&root), expected, "{root:?}");
        }
    }
}
