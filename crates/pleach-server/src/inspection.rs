//! [`Inspection`]: whether a server has an inspector, and what the inspector may do. [`Readers`]: limits how many
//! sessions it reads at once.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Whether a server has an inspector, and what the inspector may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inspection {
    /// The server has no inspector.
    Off,
    /// The inspector is part of a server with the API. It can start and continue runs of the served apps.
    Full,
    /// The server is an inspector only, and is read-only.
    ReadOnly,
}

/// How many sessions an inspector reads at once. Each read needs the memory of a whole session and occupies a processor
/// core.
const MOST: usize = 4;

/// The permits for reading a session. Requests without a permit queue.
#[derive(Clone, Debug)]
pub(crate) struct Readers(Arc<Semaphore>);

impl Default for Readers {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MOST)))
    }
}

impl Readers {
    /// Waits for a permit.
    pub(crate) async fn place(&self) -> OwnedSemaphorePermit {
        Arc::clone(&self.0).acquire_owned().await.expect("the semaphore is never closed")
    }
}
