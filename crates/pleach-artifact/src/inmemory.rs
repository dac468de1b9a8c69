//! Artifacts in process memory.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pleach_core::{BoxFuture, Clock, Part};

use crate::reference::{self, ArtifactReference, MAX_HOPS, ReferencePath, rewind_tombstone};
use crate::{
    ArtifactError, ArtifactKey, ArtifactResult, ArtifactScope, ArtifactService, ArtifactVersion, SaveArtifact, validate,
};

/// Stores artifacts in memory, until the process ends. It can be shared between threads.
///
/// In addition to bytes and text, it accepts references to files. It follows references to other artifacts.
///
/// # Example
/// ```
/// # use std::sync::Arc;
/// # use pleach_artifact::{ArtifactResult, ArtifactScope, ArtifactService, InMemoryArtifactService, SaveArtifact};
/// # use pleach_core::{Clock, Part, SessionKey};
/// async fn keep(clock: Arc<dyn Clock>) -> ArtifactResult<i64> {
///     let files = InMemoryArtifactService::with_clock(clock);
///     let report = ArtifactScope::session(&SessionKey::new("shop", "ana", "s1")).artifact("report.md");
///     files.save_artifact(SaveArtifact::new(report, Part::text("# Sales"))).await
/// }
/// ```
///
/// ADK: `InMemoryArtifactService`
// S74, S75
#[derive(Debug)]
pub struct InMemoryArtifactService {
    clock: Arc<dyn Clock>,
    scopes: Mutex<HashMap<ArtifactScope, Names>>,
}

/// The artifacts of one session, or a user's artifacts outside sessions.
type Names = BTreeMap<String, Vec<Stored>>;

#[derive(Clone, Debug)]
struct Stored {
    part: Part,
    info: ArtifactVersion,
}

impl InMemoryArtifactService {
    /// Creates an empty service; `clock` provides the creation times of versions.
    pub fn with_clock(clock: Arc<dyn Clock>) -> Self {
        Self { clock, scopes: Mutex::default() }
    }

    fn scopes(&self) -> MutexGuard<'_, HashMap<ArtifactScope, Names>> {
        // Every change is a single push or remove, so a panic elsewhere leaves no half-finished change.
        self.scopes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn save(&self, req: SaveArtifact) -> ArtifactResult<i64> {
        let SaveArtifact { key, artifact, custom_metadata } = req;
        // Check the whole scope, as in listings: a `user:` name is stored outside the session, but the id of the
        // session must still be valid.
        validate::scope(&key.scope)?;
        let scope = scope_of(&key)?;
        refuse_reserved_session(&scope)?;
        let mime_type = mime_type(&key, &artifact)?;
        let create_time = self.clock.now();
        let mut scopes = self.scopes();
        let versions = scopes.entry(scope.clone()).or_default().entry(key.filename.clone()).or_default();
        let version = versions.len() as i64;
        let place = ArtifactKey { scope, ..key };
        versions.push(Stored {
            part: artifact,
            info: ArtifactVersion {
                version,
                canonical_uri: format!("memory://{}", ReferencePath(&place, version)),
                custom_metadata,
                create_time,
                mime_type,
            },
        });
        Ok(version)
    }

    /// Loads a version, following references from artifact to artifact.
    fn load(&self, key: &ArtifactKey, version: Option<i64>) -> ArtifactResult<Option<Part>> {
        let Some(mut part) = self.find(key, version)?.map(|stored| stored.part) else {
            return Ok(None);
        };
        let mut scope = key.scope.clone();
        for hop in 0.. {
            let Some(uri) = reference::of(&part) else {
                break;
            };
            if hop == MAX_HOPS {
                return Err(reference::refused(
                    uri,
                    "ends a chain of references that is too long: refer to the artifact itself",
                ));
            }
            let ArtifactReference { key, version } = ArtifactReference::parse_within(uri, &scope)?;
            match self.find(&key, Some(version))? {
                Some(stored) => part = stored.part,
                None => return Ok(None),
            }
            scope = key.scope;
        }
        Ok((part != rewind_tombstone()).then_some(part))
    }

    fn find(&self, key: &ArtifactKey, version: Option<i64>) -> ArtifactResult<Option<Stored>> {
        self.read(key, |versions| {
            match version {
                None => versions.last(),
                Some(version) => usize::try_from(version).ok().and_then(|v| versions.get(v)),
            }
            .cloned()
        })
    }

    /// Reads something from the versions of an artifact. An artifact that does not exist has none.
    fn read<T>(&self, key: &ArtifactKey, read: impl FnOnce(&[Stored]) -> T) -> ArtifactResult<T> {
        let scope = scope_of(key)?;
        let scopes = self.scopes();
        let versions = scopes.get(&scope).and_then(|names| names.get(&key.filename));
        Ok(read(versions.map_or(&[], Vec::as_slice)))
    }

    fn list_keys(&self, scope: &ArtifactScope) -> ArtifactResult<Vec<String>> {
        validate::scope(scope)?;
        let user = ArtifactScope { session_id: None, ..scope.clone() };
        let scopes = self.scopes();
        let mut names: Vec<String> = Vec::new();
        for scope in [Some(&user), scope.session_id.is_some().then_some(scope)] {
            let found = scope.and_then(|scope| scopes.get(scope));
            names.extend(found.into_iter().flat_map(|names| names.keys().cloned()));
        }
        names.sort_unstable();
        Ok(names)
    }

    fn delete(&self, key: &ArtifactKey) -> ArtifactResult<()> {
        let scope = scope_of(key)?;
        if let Some(names) = self.scopes().get_mut(&scope) {
            names.remove(&key.filename);
        }
        Ok(())
    }
}

/// Returns the scope that stores an artifact: its user's scope if the name has the prefix, otherwise its session's.
// S72, S73
fn scope_of(key: &ArtifactKey) -> ArtifactResult<ArtifactScope> {
    validate::app_and_user(&key.scope.app_name, &key.scope.user_id)?;
    if key.has_user_prefix() {
        return Ok(ArtifactScope { session_id: None, ..key.scope.clone() });
    }
    match &key.scope.session_id {
        Some(session) => validate::session(session)?,
        None => {
            return Err(ArtifactError::MissingSession { filename: key.filename.clone() });
        }
    }
    Ok(key.scope.clone())
}

/// Refuses a session with the name `user`, which is the user's namespace in the flat layouts of ADK's services.
// S77
fn refuse_reserved_session(scope: &ArtifactScope) -> ArtifactResult<()> {
    let session = scope.session_id.as_ref().map(|s| s.as_str());
    match session.and_then(|s| s.split(['/', '\\']).next()) {
        Some("user") => Err(ArtifactError::InvalidId {
            field: "session_id",
            value: session.unwrap_or_default().to_owned(),
            reason: "must not be or start with the reserved word `user`",
        }),
        _ => Ok(()),
    }
}

/// Returns the media type to store. Refuses parts without content and references to other users.
// S74
fn mime_type(key: &ArtifactKey, part: &Part) -> ArtifactResult<Option<String>> {
    let reference = reference::of(part);
    if let Some(uri) = reference {
        ArtifactReference::parse_within(uri, &key.scope)?;
    }
    if let Some(blob) = &part.inline_data {
        return Ok(blob.mime_type.clone());
    }
    if part.text.is_some() {
        return Ok(Some("text/plain".to_owned()));
    }
    match &part.file_data {
        // The media type of a reference is the target's, which is read when the reference is followed.
        Some(_) if reference.is_some() => Ok(None),
        Some(file) => Ok(file.mime_type.clone()),
        None => Err(ArtifactError::UnsupportedPart {
            filename: key.filename.clone(),
            reason: "has neither inline data nor text nor file data: set one of them in the part",
        }),
    }
}

impl ArtifactService for InMemoryArtifactService {
    fn save_artifact(&self, req: SaveArtifact) -> BoxFuture<'_, ArtifactResult<i64>> {
        Box::pin(async move { self.save(req) })
    }

    fn load_artifact<'a>(
        &'a self,
        key: &'a ArtifactKey,
        version: Option<i64>,
    ) -> BoxFuture<'a, ArtifactResult<Option<Part>>> {
        Box::pin(async move { self.load(key, version) })
    }

    fn list_artifact_keys<'a>(&'a self, scope: &'a ArtifactScope) -> BoxFuture<'a, ArtifactResult<Vec<String>>> {
        Box::pin(async move { self.list_keys(scope) })
    }

    fn delete_artifact<'a>(&'a self, key: &'a ArtifactKey) -> BoxFuture<'a, ArtifactResult<()>> {
        Box::pin(async move { self.delete(key) })
    }

    fn list_versions<'a>(&'a self, key: &'a ArtifactKey) -> BoxFuture<'a, ArtifactResult<Vec<i64>>> {
        Box::pin(async move { self.read(key, |stored| stored.iter().map(|s| s.info.version).collect()) })
    }

    fn list_artifact_versions<'a>(
        &'a self,
        key: &'a ArtifactKey,
    ) -> BoxFuture<'a, ArtifactResult<Vec<ArtifactVersion>>> {
        Box::pin(async move { self.read(key, |stored| stored.iter().map(|s| s.info.clone()).collect()) })
    }

    fn get_artifact_version<'a>(
        &'a self,
        key: &'a ArtifactKey,
        version: Option<i64>,
    ) -> BoxFuture<'a, ArtifactResult<Option<ArtifactVersion>>> {
        Box::pin(async move { Ok(self.find(key, version)?.map(|stored| stored.info)) })
    }
}
