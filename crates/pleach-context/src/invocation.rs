//! [`InvocationContext`]: the context that all nodes of one invocation share.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use pleach_artifact::ArtifactService;
use pleach_core::{
    AppName, Clock, Content, Event, InvocationId, Map, SessionId, SessionKey, UnreadableKeys, UserId,
    drop_reserved_metadata, is_reserved_metadata_key,
};
use pleach_memory::MemoryService;
use smol_str::SmolStr;

use crate::compaction::PromptCompaction;
use crate::engine::{EventQueue, Fence, InvocationHandle, WorkGate};
use crate::followers::Followers;
use crate::live_signals::LiveSignals;
use crate::scheduler::NodeScheduler;
use crate::services::Services;
use crate::session_state::SessionState;
use crate::toolset::Listed;
use crate::{AbortSignal, AgentSpec, CredentialService, DeadEnd, History, NodeError, RunConfig};

/// The context that all nodes of one invocation share: the session, the services, the settings and the event queue.
///
/// There is one per invocation, in an `Arc`; the Runner makes it. ADK: `InvocationContext`.
// R201
pub struct InvocationContext {
    pub(crate) setup: InvocationSetup,
    /// The bits of an `f64`.
    pub(crate) last_update_time: AtomicU64,
    pub(crate) queue: EventQueue,
    pub(crate) work_gate: WorkGate,
    pub(crate) fence: Fence,
    pub(crate) state: Mutex<SessionState>,
    pub(crate) events: Mutex<Vec<Arc<Event>>>,
    pub(crate) history: Mutex<HistoryCache>,
    pub(crate) has_history: AtomicBool,
    pub(crate) signals: LiveSignals,
    pub(crate) has_background: AtomicBool,
    pub(crate) llm_calls: AtomicU32,
    pub(crate) metadata: Mutex<Map>,
    pub(crate) has_metadata: AtomicBool,
    pub(crate) user_event: OnceLock<Arc<Event>>,
    pub(crate) dead_ends: Mutex<Vec<DeadEnd>>,
    pub(crate) listed_tools: Mutex<Vec<Listed>>,
    pub(crate) followers: Followers,
}

/// The invocation's history, as far as it has been read.
#[derive(Default)]
pub(crate) struct HistoryCache {
    pub(crate) history: Option<Arc<History>>,
    /// The number of the session's events that have been read.
    pub(crate) read: usize,
}

/// The values from which the Runner makes an [`InvocationContext`].
#[derive(Debug)]
pub struct InvocationSetup {
    /// The session that the invocation belongs to.
    pub session_key: Arc<SessionKey>,
    /// The id that all events of the invocation carry.
    pub invocation_id: InvocationId,
    /// The name of the root agent; `unknown` if the root is not an agent.
    pub agent_name: SmolStr,
    /// The root agent; `None` if the root is not an agent.
    pub agent: Option<Arc<AgentSpec>>,
    /// The settings of the invocation.
    pub run_config: Arc<RunConfig>,
    /// Whether the app records checkpoints.
    // R1030
    pub resumable: bool,
    /// The services of the app.
    pub services: Arc<Services>,
    /// The component that shortens the history before prompts, if the app has one.
    pub compaction: Option<Arc<dyn PromptCompaction>>,
    /// The scheduler that runs dynamic nodes.
    pub scheduler: Arc<dyn NodeScheduler>,
    /// The caller's invocation, if this is the invocation of an agent that is called as a tool.
    pub caller: Option<Arc<InvocationContext>>,
    /// The caller's request to stop.
    pub abort: AbortSignal,
    /// The merged session state at the start.
    pub state: Map,
    /// The keys that are missing in the state because their stored values cannot be read.
    pub unreadable: UnreadableKeys,
    /// The session's events at the start.
    pub events: Vec<Arc<Event>>,
    /// The time of the session's last change before the invocation, in seconds since the epoch.
    pub last_update_time: f64,
}

/// The class of the error for a write to a reserved key.
pub(crate) const RESERVED_KEY: &str = "ReservedKeyError";

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The values behind these locks are replaced or pushed whole, so a panic elsewhere leaves nothing half-changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl InvocationSetup {
    /// Opens an invocation that has stored nothing yet.
    #[must_use]
    pub fn open(mut self) -> InvocationHandle {
        let state = std::mem::take(&mut self.state);
        let events = std::mem::take(&mut self.events);
        let mut metadata = self.run_config.custom_metadata.clone();
        // The field is public, so a caller may have set reserved keys without the setter. An invocation within a tool
        // call has no metadata of its own.
        drop_reserved_metadata(&mut metadata);
        let has_metadata = AtomicBool::new(!metadata.is_empty());
        let ic = InvocationContext {
            last_update_time: AtomicU64::new(self.last_update_time.to_bits()),
            setup: self,
            queue: EventQueue::default(),
            work_gate: WorkGate::default(),
            fence: Fence::default(),
            state: Mutex::new(SessionState::new(state)),
            events: Mutex::new(events),
            history: Mutex::default(),
            signals: LiveSignals::default(),
            has_history: AtomicBool::new(false),
            has_background: AtomicBool::new(false),
            llm_calls: AtomicU32::new(0),
            metadata: Mutex::new(metadata),
            has_metadata,
            user_event: OnceLock::new(),
            dead_ends: Mutex::default(),
            listed_tools: Mutex::default(),
            followers: Followers::default(),
        };
        InvocationHandle { ic: Arc::new(ic) }
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

    /// Returns the state keys whose stored values could not be read when the invocation began, and the reasons.
    #[must_use]
    pub fn unreadable_keys(&self) -> &UnreadableKeys {
        &self.setup.unreadable
    }

    /// The id that all events of the invocation carry.
    #[must_use]
    pub fn invocation_id(&self) -> &InvocationId {
        &self.setup.invocation_id
    }

    /// The user's message that started the invocation, including on a resume.
    // E183
    #[must_use]
    pub fn user_content(&self) -> Option<&Content> {
        self.user_event.get().and_then(|event| event.content())
    }

    /// The name of the root agent; `unknown` if the root is not an agent.
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

    /// Returns the invocation that has called this one. An agent that is called as a tool runs in an invocation of its
    /// own, which no session service sees. `None` for an invocation that a Runner has started.
    #[must_use]
    pub fn caller(&self) -> Option<&Arc<Self>> {
        self.setup.caller.as_ref()
    }

    /// The clock of the app.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.setup.services.clock
    }

    /// Returns the request to stop.
    #[must_use]
    pub fn abort_signal(&self) -> &AbortSignal {
        &self.setup.abort
    }

    /// Asks the invocation to stop.
    // R1130
    pub fn abort(&self) {
        self.setup.abort.abort();
    }

    /// Returns true if the invocation was asked to stop.
    #[must_use]
    pub fn is_aborted(&self) -> bool {
        self.setup.abort.is_aborted()
    }

    /// The session's events: those loaded at the start and those stored since. The events themselves are shared.
    #[must_use]
    pub fn events(&self) -> Vec<Arc<Event>> {
        lock(&self.events).clone()
    }

    /// Returns the time of the session's last change, as far as this invocation knows, in seconds since the epoch.
    #[must_use]
    pub fn last_update_time(&self) -> f64 {
        f64::from_bits(self.last_update_time.load(Ordering::Acquire))
    }

    /// Returns the service that stores files, if the app has one.
    #[must_use]
    pub fn artifact_service(&self) -> Option<&Arc<dyn ArtifactService>> {
        self.setup.services.artifacts.as_ref()
    }

    /// Returns the service that searches earlier sessions, if the app has one.
    #[must_use]
    pub fn memory_service(&self) -> Option<&Arc<dyn MemoryService>> {
        self.setup.services.memory.as_ref()
    }

    /// Returns the service that stores credentials, if the app has one.
    #[must_use]
    pub fn credential_service(&self) -> Option<&Arc<dyn CredentialService>> {
        self.setup.services.credentials.as_ref()
    }

    /// Returns the root agent's specification, which includes the agents below it. `None` if the root is not an agent.
    #[must_use]
    pub fn agent(&self) -> Option<&Arc<AgentSpec>> {
        self.setup.agent.as_ref()
    }

    /// Returns a copy of the merged session state. Node code reads [`Context::state`](crate::Context::state), which
    /// also contains the pending changes.
    #[must_use]
    pub fn state(&self) -> Map {
        self.with_state(Map::clone)
    }

    /// Calls `f` with the merged session state. The state is locked during the call: `f` must not call back.
    pub(crate) fn with_state<R>(&self, f: impl FnOnce(&Map) -> R) -> R {
        f(lock(&self.state).view())
    }

    /// Locks the session state and its writes. Lock order: a context's cell first, then this.
    pub(crate) fn session_state(&self) -> MutexGuard<'_, SessionState> {
        lock(&self.state)
    }

    /// Records that there are background children.
    pub(crate) fn note_background(&self) {
        self.has_background.store(true, Ordering::Release);
    }

    /// Returns true if there has ever been a background child. Most invocations do not have to look for them.
    pub(crate) fn has_background(&self) -> bool {
        self.has_background.load(Ordering::Acquire)
    }

    /// Returns the metadata that every event of the invocation carries.
    #[must_use]
    pub fn custom_metadata(&self) -> Map {
        lock(&self.metadata).clone()
    }

    /// Changes the metadata that every later event of the invocation carries.
    ///
    /// # Errors
    /// A `ReservedKeyError` for a key that is reserved for the runtime.
    pub fn set_custom_metadata(
        &self,
        key: impl Into<String>,
        value: impl Into<serde_json::Value>,
    ) -> Result<(), NodeError> {
        let key = key.into();
        if is_reserved_metadata_key(&key) {
            let text = format!("metadata key '{key}' is reserved for the runtime: use another name");
            return Err(NodeError::new(RESERVED_KEY, text));
        }
        self.set_reserved_metadata(key, value);
        Ok(())
    }

    /// Changes metadata under a key that may be reserved. For plugins, which keep their own data under `_pleach_…`. The
    /// key must not come from a client or a model.
    pub fn set_reserved_metadata(&self, key: impl Into<String>, value: impl Into<serde_json::Value>) {
        lock(&self.metadata).insert(key.into(), value.into());
        self.has_metadata.store(true, Ordering::Release);
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
