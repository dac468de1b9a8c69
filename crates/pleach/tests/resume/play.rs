//! Plays a case turn by turn to its end, or up to a cut.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use pleach::prelude::*;
use pleach::{
    Event, Question, QuestionKind, Run, RunRequest, Session, SessionError, SessionKey, SignalOptions, SignalOutcome,
};
use pleach_contract::TestClock;
use serde_json::Value;

use crate::bodies::{answer, is_due, topic};
use crate::check::asks_several;
use crate::flow::Flow;
use crate::graph::root;
use crate::host::{Host, cut as cut_in_append};
use crate::record::{answers, waits_for_word};
use crate::world::{Counts, World};

const INVOCATION: &str = "e-1";

/// The maximum number of turns. It is more than the questions and failures of any case, so a case that reaches it makes
/// no progress.
const MANY_TURNS: usize = 200;

/// The point at which a process ends before its run does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cut {
    /// The process ends after it has received this many events.
    AfterEvent(usize),
    /// After this many appends, the next one fails. Its event is stored only if `stored` is set.
    AtAppend { appends: usize, stored: bool },
}

/// A session of a case, with the world around it.
pub(crate) struct Play<'a> {
    flow: &'a Flow,
    host: &'a Host,
    app: String,
    pub(crate) world: World,
    /// All events that were handed out, in order.
    pub(crate) seen: Vec<Arc<Event>>,
    /// The open questions each time nothing more could run, by the number of answers before.
    pub(crate) idle: Vec<BTreeSet<String>>,
}

/// The end of a turn.
enum TurnEnd {
    Done(Value),
    Waiting(Vec<Question>),
    /// A node failed on purpose.
    Failed,
    Cut,
}

impl<'a> Play<'a> {
    pub(crate) fn new(flow: &'a Flow, host: &'a Host, app: String) -> Self {
        Self { flow, host, app, world: World::default(), seen: Vec::new(), idle: Vec::new() }
    }

    /// The Runner of a new process.
    fn runner(&self, cut: Option<Cut>) -> Runner {
        let mut sessions = self.host.open();
        if let Some(Cut::AtAppend { appends, stored }) = cut {
            sessions = Arc::new(cut_in_append(sessions, appends, stored));
        }
        let runner = Runner::builder(self.app.as_str()).root(root(self.flow, &self.world)).sessions(sessions);
        runner.resumable(self.flow.resumable).clock(clock_without_deadlines()).ids(self.world.ids()).build().unwrap()
    }

    /// Plays from the beginning to the end. Returns `None` if the run was cut off before its end.
    pub(crate) fn start(&mut self, cut: Option<Cut>) -> Option<Value> {
        let runner = self.runner(cut);
        let run = runner.start(request().message("go").invocation_id(INVOCATION).yield_user_message(true));
        self.turns(&runner, run, cut)
    }

    /// Continues in a new process.
    pub(crate) fn resume(&mut self) -> Value {
        let runner = self.runner(None);
        let run = runner.resume("ana", "s1", INVOCATION);
        self.turns(&runner, run, None).unwrap()
    }

    /// Resumes a complete invocation and returns the output and the events of the resume.
    pub(crate) fn resume_once_more(&mut self) -> (Value, Vec<Arc<Event>>) {
        let before = self.seen.len();
        let output = self.resume();
        (output, self.seen[before..].to_vec())
    }

    fn turns(&mut self, runner: &Runner, mut run: Run, cut: Option<Cut>) -> Option<Value> {
        for _ in 0..MANY_TURNS {
            let open = match self.turn(run, cut) {
                // The agent of a task has asked the user something.
                TurnEnd::Done(_) if waits_for_word(&self.seen) => {
                    run = runner.start(request().message("told").yield_user_message(true));
                    continue;
                }
                TurnEnd::Done(output) => return Some(output),
                TurnEnd::Cut => return None,
                TurnEnd::Failed => {
                    run = runner.start(request().invocation_id(INVOCATION));
                    continue;
                }
                TurnEnd::Waiting(mut open) => {
                    open.sort_by_key(topic);
                    open
                }
            };
            assert!(!open.is_empty(), "the run waits for nothing");
            self.idle.push(open.iter().map(topic).collect());
            if !self.keep_signals(runner, &open) {
                return None;
            }
            let parts: Vec<Part> = answered(&selected(open), self.flow.one_by_one).into_iter().map(answer).collect();
            run = runner.start(request().message(parts).yield_user_message(true));
        }
        panic!("no end after {MANY_TURNS} turns");
    }

    /// Sends the signals that runs have waited for, but not those that a run is waiting for now, because these would
    /// start a run in parallel with the turns. The signal of the later branch is sent first. Sends nothing if a cut may
    /// change the turn in which a question is asked. Returns false if an append was cut off.
    fn keep_signals(&mut self, runner: &Runner, open: &[Question]) -> bool {
        if asks_several(self.flow) {
            return true;
        }
        let of_signal = |question: &Question| question.kind == QuestionKind::Signal;
        let waits = |name: &String| open.iter().any(|question| of_signal(question) && question.message == *name);
        let asked = self.seen.iter().flat_map(|event| event.questions()).filter(of_signal);
        let names: BTreeSet<String> = asked.map(|question| question.message).collect();
        let turn = answers(&self.seen);
        for name in names.iter().rev().filter(|name| !waits(name) && turn.is_multiple_of(2)) {
            let options = SignalOptions::new().idempotency_key(turn.to_string());
            let sent = runner.signal_with(("ana", "s1"), name, format!("of turn {turn}"), options);
            match self.host.wait(sent) {
                Ok(SignalOutcome::Kept) => {
                    let stored = self.stored().unwrap().events;
                    self.seen.extend(stored.last().cloned());
                }
                Ok(SignalOutcome::Repeated) => {}
                Err(RunError::Session(SessionError::Unavailable { .. })) => return false,
                // A node without a result leaves no trace in the log, so it might be running in another process.
                Err(RunError::Unfinished { .. }) if !self.flow.resumable => {}
                other => panic!("{name}: {other:?}"),
            }
        }
        true
    }

    /// Plays a turn without a pause: a process does not leave its executor between two events.
    fn turn(&mut self, run: Run, cut: Option<Cut>) -> TurnEnd {
        let host = self.host;
        host.wait(read(run, &mut self.seen, cut))
    }

    /// The stored session, or `None` if there is none.
    pub(crate) fn stored(&self) -> Option<Session> {
        let key = SessionKey::new(self.app.as_str(), "ana", "s1");
        self.host.wait(self.host.observer().get_session(&key, Default::default())).unwrap()
    }

    pub(crate) fn starts(&self) -> Counts {
        self.world.starts()
    }
}

async fn read(mut run: Run, seen: &mut Vec<Arc<Event>>, cut: Option<Cut>) -> TurnEnd {
    while let Some(event) = run.next().await {
        match (event, cut) {
            (Ok(event), _) => seen.push(event.event),
            (Err(error), _) if error.code() == "Trouble" => return TurnEnd::Failed,
            (Err(_), Some(Cut::AtAppend { .. })) => return TurnEnd::Cut,
            (Err(error), _) => panic!("{}: {error}", error.code()),
        }
        if matches!(cut, Some(Cut::AfterEvent(events)) if events == seen.len()) {
            return TurnEnd::Cut;
        }
    }
    match run.output::<Value>().await {
        Ok(output) => TurnEnd::Done(output),
        Err(RunError::NoOutput) => TurnEnd::Done(Value::Null),
        Err(RunError::Waiting(open)) => TurnEnd::Waiting(open),
        Err(error) => panic!("{}: {error}", error.code()),
    }
}

/// Chooses one question of each select.
fn selected(open: Vec<Question>) -> Vec<Question> {
    let others = |question: &Question| -> Vec<String> {
        let of_select =
            |other: &&Question| (&other.node_path, &other.select) == (&question.node_path, &question.select);
        open.iter().filter(of_select).map(topic).collect()
    };
    let is_chosen = |question: &&Question| {
        let Some(select) = &question.select else { return true };
        let others = others(question);
        let chosen = (question.node_path.as_str().len() + select.len() + select.as_bytes()[0] as usize) % others.len();
        topic(question) == others[chosen]
    };
    open.iter().filter(is_chosen).cloned().collect()
}

/// Chooses the questions to answer next: one or all of the person's questions or, if there are none, one question with
/// a deadline. The questions are sorted by topic, because each process asks them in another order.
fn answered(open: &[Question], one_by_one: bool) -> Vec<&Question> {
    let asked: Vec<&Question> = open.iter().filter(|question| !is_due(question)).collect();
    match asked.first() {
        Some(first) if one_by_one => vec![first],
        Some(_) => asked,
        None => open.iter().take(1).collect(),
    }
}

/// Returns a clock whose pauses between attempts end at once and whose deadlines never come: the play answers questions at their deadlines.
fn clock_without_deadlines() -> TestClock {
    TestClock::skipping_only(|duration| duration < Duration::from_secs(20))
}

fn request() -> RunRequest {
    RunRequest::new(("ana", "s1"))
}
