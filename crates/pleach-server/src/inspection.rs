//! [`Inspection`]: whether a server has an inspector, and what that may do. [`Readers`]: how much it does at once.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Whether a server has an inspector, and what that may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inspection {
    /// There is none.
    Off,
    /// It is there beside the API, and moves sessions of the apps that are served.
    Full,
    /// It is there alone, and only reads.
    ReadOnly,
}

/// How many sessions an inspector reads at once. Reading takes the memory of a whole session, and a processor while its log is read.
const MOST: usize = 4;

/// The places of those that read a session. Others wait in a line.
#[derive(Clone, Debug)]
pub(crate) struct Readers(Arc<Semaphore>);

impl Default for Readers {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MOST)))
    }
}

impl Readers {
    /// Waits for a place.
    pub(crate) async fn place(&self) -> OwnedSemaphorePermit {
        Arc::clone(&self.0).acquire_owned().await.expect("the semaphore is never closed")
    }
}
