//! [`answer_event`]: the event that answers a question, for programs without a Runner.

use std::sync::Arc;

use pleach_core::{Event, FunctionResponse, Part, Question, REQUEST_CREDENTIAL};
use pleach_session::open_questions;
use serde::Serialize;

use crate::RunError;
use crate::answers::asked_calls::AskedCalls;
use crate::answers::check_message::{check_types, misfit, of_call, response_part, too_deep_answer};
use crate::request::error::open_ids;
use crate::request::message::of_parts;

/// Returns the event that [`Runner::answer`](crate::Runner::answer) would store for an answer to an open question. Use
/// it in a program that stores answers but cannot run the invocation that asked. The event has no id and no time yet.
///
/// Once the event is stored, the question is no longer open, but nothing runs until
/// [`Runner::resume`](crate::Runner::resume) continues the question's invocation. The answer is checked against the
/// stored schema of the question. The type that the asking node declares is not known here, so it is not checked.
///
/// ADK has no such call.
///
/// # Errors
/// [`RunError::UnknownQuestion`] for a question that is not open; [`RunError::Answer`] for an answer that does not fit.
/// A credential is refused as well: credentials are never stored, and only the process that continues the invocation
/// may see them.
pub fn answer_event(events: &[Arc<Event>], question: &Question, answer: impl Serialize) -> Result<Event, RunError> {
    let id = question.id.as_str();
    let open = open_questions(events);
    let is_open = open.iter().any(|asked| asked.id == id && asked.invocation_id == question.invocation_id);
    let calls = AskedCalls::of(events, std::iter::once(id), &open);
    let newest = calls.newest_question(id, Some(&question.invocation_id)).filter(|_| is_open);
    let unknown = || RunError::UnknownQuestion { ids: vec![id.to_owned()], open: open_ids(&open) };
    let (asked, call) = calls.open_or(newest.ok_or_else(unknown)?, id);
    let refused = |reason: &str| misfit(id, reason);
    if call.name.as_deref() == Some(REQUEST_CREDENTIAL) {
        return Err(refused("a credential is never stored: send it to the program that asked"));
    }
    let part = response_part(id, answer)?;
    let Some(mut response) = part.function_response.map(|response| FunctionResponse::clone(&response)) else {
        return Err(refused("it has no response"));
    };
    response.name.clone_from(&call.name);
    check_types(None, id, &response, call)?;
    let message = of_parts(vec![Part::function_response(response)]);
    if too_deep_answer(&message).is_some() {
        return Err(refused("it is nested too deep"));
    }
    let target = of_call(asked);
    let mut event = Event::from_author("user").with_content(message);
    event.set_invocation_id(target.invocation_id);
    event.set_branch(target.branch);
    event.set_isolation_scope(target.isolation_scope);
    Ok(event)
}

#[cfg(test)]
mod tests {
    use pleach_core::{Branch, RequestInput};
    use serde_json::json;

    use super::*;

    fn asked(question: RequestInput) -> (Vec<Arc<Event>>, Question) {
        let mut event = question.into_event("q").with_node_path("wf@1/ask@1");
        event.set_invocation_id("i");
        event.set_branch(Some(Branch::from("ask@1")));
        let question = event.questions().remove(0);
        (vec![Arc::new(event)], question)
    }

    #[test]
    fn the_event_has_the_invocation_and_branch_of_its_question() {
        let (mut events, question) = asked(RequestInput::ask("q", "How many?").with_schema(json!({"type": "integer"})));
        let event = answer_event(&events, &question, 3).unwrap();
        assert_eq!((event.author(), event.invocation_id().as_str()), ("user", "i"));
        assert_eq!(event.branch(), events[0].branch());
        let given = event.function_responses().next().unwrap();
        assert_eq!((given.id.as_deref(), given.name.as_deref()), (Some("q"), Some("adk_request_input")));
        events.push(Arc::new(event));
        assert_eq!(open_questions(&events), []);
        let again = answer_event(&events, &question, 4).unwrap_err();
        assert!(matches!(again, RunError::UnknownQuestion { .. }), "{again}");
    }

    #[test]
    fn an_answer_that_does_not_fit_is_refused() {
        let (events, question) = asked(RequestInput::ask("q", "How many?").with_schema(json!({"type": "integer"})));
        let error = answer_event(&events, &question, "many").unwrap_err();
        assert!(matches!(error, RunError::Answer { .. }), "{error}");
    }
}
