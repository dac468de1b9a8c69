//! The Runner's builder with a session service that is there from the start.

use pleach_core::AppName;
use pleach_runner::{Runner, RunnerBuilder};
use pleach_session_inmemory::InMemorySessionService;

/// Adds [`builder`](RunnerExt::builder) to [`Runner`].
///
/// The Runner itself knows no backend; this is where the default one, process memory, is named.
pub trait RunnerExt {
    /// Starts putting a Runner together; sessions are kept in process memory unless `.sessions(…)` says otherwise.
    fn builder(app_name: impl Into<AppName>) -> RunnerBuilder;
}

impl RunnerExt for Runner {
    fn builder(app_name: impl Into<AppName>) -> RunnerBuilder {
        RunnerBuilder::new(app_name).sessions(InMemorySessionService::new())
    }
}
