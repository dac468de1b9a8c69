//! Finding events that nest too deep before anything copies, compares or drops them.

use std::sync::Arc;

use crate::check::{check_ops, find};
use crate::depth::limited::{DEEP, DepthBudget};
use crate::depth::{bounded, discard, fits};
use crate::quick_check::{Depth, QUICK, QuickCheck as _};
use crate::{Content, Event, Map, StateOp, Unstorable};

/// Refuses an event whose values nest more than 127 levels deep, and leaves an empty event in its place. The refused
/// event is freed level by level if possible, otherwise passed to [`discard`].
///
/// Call it for an event that a program has made. Most events pass a quick check that serialises nothing.
///
/// # Errors
/// [`Unstorable`], naming the value.
pub fn bound_event(event: &mut Event) -> Result<(), Unstorable> {
    check_ops(event).and_then(|()| check(event)).inspect_err(|_| free(std::mem::take(event)))
}

/// Like [`bound_event`], refuses a message and state changes that nest too deep for their event. Both are then empty.
///
/// # Errors
/// [`Unstorable`], naming the value.
pub fn bound_message(message: &mut Option<Content>, state: &mut Map) -> Result<(), Unstorable> {
    if message.as_ref().is_none_or(|message| message.passes(&Depth)) && Depth.members(state, QUICK) {
        return Ok(());
    }
    let mut event = Event::new().with_state_map(std::mem::take(state));
    event.set_content(message.take());
    bound_event(&mut event)?;
    *message = event.take_content().map(|content| *content);
    *state = event.into_actions().take_state_delta().unwrap_or_default();
    Ok(())
}

fn check(event: &Event) -> Result<(), Unstorable> {
    if event.passes(&Depth) || fits(event, DepthBudget::ALL) {
        return Ok(());
    }
    Err(Unstorable { reason: DEEP, ..find("", event) })
}

/// Drops an event that was refused because it nests too deep, unless another owner shares it. See [`discard`].
pub fn discard_event(event: Arc<Event>) {
    if let Ok(event) = Arc::try_unwrap(event) {
        free(event);
    }
}

fn free(mut event: Event) {
    let ops = event.actions_mut().take_state_ops().into_values().flatten().flat_map(StateOp::into_values);
    let state = event.actions_mut().take_state_delta().unwrap_or_default().into_iter().map(|(_, value)| value);
    let output = event.take_output();
    ops.chain(state).chain(output).for_each(|value| drop(bounded(value)));
    discard(event);
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::{Content, FunctionCall, Map, Part};

    fn deep(levels: usize) -> Value {
        (0..levels).fold(Value::Null, |inner, _| Value::Object(Map::from_iter([("a".to_owned(), inner)])))
    }

    fn events(levels: usize) -> [(Event, &'static str); 6] {
        let map = || Map::from_iter([("k".to_owned(), deep(levels - 1))]);
        let call = Part::function_call(FunctionCall::new("c", "f", map()));
        [
            (Event::new().with_output(deep(levels)), "output.a.a"),
            (Event::new().with_state("k", deep(levels)), "actions.state_delta.k"),
            (Event::new().with_state_op("k", StateOp::Push(vec![deep(levels)])), "actions.state_delta.k"),
            (Event::new().with_custom_metadata(map()), "custom_metadata.k.a"),
            (Event::message(Content::new("model", [call])), "content.parts[0]"),
            (Event::message("x").with_output(Value::Array(vec![deep(levels)])), "output[0].a"),
        ]
    }

    #[test]
    fn events_that_are_too_deep_to_be_read_are_refused_by_name_and_freed() {
        for levels in [127, 10_000, 100_000] {
            for (mut event, field) in events(levels) {
                let fault = bound_event(&mut event).unwrap_err();
                assert_eq!((fault.field.as_str(), fault.reason), (field, DEEP), "{levels}");
                assert_eq!(event, Event::new());
            }
        }
        for (mut event, _) in events(120) {
            bound_event(&mut event).unwrap();
            crate::check_event(&event).unwrap();
        }
    }

    /// A store does not refuse an event for its depth if the event passes here.
    #[test]
    fn the_limit_is_the_same_as_in_stores() {
        for levels in 118..130 {
            for (mut event, _) in events(levels) {
                let mut stored = event.clone();
                if let Some((key, ops)) = stored.actions_mut().take_state_ops().pop_first() {
                    stored.actions_mut().set_state(key, StateOp::apply_all(&ops, None).unwrap());
                }
                let fits = crate::check_event(&stored).is_ok();
                assert_eq!(bound_event(&mut event).is_ok(), fits, "{levels}: {stored:?}");
            }
        }
    }
}
