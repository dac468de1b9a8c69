//! The first content of an agent that works on a task of its own.
// L55

use std::sync::Arc;

use pleach_core::{Content, Event, Part};
use pleach_model::SharedContent;

use super::view::ConversationView;
use crate::json_text;

/// What an agent that answers once is reminded of. google-adk sends this text.
const NO_REPLIES: &str = "Important: You will not receive any user replies or clarifications. Complete the task using only \
     the information provided above.";

/// Makes a content of the task that the agent was given, or of the arguments of the call that delegated it; without such a call
/// it is what the invocation gives.
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

/// The arguments of the call as JSON.
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
