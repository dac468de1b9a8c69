//! The beginning of an invocation: session, message, history.
// R1103–R1105

use std::pin::pin;
use std::sync::Arc;

use futures_util::future::select;
use pleach_context::engine::{Engine as _, InvocationSetup, TakenCredentials};
use pleach_context::{History, InvocationContext, NodeInput};
use pleach_core::{Content, Event, InvocationId, Map, Session, SessionKey, Unstorable};
use pleach_session::{ABORTED, CreateSession, GetSessionConfig, SessionError, live_events_of};
use pleach_workflow::Engine;
use smol_str::SmolStr;

use crate::active::ActiveRun;
use crate::answer::{Answered, resolve};
use crate::events::report;
use crate::join::{Share, differs};
use crate::quiet::Quiet;
use crate::registry::Claimed;
use crate::runner::{RunnerParts, check_ids};
use crate::store::Store;
use crate::strict::resolve_strict;
use crate::{RunError, RunRequest};

/// An invocation that is ready to run its root node.
pub(crate) struct Invocation {
    pub(crate) ic: Arc<InvocationContext>,
    pub(crate) engine: Arc<Engine>,
    pub(crate) store: Store,
    pub(crate) input: NodeInput,
    /// The stored event of the message.
    pub(crate) user_event: Option<Arc<Event>>,
    /// What a resume holds back.
    pub(crate) quiet: Quiet,
}

/// What a request comes to.
pub(crate) enum Opened {
    /// The invocation begins, or is resumed.
    Begin(Invocation),
    /// The invocation was started before: what is recorded counts.
    Recorded {
        invocation: Invocation,
        /// Whether it was started with another message.
        other_message: bool,
    },
    /// Another caller's run has the invocation.
    Join(Share),
}

impl RunnerParts {
    /// Loads the session, stores the message and gathers what the root node needs. Once the invocation is known, its span
    /// lies in the slot of `run`.
    ///
    /// # Errors
    /// No such session, a session that is busy, a message that cannot be taken, an answer that does not fit, a failing plugin or session
    /// service. Nothing is stored then.
    pub(crate) async fn open(&self, request: RunRequest, run: &Arc<ActiveRun>) -> Result<Opened, RunError> {
        let key = self.session_key(&request.session).await?;
        check_ids(&key)?;
        if let Some(Unstorable { field, reason }) = request.refused {
            return Err(SessionError::Unstorable { key, field, reason }.into());
        }
        // Before the session is loaded: behind a run that is just ending the newcomer sees all of it.
        if let Some(share) = self.enter_session(&request, run, &key).await? {
            return Ok(Opened::Join(share));
        }
        let session = self.load(&key, &request).await?;
        let (mut message, mut history) = (request.message.clone().map(as_user), None);
        let answered = match (&message, &request.strict) {
            (Some(answers), Some(strict)) => {
                let taken = resolve_strict(answers, strict, &session.events, &*self.root)?;
                (message, history) = (taken.message, Some(taken.history));
                Some(taken.answered)
            }
            (Some(message), None) => resolve(message, &session.events, request.invocation_id.as_ref(), &*self.root)?,
            (None, _) => None,
        };
        if let (Some(answered), Some(named)) = (&answered, &request.invocation_id)
            && answered.invocation_id != *named
        {
            tracing::warn!(%named, asked = %answered.invocation_id, "the answer belongs to another invocation, which goes on");
        }
        let known =
            answered.as_ref().map(|answered| answered.invocation_id.clone()).or_else(|| request.invocation_id.clone());
        // Of a rewound invocation no event counts (R1141).
        let own = known.as_ref().map(|id| live_events_of(&session.events, id)).unwrap_or_default();
        let (original, resumes) = (first_message(&own), !own.is_empty());
        // The message that started it gives the recorded end.
        let goes_on = answered.is_some() || message.is_none();
        if let Some(event) = own.last().filter(|_| goes_on && is_aborted(&own)) {
            return Err(RunError::InvocationAborted { invocation: event.invocation_id().clone() });
        }
        if let (Some(named), None, false) = (&request.invocation_id, &message, resumes) {
            return Err(RunError::UnknownInvocation { session: key, invocation: named.to_string() });
        }
        let mut history = history.unwrap_or_else(|| History::of(&own));
        let is_quiet = resumes && message.is_none() && request.state_delta.is_empty();
        let quiet = match is_quiet {
            true => Quiet::resume(&own, &self.root.spec().name, answered.is_some()),
            false => Quiet::default(),
        };
        let invocation_id = known.unwrap_or_else(|| InvocationId::from(format!("e-{}", self.services.ids.uuid())));

        let engine = Arc::new(Engine::new());
        // The stored key: a backend may know the session without the blanks around its id.
        let key = Arc::clone(session.head.shared_key());
        let last_update_time = session.head.last_update_time();
        let mut store = Store::new(session.head).of_run(run);
        let setup = InvocationSetup {
            session_key: key,
            invocation_id,
            agent_name: SmolStr::new_static("unknown"),
            run_config: Arc::new(request.config.clone()),
            resumable: self.resumable,
            services: Arc::clone(&self.services),
            scheduler: Arc::clone(&engine) as _,
            abort: request.abort.clone(),
            state: session.state,
            events: session.events,
            last_update_time,
        };
        let ic = Arc::new(setup.open());
        run.span.fill(self.span(&ic, resumes)).await;
        let takes_message = answered.is_some() || original.is_none();
        let starts_again = !takes_message && message.is_some();
        let other_message = match (&message, &original) {
            (Some(message), Some(original)) if starts_again => self.is_other_message(&ic, message, original).await?,
            _ => false,
        };
        let stored = match message {
            Some(message) if takes_message => {
                match self.store_message(&ic, &mut store, message, answered, &request).await {
                    Ok(event) => Some(event),
                    Err(error) => return Err(report(&ic, error).await),
                }
            }
            _ if !request.state_delta.is_empty() && !starts_again => {
                let event = Event::from_author("user").with_state_map(request.state_delta.clone());
                if let Err(error) = store_user_event(&ic, &mut store, event).await {
                    return Err(report(&ic, error).await);
                }
                None
            }
            _ => None,
        };
        run.begin(ic.invocation_id());
        let input_event = original.or_else(|| stored.clone());
        if let Some(event) = &input_event {
            ic.engine().set_user_event(Arc::clone(event));
            // What a plugin has replaced is not what a caller sends.
            if ic.engine().services().plugins.is_empty() {
                event.content().iter().for_each(|message| run.set_message(message));
            }
        }
        if resumes {
            stored.iter().for_each(|event| history.add(event));
            ic.engine().set_history(history);
        }
        let input = input_event.map_or(NodeInput::Null, NodeInput::Content);
        if starts_again {
            let invocation = Invocation { ic, engine, store, input, user_event: None, quiet };
            return Ok(Opened::Recorded { invocation, other_message });
        }
        if resumes && !store.has_stored() {
            // Of several that resume, one runs.
            ic.engine().work_gate().close();
        }
        Ok(Opened::Begin(Invocation { ic, engine, store, input, user_event: stored, quiet }))
    }

    /// Takes a place among the runs of the session, or joins the one that has the invocation.
    async fn enter_session(
        &self,
        request: &RunRequest,
        run: &Arc<ActiveRun>,
        key: &SessionKey,
    ) -> Result<Option<Share>, RunError> {
        loop {
            let leader = match self.claim(request, run, key).await? {
                Claimed::Own(ending) => {
                    for ending in ending {
                        ending.ended().await;
                    }
                    return Ok(None);
                }
                Claimed::Join(leader) => leader,
            };
            if let (true, Some(invocation)) = (differs(&leader, run), run.wanted()) {
                return Err(RunError::OtherMessage { session: key.clone(), invocation: invocation.clone() });
            }
            if let Some(share) = Share::of(Arc::clone(&leader)) {
                run.set_leader(&leader);
                self.active.leave(run);
                return Ok(Some(share));
            }
            leader.ended().await;
        }
    }

    /// Whether a message is another one than that which started the invocation. A plugin may have replaced that one.
    async fn is_other_message(&self, ic: &InvocationContext, new: &Content, first: &Event) -> Result<bool, RunError> {
        if first.content() == Some(new) {
            return Ok(false);
        }
        let replaced = ic.engine().services().plugins.on_user_message(ic, new).await.map_err(RunError::Plugin)?;
        Ok(replaced.map(as_user).as_ref() != first.content())
    }

    /// Claims the session for a run; one that is queued waits until nothing keeps the session busy.
    ///
    /// # Errors
    /// [`RunError::Busy`], and [`RunError::Aborted`] when the run is stopped while it waits.
    async fn claim(&self, request: &RunRequest, run: &Arc<ActiveRun>, key: &SessionKey) -> Result<Claimed, RunError> {
        if request.strict.as_ref().is_none_or(|strict| !strict.options.queue) {
            return self.active.claim(run, key);
        }
        loop {
            while let Some(other) = self.active.before(run, key) {
                select(pin!(other.ended()), pin!(request.abort.aborted())).await;
                if request.abort.is_aborted() || run.is_closing() {
                    return Err(RunError::Aborted);
                }
            }
            match self.active.claim(run, key) {
                // A detached run has begun between the two.
                Err(RunError::Busy { .. }) => {}
                claimed => return claimed,
            }
        }
    }

    async fn load(&self, key: &SessionKey, request: &RunRequest) -> Result<Session, RunError> {
        let sessions = &self.services.sessions;
        // What an invocation has done is read from its events: a resume needs them all.
        let answers = request.message.as_ref().is_some_and(|message| message.function_responses().next().is_some());
        let resumes = answers || request.invocation_id.is_some();
        let config = if resumes { GetSessionConfig::all() } else { request.config.get_session_config };
        if let Some(session) = sessions.get_session(key, config).await? {
            return Ok(session);
        }
        if !self.auto_create_session || answers || (resumes && request.message.is_none()) {
            return Err(RunError::SessionNotFound(key.clone()));
        }
        let create = CreateSession::new(key.app_name.clone(), key.user_id.clone())
            .with_session_id(key.session_id.clone())
            .with_create_time(self.services.clock.now());
        match sessions.create_session(create).await {
            // Another run has created it meanwhile.
            Err(SessionError::AlreadyExists(_)) => {
                let session = sessions.get_session(key, config).await?;
                session.ok_or_else(|| RunError::SessionNotFound(key.clone()))
            }
            created => Ok(created?),
        }
    }

    async fn store_message(
        &self,
        ic: &InvocationContext,
        store: &mut Store,
        mut message: Content,
        mut answered: Option<Answered>,
        request: &RunRequest,
    ) -> Result<Arc<Event>, RunError> {
        if let Some(replaced) =
            ic.engine().services().plugins.on_user_message(ic, &message).await.map_err(RunError::Plugin)?
        {
            message = as_user(replaced);
            if let Some(known) = &answered {
                answered = resolve(&message, &ic.events(), Some(&known.invocation_id), &*self.root)?;
            }
        }
        let sent = TakenCredentials::take_from(&mut message, ic);
        let mut event = Event::from_author("user").with_content(message).with_state_map(request.state_delta.clone());
        if let Some(answered) = answered {
            event.set_branch(answered.branch);
            event.set_isolation_scope(answered.isolation_scope);
        }
        let stored = store_user_event(ic, store, event).await?;
        // Not before: of two answers the one that is stored counts.
        ic.engine().services().sent_credentials.keep(ic, sent);
        Ok(stored)
    }
}

/// A user's event is stored without the on_event hooks.
// R1107
async fn store_user_event(ic: &InvocationContext, store: &mut Store, mut event: Event) -> Result<Arc<Event>, RunError> {
    event.set_invocation_id(ic.invocation_id().clone());
    let metadata: Map = ic.custom_metadata();
    if !metadata.is_empty() {
        event.set_custom_metadata(Some(metadata));
    }
    store.stamp(ic.engine().services(), &mut event);
    store.append(ic, Arc::new(event)).await
}

/// Whatever a caller says, a user's message has the role `user`.
// R1103
pub(crate) fn as_user(mut content: Content) -> Content {
    content.role = Some("user".into());
    content
}

/// Whether an invocation was aborted, and nothing of it has run since.
pub(crate) fn is_aborted(own: &[&Arc<Event>]) -> bool {
    let last = own.iter().rev().find(|event| !event.is_from_user());
    last.is_some_and(|event| event.error_code() == Some(ABORTED))
}

/// The message that started an invocation: its first user event with content that answers nothing.
fn first_message(own: &[&Arc<Event>]) -> Option<Arc<Event>> {
    let mut users = own.iter().filter(|event| event.is_from_user());
    let message = users.find(|event| event.content().is_some() && event.function_responses().next().is_none());
    message.map(|event| Arc::clone(event))
}
