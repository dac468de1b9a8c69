//! Serves the files of a folder, and no files outside of it.
// H95, H100

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::body::Body;
use axum::response::Response;
use http::header::{CACHE_CONTROL, ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use crate::error::{ApiError, text_response};

/// The file that is served for a folder.
const INDEX: &str = "index.html";

/// The result of looking up a path.
pub(super) enum Found {
    File(Response),
    /// A folder with a page, but the path has no trailing slash, so the page's relative links would lead elsewhere.
    Folder,
}

/// Serves the file at a decoded path in the folder `root`. If the client already has this version, the reply says that
/// the file has not changed.
///
/// # Errors
/// 404 for a file that does not exist or is outside the folder.
pub(super) async fn serve(root: &Path, path: &str, asked: &HeaderMap) -> Result<Found, ApiError> {
    let found = find(root, path).await.ok_or_else(ApiError::no_route)?;
    let (file, metadata) = match found {
        Place::Folder => return Ok(Found::Folder),
        Place::File(file, metadata) => (file, metadata),
    };
    let version = Version::of(&metadata);
    let mut response = if version.is_known(asked) {
        text_response(StatusCode::NOT_MODIFIED, Body::empty(), content_type(&file))
    } else {
        let bytes = tokio::fs::read(&file).await.map_err(|_| ApiError::no_route())?;
        text_response(StatusCode::OK, Body::from(bytes), content_type(&file))
    };
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    version.mark(headers);
    Ok(Found::File(response))
}

enum Place {
    File(PathBuf, Metadata),
    Folder,
}

/// Finds a file. Symbolic links are resolved first, so that they cannot lead out of the folder.
async fn find(root: &Path, path: &str) -> Option<Place> {
    let relative = plain_path(path)?;
    let root = tokio::fs::canonicalize(root).await.ok()?;
    let inside = async |path: PathBuf| {
        let file = tokio::fs::canonicalize(path).await.ok().filter(|file| file.starts_with(&root))?;
        let metadata = tokio::fs::metadata(&file).await.ok()?;
        Some((file, metadata))
    };
    let (file, metadata) = inside(root.join(&relative)).await?;
    if !metadata.is_dir() {
        return Some(Place::File(file, metadata));
    }
    let (index, metadata) = inside(file.join(INDEX)).await.filter(|(_, metadata)| metadata.is_file())?;
    let is_shown = path.is_empty() || path.ends_with('/');
    Some(if is_shown { Place::File(index, metadata) } else { Place::Folder })
}

/// Returns a path without empty and `.` segments; `None` if a segment could lead out of the folder on any system.
pub(super) fn plain_path(path: &str) -> Option<PathBuf> {
    let names = path.split('/').filter(|segment| !matches!(*segment, "" | "."));
    let is_name = |segment: &&str| *segment != ".." && !segment.contains(['\\', ':', '\0']);
    names.map(|segment| Some(segment).filter(is_name)).collect()
}

/// The values that identify a version of a file.
struct Version {
    tag: String,
    changed: Option<SystemTime>,
}

impl Version {
    fn of(metadata: &Metadata) -> Self {
        let changed = metadata.modified().ok();
        let since = changed.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
        Self { tag: format!("\"{:x}-{:x}\"", since.as_nanos(), metadata.len()), changed }
    }

    /// Returns true if the client has this version.
    fn is_known(&self, asked: &HeaderMap) -> bool {
        let text = |name: HeaderName| asked.get(name).and_then(|value| value.to_str().ok());
        if let Some(tags) = text(IF_NONE_MATCH) {
            return tags.split(',').map(|tag| tag.trim().trim_start_matches("W/")).any(|tag| tag == self.tag);
        }
        let since = text(IF_MODIFIED_SINCE).and_then(|text| httpdate::parse_http_date(text).ok());
        // Dates in headers have whole seconds.
        let seconds = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        matches!((since, self.changed), (Some(since), Some(changed)) if seconds(changed) <= seconds(since))
    }

    fn mark(&self, headers: &mut HeaderMap) {
        let changed = self.changed.map(httpdate::fmt_http_date);
        let pairs = [(ETAG, Some(self.tag.clone())), (LAST_MODIFIED, changed)];
        let pairs = pairs.into_iter().filter_map(|(name, value)| Some((name, HeaderValue::from_str(&value?).ok()?)));
        headers.extend(pairs);
    }
}

fn content_type(file: &Path) -> &'static str {
    let end = file.extension().and_then(|end| end.to_str()).unwrap_or_default().to_ascii_lowercase();
    match end.as_str() {
        "html" | "htm" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "txt" | "md" => "text/plain; charset=utf-8",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        "wasm" => "application/wasm",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "ico" => "image/x-icon",
        "woff" => "font/woff",
        "woff2" => "font/woff2",
        "ttf" => "font/ttf",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h95_only_names_are_followed() {
        for (path, file) in [("", ""), ("a.js", "a.js"), ("a/b/", "a/b"), ("a..b", "a..b"), ("%2e%2e", "%2e%2e")] {
            assert_eq!(plain_path(path), Some(PathBuf::from(file)), "{path}");
        }
        for (path, file) in [("a//b", "a/b"), ("/a", "a"), ("a/./b", "a/b"), ("./a", "a"), ("//", "")] {
            assert_eq!(plain_path(path), Some(PathBuf::from(file)), "{path}");
        }
        for path in ["..", "../a", "a/../b", "/../a", "a\\..\\b", "C:/a", "a\0"] {
            assert_eq!(plain_path(path), None, "{path}");
        }
    }
}
