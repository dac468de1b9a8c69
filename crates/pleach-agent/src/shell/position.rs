//! Where a shell agent that was cut off continues, read from the events of its sub-agents.
// L179

use std::sync::Arc;

use pleach_context::AgentSpec;
use pleach_context::engine::Engine as _;
use pleach_core::Event;

use super::ShellRun;
use crate::run::first_event;

/// Where a shell agent continues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Position {
    /// How often all sub-agents have run.
    pub(super) round: u32,
    /// The sub-agent that runs.
    pub(super) child: usize,
    /// The first event of its run; `None` when it has not begun.
    pub(super) since: Option<usize>,
    /// One of its events asks the loop to end.
    pub(super) escalated: bool,
}

impl ShellRun<'_> {
    /// Calls `read` with the events of the invocation that belong to this run, and their places in the session.
    fn read<R>(&self, read: impl FnOnce(Vec<(usize, &Arc<Event>)>) -> R) -> R {
        let ic = self.ctx.invocation();
        let path = self.ctx.engine().event_path();
        let since = self.ctx.engine().since();
        let branch = self.ctx.branch();
        ic.engine().with_events(|events| {
            let own = events.iter().enumerate().skip(since.max(first_event(events, ic)));
            let own = own.filter(|(_, event)| {
                event.invocation_id() == ic.invocation_id()
                    && event.author() != "user"
                    && *event.path() == path
                    && is_within(event, branch.as_ref())
            });
            read(own.collect())
        })
    }

    /// Returns whether this run has left any event.
    pub(super) fn has_begun(&self) -> bool {
        self.read(|own| {
            own.into_iter()
                .any(|(_, event)| child_of(&self.shell.agent, event.author()).is_some() || self.is_mine(event))
        })
    }

    /// Returns whether an event records that the agent is done: its mark, or a callback's answer before any sub-agent.
    pub(super) fn has_ended(&self) -> bool {
        self.read(|own| {
            let is_answer = |event: &Event| self.is_mine(event) && event.content().is_some();
            let is_mark = |event: &Event| self.is_mine(event) && event.actions().end_of_agent() == Some(true);
            own.first().is_some_and(|(_, event)| is_answer(event)) || own.iter().any(|(_, event)| is_mark(event))
        })
    }

    fn is_mine(&self, event: &Event) -> bool {
        event.author() == self.shell.agent.name
    }

    /// Returns where the agent continues.
    pub(super) fn position(&self) -> Position {
        self.read(|own| {
            let mut at = Position::default();
            let (mut last, mut ended) = (0, false);
            for (place, event) in own {
                let Some(child) = child_of(&self.shell.agent, event.author()) else { continue };
                if event.content().is_none() {
                    // Checkpoints and marks are not a turn of an agent.
                    continue;
                }
                let order = order_of(&self.shell.agent, event.author()).unwrap_or_default();
                // The agents within a sub-agent take their turns in order, too.
                let is_next_round = at.since.is_some() && (order < last || (order == last && ended));
                if at.since.is_none() || is_next_round || child != at.child {
                    at = Position {
                        round: at.round + u32::from(is_next_round),
                        child,
                        since: Some(place),
                        escalated: at.escalated && !is_next_round,
                    };
                }
                at.escalated |= event.actions().escalate() == Some(true);
                (last, ended) = (order, ends_child(event));
            }
            at
        })
    }
}

/// Returns whether an event ends the run of a sub-agent, so that a further one begins another run.
fn ends_child(event: &Event) -> bool {
    let waits = event.long_running_tool_ids().is_some_and(|ids| !ids.is_empty());
    let says = event.content().is_some() && event.is_final_response();
    !waits && (says || event.actions().end_of_agent() == Some(true))
}

fn is_within(event: &Event, branch: Option<&pleach_core::Branch>) -> bool {
    let Some(branch) = branch.filter(|branch| !branch.is_empty()) else { return true };
    event.branch().is_some_and(|own| {
        own == branch || own.as_str().strip_prefix(branch.as_str()).is_some_and(|rest| rest.starts_with('.'))
    })
}

/// Returns the place of the sub-agent that the author is or is below.
fn child_of(agent: &AgentSpec, author: &str) -> Option<usize> {
    agent.sub_agents.iter().position(|sub| sub.agent().is_some_and(|sub| contains(sub, author)))
}

fn contains(agent: &AgentSpec, name: &str) -> bool {
    agent.name == name || agent.sub_agents.iter().filter_map(|sub| sub.agent()).any(|sub| contains(sub, name))
}

/// Returns the place of the agent of this name among all agents below, in the order in which they run.
fn order_of(agent: &AgentSpec, name: &str) -> Option<usize> {
    fn find(agent: &AgentSpec, name: &str, next: &mut usize) -> Option<usize> {
        agent.sub_agents.iter().filter_map(|sub| sub.agent()).find_map(|sub| {
            let own = *next;
            *next += 1;
            if sub.name == name { Some(own) } else { find(sub, name, next) }
        })
    }
    find(agent, name, &mut 0)
}
