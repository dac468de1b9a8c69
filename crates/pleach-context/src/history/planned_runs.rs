//! [`PlannedRuns`]: what a resume does with the recorded runs of a workflow's nodes. The engine makes the decisions;
//! this module only holds the data.

use std::sync::Arc;

use super::RunKey;
use crate::engine::GraphNames;

/// What history implies for a recorded run.
// R1010
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayState {
    /// The run executes, possibly again.
    ToRun,
    /// The run waits for answers.
    Open,
    /// The run completed with the recorded result.
    Completed,
    /// The run completed; the answers to its questions are its output.
    CompletedByAnswer,
    /// The run completed without a result.
    CompletedEmpty,
}

impl ReplayState {
    /// Returns `true` if the run will not execute again.
    #[must_use]
    pub fn is_complete(self) -> bool {
        matches!(self, Self::Completed | Self::CompletedByAnswer | Self::CompletedEmpty)
    }
}

/// A recorded run and its replay decision.
#[derive(Clone, Copy, Debug)]
pub struct PlannedRun {
    /// The index of the node in the graph.
    pub node: u32,
    /// The number of the run among the node's runs.
    pub number: u32,
    /// The key of the run in history.
    pub key: RunKey,
    /// What a resume does with the run.
    pub state: ReplayState,
    /// The completion time, if the record has one. Whether a nested workflow completed is only known after its replay.
    pub time: Option<u32>,
}

/// The recorded runs directly below one run of a workflow.
#[derive(Debug)]
pub struct PlannedRuns {
    /// The names of the graph that the plan was made for.
    pub graph: Arc<GraphNames>,
    /// The runs in the order of history.
    pub runs: Vec<PlannedRun>,
    /// The indices into `runs`, sorted by node, then by number.
    pub places: Vec<u32>,
    /// The start of each node's range in `places`.
    pub begins: Vec<u32>,
}
