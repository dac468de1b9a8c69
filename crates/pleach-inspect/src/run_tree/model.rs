//! The runs of an invocation as plain data.

use std::collections::BTreeMap;

use pleach_core::{InvocationId, NodePath};
use pleach_workflow::RunStatus;
use serde::Serialize;
use serde_json::Value;

use crate::turns::Turn;

/// The runs of one invocation's nodes, as a tree.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunTree {
    /// The id of the invocation.
    pub invocation: InvocationId,
    /// Whether the invocation is effective. The tree of an invocation that a rewind has undone shows what happened
    /// before.
    pub effective: bool,
    /// The turns of the invocation.
    pub turns: Vec<Turn>,
    /// The runs. Each run comes before the runs below it. Siblings are in the order of their first events.
    pub runs: Vec<NodeRun>,
}

/// One run of a node.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeRun {
    /// The path of the run.
    pub path: NodePath,
    /// The name of the node.
    pub name: String,
    /// The id of the run, which distinguishes the runs of one node.
    pub run_id: String,
    /// The number of runs above this one.
    pub depth: usize,
    /// The status of the run.
    pub status: RunStatus,
    /// When the run began, in seconds since the epoch. The log has no start times, so this is the time of the event
    /// before the run's first event.
    pub began: f64,
    /// The time of the last event of this run or a run below it, in seconds since the epoch.
    pub ended: f64,
    /// How long the run has executed, in seconds, without the time between turns.
    pub seconds: f64,
    /// The position in the session of the first event of this run or a run below it, from 0.
    pub first: usize,
    /// The position of the last event of this run or a run below it.
    pub last: usize,
    /// The number of events that the run itself has written.
    pub events: usize,
    /// The attempts. If the node was not retried, there is one.
    pub attempts: Vec<Attempt>,
    /// The work of the run in each turn since it began, in order and without gaps. Consecutive turns in which the run was
    /// not executed and did the same are one entry. So there are at most twice as many entries as turns in which the
    /// run made progress.
    pub turns: Vec<TurnWork>,
    /// The output of the run.
    pub output: Option<Value>,
    /// The route that the run chose.
    pub route: Option<Value>,
    /// The agent to which the run handed over.
    pub transfer: Option<String>,
    /// The open questions of the run and the runs below it.
    pub open: Vec<String>,
    /// The answers that the run and the runs below it received, by question. A credential is shown as null.
    pub answers: BTreeMap<String, Value>,
}

/// One attempt of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Attempt {
    /// When the attempt began, in seconds since the epoch; see [`NodeRun::began`].
    pub began: f64,
    /// When the attempt failed. If it has not failed, the time of the run's last event.
    pub ended: f64,
    /// The code of the error that ended the attempt.
    pub error: Option<String>,
    /// The text of that error.
    pub message: Option<String>,
}

/// The work of a run in one turn, or in several consecutive turns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TurnWork {
    /// The number of the first of these turns, from 1.
    pub first: usize,
    /// The number of the last of these turns. A turn that executed the run has an entry of its own.
    pub last: usize,
    /// The work of the run in these turns.
    pub work: Work,
    /// When the run began in this turn, in seconds since the epoch, if it was executed.
    pub began: Option<f64>,
    /// The time of the run's last event in this turn, if it was executed.
    pub ended: Option<f64>,
}

/// The work of a run in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Work {
    /// The run, or a run below it, has written events.
    Executed,
    /// The run received the answer that it waited for, and has written nothing.
    Answered,
    /// The run had ended in an earlier turn. Its result was read from the log, and its body did not execute.
    Replayed,
    /// The run waited for an answer, and this turn did not bring it.
    Waited,
}
