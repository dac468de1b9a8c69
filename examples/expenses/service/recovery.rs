//! What earlier processes have left unfinished: it is found and continued.

use std::time::Duration;

use pleach::{ListUnfinished, RunError};

use super::Service;

/// How far back to look. An expense that was cut off before is not found: this must be longer than the service is ever down.
const BACK: Duration = Duration::from_secs(7 * 86_400);

/// How often to look again.
const EVERY: Duration = Duration::from_secs(60);

/// Continues what was cut off, now and each minute, until the process ends.
pub(crate) async fn recover_always(service: Service, idle: Duration) {
    let stopping = service.stopping.clone();
    let look = async {
        loop {
            if let Err(error) = recover(&service, idle).await {
                tracing::warn!(%error, "unfinished expenses could not be read");
            }
            tokio::time::sleep(EVERY).await;
        }
    };
    stopping.run_until_cancelled(look).await;
}

/// Continues the expenses that nothing has happened to for longer than `idle`, which must be longer than a payment takes, and than a pause
/// between two attempts: another process may be at work on others. Failed ones are left to `retry`.
async fn recover(service: &Service, idle: Duration) -> Result<(), RunError> {
    let now = service.now();
    let list = ListUnfinished::new().since(now - BACK).idle_since(now - idle);
    service.runner.resume_unfinished(list).await.map(drop)
}
