//! Closes a Runner: its toolsets, its plugins and its session service, even if one of them fails.

use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, join_all, select};
use pleach_context::{NodeError, SharedToolset};

use crate::{RunError, Runner};

/// How long a toolset may take to close.
const TOOLSET_LIMIT: Duration = Duration::from_secs(10);

impl Runner {
    /// Closes the toolsets of all agents below the root, then the plugins, then the session service. It does not wait for active
    /// runs: call [`Runner::drain`] first.
    ///
    /// If a part fails to close, or a toolset takes longer than ten seconds, the others are still closed.
    /// [`RunnerBuilder::plugin_close_timeout`] limits the time for each plugin. [`RunnerBuilder::skip_closing_plugins`]
    /// and [`RunnerBuilder::skip_closing_sessions`] leave plugins and the session service open.
    ///
    /// [`RunnerBuilder::skip_closing_sessions`]: crate::RunnerBuilder::skip_closing_sessions
    /// [`RunnerBuilder::plugin_close_timeout`]: crate::RunnerBuilder::plugin_close_timeout
    /// [`RunnerBuilder::skip_closing_plugins`]: crate::RunnerBuilder::skip_closing_plugins
    ///
    /// # Errors
    /// - [`RunError::Toolset`] and [`RunError::Plugin`] with the toolsets and plugins that could not be closed.
    /// - [`RunError::Session`] if the session service could not be flushed or closed.
    /// - [`RunError::Close`] with all errors if there are several.
    ///
    /// # Cancel safety
    /// If the future is dropped, the remaining parts stay open; closing again is safe.
    pub async fn close(&self) -> Result<(), RunError> {
        let (services, closing) = (&self.parts.services, self.parts.closing);
        self.parts.timers.close();
        let toolsets = self.close_toolsets().await;
        let plugins = if closing.skip { Ok(()) } else { services.plugins.close(&*services.clock, closing.limit).await };
        let flushed = services.sessions.flush().await;
        let closed = if closing.skip_sessions { Ok(()) } else { services.sessions.close().await };
        let failures = [
            toolsets.map_err(RunError::Toolset),
            plugins.map_err(RunError::Plugin),
            flushed.map_err(RunError::Session),
            closed.map_err(RunError::Session),
        ];
        let mut errors: Vec<RunError> = failures.into_iter().filter_map(Result::err).collect();
        match errors.len() {
            0 => Ok(()),
            1 => Err(errors.remove(0)),
            _ => Err(RunError::Close(errors)),
        }
    }

    async fn close_toolsets(&self) -> Result<(), NodeError> {
        let closed = join_all(self.parts.toolsets.iter().map(|toolset| self.close_toolset(toolset))).await;
        let failed: Vec<String> = closed.into_iter().filter_map(Result::err).collect();
        if failed.is_empty() {
            return Ok(());
        }
        Err(NodeError::new("RuntimeError", format!("Failed to close toolsets: {}", failed.join(", "))))
    }

    /// Closes a toolset.
    ///
    /// # Errors
    /// The toolset's name and why it could not be closed.
    async fn close_toolset(&self, toolset: &SharedToolset) -> Result<(), String> {
        let late = self.parts.services.clock.sleep(TOOLSET_LIMIT);
        // The toolset is polled first: a toolset that closes at once is never late.
        match select(pin!(toolset.close()), late).await {
            Either::Left((closed, _)) => closed.map_err(|error| format!("'{}': {error}", toolset.name())),
            Either::Right(_) => Err(format!("'{}': it did not close within {TOOLSET_LIMIT:?}", toolset.name())),
        }
    }
}
