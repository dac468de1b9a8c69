//! The first content of an agent that works on a task of its own.
// L55

use std::sync::Arc;

use pleach_core::{Content, Event, Part};
use pleach_model::SharedContent;

use super::view::ConversationView;
use crate::json_text;

/// The reminder for an agent that answers once. The text is google-adk's.
const NO_REPLIES: &str = "Important: You will not receive any user replies or clarifications. Complete the task using only \
     the information provided above.";

/// Returns the first content of an agent with a scope: its task, or the arguments of the call that delegated the
/// task. Without either, the content comes from the invocation.
pub(super) fn leading_content(
    events: &[Arc<Event>],
    scope: &str,
    view: &ConversationView<'_>,
) -> Option<SharedContent> {
    let given = || view.task.map(|task| task.parts().to_vec());
    let mut parts = given().or_else(|| task(events, scope)).or_else(|| {
        let parts = view.user_content?.parts();
        (!parts.is_empty()).then(|| parts.to_vec())
    })?;
    if view.is_single_turn {
        parts.push(Part::text(NO_REPLIES));
    }
    Some(Content::new("user", parts).into())
}

/// Returns the arguments of the call that delegated the task, as JSON.
fn task(events: &[Arc<Event>], scope: &str) -> Option<Vec<Part>> {
    let mut calls = events.iter().flat_map(|event| event.function_calls());
    let args = calls.find_map(|call| {
        let args = call.args.as_ref().filter(|args| !args.is_empty())?;
        (call.id.as_deref() == Some(scope)).then_some(args)
    })?;
    // Arguments are JSON already.
    let text = json_text(args).unwrap_or_default();
    Some(vec![Part::text(text)])
}
