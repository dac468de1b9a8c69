//! What an invocation has already done, read from its events once.
//!
//! Nothing but events records execution (R1001). This index answers, for every run that left a trace, what came of it;
//! deciding what a resume does with the answer is the workflow engine's part.

mod marks;
mod record;

use std::sync::Arc;

use pleach_core::{Event, InvocationId, NodePath};
use rustc_hash::FxHashMap;
use serde_json::Value;

pub use marks::mark_completed;
pub(crate) use marks::mark_pending_route;
pub use record::RunRecord;

use crate::schema::{check_answer, unwrap_response};
use record::{has_result_output, is_echo};

/// The runs of one invocation that left events.
#[derive(Clone, Debug, Default)]
pub struct History {
    runs: Vec<Run>,
    /// The runs by path. Neighbours in a tree look each other up by number, without a hash.
    index: FxHashMap<NodePath, RunKey>,
    /// The runs directly below the root.
    top: Vec<RunKey>,
    /// Who has asked a question, the last one last.
    askers: FxHashMap<String, Vec<Asker>>,
    /// Counts what has been read, to tell earlier from later.
    now: u64,
    /// When a run gave the last event.
    ran: u64,
}

#[derive(Clone, Debug)]
struct Run {
    path: NodePath,
    parent: Option<RunKey>,
    children: Vec<RunKey>,
    record: RunRecord,
}

/// A run that has asked a question, and the shape of the answer that it wants.
#[derive(Clone, Debug)]
struct Asker {
    run: RunKey,
    schema: Option<Value>,
}

/// Where a history keeps a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunKey(u32);

/// A run that left events.
#[derive(Clone, Copy, Debug)]
pub struct RecordedRun<'a> {
    /// Where it is kept; see [`History::at`].
    pub key: RunKey,
    /// Its path.
    pub path: &'a NodePath,
    /// What is known about it.
    pub record: &'a RunRecord,
}

impl History {
    /// Reads the live events of `invocation` from a session's events, in order (R1002, R1003).
    #[must_use]
    pub fn read<'a>(events: impl IntoIterator<Item = &'a Arc<Event>>, invocation: &InvocationId) -> Self {
        let own = events.into_iter().filter(|event| event.invocation_id() == invocation);
        let mut history = Self::default();
        own.for_each(|event| history.add(event));
        history
    }

    /// What is known about the run at `path`.
    #[must_use]
    pub fn run(&self, path: &NodePath) -> Option<&RunRecord> {
        self.index.get(path).map(|key| self.at(*key).record)
    }

    /// The run that is kept there.
    ///
    /// # Panics
    /// When the key is another history's.
    #[must_use]
    pub fn at(&self, key: RunKey) -> RecordedRun<'_> {
        let Run { path, record, .. } = &self.runs[key.0 as usize];
        RecordedRun { key, path, record }
    }

    /// The direct children of `parent` that left events, in the order of their first ones.
    pub fn children(&self, parent: &NodePath) -> impl ExactSizeIterator<Item = RecordedRun<'_>> {
        let keys = match self.index.get(parent) {
            Some(key) => &self.runs[key.0 as usize].children,
            None if parent.is_root() => &self.top,
            None => const { &Vec::new() },
        };
        keys.iter().map(|key| self.at(*key))
    }

    /// Whether nothing has been recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    fn add(&mut self, event: &Arc<Event>) {
        self.now += 1;
        if event.author() == "user" {
            self.add_answers(event);
        } else if !event.path().is_root() {
            self.add_run_event(event);
        }
        for path in marks::completed_runs(event).filter(|path| !path.is_root()) {
            self.now += 1;
            let key = self.key_of(&path);
            let dropped = self.runs[key.0 as usize].record.complete(self.now);
            if !dropped.is_empty() {
                self.with_owners(key, |_, run| run.drop_waiting(&dropped));
            }
        }
    }

    /// Where the run at `path` is kept; it and the runs above it are added if they are new.
    fn key_of(&mut self, path: &NodePath) -> RunKey {
        if let Some(key) = self.index.get(path) {
            return *key;
        }
        // Siblings often come one after the other.
        let neighbour = self.runs.last().and_then(|last| last.parent);
        if let Some(parent) = neighbour.filter(|parent| Some(self.at(*parent).path.as_str()) == path.parent_str()) {
            return self.add_run(path.clone(), Some(parent));
        }
        let mut new = vec![path.clone()];
        let mut above = path.parent();
        let mut parent = None;
        while let Some(path) = above {
            parent = self.index.get(&path).copied();
            above = if parent.is_some() { None } else { path.parent() };
            if parent.is_none() {
                new.push(path);
            }
        }
        let added = new.into_iter().rev().fold(parent, |parent, path| Some(self.add_run(path, parent)));
        added.expect("at least the run itself was added")
    }

    fn add_run(&mut self, path: NodePath, parent: Option<RunKey>) -> RunKey {
        let key = RunKey(u32::try_from(self.runs.len()).expect("a session has fewer than 2^32 events"));
        self.index.insert(path.clone(), key);
        self.runs.push(Run { path, parent, children: Vec::new(), record: RunRecord::default() });
        match parent {
            Some(parent) => self.runs[parent.0 as usize].children.push(key),
            None => self.top.push(key),
        }
        key
    }

    /// Calls `change` for a run and all runs above it.
    fn with_owners(&mut self, key: RunKey, mut change: impl FnMut(&NodePath, &mut RunRecord)) {
        let mut next = Some(key);
        while let Some(key) = next {
            let run = &mut self.runs[key.0 as usize];
            change(&run.path, &mut run.record);
            next = run.parent;
        }
    }

    fn add_answers(&mut self, event: &Event) {
        for response in event.function_responses() {
            let Some(id) = response.id.as_deref() else { continue };
            let empty = pleach_core::Map::new();
            let answer = unwrap_response(response.response.as_ref().unwrap_or(&empty));
            let Some(askers) = self.askers.get(id) else {
                self.answer_by_branch(event, &answer);
                continue;
            };
            // Several runs may ask under one id: the last one that waits is answered, and then the others.
            let waiting = askers.iter().rev().find(|asker| self.at(asker.run).record.waits_for(id));
            // Until something has run since, a second answer replaces the first; then the first one counts (R910).
            let goes_on = |asker: &&Asker| self.at(asker.run).record.was_answered_after(self.ran);
            let Some(Asker { run, schema }) = waiting.or(askers.last().filter(goes_on)) else { continue };
            let (run, first) = (*run, waiting.is_some());
            // An answer that does not fit was refused by us before it was stored; one that another writer stored leaves
            // the question open, and a later good one wins (R907).
            let fitting = match schema {
                Some(schema) => check_answer(schema, answer),
                None => Ok(answer),
            };
            let Ok(fitting) = fitting else { continue };
            // Answers of one message come one after the other.
            self.now += 1;
            let now = self.now;
            self.with_owners(run, |_, run| match first {
                true => run.take_answer(id, &fitting, now),
                false => run.replace_answer(id, &fitting),
            });
        }
    }

    /// An answer to a call that runs on a branch named after a question answers that question.
    fn answer_by_branch(&mut self, event: &Event, answer: &Value) {
        let Some(branch) = event.branch() else { return };
        let ids: Vec<String> = branch.run_ids().map(Into::into).collect();
        for run in &mut self.runs {
            for id in &ids {
                if run.record.waits_for(id) {
                    self.now += 1;
                    run.record.take_answer(id, answer, self.now);
                }
            }
        }
    }

    fn add_run_event(&mut self, event: &Arc<Event>) {
        let interrupts = event.interrupt_ids();
        let key = self.key_of(event.path());
        for id in &interrupts {
            let call = event.function_calls().find(|call| call.id.as_deref() == Some(id));
            let asks = call.filter(|call| call.name.as_deref() == Some(pleach_core::REQUEST_INPUT));
            let schema = asks.and_then(|call| call.args.as_ref()?.get("response_schema"));
            let schema = schema.filter(|schema| schema.is_object()).cloned();
            let askers = self.askers.entry((*id).to_owned()).or_default();
            askers.retain(|asker| asker.run != key);
            askers.push(Asker { run: key, schema });
        }
        let now = self.now;
        self.ran = now;
        let waited: Vec<bool> = interrupts.iter().map(|id| self.at(key).record.waits_for(id)).collect();
        let echo = is_echo(event);
        self.with_owners(key, |owner, run| {
            let direct = owner == event.path();
            let delegated = !direct && has_result_output(event) && event.is_output_for(owner);
            // What is told once more happened when it was told first.
            let known = echo && run.has_own();
            if !known {
                run.touch(now);
            }
            if direct || delegated {
                run.take_outcome(event, direct);
                if !known {
                    run.take_time(event, now);
                }
            }
            for (id, waits) in interrupts.iter().zip(&waited) {
                run.ask(id, *waits, now);
            }
            if direct {
                let has_calls = event.function_calls().next().is_some() || event.function_responses().next().is_some();
                run.finished = interrupts.is_empty() && !run.failed && !event.is_partial() && !has_calls;
            }
        });
    }
}
