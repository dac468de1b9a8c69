//! Validation of ids that become part of a path or a reference.
// S77

use pleach_core::{AppName, SessionId, UserId};

use crate::{ArtifactError, ArtifactResult, ArtifactScope};

/// The longest segment of an id or a name, in bytes. File systems accept no longer names.
const LONGEST_SEGMENT: usize = 255;

/// The longest id, in bytes. Three ids, a name and the root of a store fit into the longest path on Linux, which has
/// 4,096 bytes.
const LONGEST_ID: usize = 512;

/// The longest name, in bytes.
const LONGEST_NAME: usize = 1_024;

/// Words that separate the ids in paths and references.
pub(crate) const RESERVED: [&str; 5] = ["apps", "users", "sessions", "artifacts", "versions"];

/// Checks the app and the user, and the session if there is one.
pub(crate) fn scope(scope: &ArtifactScope) -> ArtifactResult<()> {
    app_and_user(&scope.app_name, &scope.user_id)?;
    scope.session_id.as_ref().map_or(Ok(()), session)
}

/// Checks the app and the user.
pub(crate) fn app_and_user(app_name: &AppName, user_id: &UserId) -> ArtifactResult<()> {
    id("app_name", app_name.as_str())?;
    id("user_id", user_id.as_str())
}

/// Checks the session.
pub(crate) fn session(session_id: &SessionId) -> ArtifactResult<()> {
    id("session_id", session_id.as_str())
}

fn id(field: &'static str, value: &str) -> ArtifactResult<()> {
    match fault(value) {
        None => Ok(()),
        Some(reason) => Err(ArtifactError::InvalidId { field, value: shortened(value), reason }),
    }
}

/// Checks the length of an artifact's name.
pub(crate) fn name_length(filename: &str) -> ArtifactResult<()> {
    let reason = if filename.len() > LONGEST_NAME {
        "is longer than 1,024 bytes: use a shorter name"
    } else if filename.split(['/', '\\']).any(|segment| segment.len() > LONGEST_SEGMENT) {
        "has a part of more than 255 bytes: use shorter names between its slashes"
    } else {
        return Ok(());
    };
    Err(ArtifactError::InvalidFilename { filename: shortened(filename), reason })
}

/// Returns the beginning of a text, for use in an error.
fn shortened(text: &str) -> String {
    const SHOWN: usize = 80;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns what is wrong with an id; `None` if it is valid.
fn fault(value: &str) -> Option<&'static str> {
    if value.chars().all(is_blank) {
        return Some("must not be empty");
    }
    if value.contains('\0') {
        return Some("must not contain NUL");
    }
    if value.starts_with(['/', '\\']) {
        return Some("must not start with a slash");
    }
    if has_drive(value) {
        return Some("must not start with a drive letter");
    }
    if value.len() > LONGEST_ID {
        return Some("must not be longer than 512 bytes");
    }
    let mut segments = value.split(['/', '\\']);
    if segments.clone().any(|s| s.len() > LONGEST_SEGMENT) {
        return Some("must not have more than 255 bytes between its slashes");
    }
    if segments.clone().any(|s| s == "..") {
        return Some("must not contain `..`");
    }
    // `a/`, `a//b` and `a/./b` would be other spellings of another id's folder.
    if segments.clone().any(|s| s.is_empty() || s == ".") {
        return Some("must not contain an empty or `.` segment");
    }
    let nested = value.contains(['/', '\\']);
    if nested && segments.any(|s| RESERVED.contains(&folded(s).as_str())) {
        return Some("must not contain apps, users, sessions, artifacts or versions between slashes");
    }
    None
}

/// Returns `true` if the text begins like `C:`.
pub(crate) fn has_drive(value: &str) -> bool {
    let bytes = value.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphabetic) && bytes.get(1) == Some(&b':')
}

/// Returns `true` if Python's `str.strip` removes the character.
pub(crate) fn is_blank(c: char) -> bool {
    c.is_whitespace() || ('\x1c'..='\x1f').contains(&c)
}

/// Folds case enough to recognise reserved words on file systems that ignore case: `verſions` becomes `versions`.
pub(crate) fn folded(text: &str) -> String {
    text.to_lowercase().replace('ſ', "s").replace('ß', "ss")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_names_that_no_file_system_accepts_are_refused() {
        let long = "ü".repeat(128);
        for good in ["a".repeat(255), format!("{}/{}", "a".repeat(255), "b".repeat(255))] {
            assert_eq!(fault(&good), None);
            name_length(&good).unwrap();
        }
        for bad in [&long, &format!("a/{long}"), &"a/".repeat(600)] {
            assert!(fault(bad).is_some(), "{bad}");
            let error = name_length(bad).unwrap_err().to_string();
            assert!(error.contains(": use ") && error.len() < 300, "{error}");
        }
    }

    #[test]
    fn s77_ids_that_could_leave_their_folder_are_refused() {
        for good in ["a", "a b", "a/b", "users", "ü", "a..b", "...", ".a"] {
            assert_eq!(fault(good), None, "{good}");
        }
        for bad in [
            "",
            "  ",
            "a\0",
            "/a",
            "\\a",
            "C:a",
            "..",
            "a/../b",
            "a\\..",
            ".",
            "a/",
            "a//b",
            "a/./b",
            "a/users/b",
            "a/Versions",
            "a/ver\u{17f}ions",
            "se\u{df}ions/a",
            "\u{1c} ",
        ] {
            assert!(fault(bad).is_some(), "{bad}");
        }
    }
}
