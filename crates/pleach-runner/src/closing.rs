//! Closes a Runner: its plugins, then its session service, even if one of them fails.

use crate::{RunError, Runner};

impl Runner {
    /// Closes the plugins and the session service. It does not wait for active runs: call [`Runner::drain`] first.
    ///
    /// A failure does not stop the rest from being closed. [`RunnerBuilder::plugin_close_timeout`] and
    /// [`RunnerBuilder::skip_closing_plugins`] configure it.
    ///
    /// [`RunnerBuilder::plugin_close_timeout`]: crate::RunnerBuilder::plugin_close_timeout
    /// [`RunnerBuilder::skip_closing_plugins`]: crate::RunnerBuilder::skip_closing_plugins
    ///
    /// # Errors
    /// [`RunError::Plugin`] with the plugins that could not be closed; [`RunError::Session`] when the session service could
    /// not be flushed or closed; [`RunError::Close`] with all errors when there is more than one.
    ///
    /// # Cancel safety
    /// When the future is dropped, the rest stays open; closing again is safe.
    pub async fn close(&self) -> Result<(), RunError> {
        let (services, closing) = (&self.parts.services, self.parts.closing);
        let plugins = match closing.skip {
            true => Ok(()),
            false => services.plugins.close(&*services.clock, closing.limit).await,
        };
        let flushed = services.sessions.flush().await;
        let closed = services.sessions.close().await;
        let failures =
            [plugins.map_err(RunError::Plugin), flushed.map_err(RunError::Session), closed.map_err(RunError::Session)];
        let mut errors: Vec<RunError> = failures.into_iter().filter_map(Result::err).collect();
        match errors.len() {
            0 => Ok(()),
            1 => Err(errors.remove(0)),
            _ => Err(RunError::Close(errors)),
        }
    }
}
