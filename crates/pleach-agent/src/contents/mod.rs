//! The conversation that an agent sees.
//!
//! Pure functions over the events of a session. Their cost is linear in the number of events. The returned contents
//! share the contents of the events, except where several responses are merged, calls or responses without their
//! counterpart are left out, or another agent is quoted.

mod compaction;
mod entry;
mod history;
mod latest;
mod merge;
mod orphans;
mod pairs;
mod quoted;
mod task;
mod view;
mod visible;

use std::sync::Arc;

use foldhash::HashMap;
use pleach_core::Event;
use pleach_model::SharedContent;
use pleach_session::effective_events;

pub use view::ConversationView;
pub(crate) use visible::is_below;

use entry::Entry;
use visible::Filter;

/// Returns the contents that an agent sees of a session: `include_contents = default`.
///
/// - Rewound events, events of other branches and scopes, inputs of other nodes, the progress that tools publish, and
///   requests for credentials and confirmations are hidden.
/// - Summaries replace the events that they summarise.
/// - Messages of other agents are quoted as a content of the user.
/// - Every call is followed by its last response, wherever that response was stored. A call or a response without its
///   counterpart is left out, except for calls whose results come later.
///
/// ADK: `_get_contents`
// L40–L53, L55
#[must_use]
pub fn conversation(events: &[Arc<Event>], view: &ConversationView<'_>) -> Vec<SharedContent> {
    let live = effective_events(events);
    let filter = Filter::new(view, &live, true);
    let entries = match live.iter().any(|event| event.actions().compaction().is_some()) {
        false => live.iter().filter(|event| filter.shows(event)).filter_map(|event| Entry::of(event)).collect(),
        true => {
            let seen: Vec<&Arc<Event>> = live.iter().copied().filter(|event| filter.shows(event)).collect();
            compaction::apply(&seen)
        }
    };
    let entries = if entries.iter().all(|entry| is_plain(entry, view)) { entries } else { quote_others(entries, view) };
    let entries = if pairs::are_in_place(&entries) { entries } else { pair(entries) };
    let leading = view.scope.and_then(|scope| task::leading_content(events, scope, view));
    leading.into_iter().chain(entries.into_iter().map(|entry| sent(entry, view))).collect()
}

/// Returns the contents of the current turn only: `include_contents = none`.
///
/// The turn begins with the newest message of the user or of another agent that is not part of a transfer. If the
/// user has posted the result of a call after that message, the turn begins with the newest message before the call.
/// The list is empty if no event begins the turn.
///
/// ADK: `_get_current_turn_contents`
// L45
#[must_use]
pub fn current_turn(events: &[Arc<Event>], view: &ConversationView<'_>) -> Vec<SharedContent> {
    let view = ConversationView { thoughts_of_others: false, ..*view };
    let live = effective_events(events);
    let filter = Filter::new(&view, &live, false);
    let Some(start) = filter.start_of_turn() else { return Vec::new() };
    let turn: Vec<Arc<Event>> = live[start..].iter().copied().filter(|event| filter.is_near(event)).cloned().collect();
    conversation(&turn, &view)
}

/// Puts responses after their calls. A conversation that is already in this order is not changed.
fn pair(entries: Vec<Entry<'_>>) -> Vec<Entry<'_>> {
    let entries = orphans::drop_responses(entries);
    let entries = latest::rearrange(entries);
    let entries = history::rearrange(entries);
    orphans::drop_calls(entries)
}

/// Returns `true` if an entry needs no quoting: it comes from the user or the agent, or is a summary.
fn is_plain(entry: &Entry<'_>, view: &ConversationView<'_>) -> bool {
    entry.raw().is_none_or(|event| {
        event.author() == "user" || (event.author() == view.agent && !visible::is_of_another(event, view.agent))
    })
}

/// Turns the messages of other agents and the answers to their calls into quotations.
fn quote_others<'e>(entries: Vec<Entry<'e>>, view: &ConversationView<'_>) -> Vec<Entry<'e>> {
    let callers = callers_of_others(&entries, view.agent);
    let is_answer_to_another = |event: &Event| {
        event
            .function_responses()
            .filter_map(|response| callers.get(response.id.as_deref()?))
            .any(|caller| *caller != view.agent && *caller != "user")
    };
    let quote = |entry: Entry<'e>| {
        let Some(event) = entry.raw() else { return Some(entry) };
        let is_other =
            visible::is_of_another(event, view.agent) || (entry.has_responses && is_answer_to_another(event));
        if is_other { quoted::quote(entry, view.thoughts_of_others) } else { Some(entry) }
    };
    entries.into_iter().filter_map(quote).collect()
}

/// Returns the authors of all calls by id. The map is empty if no other agent has made a call.
fn callers_of_others<'e>(entries: &[Entry<'e>], agent: &str) -> HashMap<&'e str, &'e str> {
    let mut callers = HashMap::default();
    let calling = || entries.iter().filter(|entry| entry.has_calls).filter_map(Entry::raw);
    if calling().any(|event| event.author() != agent && event.author() != "user") {
        for event in calling() {
            let ids = event.function_calls().filter_map(|call| call.id.as_deref());
            callers.extend(ids.map(|id| (id, event.author())));
        }
    }
    callers
}

fn sent(entry: Entry<'_>, view: &ConversationView<'_>) -> SharedContent {
    let has_ids = entry.has_calls || entry.has_responses;
    if view.pairs_calls_by_id || !has_ids { entry.content } else { entry.content.hide_client_ids() }
}

#[cfg(test)]
mod tests;
