//! The routes that save, list, read and remove artifacts and their versions.
// H75–H82

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use http::{StatusCode, Uri};
use pleach_artifact::{ArtifactKey, SaveArtifact};

use crate::api::Api;
use crate::body::ArtifactBody;
use crate::error::ApiError;
use crate::json::{null, reply};
use crate::path::ArtifactPath;
use crate::query;

// H76
pub(super) async fn list(State(api): State<Arc<Api>>, path: ArtifactPath) -> Result<Response, ApiError> {
    reply(&api.artifacts()?.list_artifact_keys(&path.scope).await?)
}

// H75
pub(super) async fn save(
    State(api): State<Arc<Api>>,
    path: ArtifactPath,
    request: Request,
) -> Result<Response, ApiError> {
    let body = ArtifactBody::of(api.payload(request).await?)?;
    let artifacts = api.artifacts()?;
    let key = path.scope.artifact(body.filename);
    let new =
        SaveArtifact::new(key.clone(), body.artifact).with_custom_metadata(body.custom_metadata.unwrap_or_default());
    let version = artifacts.save_artifact(new).await?;
    let stored = artifacts.get_artifact_version(&key, Some(version)).await?;
    let unavailable = || ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "Artifact metadata unavailable");
    reply(&stored.ok_or_else(unavailable)?)
}

/// Reads an artifact, its list of versions, or the metadata of versions, depending on the path after the name.
// H77–H80
pub(super) async fn read(State(api): State<Arc<Api>>, uri: Uri, path: ArtifactPath) -> Result<Response, ApiError> {
    let artifacts = api.artifacts()?;
    let key = |name: &str| path.scope.artifact(name);
    match Wanted::of(&path.rest) {
        Wanted::Versions(name) => reply(&artifacts.list_versions(&key(name)).await?),
        Wanted::AllMetadata(name) => reply(&artifacts.list_artifact_versions(&key(name)).await?),
        Wanted::Metadata(name, version) => {
            let found = artifacts.get_artifact_version(&key(name), version_id(version)?).await?;
            reply(&found.ok_or_else(|| ApiError::not_found("Artifact version not found"))?)
        }
        Wanted::Version(name, version) => load(&api, &key(name), version_id(version)?).await,
        Wanted::Latest(name) => load(&api, &key(name), query::integer(&uri, "version")?).await,
    }
}

// H81
pub(super) async fn delete(State(api): State<Arc<Api>>, path: ArtifactPath) -> Result<Response, ApiError> {
    api.artifacts()?.delete_artifact(&path.scope.artifact(path.rest)).await?;
    Ok(null())
}

async fn load(api: &Api, key: &ArtifactKey, version: Option<i64>) -> Result<Response, ApiError> {
    let found = api.artifacts()?.load_artifact(key, version).await?;
    reply(&found.ok_or_else(|| ApiError::not_found("Artifact not found"))?)
}

/// Parses the version in a path: an integer, or `latest`.
///
/// # Errors
/// 422 for anything else.
// H79
fn version_id(text: &str) -> Result<Option<i64>, ApiError> {
    if text == "latest" {
        return Ok(None);
    }
    let invalid = || ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid version ID");
    query::integer_word(text).map(Some).ok_or_else(invalid)
}

/// What the path after `artifacts/` requests. Names may contain slashes, so the longest possible name is used.
#[derive(Debug, PartialEq, Eq)]
enum Wanted<'a> {
    Latest(&'a str),
    Versions(&'a str),
    Version(&'a str, &'a str),
    Metadata(&'a str, &'a str),
    AllMetadata(&'a str),
}

impl<'a> Wanted<'a> {
    fn of(rest: &'a str) -> Self {
        if let Some((before, version)) = rest.strip_suffix("/metadata").and_then(|rest| rest.rsplit_once('/'))
            && !version.is_empty()
            && let Some(name) = before.strip_suffix("/versions")
        {
            return Self::Metadata(name, version);
        }
        if let Some(name) = rest.strip_suffix("/versions/metadata") {
            return Self::AllMetadata(name);
        }
        if let Some((before, version)) = rest.rsplit_once('/')
            && !version.is_empty()
            && let Some(name) = before.strip_suffix("/versions")
        {
            return Self::Version(name, version);
        }
        match rest.strip_suffix("/versions") {
            Some(name) => Self::Versions(name),
            None => Self::Latest(rest),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Wanted::{AllMetadata, Latest, Metadata, Version, Versions};
    use super::*;

    #[test]
    fn h80_version_paths_come_before_names() {
        for (rest, wanted) in [
            ("a/b.txt", Latest("a/b.txt")),
            ("", Latest("")),
            ("a/versions", Versions("a")),
            ("versions", Latest("versions")),
            ("versions/0", Latest("versions/0")),
            ("a/b/versions/3", Version("a/b", "3")),
            ("a/versions/latest", Version("a", "latest")),
            ("a/versions/", Latest("a/versions/")),
            ("a/versions/metadata", AllMetadata("a")),
            ("a/versions/0/metadata", Metadata("a", "0")),
            ("a/versions/1/versions/2", Version("a/versions/1", "2")),
            ("a/versions/1/versions", Versions("a/versions/1")),
            ("../x", Latest("../x")),
        ] {
            assert_eq!(Wanted::of(rest), wanted, "{rest}");
        }
    }
}
