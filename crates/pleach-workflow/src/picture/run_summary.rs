//! [`RunSummary`]: the status and duration of each node in one invocation, for pictures.

use std::fmt::Write as _;
use std::sync::Arc;

use foldhash::HashMap;
use pleach_context::engine::RecordedRun;
use pleach_context::{History, effective_events_of};
use pleach_core::{Event, InvocationId, NodePath};

use super::status::{RunStatus, run_status};

/// The summary of one graph node.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NodeSummary {
    pub(super) status: RunStatus,
    /// The path of the last run.
    pub(super) path: NodePath,
    runs: usize,
    failures: usize,
    /// The time from the event before the run's first event to its last, in seconds.
    seconds: f64,
}

/// The recorded runs of one invocation.
#[derive(Debug)]
pub(super) struct RunSummary {
    history: History,
    tallies: HashMap<NodePath, Tally>,
}

/// The totals of one run's events.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    failures: usize,
    begin: f64,
    end: f64,
}

impl RunSummary {
    pub(super) fn of(events: &[Arc<Event>], invocation: &InvocationId) -> Self {
        let own = effective_events_of(events, invocation);
        let history = History::of(&own);
        let mut tallies: HashMap<NodePath, Tally> = HashMap::default();
        let mut before = None;
        for event in &own {
            let time = event.timestamp();
            // The history leaves out paths that are too long for a run.
            if history.run(event.path()).is_none() {
                before = Some(time);
                continue;
            }
            // An event also counts for the enclosing runs.
            let around = std::iter::successors(Some(event.path().clone()), NodePath::parent);
            for path in around.take_while(|path| !path.is_root()) {
                let own = path == *event.path();
                let first = Tally { begin: before.unwrap_or(time), ..Tally::default() };
                let tally = tallies.entry(path).or_insert(first);
                tally.failures += usize::from(own && event.error_code().is_some());
                tally.end = time;
            }
            before = Some(time);
        }
        Self { history, tallies }
    }

    /// Returns the summary of the node with this name below the run at `parent`.
    pub(super) fn summary(&self, parent: &NodePath, name: &str) -> Option<NodeSummary> {
        let runs: Vec<_> = self.history.children(parent).filter(|run| run.path.name() == name).collect();
        let tally = |run: &RecordedRun<'_>| self.tallies.get(run.path).copied().unwrap_or_default();
        let last = runs.last()?;
        Some(NodeSummary {
            path: last.path.clone(),
            status: run_status(&self.history, last.path)?,
            failures: runs.iter().map(|run| tally(run).failures).sum(),
            runs: runs.len(),
            seconds: tally(last).end - tally(last).begin,
        })
    }
}

impl NodeSummary {
    /// Returns one line: status, number of runs, failed attempts and duration.
    pub(super) fn text(&self) -> String {
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

    /// Returns the fill colour.
    pub(super) fn colour(&self) -> &'static str {
        match self.status {
            RunStatus::Done => "#c8e6c9",
            RunStatus::Waiting => "#fff3c4",
            RunStatus::Failed => "#ffcdd2",
            RunStatus::Started => "#bbdefb",
        }
    }
}
