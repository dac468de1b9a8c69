//! [`ConversationView`]: the agent that sees a conversation, and its place in the invocation.

use pleach_core::{Branch, Content, NodePath};

/// The agent that sees a conversation, and its place in the invocation.
#[derive(Clone, Copy, Debug)]
pub struct ConversationView<'a> {
    /// The agent's name. If the name is empty, no event is treated as another agent's.
    pub agent: &'a str,
    /// The agent's branch.
    pub branch: Option<&'a Branch>,
    /// The agent's isolation scope. Events of other scopes are hidden.
    pub scope: Option<&'a str>,
    /// The path of the agent's run.
    pub path: &'a NodePath,
    /// Whether the agent answers once and sees only its own input and events.
    pub is_single_turn: bool,
    /// The runs so far of the graph node for which the agent answers, because the node's own agent has transferred to
    /// it; empty for other agents. If `is_single_turn` is true, the agent also sees the events of these runs and of the
    /// runs below them.
    pub part: &'a [NodePath],
    /// The task of the agent, or of an agent that has transferred to it.
    pub task: Option<&'a Content>,
    /// The invocation's content for an agent that has a scope, but was not started by a delegating call.
    pub user_content: Option<&'a Content>,
    /// Whether thoughts of other agents are quoted.
    pub thoughts_of_others: bool,
    /// Whether the model pairs calls with responses by id. Only such a model receives the runtime's ids.
    pub pairs_calls_by_id: bool,
}
