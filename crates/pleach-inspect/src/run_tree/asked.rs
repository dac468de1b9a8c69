//! [`AskingRuns`]: the runs that wait for the answer to a question.

use std::collections::BTreeSet;

use foldhash::HashMap;
use pleach_context::History;
use pleach_context::engine::RunRecord;
use pleach_core::{Event, NodePath};

/// The runs that have asked, by question. When a question is answered, runs that no longer wait are dropped. Otherwise
/// a loop that asks under one id again and again would become slower.
#[derive(Debug, Default)]
pub(super) struct AskingRuns {
    runs: HashMap<String, BTreeSet<NodePath>>,
}

impl AskingRuns {
    /// Notes the questions of an event.
    pub(super) fn note(&mut self, event: &Event) {
        for id in event.interrupt_ids() {
            self.runs.entry(id.to_owned()).or_default().insert(event.path().clone());
        }
    }

    /// Returns the runs that a user's event may answer.
    pub(super) fn answered_by(&mut self, event: &Event, history: &History) -> Vec<NodePath> {
        let mut found = Vec::new();
        let named = event.function_responses().filter_map(|response| response.id.as_deref());
        // A branch may be named after a question. An answer to a call on such a branch answers that question as well.
        let of_branch = event.branch().into_iter().flat_map(|branch| branch.run_ids());
        for id in named.chain(of_branch) {
            let Some(runs) = self.runs.get_mut(id) else { continue };
            runs.retain(|path| history.run(path).is_some_and(RunRecord::is_open));
            found.extend(runs.iter().cloned());
        }
        found
    }
}
