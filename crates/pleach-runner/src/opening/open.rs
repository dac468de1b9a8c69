//! Opens an invocation: loads the session, which it creates if necessary, and checks the request. It stores no event of
//! the invocation.
// R1103–R1105

use std::sync::Arc;

use pleach_context::History;
use pleach_context::engine::{InvocationSetup, drop_shown_credentials};
use pleach_core::{Content, InvocationId, Session, SessionKey, Unstorable};
use pleach_session::{CreateSession, GetSessionConfig, SessionError, effective_events_of};
use pleach_workflow::Engine;
use smol_str::SmolStr;

use crate::answers::check_answers::{AnswerContext, resolve_answers};
use crate::answers::check_message::{AnsweredRun, find_answered_question, unstorable_answer};
use crate::app::inner::{RunnerInner, check_id, check_ids};
use crate::opening::admission::LeaderEnded;
use crate::opening::agent_to_run::agent_to_run;
use crate::opening::open_task::open_task;
use crate::opening::progress::Progress;
use crate::opening::start::{Facts, Refusal, ResumeNote, Start, decide};
use crate::request::message::as_user;
use crate::request::question_ref::AnswerChecks;
use crate::request::run_request::{Refused, check_revision};
use crate::run::event_writer::EventWriter;
use crate::run::join::JoinedReader;
use crate::run::repeat_filter::RepeatFilter;
use crate::run::state::RunState;
use crate::run::steps::Invocation;
use crate::sessions::resting_fork::resting_source;
use crate::sessions::run_end_notes::is_noted_done;
use crate::{RunError, RunRequest};

/// The result of opening a request.
pub(crate) enum OpenedRequest {
    /// An invocation to begin.
    Own(Box<Opening>),
    /// Another caller's active run of the same invocation.
    Join(JoinedReader),
}

/// An opened invocation: its session is loaded and its request is checked.
pub(crate) struct Opening {
    pub(crate) invocation: Box<Invocation>,
    pub(crate) start: Start,
    /// The history of the invocation; `None` if the session has no event of it.
    pub(crate) history: Option<Box<History>>,
}

/// A request's message after the checks.
#[derive(Default)]
struct CheckedMessage {
    message: Option<Content>,
    answered: Option<AnsweredRun>,
    /// The history of the answered invocation, if the check has read it.
    history: Option<Box<History>>,
}

impl CheckedMessage {
    /// Returns the invocation that the request continues, if it names one or answers its question.
    fn target<'a>(&'a self, request: &'a RunRequest) -> Option<&'a InvocationId> {
        let answered = self.answered.as_ref().map(|answered| &answered.invocation_id);
        answered.or(request.invocation_id.as_ref())
    }

    /// Returns `true` if the request has a message that neither answers a question nor names an invocation.
    fn begins_invocation(&self, request: &RunRequest) -> bool {
        self.message.is_some() && self.answered.is_none() && request.invocation_id.is_none()
    }
}

/// A request that was checked against its session.
pub(crate) enum Checked {
    Opened(OpenedRequest),
    /// The request, which begins nothing because another process works on this invocation of the session.
    WorksElsewhere(Box<RunRequest>, InvocationId),
}

/// The result of admitting answers.
enum Admitted {
    /// The request continues the invocation itself.
    Own(Box<Session>, Box<CheckedMessage>),
    /// The request joins the active run of the invocation, because its answers are stored already.
    Join(JoinedReader),
    /// The run to join has just ended: load the session again.
    Again,
}

impl RunnerInner {
    /// Finds and loads the session, and checks the request.
    ///
    /// # Errors
    /// An unknown or busy session, an unknown or aborted invocation, an unacceptable message, or an answer that does not fit.
    pub(crate) async fn open(&self, request: Box<RunRequest>, run: &Arc<RunState>) -> Result<OpenedRequest, RunError> {
        let key = self.session_key(&request.session).await?;
        check_ids(&key)?;
        if let Some(refused) = request.refused {
            let Refused { answer, fault } = *refused;
            return Err(match answer {
                Some(id) => unstorable_answer(&id, &Unstorable { field: "response".to_owned(), ..fault }),
                None => SessionError::Unstorable { key, field: fault.field, reason: fault.reason }.into(),
            });
        }
        if let Some(id) = &request.message_id {
            check_id("event", &id.to_string())?;
        }
        if let (Some(id), None) = (&request.invocation_id, &request.message) {
            check_id("invocation", id.as_str())?;
        }
        // The run is admitted before the session is loaded: if another run is just ending, the load sees everything
        // that it stored.
        let mut request = request;
        loop {
            match self.admit_or_join(&request, run, &key).await {
                Ok(Some(share)) => return Ok(OpenedRequest::Join(share)),
                Ok(None) => match self.load_and_check(key.clone(), request, run).await? {
                    Checked::Opened(opened) => return Ok(opened),
                    Checked::WorksElsewhere(again, _) if again.queue => {
                        request = again;
                        Box::pin(self.wait_for_other_process(&request, run, &key)).await?;
                    }
                    Checked::WorksElsewhere(_, invocation) => {
                        return Err(RunError::Busy { session: key, invocation: Some(invocation) });
                    }
                },
                Err(busy @ RunError::Busy { .. }) if request.answer_checks.is_some() => {
                    // This is boxed because it is rare, and must not enlarge the future of every run.
                    if let Some(joined) = Box::pin(self.join_rival(&request, run, &key)).await {
                        return joined.map(OpenedRequest::Join).ok_or(busy);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Joins the detached run that keeps the session busy, if all answers of the request are stored already. Returns
    /// `None` if that run has ended, and `Some(None)` if the request cannot join it.
    async fn join_rival(
        &self,
        request: &RunRequest,
        run: &Arc<RunState>,
        key: &SessionKey,
    ) -> Option<Option<JoinedReader>> {
        if self.wait_for_rival_to_begin(key).await { Some(self.join_repeated(request, run, key).await) } else { None }
    }

    /// Joins the detached run of a session, if all answers of the request are stored already.
    async fn join_repeated(&self, request: &RunRequest, run: &Arc<RunState>, key: &SessionKey) -> Option<JoinedReader> {
        let session = self.load(key, request).await.ok()?;
        let checked = self.check_answers(request, request.answer_checks.as_ref()?, &session).ok()?;
        let answered = checked.answered.filter(|_| checked.message.is_none())?;
        self.check_rule(request, &session, &answered).await.ok()?;
        self.join_answered(run, key, &answered.invocation_id).await.ok()?
    }

    /// Loads the session of an admitted request, and checks the request against it.
    ///
    /// # Errors
    /// The errors of [`RunnerInner::open`].
    pub(crate) async fn load_and_check(
        &self,
        key: SessionKey,
        mut request: Box<RunRequest>,
        run: &Arc<RunState>,
    ) -> Result<Checked, RunError> {
        let mut may_close = self.closes_confirmations;
        let (session, checked) = loop {
            let session = self.load(&key, &request).await?;
            check_revision(request.at, &session)?;
            let checked = match &request.answer_checks {
                Some(answer_checks) => self.check_answers(&request, answer_checks, &session)?,
                None => self.check_message(request.message.take(), &request, &session)?,
            };
            if let Some(invocation) = self.invocation_elsewhere(&request, checked.target(&request), &session).await? {
                restore(&mut request, checked);
                return Ok(Checked::WorksElsewhere(request, invocation));
            }
            if std::mem::take(&mut may_close) && checked.begins_invocation(&request) {
                // Boxed because it is rare.
                if Box::pin(self.close_confirmations(&mut request, &key)).await? {
                    restore(&mut request, checked);
                    continue;
                }
            }
            if checked.answered.is_none() {
                break (session, checked);
            }
            // Boxed because it is rare, and the future of each run is as large as its largest part.
            match Box::pin(self.admit_answers(&request, run, &key, session, checked)).await? {
                Admitted::Own(session, checked) => break (session, *checked),
                Admitted::Join(share) => return Ok(Checked::Opened(OpenedRequest::Join(share))),
                Admitted::Again => {}
            }
        };
        let opening = self.make_opening(key, request, run, session, checked)?;
        Ok(Checked::Opened(OpenedRequest::Own(opening)))
    }

    /// Checks whether the caller may send the answers. If all of them are stored already, joins the active run of the
    /// invocation, if there is one.
    ///
    /// # Errors
    /// [`RunError::MayNotAnswer`].
    async fn admit_answers(
        &self,
        request: &RunRequest,
        run: &Arc<RunState>,
        key: &SessionKey,
        session: Box<Session>,
        checked: CheckedMessage,
    ) -> Result<Admitted, RunError> {
        if let Some(answered) = &checked.answered {
            self.check_rule(request, &session, answered).await?;
            if checked.message.is_some() {
                run.claim_answers(&answered.invocation_id);
                return Ok(Admitted::Own(session, Box::new(checked)));
            }
            match self.join_answered(run, key, &answered.invocation_id).await {
                Ok(Some(share)) => return Ok(Admitted::Join(share)),
                Ok(None) => {}
                Err(LeaderEnded) => return Ok(Admitted::Again),
            }
        }
        Ok(Admitted::Own(session, Box::new(checked)))
    }

    /// Checks whether the caller of a request may send its answers.
    ///
    /// # Errors
    /// [`RunError::MayNotAnswer`].
    async fn check_rule(
        &self,
        request: &RunRequest,
        session: &Session,
        answered: &AnsweredRun,
    ) -> Result<(), RunError> {
        match (request.by_deadline, &request.caller, &answered.not_asked) {
            (true, ..) => Ok(()),
            // google-adk would store the answer as the result of the call, so the caller could invent results of tools.
            (false, Some(_), Some(id)) => Err(RunError::MayNotAnswer { id: id.clone(), assignee: None }),
            _ => self.answer_rule.check(request.caller.as_ref(), session.key(), &answered.questions).await,
        }
    }

    /// Opens an invocation of a loaded session for a checked request.
    ///
    /// # Errors
    /// [`RunError::UnknownInvocation`], [`RunError::InvocationAborted`] and [`RunError::RefusedState`].
    fn make_opening(
        &self,
        key: SessionKey,
        mut request: Box<RunRequest>,
        run: &Arc<RunState>,
        session: Box<Session>,
        checked: CheckedMessage,
    ) -> Result<Box<Opening>, RunError> {
        let CheckedMessage { message, answered, history } = checked;
        let is_free = message.is_some() && answered.is_none() && request.invocation_id.is_none();
        let task = if is_free && self.may_open_tasks { open_task(&session.events) } else { None };
        let known = answered.as_ref().map(|answered| answered.invocation_id.clone());
        let known = known.or_else(|| request.invocation_id.clone()).or_else(|| Some(task.as_ref()?.invocation.clone()));
        // Events of a rewound invocation are ignored (R1141).
        let own = known.as_ref().map(|id| effective_events_of(&session.events, id)).unwrap_or_default();
        let progress = Progress::of(&own, &self.root, history);
        let answers = answered.is_some();
        let facts = Facts {
            message,
            message_id: request.message_id.take(),
            by_deadline: request.by_deadline,
            state: std::mem::take(&mut request.state_delta),
            rights: request.state_rights,
            answer: answered,
            task,
            is_named: request.invocation_id.is_some(),
            // A resume would run the bodies again whose ends the log does not show.
            observes: request.observes || (request.state_delta.is_empty() && is_noted_done(&own)),
            note: resume_note(&session, request.recovery),
            progress: &progress,
        };
        let mut start = decide(facts).map_err(|refusal| refused(refusal, &key, known.as_ref()))?;
        start.check_state(&session.state, request.state_rights, std::mem::take(&mut request.reserved_state_delta))?;
        let repeats = if start.only_repeats() && progress.resumes() {
            RepeatFilter::resume(&own, &self.root.spec().name, answers)
        } else {
            RepeatFilter::default()
        };
        let invocation_id = known.unwrap_or_else(|| InvocationId::of_uuid(self.services.ids.uuid()));
        let engine = Arc::new(Engine::new());
        let entry = agent_to_run(&*self.root, &session.events, progress.resumes().then_some(&invocation_id));
        let store = EventWriter::new(session.head.clone()).publishing_to(run);
        let ic = self.setup(&mut request, *session, invocation_id, &engine).open();
        let followed = Arc::downgrade(run);
        ic.set_followers(move |event| {
            if let Some(run) = followed.upgrade() {
                run.publish(&event);
            }
        });
        let invocation = Box::new(Invocation::new(ic, engine, entry, store, repeats));
        Ok(Box::new(Opening { invocation, start, history: progress.history }))
    }

    /// Opens an invocation of a loaded session so that its recorded result can be read.
    ///
    /// # Errors
    /// [`RunError::UnknownInvocation`] and [`RunError::InvocationAborted`].
    pub(crate) fn open_to_observe(
        &self,
        session: Session,
        mut request: Box<RunRequest>,
        run: &Arc<RunState>,
    ) -> Result<Box<Opening>, RunError> {
        request.observes = true;
        self.make_opening(session.key().clone(), request, run, Box::new(session), CheckedMessage::default())
    }

    /// Takes the settings from the request.
    fn setup(
        &self,
        request: &mut RunRequest,
        session: Session,
        invocation_id: InvocationId,
        engine: &Arc<Engine>,
    ) -> InvocationSetup {
        let mut run_config = std::mem::take(&mut request.config);
        run_config.max_llm_calls.get_or_insert(self.max_llm_calls);
        InvocationSetup {
            // This is the key as stored, because a backend may trim the session id.
            session_key: Arc::clone(session.head.shared_key()),
            last_update_time: session.head.last_update_time(),
            invocation_id,
            agent_name: self.root.agent().map_or(SmolStr::new_static("unknown"), |root| root.name.clone()),
            agent: self.root.agent().cloned(),
            run_config: Arc::new(run_config),
            resumable: self.resumable,
            services: Arc::clone(&self.services),
            compaction: self.prompt_compaction(),
            scheduler: Arc::clone(engine) as _,
            caller: None,
            abort: request.abort.clone(),
            state: session.state,
            unreadable: session.unreadable,
            events: session.events,
        }
    }

    /// Checks whether the session accepts the answers of a request.
    ///
    /// # Errors
    /// The error that would refuse the request.
    pub(crate) fn check_answerable(&self, request: &RunRequest, session: &Session) -> Result<(), RunError> {
        let checks = request.answer_checks.as_ref();
        checks.map_or(Ok(()), |checks| self.check_answers(request, checks, session).map(drop))
    }

    /// Checks the answers of a request from [`Runner::answer`](crate::Runner::answer).
    fn check_answers(
        &self,
        request: &RunRequest,
        answer_checks: &AnswerChecks,
        session: &Session,
    ) -> Result<CheckedMessage, RunError> {
        let Some(message) = request.message.clone().map(as_user) else { return Ok(CheckedMessage::default()) };
        let asked = AnswerContext {
            session: session.head.shared_key(),
            events: &session.events,
            root: &self.root,
            credentials: &self.services.sent_credentials,
        };
        let taken = resolve_answers(&message, answer_checks, &asked)?;
        Ok(CheckedMessage { message: taken.message, answered: Some(taken.answered), history: Some(taken.history) })
    }

    /// Finds the question that a message answers, and checks the answer.
    fn check_message(
        &self,
        message: Option<Content>,
        request: &RunRequest,
        session: &Session,
    ) -> Result<CheckedMessage, RunError> {
        let Some(message) = message.map(as_user) else { return Ok(CheckedMessage::default()) };
        let (key, named) = (session.head.key(), request.invocation_id.as_ref());
        let answered = find_answered_question(&message, key, &session.events, named, &*self.root)?;
        if let (Some(answered), Some(named)) = (&answered, &request.invocation_id)
            && answered.invocation_id != *named
        {
            tracing::warn!(%named, asked = %answered.invocation_id, "the answer belongs to another invocation than the request names: that invocation is resumed");
        }
        Ok(CheckedMessage { message: Some(message), answered, history: None })
    }

    /// Checks whether the state changes of a request would be accepted.
    ///
    /// # Errors
    /// The error that will refuse the request.
    pub(crate) fn check_state(&self, request: &RunRequest, session: &Session) -> Result<(), RunError> {
        let mut delta = request.state_delta.clone();
        drop_shown_credentials(&mut delta, &session.state);
        Ok(request.state_rights.apply(&mut delta, &session.state)?)
    }

    /// Loads the session, or creates it if the app allows that. The session is boxed so that the future of each run
    /// stays small.
    async fn load(&self, key: &SessionKey, request: &RunRequest) -> Result<Box<Session>, RunError> {
        let sessions = &self.services.sessions;
        // A resume reads the invocation's progress from all its events.
        let answers = request.message.as_ref().is_some_and(|message| message.function_responses().next().is_some());
        let resumes = answers || request.invocation_id.is_some();
        let config = if resumes { GetSessionConfig::all() } else { request.config.get_session_config };
        if let Some(session) = sessions.get_session(key, config).await?.map(Box::new) {
            // A message to an open task continues its invocation.
            let is_cut =
                config != GetSessionConfig::all() && self.may_open_tasks && open_task(&session.events).is_some();
            return if is_cut {
                Ok(sessions.get_session(key, GetSessionConfig::all()).await?.map_or(session, Box::new))
            } else {
                Ok(session)
            };
        }
        if !self.auto_create_session || answers || (resumes && request.message.is_none()) {
            return Err(RunError::SessionNotFound(key.clone()));
        }
        let create = CreateSession::new(key.app_name.clone(), key.user_id.clone())
            .with_session_id(key.session_id.clone())
            .with_create_time(self.services.clock.now());
        match sessions.create_session(create).await {
            // A concurrent run has created it.
            Err(SessionError::AlreadyExists(_)) => {
                let session = sessions.get_session(key, config).await?;
                session.map(Box::new).ok_or_else(|| RunError::SessionNotFound(key.clone()))
            }
            created => Ok(Box::new(created?)),
        }
    }
}

/// Gives a request back the message that a check has taken. The check of answers takes a copy.
fn restore(request: &mut RunRequest, checked: CheckedMessage) {
    if request.answer_checks.is_none() {
        request.message = checked.message;
    }
}

/// Returns the reason why a resume of the session stores an event of its own.
fn resume_note(session: &Session, recovery: Option<u32>) -> Option<ResumeNote> {
    let ends_rest = resting_source(session).map(|_| ResumeNote::EndsRest);
    ends_rest.or(recovery.map(ResumeNote::Recovery))
}

/// Returns the error for a refused request.
fn refused(refusal: Refusal, session: &SessionKey, invocation: Option<&InvocationId>) -> RunError {
    let invocation = invocation.cloned().unwrap_or_default();
    match refusal {
        Refusal::UnknownInvocation => {
            RunError::UnknownInvocation { session: session.clone(), invocation: invocation.to_string() }
        }
        Refusal::Aborted => RunError::InvocationAborted { invocation },
    }
}
