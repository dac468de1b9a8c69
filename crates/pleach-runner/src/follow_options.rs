//! [`FollowOptions`]: what a follower wants to see, and for how long.

use std::time::Duration;

use pleach_context::engine::notes_completed_runs;
use pleach_core::{Event, EventId, OutputFor};

/// What a follower sees, and when it ends.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FollowOptions {
    /// The id of the last complete event that the client has; from the beginning without one.
    pub after: Option<EventId>,
    /// Whether the follower continues when the run waits for answers, or none is under way: it then shows the runs that
    /// begin in this Runner, and what other processes store. It ends when a run of this Runner ends otherwise.
    pub across_pauses: bool,
    /// How often such a follower looks what other processes have stored, by the Runner's clock.
    pub poll_interval: Duration,
    /// Whether checkpoints are shown: the events of resumable apps that only note how far a run is, with `agent_state`,
    /// `end_of_agent` or the runs that have completed.
    pub checkpoints: bool,
    /// Whether echoes are shown: the outputs of nodes that a workflow repeats in their place, as a resume in a resumable app
    /// does.
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
    /// From the beginning of the log to the end of the run, without checkpoints and echoes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins behind this event.
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

    /// Sets how often the store is looked at during a pause: one second unless set.
    #[must_use]
    pub fn poll_interval(mut self, interval: Duration) -> Self {
        self.poll_interval = interval;
        self
    }

    /// Sets whether checkpoints are shown.
    #[must_use]
    pub fn checkpoints(mut self, yes: bool) -> Self {
        self.checkpoints = yes;
        self
    }

    /// Sets whether echoes are shown.
    #[must_use]
    pub fn echoes(mut self, yes: bool) -> Self {
        self.echoes = yes;
        self
    }

    pub(crate) fn shows(&self, event: &Event) -> bool {
        (self.checkpoints || !is_checkpoint(event)) && (self.echoes || !is_echo(event))
    }
}

/// Whether the event only notes how far a run is.
pub(crate) fn is_checkpoint(event: &Event) -> bool {
    let actions = event.actions();
    let notes = actions.agent_state().is_some() || actions.end_of_agent().is_some() || notes_completed_runs(event);
    let says = event.content().is_some() || event.output().is_some() || event.error_code().is_some();
    notes && !says && actions.state_delta().is_empty() && actions.route().is_none()
}

/// Returns whether a workflow repeats the output of one of its nodes: only the node's own events name their receivers.
fn is_echo(event: &Event) -> bool {
    let path = event.path();
    let of_child = path.parent().is_some_and(|parent| parent.name() == event.author());
    event.output().is_some() && event.content().is_none() && matches!(event.output_for(), OutputFor::None) && of_child
}
