//! The artifacts that hold payloads: their owners, their names and their bytes.

use std::fmt::Write as _;
use std::sync::Arc;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use pleach_artifact::{
    ArtifactError, ArtifactResult, ArtifactScope, ArtifactService, PAYLOADS_APP_SUFFIX, SaveArtifact,
};
use pleach_core::{EventId, Map, Part, SessionKey};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::place::Place;

/// The number of artifacts that one call reads, writes or deletes at a time.
pub(crate) const AT_ONCE: usize = 8;
/// The prefix of the names of payloads.
const PREFIX: &str = "payload-";
/// The largest number of bytes of an id that is used as a folder's name.
const LONGEST: usize = 100;

/// The payloads in an artifact service.
#[derive(Clone, Debug)]
pub(crate) struct Vault {
    artifacts: Arc<dyn ArtifactService>,
}

/// The reason why a payload cannot be read.
pub(crate) enum Loss {
    /// The payload is missing or damaged, for this reason.
    Lost(String),
    /// The artifact service failed.
    Failed(ArtifactError),
}

impl Vault {
    pub(crate) fn new(artifacts: Arc<dyn ArtifactService>) -> Self {
        Self { artifacts }
    }

    /// Stores the bytes of a payload.
    pub(crate) async fn save(
        &self,
        key: &SessionKey,
        event: &EventId,
        place: Place,
        name: &str,
        part: Part,
    ) -> ArtifactResult<()> {
        // This metadata is for people who inspect the storage, because the folders may have other names than the ids.
        let about = json!({"app_name": key.app_name, "user_id": key.user_id, "session_id": key.session_id,
            "event_id": event, "place": place.to_string()});
        let about = about.as_object().cloned().unwrap_or_else(Map::new);
        let request = SaveArtifact::new(scope(key).artifact(name), part).with_custom_metadata(about);
        self.artifacts.save_artifact(request).await.map(drop)
    }

    /// Reads the bytes of a payload and compares them with its name.
    pub(crate) async fn load(
        &self,
        key: &SessionKey,
        event: &EventId,
        place: Place,
        name: &str,
    ) -> Result<Vec<u8>, Loss> {
        let part = match self.artifacts.load_artifact(&scope(key).artifact(name), None).await {
            Ok(Some(part)) => part,
            Ok(None) => return Err(Loss::Lost("is missing".to_owned())),
            Err(error @ ArtifactError::Corrupt { .. }) => return Err(Loss::Lost(format!("is damaged ({error})"))),
            Err(error) => return Err(Loss::Failed(error)),
        };
        let bytes = match (part.inline_data, part.text) {
            (Some(blob), _) => blob.data.map(|data| data.0).unwrap_or_default(),
            (None, text) => text.unwrap_or_default().into_bytes(),
        };
        if payload_name(event, place, &bytes) != name {
            return Err(Loss::Lost("is damaged: its content does not match its name".to_owned()));
        }
        Ok(bytes)
    }

    /// Returns the names of all payloads of a session.
    pub(crate) async fn names(&self, key: &SessionKey) -> ArtifactResult<Vec<String>> {
        let mut names = self.artifacts.list_artifact_keys(&scope(key)).await?;
        names.retain(|name| is_payload(name));
        Ok(names)
    }

    /// Deletes payloads of a session.
    pub(crate) async fn delete(&self, key: &SessionKey, names: Vec<String>) -> ArtifactResult<()> {
        let scope = &scope(key);
        let deletions = names.into_iter().map(|name| async move {
            let artifact = scope.artifact(name);
            self.artifacts.delete_artifact(&artifact).await
        });
        stream::iter(deletions).buffer_unordered(AT_ONCE).try_collect().await
    }
}

/// Returns the name of a payload: a hash of its event, its place and its content.
///
/// A repeated append saves under the same name again. Another event with the same id, or other content, has another
/// name.
pub(crate) fn payload_name(event: &EventId, place: Place, bytes: &[u8]) -> String {
    let mut hash = Sha256::new();
    for text in ["pleach payload", &event.to_string(), &place.to_string()] {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    hash.update(bytes);
    format!("{PREFIX}{}", hex(&hash.finalize()))
}

fn is_payload(name: &str) -> bool {
    let hash = name.strip_prefix(PREFIX);
    hash.is_some_and(|hash| hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Returns the scope of a session's payloads. It is in a separate app, so listings of the session's files do not show
/// them.
///
/// Any string can be the id of a session, but not the id of an artifact's scope, and some file systems ignore case.
/// An id that could be refused or taken for another one is replaced by its hash.
fn scope(key: &SessionKey) -> ArtifactScope {
    let app = format!("{}{PAYLOADS_APP_SUFFIX}", folder(key.app_name.as_str()));
    let session_id = Some(folder(key.session_id.as_str()).into());
    ArtifactScope { session_id, ..ArtifactScope::user(app, folder(key.user_id.as_str())) }
}

fn folder(id: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = id.as_bytes();
    let is_inner = |byte: u8| is_plain(byte) || b"-_.@".contains(&byte);
    let ends = bytes.first().is_some_and(|byte| is_plain(*byte)) && bytes.last().is_some_and(|byte| is_plain(*byte));
    // Artifact services refuse a session with the name `user`.
    if ends && bytes.len() <= LONGEST && bytes.iter().all(|byte| is_inner(*byte)) && id != "user" {
        return id.to_owned();
    }
    format!("~{}", hex(&Sha256::digest(id)))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_could_be_refused_or_mixed_up_are_hashed() {
        for plain in ["ana", "a-b_c.d@e", "6f0c2f0e-1b1b-4c1c-8d1d-0123456789ab", "7"] {
            assert_eq!(folder(plain), plain);
        }
        let long = "a".repeat(101);
        let others = ["", "user", "Ana", "ANA", "..", "a/b", "a.", ".a", "a b", "ü", "~a", "a\0", long.as_str()];
        let hashed: std::collections::BTreeSet<String> = others.iter().map(|id| folder(id)).collect();
        assert_eq!(hashed.len(), others.len());
        assert!(hashed.iter().all(|name| name.starts_with('~') && name.len() == 65), "{hashed:?}");
    }

    #[test]
    fn a_name_depends_on_event_place_and_content() {
        let name = |event: &str, place, bytes: &[u8]| payload_name(&event.into(), place, bytes);
        let first = name("e1", Place::Output, b"1");
        assert!(is_payload(&first), "{first}");
        assert_eq!(first, name("e1", Place::Output, b"1"));
        let part = "content.parts[0].text".parse().unwrap();
        for other in [name("e2", Place::Output, b"1"), name("e1", Place::Output, b"2"), name("e1", part, b"1")] {
            assert_ne!(first, other);
        }
        for other in ["payload-1", "report.md", "user:payload-1"] {
            assert!(!is_payload(other));
        }
    }
}
