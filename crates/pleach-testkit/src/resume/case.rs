//! [`Case`]: one conversation, which may be cut off at one point.

use std::sync::Arc;

use pleach_core::{AppName, BoxError, EventId, Question, Session, SessionKey};
use pleach_runner::{Run, RunError, RunProgress, RunRequest, Runner};
use pleach_session::{GetSessionConfig, SessionService};
use pleach_session_inmemory::InMemorySessionService;
use serde_json::Value;

use super::crash::{CrashGate, CrashPoint, Write, Written};
use super::failure::{ResumeFailure, ResumeFault};
use super::outcome::{Outcome, several_outputs};
use super::settings::Settings;
use super::talk::{End, Next, Talk, Turn, invocation};
use crate::held_time::HeldTime;
use crate::{CountedIds, FaultySessions, ScriptedHuman, TestClock, Trace};

/// The maximum number of steps, more than any test conversation needs.
const MANY: usize = 100_000;

/// One conversation, with the state that outlives its processes.
pub(super) struct Case<'a> {
    settings: &'a Settings,
    key: SessionKey,
    memory: Arc<InMemorySessionService>,
    written: Arc<Written>,
    clock: TestClock,
    ids: CountedIds,
    human: ScriptedHuman,
}

/// A conversation that has ended.
pub(super) struct Played {
    pub(super) outcome: Outcome,
    pub(super) trace: Trace,
    pub(super) writes: Vec<Write>,
    /// Whether any effects were recorded.
    pub(super) has_effects: bool,
    /// The error of the first message that failed.
    pub(super) failure: Option<String>,
}

/// A Runner, and the gate between it and the store.
struct Process {
    runner: Runner,
    gate: Arc<CrashGate>,
}

impl<'a> Case<'a> {
    pub(super) fn new(settings: &'a Settings, number: usize) -> Self {
        settings.effects.clear();
        Self {
            settings,
            key: SessionKey::new(format!("resume-property-{number}"), "user", "session"),
            memory: Arc::default(),
            written: Arc::new(Written::new(settings.effects.clone())),
            clock: TestClock::passing_in_sleeps(),
            ids: CountedIds::new(),
            human: settings.human.anew(),
        }
    }

    /// Plays to the end, and checks the invariants of every run.
    pub(super) async fn play(self, point: Option<&CrashPoint>) -> Result<Played, ResumeFailure> {
        let mut talk = Talk::default();
        let result = self.processes(point, &mut talk).await;
        let session = self.stored().await;
        let trace = Trace::of(session.as_ref().map_or(&[], |session| &session.events));
        let fault = match (result, session) {
            (Ok(()), Ok(session)) => match self.broken(&session) {
                Some(fault) => fault,
                None => {
                    let settings = self.settings;
                    let outcome = Outcome::of(&session, &talk.ends, settings);
                    let failure = talk.ends.values().find_map(|end| match end {
                        End::Failed(error) => Some(error.clone()),
                        _ => None,
                    });
                    let has_effects = !settings.effects.all().is_empty();
                    return Ok(Played { outcome, trace, writes: self.written.writes(), has_effects, failure });
                }
            },
            (Err(fault), _) | (Ok(()), Err(fault)) => fault,
        };
        Err(ResumeFailure::new(point, fault, trace.redact(self.key.app_name.as_str(), "<app>")))
    }

    /// Checks what must hold for every run, interrupted or not: no effect twice, only keys from `idempotency_key`, no
    /// stored event lost, one output per run.
    fn broken(&self, session: &Session) -> Option<ResumeFault> {
        let repeated = self.settings.effects.repeated();
        if !repeated.is_empty() {
            return Some(ResumeFault::Repeated(repeated));
        }
        let foreign = self.settings.effects.foreign();
        if !foreign.is_empty() {
            return Some(ResumeFault::ForeignKeys(foreign));
        }
        let stored = self.written.stored();
        let is_lost = |id: &EventId| session.events.iter().all(|event| event.id() != id);
        let lost: Vec<String> = stored.into_iter().filter(|(id, _)| is_lost(id)).map(|(_, text)| text).collect();
        if !lost.is_empty() {
            return Some(ResumeFault::Lost(lost));
        }
        let several = several_outputs(&session.events);
        (!several.is_empty()).then_some(ResumeFault::SeveralOutputs(several))
    }

    /// Plays to the end, in as many processes as are needed.
    async fn processes(&self, point: Option<&CrashPoint>, talk: &mut Talk) -> Result<(), ResumeFault> {
        let mut point = point;
        let mut process = self.first(self.gate(point)).await?;
        let mut next = Next::Send(0);
        for _ in 0..MANY {
            if let Next::Fire(question) = &next {
                // The Runner that asked would also answer at the deadline, in its own task. Sleeps outlast processes.
                process.gate.end();
                drop(process);
                self.clock.jump_to(question.deadline.unwrap_or_default());
                process = self.process(self.gate(point)).await?;
            }
            next = match self.step(&process, next, talk).await? {
                Some(Next::Over) => return Ok(()),
                Some(next) => next,
                None => {
                    drop(process);
                    point = None;
                    process = self.process(self.gate(point)).await?;
                    Next::Look
                }
            };
        }
        Err(ResumeFault::NoEnd)
    }

    /// Performs the next step, and returns the one after it; `None` if the process is gone.
    async fn step(&self, process: &Process, next: Next, talk: &mut Talk) -> Result<Option<Next>, ResumeFault> {
        let turn = tokio::select! {
            biased;
            () = process.gate.gone() => return Ok(None),
            turn = self.turn(process, next, talk.message) => turn?,
        };
        if process.gate.is_gone() {
            return Ok(None);
        }
        talk.message = turn.message;
        talk.ends.extend(turn.end.map(|end| (turn.message, end)));
        Ok(Some(turn.next))
    }

    fn gate(&self, point: Option<&CrashPoint>) -> Arc<CrashGate> {
        let point = point.map(|point| (point.write, point.time));
        Arc::new(CrashGate::new(&self.written, point, self.settings.open.is_some()))
    }

    /// Starts the first process. It must find an empty store; otherwise it would mistake the session of an earlier
    /// check for its own.
    async fn first(&self, gate: Arc<CrashGate>) -> Result<Process, ResumeFault> {
        let store = self.open().await.map_err(ResumeFault::Setup)?;
        let found = {
            let _held = self.settings.open.is_some().then(HeldTime::new);
            store.get_session(&self.key, GetSessionConfig::recent(0)).await
        };
        if found.map_err(|error| ResumeFault::Setup(error.into()))?.is_some() {
            let key = &self.key;
            return Err(ResumeFault::Setup(
                format!("the store is not empty, it has the session {key}: use a new one for each check").into(),
            ));
        }
        self.assemble(store, gate)
    }

    async fn process(&self, gate: Arc<CrashGate>) -> Result<Process, ResumeFault> {
        let store = self.open().await.map_err(ResumeFault::Setup)?;
        self.assemble(store, gate)
    }

    fn assemble(&self, store: Arc<dyn SessionService>, gate: Arc<CrashGate>) -> Result<Process, ResumeFault> {
        let gated = FaultySessions { inner: store, gate: Arc::clone(&gate) as _ };
        let builder = (self.settings.app)(AppName::clone(&self.key.app_name)).sessions(gated);
        // Each process is gone before the next one begins, so no process needs to see that another one is working.
        let built = builder.clock(self.clock.clone()).ids(self.ids.clone()).no_heartbeat().build();
        let runner = built.map_err(|error| ResumeFault::Setup(error.into()))?;
        if *runner.app_name() != self.key.app_name {
            return Err(ResumeFault::Setup(
                "the app's name differs from the name that was passed to its function".into(),
            ));
        }
        Ok(Process { runner, gate })
    }

    async fn open(&self) -> Result<Arc<dyn SessionService>, BoxError> {
        match &self.settings.open {
            Some(open) => {
                let _held = HeldTime::new();
                open().await
            }
            None => Ok(Arc::clone(&self.memory) as _),
        }
    }

    /// Reads the final stored session, in a separate process.
    async fn stored(&self) -> Result<Session, ResumeFault> {
        let store = self.open().await.map_err(ResumeFault::Setup)?;
        let _held = self.settings.open.is_some().then(HeldTime::new);
        let session = store.get_session(&self.key, GetSessionConfig::all()).await;
        let session = session.map_err(|error| ResumeFault::Run(error.into()))?;
        session.ok_or_else(|| ResumeFault::Run(RunError::SessionNotFound(self.key.clone())))
    }

    /// Performs the next step.
    async fn turn(&self, process: &Process, next: Next, message: usize) -> Result<Turn, ResumeFault> {
        let runner = &process.runner;
        let key = &self.key;
        let messages = self.settings.inputs.len();
        let run = match next {
            Next::Over => return Ok(Turn::next(message, Next::Over)),
            Next::Send(message) if message >= messages => return Ok(Turn::next(message, Next::Over)),
            Next::Look => return self.look(process, messages).await,
            Next::Answer => match self.answer(process).await? {
                Answered::By(run) => *run,
                Answered::Open(end) => return Ok(Turn::ended(message, end, messages)),
                Answered::Later(question) => return Ok(Turn::next(message, Next::Fire(question))),
            },
            Next::Fire(question) => {
                if !self.is_open(process, &question).await? {
                    // The Runner that asked was faster.
                    return Ok(Turn::next(message, Next::Look));
                }
                let default = question.default.clone().unwrap_or(Value::Null);
                runner.answer(key, &*question, default).map_err(ResumeFault::Run)?
            }
            Next::Resume(invocation) => runner.start(RunRequest::new(key).invocation_id(invocation)),
            Next::Send(message) => {
                let request = RunRequest::new(key).message(self.settings.inputs[message].clone());
                let run = runner.start(request.invocation_id(invocation(message)));
                return self.read(process, run, message).await;
            }
        };
        self.read(process, run, message).await
    }

    /// Checks how far the session is.
    async fn look(&self, process: &Process, messages: usize) -> Result<Turn, ResumeFault> {
        match process.runner.status(&self.key).await {
            Ok(status) => {
                if let RunProgress::RunsHere = status.progress {
                    // The Runner has answered a question at its deadline.
                    let mut run = process.runner.follow(&self.key, None).await.map_err(ResumeFault::Run)?;
                    while run.next().await.is_some() {}
                }
                Turn::found(&status, messages)
            }
            Err(RunError::SessionNotFound(_)) => Ok(Turn::next(0, Next::Send(0))),
            Err(error) => Err(ResumeFault::Run(error)),
        }
    }

    /// Reads a run to its end.
    async fn read(&self, process: &Process, mut run: Run, message: usize) -> Result<Turn, ResumeFault> {
        let messages = self.settings.inputs.len();
        while let Some(item) = run.next().await {
            if process.gate.is_gone() {
                // Reading further would let the node continue.
                std::future::pending::<()>().await;
            }
            match item {
                Ok(_) => {}
                Err(RunError::Node { error, .. }) => {
                    return Ok(Turn::ended(message, End::failed(error.class(), error.message()), messages));
                }
                // A deadline passed in between.
                Err(RunError::Busy { .. }) => return Ok(Turn::next(message, Next::Look)),
                Err(RunError::Session(error)) if error.is_stale() => return Ok(Turn::next(message, Next::Look)),
                Err(error) => return Err(ResumeFault::Run(error)),
            }
        }
        Ok(match run.end().as_ref().map(End::of) {
            Some(Some(end)) => Turn::ended(message, end, messages),
            Some(None) => Turn::next(message, Next::Answer),
            None => Turn::next(message, Next::Look),
        })
    }

    async fn is_open(&self, process: &Process, question: &Question) -> Result<bool, ResumeFault> {
        let open = process.runner.questions(&self.key).await.map_err(ResumeFault::Run)?;
        let is_it = |other: &Question| (&other.id, &other.node_path) == (&question.id, &question.node_path);
        Ok(open.iter().any(is_it))
    }

    /// Answers the first question to which the script has an answer.
    async fn answer(&self, process: &Process) -> Result<Answered, ResumeFault> {
        let open = process.runner.questions(&self.key).await.map_err(ResumeFault::Run)?;
        let unanswered = |question: &Question| ResumeFault::NoAnswer(Box::new(question.clone()));
        if let Some((question, answer)) = self.human.first_answer(&open).map_err(unanswered)? {
            let run = process.runner.answer(&self.key, question, answer).map_err(ResumeFault::Run)?;
            return Ok(Answered::By(Box::new(run)));
        }
        let due = |question: &&Question| question.deadline.is_some();
        let first = open
            .iter()
            .filter(due)
            .min_by(|one, other| one.deadline.unwrap_or_default().total_cmp(&other.deadline.unwrap_or_default()));
        Ok(match first {
            Some(question) => Answered::Later(Box::new(question.clone())),
            None => {
                let ids: Vec<&str> = open.iter().map(|question| question.id.as_str()).collect();
                Answered::Open(End::Waits(ids.join(", ")))
            }
        })
    }
}

/// The fate of the open questions.
enum Answered {
    By(Box<Run>),
    /// The clock answers, at the deadline.
    Later(Box<Question>),
    /// The questions stay open, so the message has ended.
    Open(End),
}
