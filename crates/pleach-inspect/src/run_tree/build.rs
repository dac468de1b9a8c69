//! Builds a [`RunTree`] from a log.

use std::collections::BTreeSet;
use std::sync::Arc;

use foldhash::{HashMap, HashSet};
use pleach_context::History;
use pleach_context::engine::{RecordedRun, RunKey, RunRecord};
use pleach_core::{Event, InvocationId, NodePath, REQUEST_CREDENTIAL};
use pleach_workflow::{RunStatus, RunStatuses};
use serde_json::Value;

use super::asked::AskingRuns;
use super::model::{Attempt, NodeRun, RunTree};
use super::tally::Tally;
use crate::turns::{Turn, turns};

/// Reads the events of one invocation, each with its position in the session.
pub(super) fn tree(own: &[(usize, &Arc<Event>)], invocation: &InvocationId, effective: bool) -> RunTree {
    let turns = turns(own);
    let mut reader = Reader::default();
    reader.read(own, &turns);
    RunTree { invocation: invocation.clone(), effective, turns, runs: reader.runs() }
}

/// Reads events in order.
#[derive(Default)]
struct Reader {
    history: History,
    tallies: HashMap<NodePath, Tally>,
    asked: AskingRuns,
    /// The questions whose answers are credentials.
    hidden: HashSet<String>,
}

impl Reader {
    fn read(&mut self, own: &[(usize, &Arc<Event>)], turns: &[Turn]) {
        let mut before = None;
        let mut turn = 0;
        for (place, event) in own {
            turn += usize::from(turns.get(turn).is_some_and(|next| next.place == *place));
            let time = event.timestamp();
            let requests = event.function_calls().filter(|call| call.name.as_deref() == Some(REQUEST_CREDENTIAL));
            self.hidden.extend(requests.filter_map(|call| call.id.clone()));
            if event.is_from_user() {
                self.answer(event, *place, turn);
            } else {
                self.count(event, *place, turn, before.unwrap_or(time));
            }
            before = Some(time);
        }
        for (path, tally) in &mut self.tallies {
            tally.catch_up(turn + 1, || is_open(&self.history, path));
        }
    }

    /// Adds an event to the tallies of its run and the runs above it.
    fn count(&mut self, event: &Arc<Event>, place: usize, turn: usize, before: f64) {
        // A path that is longer than runs may have is not split.
        let around = if self.history.keeps(event.path()) { around(event.path()) } else { Vec::new() };
        self.catch_up(&around, turn);
        self.history.add(event);
        for (height, path) in around.into_iter().enumerate() {
            let tally = self.tallies.entry(path).or_insert_with(|| Tally::new(before, place));
            tally.count(event, height == 0, place, turn, before);
        }
        self.asked.note(event);
    }

    /// Reads a user's event, which may answer questions of runs.
    fn answer(&mut self, event: &Arc<Event>, place: usize, turn: usize) {
        let owners: BTreeSet<NodePath> = self
            .asked
            .answered_by(event, &self.history)
            .iter()
            .flat_map(around)
            .filter(|path| is_open(&self.history, path))
            .collect();
        let owners: Vec<NodePath> = owners.into_iter().collect();
        self.catch_up(&owners, turn);
        let answers = |history: &History, path: &NodePath| history.run(path).map_or(0, |run| run.answers().len());
        let before: Vec<usize> = owners.iter().map(|path| answers(&self.history, path)).collect();
        self.history.add(event);
        for (path, before) in owners.iter().zip(before) {
            let is_answered = answers(&self.history, path) > before;
            if let Some(tally) = self.tallies.get_mut(path).filter(|_| is_answered) {
                tally.answer(turn, place, event.timestamp());
            }
        }
    }

    /// Fills in the earlier turns in which these runs made no progress.
    fn catch_up(&mut self, runs: &[NodePath], turn: usize) {
        for path in runs {
            if let Some(tally) = self.tallies.get_mut(path) {
                tally.catch_up(turn, || is_open(&self.history, path));
            }
        }
    }

    /// Returns the runs. Each run comes before the runs below it.
    fn runs(mut self) -> Vec<NodeRun> {
        let mut runs = Vec::new();
        let statuses = RunStatuses::of(&self.history);
        let mut left: Vec<(RunKey, usize)> = Vec::new();
        let below = |history: &History, path: &NodePath, depth: usize| -> Vec<(RunKey, usize)> {
            history.children(path).map(|run| (run.key, depth)).collect()
        };
        left.extend(below(&self.history, &NodePath::root(), 0).into_iter().rev());
        while let Some((key, depth)) = left.pop() {
            let RecordedRun { path, record, .. } = self.history.at(key);
            let inner = below(&self.history, path, depth + 1);
            let tally = self.tallies.remove(path).unwrap_or_default();
            let status = statuses.of_run(key).unwrap_or(RunStatus::Started);
            let gave = record.output.is_some() || record.finished;
            let only_asked = status == RunStatus::Done && !gave && inner.is_empty();
            let mut run = run(path.clone(), depth, record, status, tally, &self.hidden);
            if only_asked {
                // The output of a run that only asked is its answer.
                run.output = run.answers.values().next_back().cloned();
            }
            runs.push(run);
            left.extend(inner.into_iter().rev());
        }
        runs
    }
}

/// Returns a run and the runs above it.
fn around(path: &NodePath) -> Vec<NodePath> {
    let above = std::iter::successors(Some(path.clone()), NodePath::parent);
    above.take_while(|path| !path.is_root()).collect()
}

fn is_open(history: &History, path: &NodePath) -> bool {
    history.run(path).is_some_and(RunRecord::is_open)
}

/// Describes a run by its record and its tally.
fn run(
    path: NodePath,
    depth: usize,
    record: &RunRecord,
    status: RunStatus,
    tally: Tally,
    hidden: &HashSet<String>,
) -> NodeRun {
    let seconds = tally.seconds();
    let mut attempts = tally.failures;
    // The tally has only failed attempts. One more attempt is added if the run has not failed, or has failed only
    // because a run below it failed.
    if status != RunStatus::Failed || attempts.is_empty() {
        attempts.push(Attempt { began: tally.attempt_began, ended: tally.ended, error: None, message: None });
    }
    let shown =
        |(id, answer): (&String, &Value)| (id.clone(), if hidden.contains(id) { Value::Null } else { answer.clone() });
    NodeRun {
        name: path.name().to_owned(),
        run_id: path.run_id().to_owned(),
        depth,
        status,
        began: tally.began,
        ended: tally.ended,
        seconds,
        first: tally.first,
        last: tally.last,
        events: tally.events,
        attempts,
        turns: tally.turns,
        output: record.output.as_ref().map(|output| output.to_value()),
        route: record.route().and_then(|route| serde_json::to_value(route).ok()),
        transfer: record.transfer_to_agent().map(str::to_owned),
        open: record.open(),
        answers: record.answers().iter().map(shown).collect(),
        path,
    }
}
