//! The position of a shell agent's run, read from its stored events: where it continues, and whether it has ended.
// L179

use pleach_context::AgentSpec;
use pleach_context::engine::{RunHandle, caller_of_task, round_of};
use pleach_core::{Branch, Event};
use pleach_session::notes::is_run_note;

use crate::contents::is_below;
use crate::run::{Closing, first_event, is_failure};

/// The progress of a shell agent's run, read from its stored events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Recorded {
    /// The index of the first event of the session that can belong to the run.
    pub(super) first: usize,
    /// Whether the run has an event.
    pub(super) has_begun: bool,
    /// The index of the last checkpoint in the session.
    pub(super) checkpoint: Option<usize>,
    pub(super) closing: Closing,
    pub(super) at: Position,
}

/// The position at which a shell agent continues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Position {
    /// The number of completed rounds of all sub-agents.
    pub(super) round: u32,
    /// The index of the sub-agent that runs.
    pub(super) child: usize,
    /// The index of the first event of that sub-agent's run; `None` if it has not begun.
    pub(super) since: Option<usize>,
    /// Whether an event of that sub-agent's run escalates.
    pub(super) escalated: bool,
}

impl Recorded {
    /// Reads the progress of the agent in the run of `handle`.
    pub(super) fn of(shell: &AgentSpec, handle: &RunHandle) -> Self {
        let ic = handle.invocation();
        let path = handle.event_path();
        let since = handle.since();
        let branch = handle.branch().filter(|branch| !branch.is_empty());
        ic.with_events(|events| {
            let mut recorded = Self { first: since.max(first_event(events, ic)), ..Self::default() };
            for (place, event) in events.iter().enumerate().skip(recorded.first) {
                if event.invocation_id() != ic.invocation_id() || event.is_partial() {
                } else if event.author() == "user" {
                    let is_message =
                        caller_of_task(event).is_none() && event.kept_signal().is_none() && !is_run_note(event);
                    if recorded.has_begun && is_message {
                        // A message of the user only comes after everything before it has ended.
                        recorded.closing.take_message();
                    }
                } else if *event.path() == path && is_within(event, branch.as_ref()) {
                    handle.claim_calls(&event.author().into(), event.function_calls());
                    recorded.take(shell, event, place);
                }
            }
            recorded
        })
    }

    fn take(&mut self, shell: &AgentSpec, event: &Event, place: usize) {
        if event.author() == shell.name {
            if is_failure(event) {
                return;
            }
            self.has_begun = true;
            self.take_own(event, place);
        } else if let Some(child) = child_of(shell, event.author()) {
            self.has_begun = true;
            self.closing = Closing::Open;
            self.at.take(&shell.name, event, child, place);
        }
    }

    fn take_own(&mut self, event: &Event, place: usize) {
        if event.actions().agent_state().is_some() {
            self.checkpoint = Some(place);
        }
        self.closing.take(event);
    }
}

/// Returns `true` if a direct sub-agent escalates in an event of the session from `seen` on. Advances `seen` past these
/// events.
// L177
pub(super) fn has_escalated(shell: &AgentSpec, handle: &RunHandle, seen: &mut usize) -> bool {
    let ic = handle.invocation();
    let path = handle.event_path();
    let branch = handle.branch().filter(|branch| !branch.is_empty());
    let is_child = |name: &str| shell.sub_agents.iter().any(|child| child.spec().name == name);
    ic.with_events(|events| {
        let from = std::mem::replace(seen, events.len());
        events.get(from..).unwrap_or_default().iter().any(|event| {
            event.actions().escalate() == Some(true)
                && is_child(event.author())
                && event.invocation_id() == ic.invocation_id()
                && *event.path() == path
                && is_within(event, branch.as_ref())
        })
    })
}

impl Position {
    /// Updates the position with an event of a sub-agent or of an agent below it.
    fn take(&mut self, shell: &str, event: &Event, child: usize, place: usize) {
        // Only a loop runs a sub-agent again, and only its events have a round.
        let round = round_of(shell, event).unwrap_or(self.round);
        if self.since.is_none() || (round, child) > (self.round, self.child) {
            *self = Self { round, child, since: Some(place), escalated: false };
        }
        self.escalated |= event.actions().escalate() == Some(true);
    }
}

/// Returns `true` if an event is on this branch or below it.
fn is_within(event: &Event, branch: Option<&Branch>) -> bool {
    let Some(branch) = branch else { return true };
    event.branch().is_some_and(|own| own == branch || is_below(own, branch))
}

/// Returns the index of the sub-agent that is the author, or that has the author below it.
fn child_of(agent: &AgentSpec, author: &str) -> Option<usize> {
    agent.sub_agents.iter().position(|sub| sub.agent().is_some_and(|sub| contains(sub, author)))
}

fn contains(agent: &AgentSpec, name: &str) -> bool {
    agent.name == name || agent.sub_agents.iter().filter_map(|sub| sub.agent()).any(|sub| contains(sub, name))
}
