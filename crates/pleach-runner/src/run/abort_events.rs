//! The events that close an aborted invocation, so that every call in its history has an answer.
// R128, R1130

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use pleach_core::{Branch, Content, Event, FunctionResponse, InvocationId, Map, Part};
use pleach_session::{ABORTED, effective_events_of};
use serde_json::Value;

const TEXT: &str = "Invocation was aborted by client.";

/// Returns the events that close an aborted invocation: an answer for every open call, one event per author, branch and
/// scope; or a single error event of the root when no call is open. `events` are the session's.
pub(crate) fn abort_events(events: &[Arc<Event>], invocation: &InvocationId, root: &str) -> Vec<Event> {
    let events = effective_events_of(events, invocation);
    let responses = events.iter().flat_map(|event| event.function_responses());
    let answered: HashSet<&str> = responses.filter_map(|response| response.id.as_deref()).collect();
    let mut groups: BTreeMap<(String, Option<Branch>, Option<String>), Vec<Part>> = BTreeMap::new();
    for event in &events {
        for call in event.function_calls() {
            let Some(id) = call.id.as_deref().filter(|id| !answered.contains(id)) else { continue };
            let group =
                (event.author().to_owned(), event.branch().cloned(), event.isolation_scope().map(str::to_owned));
            let response = Map::from_iter([("error".to_owned(), Value::from(TEXT))]);
            let name = call.name.clone().unwrap_or_default();
            groups.entry(group).or_default().push(Part::function_response(FunctionResponse::new(id, name, response)));
        }
    }
    if groups.is_empty() {
        return vec![aborted_event(invocation, Event::from_author(root))];
    }
    let close = |((author, branch, scope), parts): ((String, Option<Branch>, Option<String>), Vec<Part>)| {
        let mut event = Event::from_author(author).with_content(Content::new("user", parts));
        event.set_branch(branch);
        event.set_isolation_scope(scope.map(Arc::from));
        aborted_event(invocation, event)
    };
    groups.into_iter().map(close).collect()
}

fn aborted_event(invocation: &InvocationId, event: Event) -> Event {
    let mut event = event.with_error(ABORTED, TEXT);
    event.set_invocation_id(invocation.clone());
    event
}

#[cfg(test)]
mod tests {
    use pleach_core::RequestInput;

    use super::*;

    /// An event of invocation `i`: `a?q` asks `q` as `a`, `a?q/left` on a branch, `=q` answers `q`, `a` is a message.
    fn event(text: &str) -> Arc<Event> {
        let (text, branch) = text.split_once('/').map_or((text, None), |(text, branch)| (text, Some(branch)));
        let mut event = match (text.split_once('?'), text.strip_prefix('=')) {
            (Some((author, id)), _) => RequestInput::<Value>::new().into_event(id).with_author(author),
            (None, Some(id)) => {
                let part = Part::function_response(FunctionResponse::new(id, "adk_request_input", Map::new()));
                Event::from_author("user").with_content(Content::new("user", [part]))
            }
            (None, None) => Event::message("hello").with_author(text),
        };
        event.set_invocation_id("i");
        event.set_branch(branch.map(Branch::from));
        Arc::new(event)
    }

    fn closed(log: &str) -> Vec<String> {
        let events: Vec<Arc<Event>> = log.split_whitespace().map(event).collect();
        let events = abort_events(&events, &InvocationId::from("i"), "root");
        let line = |event: &Event| {
            let ids: Vec<&str> = event.function_responses().filter_map(|response| response.id.as_deref()).collect();
            let branch = event.branch().map(|branch| format!("/{branch}")).unwrap_or_default();
            assert_eq!((event.error_code(), event.invocation_id().as_str()), (Some(ABORTED), "i"));
            format!("{}{branch}: {}", event.author(), ids.join(" "))
        };
        events.iter().map(line).collect()
    }

    #[test]
    fn r128_every_open_call_is_answered_by_an_event_of_its_author_and_branch() {
        for (rule, log, expected) in [
            ("nothing is open", "a b", vec!["root: "]),
            ("an answered call is not open", "a?q =q", vec!["root: "]),
            ("one event for each author", "b?q a?p a?r", vec!["a: p r", "b: q"]),
            ("one event for each branch", "a?q/left a?p/right", vec!["a/left: q", "a/right: p"]),
            ("only open calls", "a?q a?p =q", vec!["a: p"]),
        ] {
            assert_eq!(closed(log), expected, "{rule}");
        }
    }
}
