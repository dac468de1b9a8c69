//! The events that close an aborted invocation, so that every call in its history has an answer.
// R128, R1130

use std::collections::BTreeMap;
use std::sync::Arc;

use pleach_context::InvocationContext;
use pleach_core::{Branch, Content, Event, FunctionResponse, Map, Part};
use pleach_session::{ABORTED, effective_events_of};
use serde_json::Value;

const TEXT: &str = "Invocation was aborted by client.";

/// Returns the events that close an aborted invocation: an answer for every open call, one event per author, branch and
/// scope; or a single error event of the root when no call is open.
pub(crate) fn abort_events(ic: &InvocationContext, root: &str) -> Vec<Event> {
    let all = ic.events();
    let events = effective_events_of(&all, ic.invocation_id());
    let answered = |id: &str| {
        events.iter().any(|event| event.function_responses().any(|response| response.id.as_deref() == Some(id)))
    };
    let mut groups: BTreeMap<(String, Option<Branch>, Option<String>), Vec<Part>> = BTreeMap::new();
    for event in &events {
        for call in event.function_calls() {
            let Some(id) = call.id.as_deref().filter(|id| !answered(id)) else { continue };
            let group =
                (event.author().to_owned(), event.branch().cloned(), event.isolation_scope().map(str::to_owned));
            let response = Map::from_iter([("error".to_owned(), Value::from(TEXT))]);
            let name = call.name.clone().unwrap_or_default();
            groups.entry(group).or_default().push(Part::function_response(FunctionResponse::new(id, name, response)));
        }
    }
    if groups.is_empty() {
        return vec![aborted_event(ic, Event::from_author(root))];
    }
    let close = |((author, branch, scope), parts): ((String, Option<Branch>, Option<String>), Vec<Part>)| {
        let mut event = Event::from_author(author).with_content(Content::new("user", parts));
        event.set_branch(branch);
        event.set_isolation_scope(scope.map(Arc::from));
        aborted_event(ic, event)
    };
    groups.into_iter().map(close).collect()
}

fn aborted_event(ic: &InvocationContext, event: Event) -> Event {
    let mut event = event.with_error(ABORTED, TEXT);
    event.set_invocation_id(ic.invocation_id().clone());
    event
}
