//! The effects of an event: state, artifacts, routing and control.
// R103

mod codec;
mod merge;
mod quick_check;
mod replace_nul;
mod uncommon;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Serialize;
use serde_json::Value;

use crate::{AuthConfig, EventCompaction, Map, Route, StateOp, StateOps};

pub(crate) use uncommon::UncommonActions;
pub use uncommon::{ToolConfirmation, UiWidget};

/// The effects of an event. ADK: `EventActions`
///
/// Most events have no effects or only a state delta. So all fields except the delta and the route share one
/// allocation, which is made when the first of them is set.
///
/// JSON: an object that always has `state_delta`, `artifact_delta`, `requested_auth_configs` and
/// `requested_tool_confirmations`, even when they are empty; unknown keys are refused.
// R102
#[derive(Clone, Debug, Default)]
pub struct EventActions {
    state_delta: Option<Box<Delta>>,
    route: Option<Box<Route>>,
    uncommon: Option<Box<UncommonActions>>,
}

/// The state delta, with its operations and write number, which exist in memory only.
#[derive(Clone, Debug, Default)]
struct Delta {
    values: Map,
    /// Boxed, because few events have operations.
    ops: Option<Box<Ops>>,
    /// The position of the delta among the writes of its invocation; 0 for none. In memory only.
    writes: u64,
}

/// The operations of a delta. In memory only.
#[derive(Clone, Debug, Default)]
struct Ops {
    pending: StateOps,
    /// Whether a session service has applied the operations.
    applied: bool,
}

impl Delta {
    fn pending(&self) -> Option<&StateOps> {
        self.ops.as_deref().map(|ops| &ops.pending).filter(|pending| !pending.is_empty())
    }

    fn is_empty(&self) -> bool {
        self.values.is_empty() && self.pending().is_none()
    }
}

static NO_STATE: LazyLock<Map> = LazyLock::new(Map::new);
static NO_OPS: StateOps = StateOps::new();
static NO_ARTIFACTS: BTreeMap<String, i64> = BTreeMap::new();
static NO_AUTH: BTreeMap<String, AuthConfig> = BTreeMap::new();
static NO_CONFIRMATIONS: BTreeMap<String, ToolConfirmation> = BTreeMap::new();

macro_rules! accessors {
    ($($(#[$doc:meta])* $get:ident, $set:ident: $type:ty => |$stored:ident| $view:expr => $seen:ty;)*) => {$(
        $(#[$doc])*
        pub fn $get(&self) -> Option<$seen> {
            let $stored = &self.uncommon.as_ref()?.$get;
            $view
        }

        #[doc = concat!("Sets or clears what [`", stringify!($get), "`](Self::", stringify!($get), ") returns.")]
        pub fn $set(&mut self, value: Option<$type>) {
            if value.is_some() || self.uncommon.is_some() {
                self.uncommon_mut().$get = value;
            }
        }
    )*};
}

impl EventActions {
    /// Creates actions that do nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns `true` if there is a state delta, or an operation on the state.
    pub fn changes_state(&self) -> bool {
        self.state_delta.as_deref().is_some_and(|delta| !delta.is_empty())
    }

    /// Returns the state delta; keys have their scope prefixes.
    pub fn state_delta(&self) -> &Map {
        self.state_delta.as_deref().map_or(&NO_STATE, |delta| &delta.values)
    }

    /// Returns the state delta mutably, creating it if absent.
    pub fn state_delta_mut(&mut self) -> &mut Map {
        &mut self.state_delta.get_or_insert_default().values
    }

    /// Takes the state delta out; `None` if there is none.
    pub fn take_state_delta(&mut self) -> Option<Map> {
        self.state_delta.take().map(|delta| delta.values).filter(|values| !values.is_empty())
    }

    /// Replaces the state delta and drops the operations.
    pub fn set_state_delta(&mut self, delta: Map) {
        self.state_delta = (!delta.is_empty()).then(|| Box::new(Delta { values: delta, ..Delta::default() }));
    }

    /// Sets a state key to any serializable value, and drops earlier operations on it.
    ///
    /// # Errors
    /// Fails if the value has no JSON form, for example because of a NaN; then nothing is changed.
    pub fn try_set_state(&mut self, key: impl Into<String>, value: impl Serialize) -> serde_json::Result<()> {
        self.set_state(key, crate::to_json(value)?);
        Ok(())
    }

    /// Sets a state key and drops earlier operations on it. A NaN or an infinity becomes null; [`try_set_state`]
    /// refuses them.
    ///
    /// [`try_set_state`]: Self::try_set_state
    pub fn set_state(&mut self, key: impl Into<String>, value: impl Into<Value>) {
        let key = key.into();
        let delta = self.state_delta.get_or_insert_default();
        if let Some(ops) = &mut delta.ops {
            ops.pending.remove(&key);
        }
        delta.values.insert(key, value.into());
    }

    /// Returns the operations by state key, with the key's prefix. The session service applies them when the event
    /// is appended.
    ///
    /// Operations are never serialised: a stored event has their results in its [`state_delta`](Self::state_delta).
    /// Before the append, the delta holds only the expected result.
    pub fn state_ops(&self) -> &StateOps {
        self.state_delta.as_deref().and_then(Delta::pending).unwrap_or(&NO_OPS)
    }

    /// Adds an operation on a state key. It is applied after the value that the delta sets, if any, and after
    /// earlier operations.
    pub fn add_state_op(&mut self, key: impl Into<String>, op: StateOp) {
        let key = key.into();
        let delta = self.state_delta.get_or_insert_default();
        let set = delta.values.get(&key).cloned().map(StateOp::Set);
        let ops = delta.ops.get_or_insert_default();
        ops.applied = false;
        let ops = ops.pending.entry(key).or_insert_with(|| Vec::from_iter(set));
        // An operation that does not fit the value set here is refused when the event is stored. The error then
        // names the key.
        let spare = matches!(ops.last(), Some(StateOp::Set(_))).then(|| op.clone());
        if StateOp::push_onto(ops, op).is_err() {
            ops.extend(spare);
        }
    }

    /// Replaces the operations on a state key. An empty list leaves the stored value unchanged. For engines.
    pub fn set_state_ops(&mut self, key: impl Into<String>, ops: Vec<StateOp>) {
        let all = self.state_delta.get_or_insert_default().ops.get_or_insert_default();
        all.applied = false;
        all.pending.insert(key.into(), ops);
    }

    /// Takes the operations out and leaves the delta. For session services.
    pub fn take_state_ops(&mut self) -> StateOps {
        let ops = self.state_delta.as_deref_mut().and_then(|delta| delta.ops.take());
        ops.map(|ops| ops.pending).unwrap_or_default()
    }

    /// Replaces the operations by their results, which are put into the delta. For session services.
    pub fn resolve_state_ops(&mut self, results: Map) {
        let delta = self.state_delta.get_or_insert_default();
        delta.values.extend(results);
        delta.ops = Some(Box::new(Ops { applied: true, ..Ops::default() }));
    }

    /// Returns `true` if a session service has replaced this event's operations by their results. Only the copy in
    /// memory records this.
    pub fn has_resolved_state_ops(&self) -> bool {
        self.state_delta.as_ref().and_then(|delta| delta.ops.as_deref()).is_some_and(|ops| ops.applied)
    }

    /// Returns the position of the delta among the writes of its invocation; 0 for none. In memory only. For engines.
    pub fn state_writes(&self) -> u64 {
        self.state_delta.as_ref().map_or(0, |delta| delta.writes)
    }

    /// Sets the position of the delta among the writes of its invocation. For engines.
    pub fn set_state_writes(&mut self, writes: u64) {
        self.state_delta.get_or_insert_default().writes = writes;
    }

    /// Returns the route that the node chose.
    pub fn route(&self) -> Option<&Route> {
        self.route.as_deref()
    }

    /// Sets or clears the route.
    pub fn set_route(&mut self, route: Option<Route>) {
        self.route = route.map(Box::new);
    }

    /// Returns the versions of the saved artifacts, by file name.
    pub fn artifact_delta(&self) -> &BTreeMap<String, i64> {
        self.uncommon.as_ref().map_or(&NO_ARTIFACTS, |uncommon| &uncommon.artifact_delta)
    }

    /// Returns the versions of the saved artifacts, mutably.
    pub fn artifact_delta_mut(&mut self) -> &mut BTreeMap<String, i64> {
        &mut self.uncommon_mut().artifact_delta
    }

    /// Returns the requested credentials, by function call id.
    pub fn requested_auth_configs(&self) -> &BTreeMap<String, AuthConfig> {
        self.uncommon.as_ref().map_or(&NO_AUTH, |uncommon| &uncommon.requested_auth_configs)
    }

    /// Returns the requested credentials, mutably.
    pub fn requested_auth_configs_mut(&mut self) -> &mut BTreeMap<String, AuthConfig> {
        &mut self.uncommon_mut().requested_auth_configs
    }

    /// Returns the requested confirmations, by function call id.
    pub fn requested_tool_confirmations(&self) -> &BTreeMap<String, ToolConfirmation> {
        self.uncommon.as_ref().map_or(&NO_CONFIRMATIONS, |uncommon| &uncommon.requested_tool_confirmations)
    }

    /// Returns the requested confirmations, mutably.
    pub fn requested_tool_confirmations_mut(&mut self) -> &mut BTreeMap<String, ToolConfirmation> {
        &mut self.uncommon_mut().requested_tool_confirmations
    }

    accessors! {
        /// Returns `Some(true)` if the model must not summarise the function response.
        skip_summarization, set_skip_summarization: bool => |stored| *stored => bool;
        /// Returns the agent that takes over.
        transfer_to_agent, set_transfer_to_agent: String => |stored| stored.as_deref() => &str;
        /// Returns the reason for the transfer to that agent.
        transfer_reason, set_transfer_reason: String => |stored| stored.as_deref() => &str;
        /// Returns `Some(true)` if the agent escalates to its parent.
        escalate, set_escalate: bool => |stored| *stored => bool;
        /// Returns the summary that replaces a span of events.
        compaction, set_compaction: EventCompaction => |stored| stored.as_ref() => &EventCompaction;
        /// Returns `Some(true)` if the agent has finished its run.
        end_of_agent, set_end_of_agent: bool => |stored| *stored => bool;
        /// Returns the checkpoint of an agent: user data, whose keys are never renamed.
        agent_state, set_agent_state: Map => |stored| stored.as_ref() => &Map;
        /// Returns the id of the invocation that a rewind names: that invocation and everything after it are
        /// ignored.
        rewind_before_invocation_id, set_rewind_before_invocation_id: String
            => |stored| stored.as_deref() => &str;
        /// Returns the widgets for a user interface to show.
        render_ui_widgets, set_render_ui_widgets: Vec<UiWidget> => |stored| stored.as_deref() => &[UiWidget];
        /// Returns the structured response that a model set: user data, whose keys are never renamed.
        set_model_response, set_set_model_response: Value => |stored| stored.as_ref() => &Value;
    }

    fn uncommon_mut(&mut self) -> &mut UncommonActions {
        self.uncommon.get_or_insert_default()
    }

    /// Returns `true` if there are no effects.
    pub fn is_empty(&self) -> bool {
        self.state_delta.as_deref().is_none_or(Delta::is_empty)
            && self.route.is_none()
            && self.uncommon.as_ref().is_none_or(|uncommon| **uncommon == UncommonActions::default())
    }
}

/// Compares by meaning: an empty map equals no map.
impl PartialEq for EventActions {
    fn eq(&self, other: &Self) -> bool {
        let nothing = UncommonActions::default();
        self.state_delta() == other.state_delta()
            && self.state_ops() == other.state_ops()
            && self.route == other.route
            && self.uncommon.as_deref().unwrap_or(&nothing) == other.uncommon.as_deref().unwrap_or(&nothing)
    }
}
