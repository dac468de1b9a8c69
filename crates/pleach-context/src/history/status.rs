//! How far recorded runs are, for people who look at a log.

use pleach_core::NodePath;

use super::record::RunStatus;
use super::{History, RecordedRun};

impl History {
    /// How far the run at `path` is: what its own events say, and what those of others imply. For pictures and listings; a resume decides
    /// otherwise.
    ///
    /// A node that only asked has ended with its answer, and a group with the last of its runs, once a run behind it has begun.
    #[must_use]
    pub fn status(&self, path: &NodePath) -> Option<RunStatus> {
        let record = self.run(path)?;
        let status = record.status();
        if status != RunStatus::Started {
            return Some(status);
        }
        let parent = path.parent().unwrap_or_else(NodePath::root);
        let goes_on = self.children(&parent).any(|other| other.record.began_after(record));
        let implied = goes_on && self.may_have_ended(path, record.answers().is_empty());
        Some(if implied { RunStatus::Done } else { status })
    }

    /// Whether nothing below the run is under way, and it has got what it asked for.
    fn may_have_ended(&self, path: &NodePath, is_unanswered: bool) -> bool {
        let mut below = self.children(path).peekable();
        if below.peek().is_none() {
            return !is_unanswered;
        }
        below.all(|run: RecordedRun<'_>| self.status(run.path) == Some(RunStatus::Done))
    }
}
