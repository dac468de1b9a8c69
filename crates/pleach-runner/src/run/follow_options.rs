//! [`FollowOptions`]: the options of a follower.

use std::time::Duration;

use pleach_core::{Event, EventId, OutputFor};
use pleach_session::notes::notes_completed_runs;

/// The options of a follower: which events it receives, and when it ends.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FollowOptions {
    /// The id of the last complete event that the client has; `None` starts from the beginning.
    pub after: Option<EventId>,
    /// Whether the follower continues when the run waits for answers or no run is active. It then yields the events of runs
    /// that begin in this Runner and the events that other processes store. It ends when a run of this Runner ends, except with
    /// [`RunEnd::Waiting`](crate::RunEnd::Waiting) or [`RunEnd::Elsewhere`](crate::RunEnd::Elsewhere).
    pub across_pauses: bool,
    /// The interval at which such a follower reads the events of other processes, by the Runner's clock.
    pub poll_interval: Duration,
    /// Whether checkpoints are yielded: the events of resumable apps that only record progress, with `agent_state`,
    /// `end_of_agent` or completed runs.
    pub checkpoints: bool,
    /// Whether echoes are yielded: events in which a workflow of a resumable app repeats the output of a node.
    pub echoes: bool,
}

impl Default for FollowOptions {
    fn default() -> Self {
        Self {
            after: None,
            across_pauses: false,
            poll_interval: Duration::from_secs(1),
            checkpoints: false,
            echoes: false,
        }
    }
}

impl FollowOptions {
    /// Returns the default options: from the beginning of the log to the end of the run, without checkpoints and echoes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts after this event.
    #[must_use]
    pub fn after(mut self, event: impl Into<Option<EventId>>) -> Self {
        self.after = event.into();
        self
    }

    /// Sets whether the follower continues across pauses.
    #[must_use]
    pub fn across_pauses(mut self, yes: bool) -> Self {
        self.across_pauses = yes;
        self
    }

    /// Sets the interval at which the store is read during a pause; one second by default.
    #[must_use]
    pub fn poll_interval(mut self, interval: Duration) -> Self {
        self.poll_interval = interval;
        self
    }

    /// Sets whether checkpoints are yielded.
    #[must_use]
    pub fn checkpoints(mut self, yes: bool) -> Self {
        self.checkpoints = yes;
        self
    }

    /// Sets whether echoes are yielded.
    #[must_use]
    pub fn echoes(mut self, yes: bool) -> Self {
        self.echoes = yes;
        self
    }

    pub(crate) fn shows(&self, event: &Event) -> bool {
        (self.checkpoints || !is_checkpoint(event)) && (self.echoes || !is_echo(event))
    }
}

/// Returns `true` if the event only records progress.
pub(crate) fn is_checkpoint(event: &Event) -> bool {
    let actions = event.actions();
    let notes = actions.agent_state().is_some() || actions.end_of_agent().is_some() || notes_completed_runs(event);
    let says = event.content().is_some() || event.output().is_some() || event.error_code().is_some();
    notes && !says && actions.state_delta().is_empty() && actions.route().is_none()
}

/// Returns `true` if the event repeats a node's output. Only the node's own events name the runs that the output belongs to.
fn is_echo(event: &Event) -> bool {
    let path = event.path();
    let of_child = path.parent().is_some_and(|parent| parent.name() == event.author());
    event.output().is_some() && event.content().is_none() && matches!(event.output_for(), OutputFor::None) && of_child
}

#[cfg(test)]
mod tests {
    use pleach_core::{Content, Map};

    use super::*;

    #[test]
    fn checkpoints_and_echoes_are_left_out_unless_asked_for() {
        let mut checkpoint = Event::from_author("wf");
        checkpoint.actions_mut().set_agent_state(Some(Map::new()));
        let mut with_state = checkpoint.clone();
        with_state.actions_mut().set_state("k", 1);
        let echo = Event::from_author("wf").with_output(1).with_node_path("wf@1/a@1");
        let mut own = echo.clone();
        own.set_output_for(OutputFor::Own);
        let message = Event::message(Content::model("hello")).with_node_path("wf@1/a@1");
        let (default, all) = (FollowOptions::new(), FollowOptions::new().checkpoints(true).echoes(true));
        for (rule, event, shown) in [
            ("a checkpoint", checkpoint, false),
            ("a checkpoint with state", with_state, true),
            ("an echo", echo, false),
            ("a node's own output", own, true),
            ("a message", message, true),
        ] {
            assert_eq!(default.shows(&event), shown, "{rule}");
            assert!(all.shows(&event), "{rule}");
        }
    }
}
