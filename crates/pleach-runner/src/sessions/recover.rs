//! The recovery that a Runner runs itself: see [`RunnerBuilder::recover`](crate::RunnerBuilder::recover).

use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::app::inner::RunnerInner;
use crate::{ListUnfinished, RunError, Runner};

/// How far back a recovery looks for sessions. Runs that were cut off earlier are found by
/// [`Runner::unfinished`](crate::Runner::unfinished).
const WEEK: Duration = Duration::from_secs(7 * 86_400);

/// The longest pause after failed passes.
const LONGEST: Duration = Duration::from_secs(60);

/// Resumes what was cut off, again and again, until the Runner is dropped, closed or drained.
pub(crate) async fn recover(parts: Weak<RunnerInner>, every: Duration) {
    let mut pause = every;
    loop {
        let Some(parts) = parts.upgrade().filter(|parts| !parts.timers.shared.state().closed) else { return };
        let clock = Arc::clone(&parts.services.clock);
        pause = match pass(Runner { parts }).await {
            Ok(()) => every,
            Err(error) => {
                // The storage does not respond. The next pass finds the same sessions.
                tracing::warn!(%error, "runs that were cut off could not be looked for");
                (pause * 2).clamp(every, LONGEST.max(every))
            }
        };
        clock.sleep(pause).await;
    }
}

async fn pass(runner: Runner) -> Result<(), RunError> {
    let now = Duration::try_from_secs_f64(runner.parts.services.clock.now()).unwrap_or_default();
    let since: SystemTime = UNIX_EPOCH + now.saturating_sub(WEEK);
    // The handles may be dropped: the runs work in the background, and log their errors.
    let list = ListUnfinished { only_resumable: true, ..ListUnfinished::new().since(since) };
    runner.resume_unfinished(list).await.map(drop)
}
