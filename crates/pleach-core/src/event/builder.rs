//! Builder methods of [`Event`].

use serde::Serialize;
use serde_json::Value;
use smol_str::SmolStr;

use crate::{Branch, Content, Event, EventActions, IntoRoute, Map, Message, NodePath, StateOp};

impl Event {
    /// Makes an event with nothing in it; the engine completes id, time, author, invocation, path and branch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes an event with an author and nothing else.
    pub fn from_author(author: impl Into<SmolStr>) -> Self {
        Self { author: author.into(), ..Self::default() }
    }

    /// Makes an event with a message: a text, a part, several parts (all with the role `user`) or a [`Content`].
    // R107
    pub fn message(message: impl Into<Message>) -> Self {
        Self::new().with_message(message)
    }

    /// Makes an event with a JSON value as output. A NaN or an infinity becomes null; [`Event::try_of`] refuses it.
    pub fn of(value: impl Into<Value>) -> Self {
        Self::new().with_output(value)
    }

    /// Makes an event with any serializable value as output.
    ///
    /// # Errors
    /// When the value has none, such as one with a NaN.
    pub fn try_of(value: impl Serialize) -> serde_json::Result<Self> {
        Self::new().try_with_output(value)
    }

    /// Sets the author.
    pub fn with_author(mut self, author: impl Into<SmolStr>) -> Self {
        self.set_author(author);
        self
    }

    /// Sets the output. A NaN or an infinity becomes null; [`Event::try_with_output`] refuses it.
    pub fn with_output(mut self, value: impl Into<Value>) -> Self {
        self.set_output(Some(value.into()));
        self
    }

    /// Sets the output to anything that has a JSON form.
    ///
    /// # Errors
    /// When the value has none, such as one with a NaN.
    pub fn try_with_output(self, value: impl Serialize) -> serde_json::Result<Self> {
        Ok(self.with_output(crate::to_json(value)?))
    }

    /// Sets the route: which edges of the graph are followed.
    pub fn with_route(mut self, route: impl IntoRoute) -> Self {
        self.actions.set_route(Some(route.into_route()));
        self
    }

    /// Adds one change of state. A NaN or an infinity becomes null; [`Event::try_with_state`] refuses it.
    pub fn with_state(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.actions.set_state(key, value);
        self
    }

    /// Adds one change of state, of anything that has a JSON form.
    ///
    /// # Errors
    /// When the value has none, such as one with a NaN.
    pub fn try_with_state(self, key: impl Into<String>, value: impl Serialize) -> serde_json::Result<Self> {
        Ok(self.with_state(key, crate::to_json(value)?))
    }

    /// Adds an operation that is applied to the stored value of a key when the event is appended.
    pub fn with_state_op(mut self, key: impl Into<String>, op: StateOp) -> Self {
        self.actions.add_state_op(key, op);
        self
    }

    /// Replaces all changes of state; the other actions stay.
    // E246
    pub fn with_state_map(mut self, delta: Map) -> Self {
        self.actions.set_state_delta(delta);
        self
    }

    /// Sets the message as it is.
    pub fn with_content(mut self, content: Content) -> Self {
        self.set_content(Some(content));
        self
    }

    /// Sets the message from a text, a part, several parts or a [`Content`].
    pub fn with_message(self, message: impl Into<Message>) -> Self {
        self.with_content(message.into().0)
    }

    /// Marks a streamed fragment, which is shown but never stored.
    pub fn with_partial(mut self, partial: bool) -> Self {
        self.partial = Some(partial);
        self
    }

    /// Reports an error.
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
