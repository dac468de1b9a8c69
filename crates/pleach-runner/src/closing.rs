//! Closing a Runner: its plugins, then its session service, whatever fails in between.

use crate::{RunError, Runner};

impl Runner {
    /// Closes the plugins and the session service. What is still running is not waited for: [`Runner::drain`] does that.
    ///
    /// Everything is closed, whatever fails. The limits are [`RunnerBuilder::plugin_close_timeout`] and
    /// [`RunnerBuilder::skip_closing_plugins`].
    ///
    /// [`RunnerBuilder::plugin_close_timeout`]: crate::RunnerBuilder::plugin_close_timeout
    /// [`RunnerBuilder::skip_closing_plugins`]: crate::RunnerBuilder::skip_closing_plugins
    ///
    /// # Errors
    /// [`RunError::Plugin`] with the plugins that could not be closed; [`RunError::Session`] when the session service could
    /// not be flushed or closed; [`RunError::Close`] with all errors when there is more than one.
    ///
    /// # Cancel safety
    /// When the future is dropped, what was not closed yet stays open; closing again is safe.
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
