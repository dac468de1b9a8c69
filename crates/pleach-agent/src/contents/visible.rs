//! Decides which events an agent sees.
// L41–L45

use std::borrow::Cow;
use std::cell::OnceCell;
use std::sync::Arc;

use foldhash::HashSet;
use pleach_core::{Branch, Event};
use pleach_session::{is_internal_content, is_visible_part};

use super::view::ConversationView;
use crate::call_ids::run_id;

/// Decides which events an agent sees.
pub(super) struct Filter<'a> {
    view: &'a ConversationView<'a>,
    events: &'a [&'a Arc<Event>],
    /// Whether a single-turn agent also sees events of the runs above it.
    sees_ancestors: bool,
    /// The ids of all calls, collected on first use because few conversations need them.
    call_ids: OnceCell<HashSet<&'a str>>,
    /// The ids of the runs that the calls have started. The branches of these runs are named after them.
    run_ids: OnceCell<HashSet<Cow<'a, str>>>,
}

impl<'a> Filter<'a> {
    pub(super) fn new(view: &'a ConversationView<'a>, events: &'a [&'a Arc<Event>], sees_ancestors: bool) -> Self {
        Self { view, events, sees_ancestors, call_ids: OnceCell::new(), run_ids: OnceCell::new() }
    }

    /// Returns `true` if the agent sees the event.
    pub(super) fn shows(&self, event: &Event) -> bool {
        self.is_near(event) && self.is_in_context(event) && !self.is_progress_of_a_tool(event)
    }

    /// Returns `true` if a single-turn agent may see the event: the event is on its branch and in its part of the
    /// tree. Other agents are not limited by this.
    pub(super) fn is_near(&self, event: &Event) -> bool {
        let path = event.path();
        !self.view.is_single_turn
            || (self.is_on_branch(event)
                && (self.view.path.is_root()
                    || path.is_root()
                    || path == self.view.path
                    || path.is_descendant_of(self.view.path)
                    || self.view.part.iter().any(|run| path == run || path.is_descendant_of(run))
                    || (self.sees_ancestors && self.view.path.is_descendant_of(path))))
    }

    /// Returns the index of the event that begins the current turn.
    // L45
    pub(super) fn start_of_turn(&self) -> Option<usize> {
        // The ids of posted results whose calls have not been found yet.
        let mut open: HashSet<&str> = HashSet::default();
        for (place, event) in self.events.iter().enumerate().rev() {
            if !self.is_near(event) {
                continue;
            }
            for id in event.function_calls().filter_map(|call| call.id.as_deref()) {
                open.remove(id);
            }
            let is_posted = event.author() == "user" && event.function_responses().next().is_some();
            if is_posted {
                let ids = event.function_responses().filter_map(|response| response.id.as_deref());
                open.extend(ids.filter(|id| self.call_ids().contains(id)));
                continue;
            }
            let begins = event.author() == "user" || is_of_another(event, self.view.agent);
            if open.is_empty() && begins && !is_transfer(event) && self.shows(event) {
                return Some(place);
            }
        }
        None
    }

    fn is_in_context(&self, event: &Event) -> bool {
        event.isolation_scope() == self.view.scope
            && !self.is_input_of_another_node(event)
            && self.is_on_branch(event)
            && self.has_something_to_show(event)
    }

    /// Returns `true` if the event is a message of the user, or of the runtime in the user's name, to another node.
    fn is_input_of_another_node(&self, event: &Event) -> bool {
        !event.path().is_root()
            && event.author() == "user"
            // A node or workflow with the name `user` writes its own events as that author.
            && !event.path().segments().any(|segment| segment.starts_with("user@"))
            && event.path() != self.view.path
            && event.function_responses().next().is_none()
    }

    fn has_something_to_show(&self, event: &Event) -> bool {
        let is_summary = event.actions().compaction().is_some();
        let Some(content) = event.content() else { return is_summary };
        let with_thoughts = || self.view.thoughts_of_others && is_of_another(event, self.view.agent);
        let is_visible = || {
            content.role().is_some_and(|role| !role.is_empty())
                && content.parts().iter().any(|part| is_visible_part(part, with_thoughts))
        };
        (is_summary || is_visible()) && !is_internal_content(content)
    }

    // L42
    fn is_on_branch(&self, event: &Event) -> bool {
        let (Some(own), Some(branch)) = (some(self.view.branch), some(event.branch())) else { return true };
        own == branch || is_below(own, branch)
    }

    /// Returns `true` if a tool published the event on a branch of its own below the agent's branch. Such events show
    /// people the tool's progress.
    fn is_progress_of_a_tool(&self, event: &Event) -> bool {
        let Some(branch) = some(event.branch()) else { return false };
        let own = some(self.view.branch);
        if own.is_some_and(|own| !is_below(branch, own)) {
            return false;
        }
        let below = &branch.as_str()[own.map_or(0, |own| own.as_str().len())..];
        below.match_indices('@').any(|(at, _)| {
            let (before, behind) = (&below[..at], &below[at + 1..]);
            let name = before.rsplit('.').next().unwrap_or_default();
            // Ids may contain dots, which are also the separators of segments.
            let mut ends = behind.match_indices('.').map(|(end, _)| end).chain([behind.len()]);
            name != self.view.agent && ends.any(|end| is_run_of_call(&behind[..end], self.run_ids()))
        })
    }

    /// Returns the ids of the runs that calls have started: the ids of the calls, and the safe form of ids that are
    /// not safe in paths.
    fn run_ids(&self) -> &HashSet<Cow<'a, str>> {
        self.run_ids.get_or_init(|| {
            let ids = self.call_ids().iter().map(|id| Cow::Borrowed(*id));
            let made = self.call_ids().iter().map(|id| Cow::Owned(run_id(id)));
            ids.chain(made).collect()
        })
    }

    fn call_ids(&self) -> &HashSet<&'a str> {
        self.call_ids.get_or_init(|| {
            let near = self.events.iter().filter(|event| self.is_near(event));
            near.flat_map(|event| event.function_calls()).filter_map(|call| call.id.as_deref()).collect()
        })
    }
}

/// Returns `true` if another agent wrote the event.
// L44
pub(super) fn is_of_another(event: &Event, agent: &str) -> bool {
    let is_live = event.model().is_some_and(|model| model.live_session_id.as_ref().is_some_and(|id| !id.is_empty()));
    event.author() != "user" && (is_live || (!agent.is_empty() && event.author() != agent))
}

/// Returns `true` if the event transfers to another agent. Such an event continues a turn.
fn is_transfer(event: &Event) -> bool {
    event.actions().transfer_to_agent().is_some_and(|agent| !agent.is_empty())
        || event.function_calls().any(|call| call.name.as_deref() == Some("transfer_to_agent"))
}

/// Returns `true` if a call started the run with this id. If calls repeat an id, their runs have a number after `~`.
fn is_run_of_call(id: &str, runs: &HashSet<Cow<'_, str>>) -> bool {
    runs.contains(id) || id.rsplit_once('~').is_some_and(|(id, _)| runs.contains(id))
}

fn some(branch: Option<&Branch>) -> Option<&Branch> {
    branch.filter(|branch| !branch.is_empty())
}

/// Returns `true` if a branch begins with all segments of another branch and has more segments.
pub(crate) fn is_below(branch: &Branch, ancestor: &Branch) -> bool {
    branch.as_str().strip_prefix(ancestor.as_str()).is_some_and(|rest| rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn l42_branches_are_compared_by_segments() {
        for (branch, ancestor, expected) in [
            ("a.b", "a", true),
            ("a.b.c", "a.b", true),
            ("a.b10", "a.b1", false),
            ("a", "a", false),
            ("a", "a.b", false),
        ] {
            assert_eq!(is_below(&branch.into(), &ancestor.into()), expected, "{branch} {ancestor}");
        }
    }
}
