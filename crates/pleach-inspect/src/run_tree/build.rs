//! Builds a [`RunTree`] from a log.

use std::sync::Arc;

use foldhash::{HashMap, HashSet};
use pleach_context::History;
use pleach_context::engine::RunRecord;
use pleach_core::{Event, InvocationId, NodePath, REQUEST_CREDENTIAL};
use pleach_workflow::{RunStatus, run_status};
use serde_json::Value;

use super::model::{Attempt, NodeRun, RunTree};
use super::tally::Tally;
use crate::turns::{Turn, turns};

/// Reads the events of one invocation, each with its place in the session.
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
    /// The questions whose answers are credentials.
    hidden: HashSet<String>,
}

impl Reader {
    fn read(&mut self, own: &[(usize, &Arc<Event>)], turns: &[Turn]) {
        let mut before = None;
        let mut turn = 0;
        for (place, event) in own {
            if turns.get(turn).is_some_and(|next| next.place == *place) {
                self.end_turn(turn);
                turn += 1;
            }
            let time = event.timestamp();
            let requests = event.function_calls().filter(|call| call.name.as_deref() == Some(REQUEST_CREDENTIAL));
            self.hidden.extend(requests.filter_map(|call| call.id.clone()));
            let waiting = if event.is_from_user() { self.waiting() } else { Vec::new() };
            self.history.add(event);
            for path in waiting {
                self.note_answer(path, turn, *place, time);
            }
            self.count(event, *place, turn, before.unwrap_or(time));
            before = Some(time);
        }
        self.end_turn(turn);
    }

    /// Counts an event for its run and the runs above it.
    fn count(&mut self, event: &Arc<Event>, place: usize, turn: usize, before: f64) {
        if event.is_from_user() || self.history.run(event.path()).is_none() {
            return;
        }
        let around = std::iter::successors(Some(event.path().clone()), NodePath::parent);
        for path in around.take_while(|path| !path.is_root()) {
            let is_own = path == *event.path();
            let tally = self.tallies.entry(path).or_insert_with(|| Tally::new(before, place));
            tally.count(event, is_own, place, turn, before);
        }
    }

    /// The runs that wait for an answer, each with the number of its answers.
    fn waiting(&self) -> Vec<(NodePath, usize)> {
        let record = |path: &NodePath| self.history.run(path).filter(|record| record.is_open());
        self.tallies.keys().filter_map(|path| Some((path.clone(), record(path)?.answers().len()))).collect()
    }

    fn note_answer(&mut self, (path, answers): (NodePath, usize), turn: usize, place: usize, time: f64) {
        let is_answered = self.history.run(&path).is_some_and(|record| record.answers().len() > answers);
        if let Some(tally) = self.tallies.get_mut(&path).filter(|_| is_answered) {
            tally.answer(turn, place, time);
        }
    }

    fn end_turn(&mut self, turn: usize) {
        for (path, tally) in &mut self.tallies {
            let waits = self.history.run(path).is_some_and(RunRecord::is_open);
            tally.end_turn(turn, waits);
        }
    }

    /// Returns the runs, each one before those below it.
    fn runs(mut self) -> Vec<NodeRun> {
        let mut runs = Vec::new();
        let mut left: Vec<(NodePath, usize)> = Vec::new();
        let below = |history: &History, path: &NodePath| -> Vec<NodePath> {
            history.children(path).map(|run| run.path.clone()).collect()
        };
        left.extend(below(&self.history, &NodePath::root()).into_iter().rev().map(|path| (path, 0)));
        while let Some((path, depth)) = left.pop() {
            left.extend(below(&self.history, &path).into_iter().rev().map(|path| (path, depth + 1)));
            let tally = self.tallies.remove(&path).unwrap_or_default();
            if let (Some(record), Some(status)) = (self.history.run(&path), run_status(&self.history, &path)) {
                let gave = record.output.is_some() || record.finished;
                let only_asked = status == RunStatus::Done && !gave && self.history.children(&path).len() == 0;
                let mut run = run(path, depth, record, status, tally, &self.hidden);
                if only_asked {
                    // What it gives is its answer.
                    run.output = run.answers.values().next_back().cloned();
                }
                runs.push(run);
            }
        }
        runs
    }
}

/// Describes a run by its record and what was counted of it.
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
    // What has not failed has an attempt that is not counted yet; a run that fails with those below it has no error of its own.
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
