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
    /// The invocation.
    pub invocation: InvocationId,
    /// Whether it counts. The tree of one that a rewind has undone shows what there was.
    pub effective: bool,
    /// Its turns.
    pub turns: Vec<Turn>,
    /// The runs: each one before those below it, siblings in the order of their first events.
    pub runs: Vec<NodeRun>,
}

/// One run of a node.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeRun {
    /// Its path.
    pub path: NodePath,
    /// The name of the node.
    pub name: String,
    /// The id of the run among those of its node.
    pub run_id: String,
    /// How many runs are above it.
    pub depth: usize,
    /// How far it is.
    pub status: RunStatus,
    /// When it began, in seconds since the epoch. Nothing records that, so it is the time of the invocation's event before its first one.
    pub began: f64,
    /// The time of its last event, or that of a run below it, in seconds since the epoch.
    pub ended: f64,
    /// How long it has run, in seconds, without the time between turns.
    pub seconds: f64,
    /// The place of its first event, or that of a run below it, in the session, from 0.
    pub first: usize,
    /// The place of its last event, or that of a run below it.
    pub last: usize,
    /// How many events it has written itself.
    pub events: usize,
    /// Its attempts. A node that is not retried has one.
    pub attempts: Vec<Attempt>,
    /// What became of it in the turns since the one in which it began, in order and without gaps. Turns in a row in which nothing or the
    /// same became of it are one entry, so that a run has no more entries than twice the turns that moved it.
    pub turns: Vec<TurnWork>,
    /// What it gave.
    pub output: Option<Value>,
    /// The route that it chose.
    pub route: Option<Value>,
    /// The agent that it handed over to.
    pub transfer: Option<String>,
    /// The open questions of the run and the runs below it.
    pub open: Vec<String>,
    /// The answers that the run and the runs below it got, by question. A credential is null.
    pub answers: BTreeMap<String, Value>,
}

/// One attempt of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Attempt {
    /// When it began, in seconds since the epoch; see [`NodeRun::began`].
    pub began: f64,
    /// When it failed, or the time of the run's last event.
    pub ended: f64,
    /// The code of the error with which it failed.
    pub error: Option<String>,
    /// The text of that error.
    pub message: Option<String>,
}

/// What became of a run in a turn, or in several in a row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TurnWork {
    /// The number of the first of these turns, from 1.
    pub first: usize,
    /// The number of the last one. A turn that executed the run is an entry of its own.
    pub last: usize,
    /// What became of it.
    pub work: Work,
    /// When it began in this turn, in seconds since the epoch, if it was executed.
    pub began: Option<f64>,
    /// The time of its last event in this turn, if it was executed.
    pub ended: Option<f64>,
}

/// Whether a turn has executed a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Work {
    /// The run, or one below it, has written events.
    Executed,
    /// It got the answer that it waited for, and has written nothing.
    Answered,
    /// It had ended: its result was read from the log, and its body did not run.
    Replayed,
    /// It waited for an answer that this turn did not bring.
    Waited,
}
