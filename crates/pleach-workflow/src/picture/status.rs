//! [`run_status`]: how far a recorded run is, for people who look at a log.

use pleach_context::History;
use pleach_context::engine::RunRecord;
use pleach_core::NodePath;
use serde::Serialize;

/// How far a recorded run is.
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

/// Returns how far the run at `path` is, for pictures and listings: what its own events say, and what those of others imply. A resume
/// decides otherwise.
///
/// A node that only asked has ended with its answer, and a group with the last of its runs, once a run behind it has begun.
#[must_use]
pub fn run_status(history: &History, path: &NodePath) -> Option<RunStatus> {
    let record = history.run(path)?;
    let status = of_own_events(record);
    if status != RunStatus::Started {
        return Some(status);
    }
    let parent = path.parent().unwrap_or_else(NodePath::root);
    let goes_on = history.children(&parent).any(|other| other.record.began_after(record));
    Some(if goes_on && may_have_ended(history, path, record) { RunStatus::Done } else { status })
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

/// Returns whether nothing below the run is under way, and it has got what it asked for.
fn may_have_ended(history: &History, path: &NodePath, record: &RunRecord) -> bool {
    let mut below = history.children(path).peekable();
    if below.peek().is_none() {
        return !record.answers().is_empty();
    }
    below.all(|run| run_status(history, run.path) == Some(RunStatus::Done))
}
