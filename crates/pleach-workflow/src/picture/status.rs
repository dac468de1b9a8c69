//! [`run_status`] and [`RunStatuses`]: the status of recorded runs, for people who look at a log.

use foldhash::HashMap;
use pleach_context::History;
use pleach_context::engine::{RunKey, RunRecord};
use pleach_core::NodePath;
use serde::Serialize;

/// The status of a recorded run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// It has completed.
    Done,
    /// It waits for an answer.
    Waiting,
    /// It failed.
    Failed,
    /// It has sent events and not ended: it is running, or was interrupted.
    Started,
}

/// Returns the fill colour of a node with this status, as CSS and Graphviz spell it.
#[must_use]
pub fn colour(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Done => "#c8e6c9",
        RunStatus::Waiting => "#fff3c4",
        RunStatus::Failed => "#ffcdd2",
        RunStatus::Started => "#bbdefb",
    }
}

/// Returns the status of the run at `path`, for pictures and listings. It follows from the run's own events and from later events of
/// other runs. A resume decides by different rules.
///
/// Once a sibling has begun after it, a node that only asked has ended with its answer, and a group has ended with the last of its
/// runs.
#[must_use]
pub fn run_status(history: &History, path: &NodePath) -> Option<RunStatus> {
    let status = of_own_events(history.run(path)?);
    if status != RunStatus::Started {
        return Some(status);
    }
    let parent = path.parent().unwrap_or_else(NodePath::root);
    let run = history.children(&parent).find(|run| run.path == path)?;
    RunStatuses::of(history).of_run(run.key)
}

/// The status of each run of a history, as [`run_status`] decides it. All are read in one walk.
#[derive(Debug)]
pub struct RunStatuses {
    by_run: HashMap<RunKey, RunStatus>,
}

impl RunStatuses {
    /// Reads the statuses of the runs of a history.
    #[must_use]
    pub fn of(history: &History) -> Self {
        // The runs, each after its parent, and whether a sibling began after the run's end.
        let mut runs: Vec<(RunKey, bool)> = Vec::new();
        let mut left = vec![NodePath::root()];
        while let Some(parent) = left.pop() {
            let newest = history.children(&parent).max_by_key(|run| run.record.began());
            for run in history.children(&parent) {
                let is_followed = newest.is_some_and(|newest| newest.record.began_after(run.record));
                runs.push((run.key, is_followed));
                left.push(run.path.clone());
            }
        }
        let mut statuses = Self { by_run: HashMap::default() };
        for (key, is_followed) in runs.into_iter().rev() {
            let status = match of_own_events(history.at(key).record) {
                RunStatus::Started if is_followed && statuses.may_have_ended(history, key) => RunStatus::Done,
                status => status,
            };
            statuses.by_run.insert(key, status);
        }
        statuses
    }

    /// Returns the status of a run of this history.
    #[must_use]
    pub fn of_run(&self, run: RunKey) -> Option<RunStatus> {
        self.by_run.get(&run).copied()
    }

    /// Returns `true` if everything below the run is done, or if nothing ran below it and its question was answered.
    fn may_have_ended(&self, history: &History, key: RunKey) -> bool {
        let run = history.at(key);
        let mut below = history.children(run.path).peekable();
        if below.peek().is_none() {
            return !run.record.answers().is_empty();
        }
        below.all(|run| self.of_run(run.key) == Some(RunStatus::Done))
    }
}

fn of_own_events(record: &RunRecord) -> RunStatus {
    if record.is_open() {
        RunStatus::Waiting
    } else if record.failed {
        RunStatus::Failed
    } else if record.finished || record.completed || record.output.is_some() || record.route().is_some() {
        RunStatus::Done
    } else {
        RunStatus::Started
    }
}
