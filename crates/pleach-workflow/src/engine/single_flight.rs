//! [`SingleFlight`]: lets several calls for one child run share its execution.
// R707

use std::sync::{Arc, Mutex, PoisonError};

use foldhash::HashMap;
use pleach_context::engine::NodeEnd;
use pleach_core::NodePath;
use tokio::sync::OnceCell;

/// The child runs with explicit run ids, by path. Each succeeds at most once; every caller receives its end.
#[derive(Debug, Default)]
pub(crate) struct SingleFlight {
    runs: Mutex<HashMap<NodePath, Arc<OnceCell<NodeEnd>>>>,
}

impl SingleFlight {
    /// Returns the end of the run at `path`. Executes it with `run`, unless an earlier call has executed it or is
    /// executing it.
    ///
    /// # Errors
    /// The error of `run`. A later or waiting call then executes the run again.
    ///
    /// # Cancel safety
    /// If the future of the executing call is dropped, a waiting call executes the run.
    pub(crate) async fn run<E>(
        &self,
        path: &NodePath,
        run: impl Future<Output = Result<NodeEnd, E>>,
    ) -> Result<NodeEnd, E> {
        let cell = {
            let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(runs.entry(path.clone()).or_default())
        };
        cell.get_or_try_init(|| run).await.cloned()
    }
}
