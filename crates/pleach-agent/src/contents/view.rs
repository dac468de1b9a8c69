//! [`ConversationView`]: as whom, and from where, a conversation is seen.

use pleach_core::{Branch, Content, NodePath};

/// As whom, and from where, a conversation is seen.
#[derive(Clone, Copy, Debug)]
pub struct ConversationView<'a> {
    /// The agent's name. With an empty name no event is another agent's.
    pub agent: &'a str,
    /// The agent's branch.
    pub branch: Option<&'a Branch>,
    /// The agent's isolation scope: events of other scopes are hidden.
    pub scope: Option<&'a str>,
    /// The path of the agent's run.
    pub path: &'a NodePath,
    /// Whether the agent answers once, and sees its own input and events only.
    pub is_single_turn: bool,
    /// The runs whose parts of the tree an agent that answers once also sees: those of the graph node for which it answers.
    pub part: &'a [NodePath],
    /// The task that the agent, or one that has transferred to it, was given.
    pub task: Option<&'a Content>,
    /// What the invocation gives to an agent with a scope that no call has delegated to.
    pub user_content: Option<&'a Content>,
    /// Whether thoughts of other agents are quoted.
    pub thoughts_of_others: bool,
    /// Whether the model pairs calls with responses by id, and so gets the runtime's ids.
    pub pairs_calls_by_id: bool,
}
