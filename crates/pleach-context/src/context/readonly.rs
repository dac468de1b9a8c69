//! [`ReadonlyContext`]: the view of a run that instruction functions get.

use std::fmt;

use pleach_core::{Content, Map, Part};
use serde_json::Value;

use super::SessionView;
use crate::{AuthCredential, Context, NodeError, RunConfig};

/// A read-only view of a run, for functions that compute something for the run and must not change it.
///
/// It is passed to the instruction functions of agents, to toolsets when they list their tools, to filters of tools,
/// and to functions that make headers. To pass one to other functions, make it from a [`Context`].
///
/// ADK: `ReadonlyContext`.
#[derive(Clone)]
pub struct ReadonlyContext {
    ctx: Context,
}

impl ReadonlyContext {
    /// Returns the read-only view of a context.
    #[must_use]
    pub fn new(ctx: Context) -> Self {
        Self { ctx }
    }

    /// The message that started the invocation.
    #[must_use]
    pub fn user_content(&self) -> Option<&Content> {
        self.ctx.user_content()
    }

    /// The id that all events of the invocation carry.
    #[must_use]
    pub fn invocation_id(&self) -> &str {
        self.ctx.invocation_id()
    }

    /// The name of the running agent. Outside an agent it is the root agent's name, or `unknown` if the root is not an
    /// agent.
    #[must_use]
    pub fn agent_name(&self) -> &str {
        self.ctx.agent_name()
    }

    /// Returns a copy of the session state, including pending changes.
    #[must_use]
    pub fn state(&self) -> Map {
        self.ctx.state().to_map()
    }

    /// The value of one state key.
    #[must_use]
    pub fn state_value(&self, key: &str) -> Option<Value> {
        self.ctx.state().value(key)
    }

    /// Returns true if the app has an artifact service.
    #[must_use]
    pub fn has_artifacts(&self) -> bool {
        self.ctx.invocation().artifact_service().is_some()
    }

    /// Loads the newest version of a file; `None` if there is none.
    ///
    /// # Errors
    /// As [`Context::load_artifact`].
    ///
    /// # Cancel safety
    /// Dropping the future has no effect.
    pub async fn load_artifact(&self, filename: &str) -> Result<Option<Part>, NodeError> {
        self.ctx.load_artifact(filename, None).await
    }

    /// Returns a read-only view of the session.
    #[must_use]
    pub fn session(&self) -> SessionView<'_> {
        self.ctx.session()
    }

    /// The id of the user that the session belongs to.
    #[must_use]
    pub fn user_id(&self) -> &str {
        self.ctx.user_id()
    }

    /// The settings of the invocation.
    #[must_use]
    pub fn run_config(&self) -> &RunConfig {
        self.ctx.run_config()
    }

    /// The metadata that is put on every event of the invocation.
    #[must_use]
    pub fn custom_metadata(&self) -> Map {
        self.ctx.invocation().custom_metadata()
    }

    /// Returns true if the invocation was asked to stop.
    #[must_use]
    pub fn is_aborted(&self) -> bool {
        self.ctx.is_aborted()
    }

    /// Returns the credential that the invocation keeps under `key`. ADK: `get_credential`.
    #[must_use]
    pub fn get_credential(&self, key: &str) -> Option<AuthCredential> {
        let kept = self.ctx.state().value(&format!("temp:{key}"))?;
        serde_json::from_value(kept).ok()
    }
}

impl From<Context> for ReadonlyContext {
    fn from(ctx: Context) -> Self {
        Self::new(ctx)
    }
}

impl From<&Context> for ReadonlyContext {
    fn from(ctx: &Context) -> Self {
        Self::new(ctx.clone())
    }
}

impl fmt::Debug for ReadonlyContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ReadonlyContext").field(&self.ctx).finish()
    }
}
