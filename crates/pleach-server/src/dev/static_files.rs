//! Files of a folder, and nothing outside of it.
// H95, H100

use std::path::{Path, PathBuf};

use axum::body::Body;
use axum::response::Response;
use http::header::{CACHE_CONTROL, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, StatusCode};

use crate::error::{ApiError, text_response};

/// The file that a folder is shown by.
const INDEX: &str = "index.html";

/// Returns a file of the folder `root` by its decoded path.
///
/// # Errors
/// 404 for a file that is not there, or that is outside of the folder.
pub(super) async fn serve(root: &Path, path: &str) -> Result<Response, ApiError> {
    let file = find(root, path).await.ok_or_else(ApiError::no_route)?;
    let bytes = tokio::fs::read(&file).await.map_err(|_| ApiError::no_route())?;
    let mut response = text_response(StatusCode::OK, Body::from(bytes), content_type(&file));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    Ok(response)
}

/// Finds a file. Links are followed first, so that none leads out of the folder.
async fn find(root: &Path, path: &str) -> Option<PathBuf> {
    let relative = plain_path(path)?;
    let root = tokio::fs::canonicalize(root).await.ok()?;
    let mut file = tokio::fs::canonicalize(root.join(relative)).await.ok()?;
    if tokio::fs::metadata(&file).await.ok()?.is_dir() {
        file = tokio::fs::canonicalize(file.join(INDEX)).await.ok()?;
    }
    file.starts_with(&root).then_some(file)
}

/// Returns a path whose segments are names; `None` for one that could lead elsewhere on some system.
fn plain_path(path: &str) -> Option<PathBuf> {
    let is_name = |segment: &&str| {
        *segment != "." && *segment != ".." && !segment.is_empty() && !segment.contains(['\\', ':', '\0'])
    };
    let trimmed = path.strip_suffix('/').unwrap_or(path);
    if trimmed.is_empty() {
        return Some(PathBuf::new());
    }
    let segments: Vec<&str> = trimmed.split('/').collect();
    segments.iter().all(is_name).then(|| segments.iter().collect())
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
        for path in ["..", "../a", "a/../b", "a//b", "/a", "a/./b", "a\\..\\b", "C:/a", "a\0", "//", "./a"] {
            assert_eq!(plain_path(path), None, "{path}");
        }
    }
}
