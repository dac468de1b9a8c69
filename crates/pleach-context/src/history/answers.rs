//! Questions and their answers, read from history.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use pleach_core::{Event, NodePath};
use pleach_schema::{check_answer, unwrap_response};
use serde_json::Value;

use super::History;
use super::askers::Asker;
use super::record::RunRecord;
use super::runs::RunKey;

/// The state of a question's answer. See [`History::answer_to`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AnswerState<'a> {
    /// A run waits for the answer.
    Waiting,
    /// This answer is stored, and no run that used it has completed, so a newer answer replaces it.
    Replaceable(&'a Value),
    /// A run that used this answer has completed, so a newer answer has no effect.
    Final(&'a Value),
    /// Another question of the same select is answered, so the run no longer waits for this one.
    Withdrawn,
    /// No recorded run asked the question; it may come from a program without nodes.
    Unknown,
}

impl History {
    /// Returns the deadline of the first question that the run at `path` asked with this id, in seconds since the
    /// epoch. If `select` names a select, only its questions are considered.
    pub(crate) fn deadline(&self, path: &NodePath, id: &str, select: Option<&str>) -> Option<f64> {
        let asked = self.askers.get(id)?.all.iter().filter(|asker| asker.select.as_deref() == select);
        asked.filter(|asker| self.runs.at(asker.run).path == *path).find_map(|asker| asker.deadline)
    }

    /// Returns `true` if a select of the run at `path` has asked its questions.
    pub(crate) fn has_asked(&self, path: &NodePath, select: &str) -> bool {
        self.run(path).is_some_and(|run| run.has_asked(select))
    }

    /// Returns the question that was answered first in a select of the run at `path`, and its answer.
    pub(crate) fn selected(&self, path: &NodePath, select: &str) -> Option<(&str, &Value)> {
        self.run(path)?.selected(select)
    }

    /// Returns the state of the answer to the question with this id. For runners.
    #[must_use]
    pub fn answer_to(&self, id: &str) -> AnswerState<'_> {
        let Some(askers) = self.askers.get(id) else { return AnswerState::Unknown };
        if askers.waiting(id, &self.runs).next().is_some() {
            return AnswerState::Waiting;
        }
        let Some(last) = askers.all.last() else { return AnswerState::Unknown };
        match self.at(last.run).record.answers().get(id) {
            Some(answer) if self.is_final(last) => AnswerState::Final(answer),
            Some(answer) => AnswerState::Replaceable(answer),
            None if self.is_withdrawn(last, id) => AnswerState::Withdrawn,
            None => AnswerState::Unknown,
        }
    }

    /// Returns `true` if another question of the same select is answered.
    fn is_withdrawn(&self, asker: &Asker, id: &str) -> bool {
        let selected = |select: &String| self.at(asker.run).record.selected(select);
        asker.select.as_ref().and_then(selected).is_some_and(|(first, _)| first != id)
    }

    /// Returns `true` if a run that took the answer to this run's question has completed. Such a run is the run
    /// itself, a run above or below it, or a run that began after the answer and is not in a parallel lane.
    // R910
    pub(super) fn is_final(&self, asker: &Asker) -> bool {
        let run = self.runs.at(asker.run);
        let answered = run.record.answered();
        let mut above = run.parent;
        while let Some(key) = above {
            let owner = self.runs.at(key);
            if self.completed_at(owner) > answered {
                return true;
            }
            above = owner.parent;
        }
        // If the run did nothing but ask, its answer is the only record of its completion.
        self.gave_at(run) > answered || self.takers().took(&self.runs, asker.run, asker.branch.as_ref(), answered)
    }

    pub(super) fn add_answers(&mut self, event: &Event) {
        for response in event.function_responses() {
            let Some(id) = response.id.as_deref() else { continue };
            let empty = pleach_core::Map::new();
            let answer = unwrap_response(response.response.as_ref().unwrap_or(&empty));
            let Some(askers) = self.askers.get_mut(id) else {
                self.answer_by_branch(event, &answer);
                continue;
            };
            // If several runs ask with the same id, the first answer is for the last of them, and later answers are
            // for the others.
            let first = askers.last_waiting(id, &self.runs).is_some();
            let Some(askers) = self.askers.get(id) else { continue };
            let asker = match first {
                true => askers.waiting(id, &self.runs).next(),
                // Until a run that took the first answer has completed, a second answer replaces it. After that the
                // first answer wins (R910).
                false => askers.all.last().filter(|asker| !self.is_final(asker)),
            };
            let Some(Asker { run, schema, select, .. }) = asker else { continue };
            let (run, select) = (*run, select.clone());
            // pleach refuses an answer that does not fit before it is stored. If another writer stored one, it leaves
            // the question open, and a later fitting answer wins (R907).
            let fitting = match schema {
                Some(schema) => check_answer(schema, answer),
                None => Ok(answer),
            };
            let Ok(fitting) = fitting else { continue };
            // The answers in one message come one after the other.
            self.now += 1;
            let now = self.now;
            let is_select = select.is_some();
            self.answer(run, |run| match first {
                true => run.take_answer(id, &fitting, is_select, now),
                false => run.replace_answer(id, &fitting),
            });
            if let Some(select) = select {
                self.decide(run, &select, id, &fitting);
            }
        }
    }

    /// Closes the other questions of a select of a run.
    fn decide(&mut self, run: RunKey, select: &str, id: &str, answer: &Value) {
        let others = self.runs.at_mut(run).record.decide(select, id, answer);
        self.with_owners(run, |run| run.drop_waiting(&others));
    }

    /// A call can run on a branch that is named after a question. Passes the call's answer to the runs that wait for
    /// that question.
    fn answer_by_branch(&mut self, event: &Event, answer: &Value) {
        let Some(branch) = event.branch() else { return };
        let ids: Vec<&str> = branch.run_ids().collect();
        let mut waiting = BTreeSet::new();
        for (place, id) in ids.iter().enumerate() {
            let askers = self.askers.get(*id).into_iter().flat_map(|askers| askers.waiting(id, &self.runs));
            let owners =
                askers.flat_map(|asker| std::iter::successors(Some(asker.run), |key| self.runs.at(*key).parent));
            waiting.extend(owners.map(|run| (run, place)));
        }
        for (run, place) in waiting {
            let (id, record) = (ids[place], &mut self.runs.at_mut(run).record);
            if record.waits_for(id) {
                self.now += 1;
                record.take_answer(id, answer, false, self.now);
            }
        }
        self.takers = OnceLock::new();
    }

    /// Passes an answer to a run and the runs above it.
    fn answer(&mut self, run: RunKey, change: impl FnMut(&mut RunRecord)) {
        // If a completed run is answered, it is no longer complete, so the index of completed runs is built again.
        if self.takers.get().is_some() && self.owners(run).any(|run| self.completed_at(run) > 0) {
            self.takers = OnceLock::new();
        }
        self.with_owners(run, change);
    }
}
