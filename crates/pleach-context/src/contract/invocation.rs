//! What the runs of an invocation share.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, OnceLock};

use pleach_artifact::ArtifactService;
use pleach_core::{Clock, Event, IdGen, InvocationId, Map, SessionKey, UnreadableKeys};
use pleach_memory::MemoryService;
use pleach_model::Model;
use pleach_session::SessionService;
use smol_str::SmolStr;

use super::{AgentSpec, CredentialService, Listed, NodeScheduler, PluginManager};
use crate::compaction::PromptCompaction;
use crate::credential::KeptCredentials;
use crate::engine::{EventQueue, Fence, WorkGate};
use crate::followers::Followers;
use crate::live_signals::LiveSignals;
use crate::session_state::SessionState;
use crate::{AbortSignal, DeadEnd, History, Provided, RunConfig};

/// What all nodes of one invocation share: the session, the services, the settings and the event queue.
///
/// One per invocation, behind an `Arc`; the Runner makes it. ADK: `InvocationContext`.
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

/// What the invocation has done so far, as far as it was read.
#[derive(Default)]
pub(crate) struct HistoryCache {
    pub(crate) history: Option<Arc<History>>,
    /// How many of the session's events have been read.
    pub(crate) read: usize,
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
    /// The root agent; `None` when the root is no agent.
    pub agent: Option<Arc<AgentSpec>>,
    /// The settings.
    pub run_config: Arc<RunConfig>,
    /// Whether the app records checkpoints.
    // R1030
    pub resumable: bool,
    /// The services of the app.
    pub services: Arc<Services>,
    /// Shortens the history before prompts, if the app asks for it.
    pub compaction: Option<Arc<dyn PromptCompaction>>,
    /// Runs dynamic nodes.
    pub scheduler: Arc<dyn NodeScheduler>,
    /// The invocation whose tool call this one is, for an agent that is called as a tool.
    pub caller: Option<Arc<InvocationContext>>,
    /// The caller's request to stop.
    pub abort: AbortSignal,
    /// The merged session state at the start.
    pub state: Map,
    /// The keys that are missing in it because their stored values cannot be read.
    pub unreadable: UnreadableKeys,
    /// The session's events at the start.
    pub events: Vec<Arc<Event>>,
    /// When the session was last changed before the invocation, in seconds since the epoch.
    pub last_update_time: f64,
}

/// Everything an app's invocations share. Made once by the Runner.
pub struct Services {
    /// Where sessions and their events are kept.
    pub sessions: Arc<dyn SessionService>,
    /// Where files are kept, if anywhere.
    pub artifacts: Option<Arc<dyn ArtifactService>>,
    /// Where earlier sessions are searched, if anywhere.
    pub memory: Option<Arc<dyn MemoryService>>,
    /// Where credentials are kept, if anywhere.
    pub credentials: Option<Arc<dyn CredentialService>>,
    /// What clients have sent to invocations under way.
    pub sent_credentials: KeptCredentials,
    /// The hooks around everything.
    pub plugins: PluginManager,
    /// The app's own values.
    pub provided: Provided,
    /// The model of agents that have none, and none above them.
    pub model: Option<Arc<dyn Model>>,
    /// The source of time.
    pub clock: Arc<dyn Clock>,
    /// The source of ids and randomness.
    pub ids: Arc<dyn IdGen>,
}
