//! Reading and writing the folders. All functions here block.

use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pleach_core::{Blob, Clock, Part, private_files};

use super::disk;
use super::layout::{self, ArtifactFolder, METADATA};
use super::metadata::Metadata;
use crate::reference::rewind_tombstone;
use crate::{
    ArtifactError, ArtifactKey, ArtifactResult, ArtifactScope, ArtifactVersion, SaveArtifact, USER_PREFIX, validate,
};

const DEFAULT_MIME_TYPE: &str = "application/octet-stream";

#[derive(Debug)]
pub(super) struct Store {
    /// The root as an absolute path without symbolic links.
    root: PathBuf,
    clock: Arc<dyn Clock>,
}

impl Store {
    pub(super) fn open(root: PathBuf, clock: Arc<dyn Clock>) -> ArtifactResult<Self> {
        let opened = private_files::make_folders(&root).and_then(|()| fs::canonicalize(&root));
        Ok(Self { root: at(&root, opened)?, clock })
    }

    pub(super) fn save(&self, req: &SaveArtifact) -> ArtifactResult<i64> {
        // Check the whole scope, as in listings: a `user:` name is stored outside the session, but the id of the
        // session must still be valid.
        validate::scope(&req.key.scope)?;
        let content = Content::of(req)?;
        let folder = self.folder(&req.key)?;
        layout::refuse_reserved(&req.key.filename)?;
        let version = reserve(&folder)?;
        let metadata = Metadata {
            version,
            canonical_uri: folder.canonical_uri(version),
            custom_metadata: req.custom_metadata.clone(),
            create_time: Some(self.clock.now()),
            mime_type: content.mime_type.map(str::to_owned),
            file_name: req.key.filename.clone(),
            display_name: content.display_name.map(str::to_owned),
        };
        let published = publish(&folder, version, content.bytes, &metadata, &self.root);
        if published.is_err() {
            // The first error is the one that matters. If the folder remains, it only reserves its version number.
            let _ = fs::remove_dir_all(folder.pending(version));
        }
        published.map(|()| version)
    }

    pub(super) fn load(&self, key: &ArtifactKey, version: Option<i64>) -> ArtifactResult<Option<Part>> {
        let folder = self.folder(key)?;
        let Some(version) = pick(&folder, version)? else {
            return Ok(None);
        };
        let metadata = Metadata::read(&folder.metadata(version))?;
        let path = folder.payload(version);
        let bytes = match disk::read(&path) {
            Ok(bytes) => bytes,
            // The version was deleted after the versions were listed.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return at(&path, Err(error)),
        };
        let part = match metadata.as_ref().and_then(Metadata::media_type) {
            Some(mime_type) => {
                let mut blob =
                    Blob { data: Some(bytes.into()), mime_type: Some(mime_type.to_owned()), ..Blob::default() };
                blob.display_name = metadata.as_ref().and_then(|m| m.display_name.clone());
                Part { inline_data: Some(Box::new(blob)), ..Part::default() }
            }
            None => Part::text(
                String::from_utf8(bytes).map_err(|error| ArtifactError::Corrupt { path, source: error.into() })?,
            ),
        };
        Ok((part != rewind_tombstone()).then_some(part))
    }

    pub(super) fn list_keys(&self, scope: &ArtifactScope) -> ArtifactResult<Vec<String>> {
        let mut names = Vec::new();
        let session = layout::session_folder(&self.root, scope)?;
        let user = layout::user_folder(&self.root, scope)?;
        for (folder, prefix) in session.iter().map(|folder| (folder, "")).chain([(&user, USER_PREFIX)]) {
            layout::refuse_links(&self.root, folder, "artifacts")?;
            collect_names(folder, prefix, &mut names)?;
        }
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    pub(super) fn delete(&self, key: &ArtifactKey) -> ArtifactResult<()> {
        let folder = self.folder(key)?;
        let versions = folder.versions();
        match fs::remove_dir_all(&versions) {
            Err(error) if is_absent(&error) => return Ok(()),
            result => at(&versions, result)?,
        }
        // The folder of `doc` is also the parent of `doc/page`, so only empty folders are removed.
        for empty in folder.path.ancestors().take_while(|a| *a != folder.scope) {
            if fs::remove_dir(empty).is_err() {
                break;
            }
        }
        Ok(())
    }

    pub(super) fn versions(&self, key: &ArtifactKey) -> ArtifactResult<Vec<i64>> {
        versions(&self.folder(key)?)
    }

    pub(super) fn version_infos(&self, key: &ArtifactKey) -> ArtifactResult<Vec<ArtifactVersion>> {
        let folder = self.folder(key)?;
        versions(&folder)?.into_iter().map(|version| self.info(&folder, version)).collect()
    }

    pub(super) fn version_info(
        &self,
        key: &ArtifactKey,
        version: Option<i64>,
    ) -> ArtifactResult<Option<ArtifactVersion>> {
        let folder = self.folder(key)?;
        let version = pick(&folder, version)?;
        version.map(|version| self.info(&folder, version)).transpose()
    }

    fn folder(&self, key: &ArtifactKey) -> ArtifactResult<ArtifactFolder> {
        layout::artifact_folder(&self.root, key)
    }

    /// Returns the description of a version. The URI is computed again, because a file that was tampered with must not
    /// determine paths.
    fn info(&self, folder: &ArtifactFolder, version: i64) -> ArtifactResult<ArtifactVersion> {
        let metadata = Metadata::read(&folder.metadata(version))?;
        let create_time = metadata.as_ref().and_then(|m| m.create_time);
        Ok(ArtifactVersion {
            version,
            canonical_uri: folder.canonical_uri(version),
            create_time: create_time.unwrap_or_else(|| self.clock.now()),
            mime_type: metadata.as_ref().and_then(|m| m.mime_type.clone()),
            custom_metadata: metadata.map(|m| m.custom_metadata).unwrap_or_default(),
        })
    }
}

/// The content that a save writes.
// S74
struct Content<'a> {
    bytes: &'a [u8],
    mime_type: Option<&'a str>,
    display_name: Option<&'a str>,
}

impl<'a> Content<'a> {
    fn of(req: &'a SaveArtifact) -> ArtifactResult<Self> {
        let unsupported = |reason| ArtifactError::UnsupportedPart { filename: req.key.filename.clone(), reason };
        if let Some(blob) = &req.artifact.inline_data {
            let data = blob.data.as_ref();
            let mime_type = blob.mime_type.as_deref().filter(|mime| !mime.is_empty());
            return Ok(Self {
                bytes: data.ok_or_else(|| unsupported("has inline data without bytes: set the part's `data`"))?,
                mime_type: Some(mime_type.unwrap_or(DEFAULT_MIME_TYPE)),
                display_name: blob.display_name.as_deref(),
            });
        }
        let text = req.artifact.text.as_ref();
        Ok(Self {
            bytes: text
                .ok_or_else(|| unsupported("has neither inline data nor text: set one of them in the part"))?
                .as_bytes(),
            mime_type: None,
            display_name: None,
        })
    }
}

/// Reserves the next free version number by creating its pending folder, which only one writer can do.
fn reserve(folder: &ArtifactFolder) -> ArtifactResult<i64> {
    let parent = folder.versions();
    at(&parent, private_files::make_folders(&parent))?;
    let after = |version: i64| {
        let source = format!("no version can follow {version}: remove that folder").into();
        version.checked_add(1).ok_or_else(|| ArtifactError::Corrupt { path: folder.version(version), source })
    };
    let mut version = versions(folder)?.last().map_or(Ok(0), |last| after(*last))?;
    loop {
        let pending = folder.pending(version);
        match private_files::make_folder(&pending) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            result => {
                at(&pending, result)?;
                if !folder.version(version).exists() {
                    return Ok(version);
                }
                // Another writer published this number between the two checks.
                at(&pending, fs::remove_dir(&pending))?;
            }
        }
        version = after(version)?;
    }
}

/// Writes both files into the pending folder, and publishes them with one rename.
fn publish(
    folder: &ArtifactFolder,
    version: i64,
    bytes: &[u8],
    metadata: &Metadata,
    root: &Path,
) -> ArtifactResult<()> {
    let pending = folder.pending(version);
    let json = serde_json::to_vec(metadata)
        .map_err(|error| ArtifactError::Storage { backend: "file", source: error.into() })?;
    for (name, bytes) in [(folder.file_name.as_str(), bytes), (METADATA, &json)] {
        let path = pending.join(name);
        at(&path, write_durably(&path, bytes))?;
    }
    at(&pending, disk::sync_folder(&pending))?;
    at(&pending, fs::rename(&pending, folder.version(version)))?;
    // A new name is an entry of its folder, and the folders above it may be new as well.
    for parent in folder.versions().ancestors().take_while(|parent| parent.starts_with(root)) {
        at(parent, disk::sync_folder(parent))?;
    }
    Ok(())
}

/// Writes and syncs a file, because a published version must be whole after a power failure.
fn write_durably(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = private_files::make_file(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Returns the requested version if it exists; without a request, the newest.
fn pick(folder: &ArtifactFolder, version: Option<i64>) -> ArtifactResult<Option<i64>> {
    let versions = versions(folder)?;
    Ok(match version {
        None => versions.last().copied(),
        Some(version) => versions.contains(&version).then_some(version),
    })
}

/// Returns the published versions, smallest first. Pending versions have other names.
fn versions(folder: &ArtifactFolder) -> ArtifactResult<Vec<i64>> {
    let mut found: Vec<i64> =
        folders(&folder.versions())?.iter().filter_map(|path| version_of(path.file_name()?.to_str()?)).collect();
    found.sort_unstable();
    Ok(found)
}

/// Returns the version number in a folder's name, if the name has the form that this service writes.
fn version_of(name: &str) -> Option<i64> {
    let version: i64 = name.parse().ok()?;
    (version >= 0 && version.to_string() == name).then_some(version)
}

/// Collects the names of all artifacts below a scope's folder. `prefix` is added to names that have no metadata.
fn collect_names(scope: &Path, prefix: &str, names: &mut Vec<String>) -> ArtifactResult<()> {
    let mut open = vec![(scope.to_owned(), String::new())];
    while let Some((path, name)) = open.pop() {
        for child in folders(&path)? {
            let Some(part) = child.file_name().and_then(|part| part.to_str()) else {
                continue;
            };
            if part == "versions" {
                continue;
            }
            let name = if name.is_empty() { part.to_owned() } else { format!("{name}/{part}") };
            let folder = ArtifactFolder { scope: scope.to_owned(), path: child.clone(), file_name: part.to_owned() };
            if let Some(latest) = versions(&folder)?.last() {
                names.push(remembered_name(&folder, *latest).unwrap_or_else(|| format!("{prefix}{name}")));
            }
            open.push((child, name));
        }
    }
    Ok(())
}

/// Returns the name that was used when saving. A damaged metadata file is treated as having no name, so that it does
/// not hide other artifacts.
fn remembered_name(folder: &ArtifactFolder, version: i64) -> Option<String> {
    let metadata = Metadata::read(&folder.metadata(version)).ok().flatten()?;
    Some(metadata.file_name).filter(|name| !name.is_empty())
}

/// Returns the folders in a folder, without symbolic links; none if the folder does not exist.
fn folders(path: &Path) -> ArtifactResult<Vec<PathBuf>> {
    // `read_dir` follows a link at the path itself.
    if fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) {
        return Ok(Vec::new());
    }
    let entries = match fs::read_dir(path) {
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        result => at(path, result)?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = at(path, entry)?;
        if at(path, entry.file_type())?.is_dir() {
            found.push(entry.path());
        }
    }
    Ok(found)
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn at<T>(path: &Path, result: io::Result<T>) -> ArtifactResult<T> {
    result.map_err(|source| ArtifactError::Io { path: path.to_owned(), source })
}
