//! Waiting for a server that is not there just now.

use std::time::Duration;

use pleach_session::Patience as Pauses;

const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// Pauses between attempts.
#[derive(Debug)]
pub(crate) struct Patience(Pauses);

impl Patience {
    pub(crate) fn new(limit: Duration) -> Self {
        Self(Pauses::new(limit, FIRST_PAUSE, LONGEST_PAUSE))
    }

    /// Waits for the next pause; false when the limit is reached.
    pub(crate) async fn wait(&mut self) -> bool {
        let Some(pause) = self.0.pause() else { return false };
        tokio::time::sleep(pause).await;
        true
    }
}
