//! [`PromptCompaction`]: shortens the history that a prompt is made from. The Runner implements it, and agents call it.

use std::fmt;
use std::sync::Arc;

use pleach_core::{BoxFuture, Event};

/// Describes a prompt: the agent and scope it is for, and an estimate of its length.
#[derive(Clone, Copy)]
pub struct Prompt<'a> {
    /// The name of the agent.
    pub agent: &'a str,
    /// The isolation scope that the agent is in.
    pub scope: Option<&'a str>,
    /// Estimates the number of tokens in the prompt; called only if no model has reported it.
    pub estimate: &'a (dyn Fn() -> Option<u64> + Send + Sync),
}

impl fmt::Debug for Prompt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prompt").field("agent", &self.agent).field("scope", &self.scope).finish_non_exhaustive()
    }
}

/// Shortens the history that a prompt is made from.
pub trait PromptCompaction: fmt::Debug + Send + Sync + 'static {
    /// Returns the summary to store before the prompt, if the prompt would be too long without it.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the history as it is.
    fn before_prompt<'a>(&'a self, events: &'a [Arc<Event>], prompt: Prompt<'a>) -> BoxFuture<'a, Option<Event>>;
}
