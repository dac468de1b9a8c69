//! [`RunnerExt`]: the Runner's builder with sessions in process memory as the default.

use pleach_core::AppName;
use pleach_runner::{Runner, RunnerBuilder};
use pleach_session_inmemory::InMemorySessionService;

/// Adds [`builder`](RunnerExt::builder) to [`Runner`].
///
/// `pleach-runner` depends on no session backend. This trait adds the default one, process memory.
pub trait RunnerExt {
    /// Starts building a Runner. Its sessions are kept in process memory unless `.sessions(…)` sets another service.
    fn builder(app_name: impl Into<AppName>) -> RunnerBuilder;
}

impl RunnerExt for Runner {
    fn builder(app_name: impl Into<AppName>) -> RunnerBuilder {
        RunnerBuilder::new(app_name).sessions(InMemorySessionService::new())
    }
}
