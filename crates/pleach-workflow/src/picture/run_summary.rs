//! [`RunSummary`]: the status and duration of each node in one invocation, for pictures.

use std::fmt::Write as _;
use std::sync::Arc;

use foldhash::HashMap;
use pleach_context::engine::is_reported;
use pleach_context::{History, effective_events_of};
use pleach_core::{Event, InvocationId, NodePath};

use super::status::{RunStatus, RunStatuses};

/// The runs of one node below one run.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeSummary {
    /// The status of the last run.
    pub status: RunStatus,
    /// The path of the last run.
    pub path: NodePath,
    /// The number of runs.
    pub runs: usize,
    /// The number of failed attempts of all runs.
    pub failures: usize,
    /// The duration of the last run in seconds, without the time between turns of the user.
    pub seconds: f64,
}

/// The runs of one invocation, summed up for each node. Pictures show this next to the node's name.
#[derive(Debug, Default)]
pub struct RunSummary {
    /// The nodes by the run that they ran below, and by name.
    nodes: HashMap<NodePath, HashMap<String, NodeSummary>>,
}

impl RunSummary {
    /// Reads an invocation from the events of its session. An invocation that a rewind has undone is summed up as it was before.
    #[must_use]
    pub fn of(events: &[Arc<Event>], invocation: &InvocationId) -> Self {
        let mut own = effective_events_of(events, invocation);
        if own.is_empty() {
            own = events.iter().filter(|event| event.invocation_id() == invocation).collect();
        }
        let history = History::of(&own);
        let (tallies, statuses) = (tallies(&own, &history), RunStatuses::of(&history));
        let mut summary = Self::default();
        let mut left = vec![NodePath::root()];
        while let Some(parent) = left.pop() {
            for run in history.children(&parent) {
                let tally = tallies.get(run.path).copied().unwrap_or_default();
                let status = statuses.of_run(run.key).unwrap_or(RunStatus::Started);
                summary.add(&parent, run.path, status, tally);
                left.push(run.path.clone());
            }
        }
        summary
    }

    /// Returns the summary of the node with this name below the run at `parent`.
    #[must_use]
    pub fn node(&self, parent: &NodePath, name: &str) -> Option<&NodeSummary> {
        self.nodes.get(parent)?.get(name)
    }

    /// Returns the path of the run that the nodes of a root's graph have run below. A graph without a name holds the roots themselves.
    #[must_use]
    pub fn root(&self, name: &str) -> NodePath {
        match self.node(&NodePath::root(), name) {
            Some(root) => root.path.clone(),
            None if name.is_empty() => NodePath::root(),
            None => NodePath::root().child(name, "1"),
        }
    }

    /// Adds a run of a node, after the node's other runs.
    fn add(&mut self, parent: &NodePath, path: &NodePath, status: RunStatus, tally: Tally) {
        let nodes = self.nodes.entry(parent.clone()).or_default();
        let before = nodes.get(path.name()).map_or((0, 0), |before| (before.runs, before.failures));
        let (runs, failures) = (before.0 + 1, before.1 + tally.failures);
        let summary = NodeSummary { status, path: path.clone(), runs, failures, seconds: tally.seconds() };
        nodes.insert(path.name().to_owned(), summary);
    }
}

/// The totals of one run's events.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    failures: usize,
    /// The seconds that the run took in earlier turns.
    earlier: f64,
    turn: usize,
    begin: f64,
    end: f64,
}

impl Tally {
    fn count(&mut self, turn: usize, before: f64, time: f64) {
        if turn > self.turn {
            self.earlier = self.seconds();
            (self.turn, self.begin) = (turn, before);
        }
        self.end = time;
    }

    fn seconds(self) -> f64 {
        self.earlier + (self.end - self.begin).max(0.0)
    }
}

/// Counts the events of each run and the runs below it.
fn tallies(own: &[&Arc<Event>], history: &History) -> HashMap<NodePath, Tally> {
    let mut tallies: HashMap<NodePath, Tally> = HashMap::default();
    let (mut before, mut turn) = (None, 1);
    for event in own {
        let time = event.timestamp();
        let begins = event.is_from_user() && event.content().is_some();
        turn += usize::from(begins);
        // The history leaves out paths that are too long for a run.
        let is_of_run = !event.is_from_user() && history.run(event.path()).is_some();
        let around = std::iter::successors(is_of_run.then(|| event.path().clone()), NodePath::parent);
        for path in around.take_while(|path| !path.is_root()) {
            let is_failure = path == *event.path() && ends_attempt(event);
            let tally = tallies.entry(path).or_default();
            tally.count(turn, before.unwrap_or(time), time);
            tally.failures += usize::from(is_failure);
        }
        before = Some(time);
    }
    tallies
}

/// Returns `true` if an attempt of the event's run has failed with this event. An error that is only reported does not end an attempt.
fn ends_attempt(event: &Event) -> bool {
    event.error_code().is_some() && !event.is_partial() && !is_reported(event)
}

impl NodeSummary {
    /// Returns one line: status, number of runs, failed attempts and duration.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = match self.status {
            RunStatus::Done => "done",
            RunStatus::Waiting => "waiting",
            RunStatus::Failed => "failed",
            RunStatus::Started => "started",
        }
        .to_owned();
        let mut add = |what: std::fmt::Arguments<'_>| write!(text, ", {what}").expect("a String takes any text");
        if self.runs > 1 {
            add(format_args!("{} runs", self.runs));
        }
        match self.failures {
            0 => {}
            1 => add(format_args!("1 failed attempt")),
            many => add(format_args!("{many} failed attempts")),
        }
        add(format_args!("{:.3} s", self.seconds));
        text
    }
}
