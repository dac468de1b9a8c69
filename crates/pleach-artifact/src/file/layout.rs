//! The folders of artifacts. Paths are made only from names, never from stored files.
// S77

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::validate::{self, folded, has_drive, is_blank};
use crate::{ArtifactError, ArtifactKey, ArtifactResult, ArtifactScope, USER_PREFIX};

const VERSIONS: &str = "versions";
pub(super) const METADATA: &str = "metadata.json";

/// The folder of one artifact.
#[derive(Debug)]
pub(super) struct ArtifactFolder {
    /// The folder that holds all artifacts of the scope; never removed.
    pub(super) scope: PathBuf,
    pub(super) path: PathBuf,
    /// The last part of the name, which is also the name of the file of each version.
    pub(super) file_name: String,
}

impl ArtifactFolder {
    pub(super) fn versions(&self) -> PathBuf {
        self.path.join(VERSIONS)
    }

    pub(super) fn version(&self, version: i64) -> PathBuf {
        self.versions().join(version.to_string())
    }

    /// Returns the folder in which a version is written before it is published.
    pub(super) fn pending(&self, version: i64) -> PathBuf {
        self.versions().join(format!(".{version}.pending"))
    }

    pub(super) fn payload(&self, version: i64) -> PathBuf {
        self.version(version).join(&self.file_name)
    }

    pub(super) fn metadata(&self, version: i64) -> PathBuf {
        self.version(version).join(METADATA)
    }

    /// Returns the `file://` URI of a version's file, percent-encoded like Python's.
    pub(super) fn canonical_uri(&self, version: i64) -> String {
        let mut uri = String::from("file://");
        for byte in self.payload(version).as_os_str().as_encoded_bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.' | b'-' | b'~' | b'/' => {
                    uri.push(char::from(*byte));
                }
                other => uri.push_str(&format!("%{other:02X}")),
            }
        }
        uri
    }
}

/// Returns the folder of the user's own artifacts.
pub(super) fn user_folder(root: &Path, scope: &ArtifactScope) -> ArtifactResult<PathBuf> {
    Ok(base(root, scope)?.join("artifacts"))
}

/// Returns the folder of the session's artifacts, if the scope has a session.
pub(super) fn session_folder(root: &Path, scope: &ArtifactScope) -> ArtifactResult<Option<PathBuf>> {
    let Some(session) = &scope.session_id else {
        return Ok(None);
    };
    validate::session(session)?;
    let base = base(root, scope)?;
    Ok(Some(base.join("sessions").join(session.as_str()).join("artifacts")))
}

fn base(root: &Path, scope: &ArtifactScope) -> ArtifactResult<PathBuf> {
    validate::app_and_user(&scope.app_name, &scope.user_id)?;
    let app = root.join("apps").join(scope.app_name.as_str());
    Ok(app.join("users").join(scope.user_id.as_str()))
}

/// Returns the folder of an artifact. Refuses names that lead out of their scope.
pub(super) fn artifact_folder(root: &Path, key: &ArtifactKey) -> ArtifactResult<ArtifactFolder> {
    let session = if key.has_user_prefix() { None } else { session_folder(root, &key.scope)? };
    let scope = match session {
        Some(session) => session,
        None => user_folder(root, &key.scope)?,
    };
    let parts = parts(&key.filename)?;
    let path = parts.iter().fold(scope.clone(), |path, part| path.join(part));
    refuse_links(root, &path.join(VERSIONS), &key.filename)?;
    Ok(ArtifactFolder { file_name: parts.last().expect("a name has at least one part").clone(), scope, path })
}

/// Refuses to save under a name whose files would collide with files of the layout itself.
///
/// This check is only for saving: existing artifacts with such a name can still be read and removed.
pub(super) fn refuse_reserved(filename: &str) -> ArtifactResult<()> {
    // Windows drops trailing dots and blanks, and some file systems ignore case.
    let is = |part: &str, word: &str| folded(part.trim_end_matches([' ', '.'])) == word;
    let parts = parts(filename)?;
    if parts.last().is_some_and(|last| is(last, METADATA)) {
        return Err(invalid(filename, "is reserved: use a name whose last part is not `metadata.json`"));
    }
    if parts.iter().any(|part| is(part, VERSIONS)) {
        return Err(invalid(filename, "is reserved: use a name without a part `versions`"));
    }
    Ok(())
}

/// Splits a name at `/` and `\`. An empty name means `artifact`.
fn parts(filename: &str) -> ArtifactResult<Vec<String>> {
    validate::name_length(filename)?;
    let name = filename.strip_prefix(USER_PREFIX).unwrap_or(filename).trim_matches(is_blank);
    if name.starts_with(['/', '\\']) || has_drive(name) {
        return Err(invalid(
            filename,
            "must be relative: use a name that does not start with a slash or a drive letter",
        ));
    }
    if name.contains('\0') {
        return Err(invalid(filename, "must not contain NUL: use another name"));
    }
    let mut parts: Vec<String> = Vec::new();
    for part in name.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => return Err(invalid(filename, "must not contain `..`: use another name")),
            part => parts.push(part.to_owned()),
        }
    }
    if parts.is_empty() {
        parts.push("artifact".to_owned());
    }
    Ok(parts)
}

/// Refuses a path that contains a symbolic link anywhere below the root; `name` is the name or id that leads there.
///
/// Another program that may write below the root could create a link right after this check, so the root should belong
/// to a single program.
pub(super) fn refuse_links(root: &Path, path: &Path, name: &str) -> ArtifactResult<()> {
    let below: Vec<&Path> = path.ancestors().take_while(|ancestor| *ancestor != root).collect();
    for part in below.into_iter().rev() {
        match fs::symlink_metadata(part) {
            Ok(found) if found.is_symlink() => {
                return Err(invalid(name, "leads through a symbolic link: replace the link by a folder or a file"));
            }
            Ok(_) => {}
            // There is nothing below a path that does not exist.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(()),
            Err(source) => return Err(ArtifactError::Io { path: part.to_owned(), source }),
        }
    }
    Ok(())
}

fn invalid(filename: &str, reason: &'static str) -> ArtifactError {
    ArtifactError::InvalidFilename { filename: filename.to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text contains the refused name, and what to use instead.
    fn check_text(error: &ArtifactError, name: &str) {
        let text = error.to_string();
        assert!(text.contains(&format!("`{name}`")) && text.contains(": use "), "{text}");
    }

    #[test]
    fn s77_names_nest_and_do_not_escape() {
        for (name, expected) in [
            ("a.txt", "a.txt"),
            ("user:a.txt", "a.txt"),
            ("a/b\\c", "a/b/c"),
            ("./a//b/", "a/b"),
            (" a b ", "a b"),
            ("\u{1c}a\u{3000}", "a"),
            ("", "artifact"),
            ("user:", "artifact"),
            ("a..b", "a..b"),
        ] {
            assert_eq!(parts(name).expect(name).join("/"), expected);
        }
        for name in ["/a", "\\a", "C:a", "C:\\a", "../a", "a/../b", "a\\..", "user:../a", "user:/a", "a\0b", ".."] {
            check_text(&parts(name).expect_err(name), name);
        }
    }

    #[test]
    fn s77_names_of_the_layout_are_reserved() {
        for name in [
            "metadata.json",
            "a/Metadata.JSON",
            "metadata.json. ",
            "versions",
            "a/VERSIONS/b",
            "versions./a",
            "ver\u{17f}ions",
            "metadata.j\u{17f}on",
        ] {
            check_text(&refuse_reserved(name).expect_err(name), name);
        }
        for name in ["metadata.json/a", "my-versions", "version"] {
            assert!(refuse_reserved(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn s77_uris_are_encoded() {
        let folder = ArtifactFolder { scope: "/r".into(), path: "/r/a b".into(), file_name: "ü.png".into() };
        assert_eq!(folder.canonical_uri(2), "file:///r/a%20b/versions/2/%C3%BC.png");
    }
}
