//! The fields of an event and access to them.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use smol_str::SmolStr;

use super::{ModelInfo, OutputFor};
use crate::{Branch, Content, EventActions, EventId, InvocationId, Map, NodePath};

/// One record of a session's history: a message, an output or actions, and the run that wrote it. ADK: `Event`
///
/// User code creates events by chaining (`Event::from_author("a").with_route("hard")`). The engine sets id, time,
/// invocation, path and branch, stores the events and then shares them as `Arc<Event>`.
///
/// Rarely set fields share one allocation, which is made when the first of them is set. The other fields are stored
/// inline or have an allocation of their own.
///
/// JSON: snake_case in google-adk's order, without `null` fields; [`to_camel`](crate::to_camel) returns the HTTP form.
/// Either casing can be read. Unknown keys at the top level and in `node_info` are kept.
// R101–R105, S41–S46
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Event {
    pub(super) id: EventId,
    /// The time. It is 0 if the event has none; a time of zero is stored as -0.
    pub(super) timestamp: f64,
    pub(super) invocation_id: InvocationId,
    pub(super) author: SmolStr,
    pub(super) path: NodePath,
    pub(super) branch: Option<Branch>,
    pub(super) output: Option<Value>,
    pub(super) content: Option<Box<Content>>,
    pub(super) actions: EventActions,
    #[expect(clippy::box_collection, reason = "few events have them, and a set stored inline is three times as large")]
    pub(super) long_running_tool_ids: Option<Box<BTreeSet<String>>>,
    pub(super) output_for: OutputFor,
    pub(super) uncommon: Option<Box<UncommonFields>>,
    pub(super) message_as_output: Option<bool>,
    pub(super) partial: Option<bool>,
}

/// The fields that few events set.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct UncommonFields {
    pub(super) isolation_scope: Option<Arc<str>>,
    pub(super) turn_complete: Option<bool>,
    pub(super) error_code: Option<String>,
    pub(super) error_message: Option<String>,
    pub(super) custom_metadata: Option<Map>,
    pub(super) model: Option<Box<ModelInfo>>,
    /// The unknown keys of the event.
    pub(super) extra: Map,
    /// The unknown keys of `node_info`.
    pub(super) node_extra: Map,
}

macro_rules! uncommon {
    ($($(#[$doc:meta])* $get:ident, $set:ident: $type:ty => |$stored:ident| $view:expr => $seen:ty;)*) => {$(
        $(#[$doc])*
        pub fn $get(&self) -> Option<$seen> {
            let $stored = &self.uncommon.as_ref()?.$get;
            $view
        }

        #[doc = concat!("Sets or clears what [`", stringify!($get), "`](Self::", stringify!($get), ") returns.")]
        pub fn $set(&mut self, value: Option<$type>) {
            if value.is_some() || self.uncommon.is_some() {
                self.uncommon_mut().$get = value.map(Into::into);
                // An event that lost its last uncommon field equals one that never had any.
                self.uncommon.take_if(|uncommon| **uncommon == UncommonFields::default());
            }
        }
    )*};
}

impl Event {
    /// Returns the id; empty until the engine completes the event.
    pub fn id(&self) -> &EventId {
        &self.id
    }

    /// Sets the id.
    pub fn set_id(&mut self, id: impl Into<EventId>) {
        self.id = id.into();
    }

    /// Returns the creation time of the event, in seconds since the epoch; 0 until the engine sets it.
    pub fn timestamp(&self) -> f64 {
        // -0 becomes 0.
        self.timestamp + 0.0
    }

    /// Returns `true` if the event has a time. An event without one gets the time of its append.
    pub fn has_timestamp(&self) -> bool {
        self.timestamp.to_bits() != 0
    }

    /// Removes the time.
    pub fn clear_timestamp(&mut self) {
        self.timestamp = 0.0;
    }

    /// Sets the time, in seconds since the epoch.
    pub fn set_timestamp(&mut self, timestamp: f64) {
        self.timestamp = if timestamp == 0.0 { -0.0 } else { timestamp };
    }

    /// Returns the id of the invocation that the event belongs to.
    pub fn invocation_id(&self) -> &InvocationId {
        &self.invocation_id
    }

    /// Sets the id of the invocation.
    pub fn set_invocation_id(&mut self, id: impl Into<InvocationId>) {
        self.invocation_id = id.into();
    }

    /// Returns the author: `user`, or the name of an agent or workflow.
    pub fn author(&self) -> &str {
        &self.author
    }

    /// Sets the author.
    pub fn set_author(&mut self, author: impl Into<SmolStr>) {
        self.author = author.into();
    }

    /// Returns the path of the run that wrote the event; empty outside workflows.
    pub fn path(&self) -> &NodePath {
        &self.path
    }

    /// Sets the path.
    pub fn set_path(&mut self, path: NodePath) {
        self.path = path;
    }

    /// Returns the conversation thread; `None` for the root.
    pub fn branch(&self) -> Option<&Branch> {
        self.branch.as_ref()
    }

    /// Sets the conversation thread.
    pub fn set_branch(&mut self, branch: Option<Branch>) {
        self.branch = branch;
    }

    /// Returns the node's output, which is meant for other nodes, not for people.
    pub fn output(&self) -> Option<&Value> {
        self.output.as_ref()
    }

    /// Sets the node's output. `null` is treated as no output.
    // R101
    pub fn set_output(&mut self, output: Option<Value>) {
        self.output = output.filter(|value| !value.is_null());
    }

    /// Takes the node's output out.
    pub fn take_output(&mut self) -> Option<Value> {
        self.output.take()
    }

    /// Returns the message, which is meant for people and models.
    pub fn content(&self) -> Option<&Content> {
        self.content.as_deref()
    }

    /// Returns the message mutably, if there is one.
    pub fn content_mut(&mut self) -> Option<&mut Content> {
        self.content.as_deref_mut()
    }

    /// Sets the message.
    pub fn set_content(&mut self, content: Option<Content>) {
        self.content = content.map(Box::new);
    }

    /// Takes the message out.
    pub fn take_content(&mut self) -> Option<Box<Content>> {
        self.content.take()
    }

    /// Returns the event's effects: state, artifacts, routing and control.
    pub fn actions(&self) -> &EventActions {
        &self.actions
    }

    /// Returns the actions mutably.
    pub fn actions_mut(&mut self) -> &mut EventActions {
        &mut self.actions
    }

    /// Sets all actions.
    pub fn set_actions(&mut self, actions: EventActions) {
        self.actions = actions;
    }

    /// Returns the actions by value.
    pub fn into_actions(self) -> EventActions {
        self.actions
    }

    /// Returns the ids of calls whose results come later. `None` and an empty set differ in JSON.
    pub fn long_running_tool_ids(&self) -> Option<&BTreeSet<String>> {
        self.long_running_tool_ids.as_deref()
    }

    /// Sets the ids of calls whose results come later.
    pub fn set_long_running_tool_ids(&mut self, ids: Option<BTreeSet<String>>) {
        self.long_running_tool_ids = ids.map(Box::new);
    }

    /// Returns the runs whose output the event carries.
    pub fn output_for(&self) -> &OutputFor {
        &self.output_for
    }

    /// Sets the runs whose output the event carries.
    pub fn set_output_for(&mut self, output_for: OutputFor) {
        self.output_for = output_for;
    }

    /// Returns `Some(true)` if the message is the node's output.
    pub fn message_as_output(&self) -> Option<bool> {
        self.message_as_output
    }

    /// Sets whether the message is the node's output.
    pub fn set_message_as_output(&mut self, value: Option<bool>) {
        self.message_as_output = value;
    }

    /// Returns `Some(true)` for a streamed fragment.
    pub fn partial(&self) -> Option<bool> {
        self.partial
    }

    /// Sets whether this is a streamed fragment.
    pub fn set_partial(&mut self, value: Option<bool>) {
        self.partial = value;
    }

    uncommon! {
        /// Returns the isolation scope: a tag that hides the event from other agents.
        isolation_scope, set_isolation_scope: Arc<str> => |stored| stored.as_deref() => &str;
        /// Returns whether the model's turn in a live session is over.
        turn_complete, set_turn_complete: bool => |stored| *stored => bool;
        /// Returns the class name of the error that the event reports.
        error_code, set_error_code: String => |stored| stored.as_deref() => &str;
        /// Returns the text of the error that the event reports.
        error_message, set_error_message: String => |stored| stored.as_deref() => &str;
        /// Returns the application's own metadata: user data, whose keys are never renamed.
        custom_metadata, set_custom_metadata: Map => |stored| stored.as_ref() => &Map;
        /// Returns the metadata of a model's response.
        model, set_model: ModelInfo => |stored| stored.as_deref() => &ModelInfo;
    }

    /// Returns the model's metadata mutably, creating it if absent.
    pub fn model_mut(&mut self) -> &mut ModelInfo {
        self.uncommon_mut().model.get_or_insert_default()
    }

    /// Returns the top-level keys that this version does not know; they are written back unchanged.
    pub fn extra(&self) -> Option<&Map> {
        self.uncommon.as_ref().map(|uncommon| &uncommon.extra).filter(|extra| !extra.is_empty())
    }

    pub(super) fn uncommon_mut(&mut self) -> &mut UncommonFields {
        self.uncommon.get_or_insert_default()
    }
}
