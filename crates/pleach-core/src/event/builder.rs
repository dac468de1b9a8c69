//! Builder methods of [`Event`].

use serde::Serialize;
use serde_json::Value;
use smol_str::SmolStr;

use crate::{Branch, Content, Event, EventActions, IntoRoute, Map, Message, NodePath, StateOp};

impl Event {
    /// Creates an empty event; the engine sets id, time, author, invocation, path and branch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an event that has only an author.
    pub fn from_author(author: impl Into<SmolStr>) -> Self {
        Self { author: author.into(), ..Self::default() }
    }

    /// Creates an event with a message: a string, a part, several parts (all with the role `user`) or a [`Content`].
    // R107
    pub fn message(message: impl Into<Message>) -> Self {
        Self::new().with_message(message)
    }

    /// Creates an event with a JSON value as output. A NaN or an infinity becomes null; [`Event::try_of`] refuses them.
    pub fn of(value: impl Into<Value>) -> Self {
        Self::new().with_output(value)
    }

    /// Creates an event with any serializable value as output.
    ///
    /// # Errors
    /// Fails if the value has no JSON form, for example because of a NaN.
    pub fn try_of(value: impl Serialize) -> serde_json::Result<Self> {
        Self::new().try_with_output(value)
    }

    /// Sets the author.
    pub fn with_author(mut self, author: impl Into<SmolStr>) -> Self {
        self.set_author(author);
        self
    }

    /// Sets the output. A NaN or an infinity becomes null; [`Event::try_with_output`] refuses them.
    pub fn with_output(mut self, value: impl Into<Value>) -> Self {
        self.set_output(Some(value.into()));
        self
    }

    /// Sets the output to any serializable value.
    ///
    /// # Errors
    /// Fails if the value has no JSON form, for example because of a NaN.
    pub fn try_with_output(self, value: impl Serialize) -> serde_json::Result<Self> {
        Ok(self.with_output(crate::to_json(value)?))
    }

    /// Sets the route, which decides which edges of the graph are followed.
    pub fn with_route(mut self, route: impl IntoRoute) -> Self {
        self.actions.set_route(Some(route.into_route()));
        self
    }

    /// Adds one state change. A NaN or an infinity becomes null; [`Event::try_with_state`] refuses them.
    pub fn with_state(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.actions.set_state(key, value);
        self
    }

    /// Adds one state change, with any serializable value.
    ///
    /// # Errors
    /// Fails if the value has no JSON form, for example because of a NaN.
    pub fn try_with_state(self, key: impl Into<String>, value: impl Serialize) -> serde_json::Result<Self> {
        Ok(self.with_state(key, crate::to_json(value)?))
    }

    /// Adds an operation that is applied to the stored value of a key when the event is appended.
    pub fn with_state_op(mut self, key: impl Into<String>, op: StateOp) -> Self {
        self.actions.add_state_op(key, op);
        self
    }

    /// Replaces all state changes; the other actions stay.
    // E246
    pub fn with_state_map(mut self, delta: Map) -> Self {
        self.actions.set_state_delta(delta);
        self
    }

    /// Sets the message, unchanged.
    pub fn with_content(mut self, content: Content) -> Self {
        self.set_content(Some(content));
        self
    }

    /// Sets the message from a string, a part, several parts or a [`Content`].
    pub fn with_message(self, message: impl Into<Message>) -> Self {
        self.with_content(message.into().0)
    }

    /// Marks the event as a streamed fragment, which is shown but never stored.
    pub fn with_partial(mut self, partial: bool) -> Self {
        self.partial = Some(partial);
        self
    }

    /// Sets the error that the event reports.
    pub fn with_error(mut self, code: impl Into<String>, message: impl Into<String>) -> Self {
        self.set_error_code(Some(code.into()));
        self.set_error_message(Some(message.into()));
        self
    }

    /// Sets the application's own metadata.
    pub fn with_custom_metadata(mut self, metadata: Map) -> Self {
        self.set_custom_metadata(Some(metadata));
        self
    }

    /// Sets the conversation thread.
    pub fn with_branch(mut self, branch: impl Into<Branch>) -> Self {
        self.branch = Some(branch.into());
        self
    }

    /// Sets the path of the run.
    // R107
    pub fn with_node_path(mut self, path: impl Into<NodePath>) -> Self {
        self.path = path.into();
        self
    }

    /// Sets the ids of calls whose results come later.
    pub fn with_long_running<I>(mut self, ids: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        self.set_long_running_tool_ids(Some(ids.into_iter().map(Into::into).collect()));
        self
    }

    /// Replaces all actions.
    pub fn with_actions(mut self, actions: EventActions) -> Self {
        self.actions = actions;
        self
    }
}
