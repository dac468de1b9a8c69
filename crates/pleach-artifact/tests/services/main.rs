//! The rules that both artifact services have in common.
// S70–S78

mod file;
mod golden;
mod inmemory;
mod shared;

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use pleach_artifact::{ArtifactKey, ArtifactScope, ArtifactService, SaveArtifact};
use pleach_contract::TestClock;
use pleach_core::{Clock, Part, SessionKey};

/// Returns a clock that shows 100 first, and one second more at every reading.
fn clock() -> Arc<dyn Clock> {
    Arc::new(TestClock::ticking_from(UNIX_EPOCH + Duration::from_secs(100)))
}

fn scope() -> ArtifactScope {
    ArtifactScope::session(&SessionKey::new("app", "u1", "s1"))
}

fn other_session() -> ArtifactScope {
    ArtifactScope::session(&SessionKey::new("app", "u1", "s2"))
}

fn key(filename: &str) -> ArtifactKey {
    scope().artifact(filename)
}

async fn save(service: &dyn ArtifactService, key: &ArtifactKey, part: impl Into<Part>) -> i64 {
    service.save_artifact(SaveArtifact::new(key.clone(), part)).await.expect("the artifact is stored")
}

async fn load(service: &dyn ArtifactService, key: &ArtifactKey) -> Option<Part> {
    service.load_artifact(key, None).await.expect("the artifact is read")
}

async fn code(service: &dyn ArtifactService, key: &ArtifactKey, part: impl Into<Part>) -> &'static str {
    let result = service.save_artifact(SaveArtifact::new(key.clone(), part)).await;
    result.expect_err("the artifact is refused").code()
}
