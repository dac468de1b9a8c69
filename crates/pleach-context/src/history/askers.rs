//! [`Askers`]: the runs that have asked a question.

use pleach_core::Branch;
use serde_json::Value;

use super::runs::{RunKey, Runs};

/// A run that has asked a question, and the schema of the answer.
#[derive(Debug)]
pub(super) struct Asker {
    pub(super) run: RunKey,
    pub(super) schema: Option<Value>,
    /// The deadline of the question, in seconds since the epoch.
    pub(super) deadline: Option<f64>,
    /// The select of the run that the question belongs to.
    pub(super) select: Option<String>,
    /// The branch that the run was on.
    pub(super) branch: Option<Branch>,
}

/// The runs that have asked a question.
#[derive(Debug, Default)]
pub(super) struct Askers {
    /// The runs in the order of their questions. A run that asks again is listed again.
    pub(super) all: Vec<Asker>,
    /// The indices in `all` of the runs that may wait for an answer.
    waiting: Vec<usize>,
}

impl Askers {
    pub(super) fn add(&mut self, asker: Asker) {
        self.waiting.push(self.all.len());
        self.all.push(asker);
    }

    /// Returns the last run that waits.
    pub(super) fn last_waiting(&mut self, id: &str, runs: &Runs) -> Option<&Asker> {
        while let Some(place) = self.waiting.pop() {
            if runs.at(self.all[place].run).record.waits_for(id) {
                self.waiting.push(place);
                return self.all.get(place);
            }
        }
        None
    }

    /// Returns the runs that wait, the last one first. Some runs occur more than once.
    pub(super) fn waiting<'a>(&'a self, id: &'a str, runs: &'a Runs) -> impl Iterator<Item = &'a Asker> {
        let asked = self.waiting.iter().rev().map(|place| &self.all[*place]);
        asked.filter(move |asker| runs.at(asker.run).record.waits_for(id))
    }
}
