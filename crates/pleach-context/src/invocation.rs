//! [`InvocationContext`]: what all nodes of one invocation share.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use pleach_artifact::ArtifactService;
use pleach_core::{AppName, Content, Event, InvocationId, Map, SessionId, SessionKey, UserId};
use pleach_memory::MemoryService;
use smol_str::SmolStr;

use crate::engine::{EventQueue, InvocationHandle, NodeScheduler, Services, WorkGate};
use crate::session_state::SessionState;
use crate::{AbortSignal, DeadEnd, History, NodeError, RunConfig};

/// What all nodes of one invocation share: the session, the services, the settings and the event queue.
///
/// One per invocation, behind an `Arc`; the Runner makes it. ADK: `InvocationContext`.
// R201
pub struct InvocationContext {
    setup: InvocationSetup,
    /// The bits of an `f64`.
    last_update_time: AtomicU64,
    queue: EventQueue,
    work_gate: WorkGate,
    state: Mutex<SessionState>,
    events: Mutex<Vec<Arc<Event>>>,
    history: Mutex<Past>,
    has_history: AtomicBool,
    has_detached: AtomicBool,
    llm_calls: AtomicU32,
    metadata: Mutex<Map>,
    has_metadata: AtomicBool,
    user_event: OnceLock<Arc<Event>>,
    dead_ends: Mutex<Vec<DeadEnd>>,
}

/// What the invocation has done so far, as far as it was read.
#[derive(Default)]
struct Past {
    history: Option<Arc<History>>,
    /// How many of the session's events have been read.
    read: usize,
}

/// What the Runner makes an [`InvocationContext`] from.
#[derive(Debug)]
pub struct InvocationSetup {
    /// The session that the invocation belongs to.
    pub session_key: Arc<SessionKey>,
    /// The id that all events of the invocation carry.
    pub invocation_id: InvocationId,
    /// The name of the root agent; `unknown` when the root is no agent.
    pub agent_name: SmolStr,
    /// The settings.
    pub run_config: Arc<RunConfig>,
    /// Whether the app records checkpoints.
    // R1030
    pub resumable: bool,
    /// The services of the app.
    pub services: Arc<Services>,
    /// Runs dynamic nodes.
    pub scheduler: Arc<dyn NodeScheduler>,
    /// The caller's request to stop.
    pub abort: AbortSignal,
    /// The merged session state at the start.
    pub state: Map,
    /// The session's events at the start.
    pub events: Vec<Arc<Event>>,
    /// When the session was last changed before the invocation, in seconds since the epoch.
    pub last_update_time: f64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What stands under these locks is replaced or pushed whole: a panic elsewhere leaves nothing half-changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl InvocationSetup {
    /// Returns the shared part of an invocation that has stored nothing yet.
    #[must_use]
    pub fn open(mut self) -> InvocationContext {
        let state = std::mem::take(&mut self.state);
        let events = std::mem::take(&mut self.events);
        let metadata = self.run_config.custom_metadata.clone();
        let has_metadata = AtomicBool::new(!metadata.is_empty());
        InvocationContext {
            last_update_time: AtomicU64::new(self.last_update_time.to_bits()),
            setup: self,
            queue: EventQueue::default(),
            work_gate: WorkGate::default(),
            state: Mutex::new(SessionState::new(state)),
            events: Mutex::new(events),
            history: Mutex::default(),
            has_history: AtomicBool::new(false),
            has_detached: AtomicBool::new(false),
            llm_calls: AtomicU32::new(0),
            metadata: Mutex::new(metadata),
            has_metadata,
            user_event: OnceLock::new(),
            dead_ends: Mutex::default(),
        }
    }
}

impl InvocationContext {
    /// The app's name.
    #[must_use]
    pub fn app_name(&self) -> &AppName {
        &self.setup.session_key.app_name
    }

    /// The user's id.
    #[must_use]
    pub fn user_id(&self) -> &UserId {
        &self.setup.session_key.user_id
    }

    /// The session's id.
    #[must_use]
    pub fn session_id(&self) -> &SessionId {
        &self.setup.session_key.session_id
    }

    /// The session's key.
    #[must_use]
    pub fn session_key(&self) -> &SessionKey {
        &self.setup.session_key
    }

    /// The id that all events of the invocation carry.
    #[must_use]
    pub fn invocation_id(&self) -> &InvocationId {
        &self.setup.invocation_id
    }

    /// The user's message that started the invocation, also on resume.
    // E183
    #[must_use]
    pub fn user_content(&self) -> Option<&Content> {
        self.user_event.get().and_then(|event| event.content())
    }

    /// The name of the root agent; `unknown` when the root is no agent.
    #[must_use]
    pub fn agent_name(&self) -> &str {
        &self.setup.agent_name
    }

    /// The settings of the invocation.
    #[must_use]
    pub fn run_config(&self) -> &RunConfig {
        &self.setup.run_config
    }

    /// Whether the app records checkpoints.
    // R1030
    #[must_use]
    pub fn is_resumable(&self) -> bool {
        self.setup.resumable
    }

    /// The request to stop.
    #[must_use]
    pub fn abort_signal(&self) -> &AbortSignal {
        &self.setup.abort
    }

    /// Asks the invocation to stop.
    // R1130
    pub fn abort(&self) {
        self.setup.abort.abort();
    }

    /// Whether the invocation was asked to stop.
    #[must_use]
    pub fn is_aborted(&self) -> bool {
        self.setup.abort.is_aborted()
    }

    /// The session's events: those loaded at the start and those stored since. The events themselves are shared.
    #[must_use]
    pub fn events(&self) -> Vec<Arc<Event>> {
        lock(&self.events).clone()
    }

    /// Returns when the session was last changed, as far as this invocation knows, in seconds since the epoch.
    #[must_use]
    pub fn last_update_time(&self) -> f64 {
        f64::from_bits(self.last_update_time.load(Ordering::Acquire))
    }

    /// The service that keeps files, if the app has one.
    #[must_use]
    pub fn artifact_service(&self) -> Option<&Arc<dyn ArtifactService>> {
        self.setup.services.artifacts.as_ref()
    }

    /// The service that searches earlier sessions, if the app has one.
    #[must_use]
    pub fn memory_service(&self) -> Option<&Arc<dyn MemoryService>> {
        self.setup.services.memory.as_ref()
    }

    /// A copy of the merged session state. Node code reads [`Context::state`](crate::Context::state), which also knows
    /// what is pending.
    #[must_use]
    pub fn state(&self) -> Map {
        self.with_state(Map::clone)
    }

    /// Calls `f` with the merged session state. Locked meanwhile: `f` must not call back.
    pub(crate) fn with_state<R>(&self, f: impl FnOnce(&Map) -> R) -> R {
        f(lock(&self.state).view())
    }

    /// The session state and its writes. Lock order: a context's cell, then this.
    pub(crate) fn session_state(&self) -> MutexGuard<'_, SessionState> {
        lock(&self.state)
    }

    fn known(&self, history: History) -> Option<Arc<History>> {
        if history.is_empty() {
            return None;
        }
        self.has_history.store(true, Ordering::Release);
        Some(Arc::new(history))
    }

    /// Says that there are children that nobody waits for.
    pub(crate) fn note_detached(&self) {
        self.has_detached.store(true, Ordering::Release);
    }

    /// Whether there have ever been any: most invocations do not have to look for them.
    pub(crate) fn has_detached(&self) -> bool {
        self.has_detached.load(Ordering::Acquire)
    }

    /// The metadata that is put on every event of the invocation.
    #[must_use]
    pub fn custom_metadata(&self) -> Map {
        lock(&self.metadata).clone()
    }

    /// Changes the metadata that is put on every later event of the invocation.
    pub fn set_custom_metadata(&self, key: impl Into<String>, value: impl Into<serde_json::Value>) {
        lock(&self.metadata).insert(key.into(), value.into());
        self.has_metadata.store(true, Ordering::Release);
    }
}

impl<'a> InvocationHandle<'a> {
    /// Adds the dead ends of a workflow run that has completed.
    pub fn note_dead_ends(self, ends: impl IntoIterator<Item = DeadEnd>) {
        lock(&self.0.dead_ends).extend(ends);
    }

    /// Returns the dead ends of the workflow runs that have completed so far, in the order in which they completed.
    #[must_use]
    pub fn dead_ends(self) -> Vec<DeadEnd> {
        lock(&self.0.dead_ends).clone()
    }

    /// The event of the message that started the invocation.
    #[must_use]
    pub fn user_event(self) -> Option<&'a Arc<Event>> {
        self.0.user_event.get()
    }

    /// Says which message started the invocation; only the first call counts.
    pub fn set_user_event(self, event: Arc<Event>) {
        let _ = self.0.user_event.set(event);
    }

    /// The services of the app.
    #[must_use]
    pub fn services(self) -> &'a Arc<Services> {
        &self.0.setup.services
    }

    /// Runs dynamic nodes.
    #[must_use]
    pub fn scheduler(self) -> &'a Arc<dyn NodeScheduler> {
        &self.0.setup.scheduler
    }

    /// The events that are on their way to the store.
    #[must_use]
    pub fn queue(self) -> &'a EventQueue {
        &self.0.queue
    }

    /// What holds node bodies back until the session is claimed. For the Runner and engines.
    #[must_use]
    pub fn work_gate(self) -> &'a WorkGate {
        &self.0.work_gate
    }

    /// Takes a plugin's changes of an event's state delta as writes of this moment.
    pub fn take_changed_delta(self, original: &Event, event: &mut Event) {
        let (before, after) = (original.actions(), event.actions());
        let delta = before.state_writes();
        if before.state_delta() == after.state_delta() {
            if delta != after.state_writes() {
                event.actions_mut().set_state_writes(delta);
            }
            return;
        }
        let mut state = lock(&self.0.state);
        let delta = if delta == 0 { state.next_delta() } else { delta };
        for (key, value) in after.state_delta() {
            if before.state_delta().get(key) != Some(value) {
                state.set(key, value.clone(), delta);
            }
        }
        drop(state);
        event.actions_mut().set_state_writes(delta);
    }

    /// Decides what an event's state delta stores for keys that other runs write too: the newest write counts, also when the
    /// event of an older one is stored behind it. For the Runner, right before the append.
    pub fn settle_delta(self, event: &mut Arc<Event>) {
        let state = lock(&self.0.state);
        if state.is_contended(event.actions()) {
            state.before_store(Arc::make_mut(event).actions_mut());
        }
    }

    /// Takes over an event that has been stored: its state delta, and the `temp:` values that are never stored, become
    /// visible unless a newer write is, and it joins the history.
    ///
    /// `updated` is the session's new update time, in seconds since the epoch.
    // R162
    pub fn record(self, event: &Arc<Event>, temp: Option<&Map>, writes: u64, updated: f64) {
        let delta = event.actions().state_delta();
        if !delta.is_empty() || temp.is_some() {
            let mut state = lock(&self.0.state);
            state.stored(delta, writes);
            if let Some(temp) = temp {
                state.stored(temp, writes);
            }
        }
        self.0.last_update_time.store(updated.to_bits(), Ordering::Release);
        lock(&self.0.events).push(Arc::clone(event));
    }

    /// What the invocation has done before this process, or before a retry; `None` for a fresh one.
    #[must_use]
    pub fn history(self) -> Option<Arc<History>> {
        if !self.0.has_history.load(Ordering::Acquire) {
            return None;
        }
        lock(&self.0.history).history.clone()
    }

    /// Reads what this invocation has done so far from its events: before a retry of a node that has children.
    ///
    /// What was read before is not read again, unless somebody still looks at it.
    // R404, R644, R1001
    pub fn read_history(self) {
        let mut past = lock(&self.0.history);
        let events = lock(&self.0.events);
        let own = |event: &&Arc<Event>| event.invocation_id() == self.0.invocation_id();
        let read = std::mem::replace(&mut past.read, events.len());
        match past.history.as_mut().and_then(Arc::get_mut) {
            // Nothing is taken back while the invocation runs.
            Some(history) => events[read..].iter().filter(own).for_each(|event| history.add(event)),
            None => past.history = self.0.known(History::read(&events, self.0.invocation_id())),
        }
    }

    /// Says what this invocation has done so far, with all of its events: before a resume.
    pub fn set_history(self, history: History) {
        let read = lock(&self.0.events).len();
        *lock(&self.0.history) = Past { history: self.0.known(history), read };
    }

    /// Counts a model call against the limit of the run configuration.
    ///
    /// # Errors
    /// An `LlmCallsLimitExceededError` when the limit is reached.
    pub fn count_llm_call(self) -> Result<(), NodeError> {
        let limit = self.0.run_config().max_llm_calls;
        let calls = self.0.llm_calls.fetch_add(1, Ordering::Relaxed) + 1;
        if limit > 0 && calls > limit {
            let message = format!("Max number of llm calls limit of `{limit}` exceeded");
            return Err(NodeError::new("LlmCallsLimitExceededError", message));
        }
        Ok(())
    }

    /// The same, or `None` when there is none.
    #[must_use]
    pub fn custom_metadata_if_any(self) -> Option<Map> {
        self.0.has_metadata.load(Ordering::Acquire).then(|| self.0.custom_metadata())
    }
}

impl fmt::Debug for InvocationContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InvocationContext")
            .field("session", &self.setup.session_key)
            .field("invocation_id", &self.setup.invocation_id)
            .finish_non_exhaustive()
    }
}
