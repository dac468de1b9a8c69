//! Finds expenses that earlier processes have left unfinished, and continues them.

use std::time::Duration;

use pleach::{ListUnfinished, RunError};

use super::Service;

/// The maximum age of expenses to continue. Expenses that were cut off earlier are not found, so this must be longer
/// than any downtime of the service.
const BACK: Duration = Duration::from_secs(7 * 86_400);

/// The interval between two searches.
const EVERY: Duration = Duration::from_secs(60);

/// Continues interrupted expenses, now and every minute, until the process ends.
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

/// Continues interrupted expenses that have been idle for longer than `idle`. Another process may be working on those
/// that have changed later, so `idle` must be longer than a payment, and longer than the pause between two attempts.
/// Failed expenses are not continued here, but with the route `retry`.
async fn recover(service: &Service, idle: Duration) -> Result<(), RunError> {
    let now = service.now();
    let list = ListUnfinished::new().since(now - BACK).idle_since(now - idle);
    service.runner.resume_unfinished(list).await.map(drop)
}
