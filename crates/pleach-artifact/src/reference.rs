//! References from one artifact to another, and the tombstone of a rewind.

use std::fmt;

use pleach_core::Part;

use crate::validate::RESERVED;
use crate::{ArtifactError, ArtifactKey, ArtifactResult, ArtifactScope};

const SCHEME: &str = "artifact://";

/// The largest number of references that a load follows.
// S75
pub(crate) const MAX_HOPS: usize = 5;

/// An `artifact://` reference: one version of one artifact.
///
/// Text form: `artifact://apps/A/users/U/sessions/S/artifacts/F/versions/N`, without `sessions/S` for a user's
/// artifact.
///
/// ADK: `ParsedArtifactUri`
// S75
#[derive(Clone, Debug, PartialEq, Eq)]
#[doc(alias = "ParsedArtifactUri")]
pub struct ArtifactReference {
    /// The artifact.
    pub key: ArtifactKey,
    /// The version.
    pub version: i64,
}

impl ArtifactReference {
    /// Reads a reference.
    ///
    /// # Errors
    /// `InvalidReference` if the text is not a reference.
    pub fn parse(uri: &str) -> ArtifactResult<Self> {
        Self::read(uri).ok_or_else(|| refused(uri, "is not well formed: write it with `ArtifactReference`"))
    }

    fn read(uri: &str) -> Option<Self> {
        let rest = uri.strip_prefix(SCHEME)?.strip_prefix("apps/")?;
        let (app_name, word, rest) = segment(rest)?;
        if word != "users" {
            return None;
        }
        let (user_id, word, rest) = segment(rest)?;
        let (session_id, rest) = match word {
            "artifacts" => (None, rest),
            "sessions" => match segment(rest)? {
                (session_id, "artifacts", rest) => (Some(session_id), rest),
                _ => return None,
            },
            _ => return None,
        };
        let (filename, version) = rest.rsplit_once("/versions/")?;
        let digits = !version.is_empty() && version.bytes().all(|b| b.is_ascii_digit());
        if filename.is_empty() || !digits || uri.contains('\n') {
            return None;
        }
        let scope = ArtifactScope { session_id: session_id.map(Into::into), ..ArtifactScope::user(app_name, user_id) };
        // A number beyond `i64` is valid, but no artifact has such a version.
        Some(Self { key: scope.artifact(filename), version: version.parse().unwrap_or(i64::MAX) })
    }

    /// Reads a reference in an artifact of `from`. Checks that it refers to the same user and, if it names a session,
    /// to the same session.
    pub(crate) fn parse_within(uri: &str, from: &ArtifactScope) -> ArtifactResult<Self> {
        let reference = Self::parse(uri)?;
        let to = &reference.key.scope;
        if to.app_name != from.app_name || to.user_id != from.user_id {
            return Err(refused(uri, "leads to another app or user: refer to an artifact of the same user"));
        }
        if to.session_id.is_some() && to.session_id != from.session_id {
            return Err(refused(
                uri,
                "leads to another session: refer to an artifact of the same session or to a `user:` artifact",
            ));
        }
        Ok(reference)
    }
}

/// Writes the text form.
impl fmt::Display for ArtifactReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}", ReferencePath(&self.key, self.version))
    }
}

/// The path that references and the URIs of the in-memory service contain.
pub(crate) struct ReferencePath<'a>(pub(crate) &'a ArtifactKey, pub(crate) i64);

impl fmt::Display for ReferencePath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(ArtifactKey { scope, filename }, version) = self;
        write!(f, "apps/{}/users/{}", scope.app_name, scope.user_id)?;
        if let Some(session) = &scope.session_id {
            write!(f, "/sessions/{session}")?;
        }
        write!(f, "/artifacts/{filename}/versions/{version}")
    }
}

/// Reads an id up to the next reserved word. Returns the id, the word and the rest.
fn segment(text: &str) -> Option<(&str, &str, &str)> {
    let (end, word) = RESERVED.into_iter().filter_map(|word| Some((text.find(&format!("/{word}/"))?, word))).min()?;
    let rest = &text[end + word.len() + 2..];
    (end > 0).then(|| (&text[..end], word, rest))
}

/// Returns the reference in a part, if there is one.
pub(crate) fn of(part: &Part) -> Option<&str> {
    part.file_data.as_ref()?.file_uri.as_deref().filter(|uri| uri.starts_with(SCHEME))
}

pub(crate) fn refused(uri: &str, reason: &'static str) -> ArtifactError {
    ArtifactError::InvalidReference { uri: uri.to_owned(), reason }
}

/// Returns the part that a rewind stores in place of an artifact that did not exist at that time.
///
/// It is an ordinary version, but it loads as absent.
// S76
pub fn rewind_tombstone() -> Part {
    Part::bytes("application/octet-stream", Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s75_references_are_read_and_written() {
        for uri in [
            "artifact://apps/a/users/u/sessions/s/artifacts/f.txt/versions/0",
            "artifact://apps/a/users/u/artifacts/user:f/g.txt/versions/12",
            "artifact://apps/a/b/users/u/artifacts/x/versions/1/versions/2",
        ] {
            let reference = ArtifactReference::parse(uri).expect(uri);
            assert_eq!(reference.to_string(), uri);
        }
        let reference = ArtifactReference::parse("artifact://apps/a/users/u/sessions/s/artifacts/f/versions/3")
            .expect("a reference");
        assert_eq!(reference.key.to_string(), "a/u/s/f");
        assert_eq!(reference.version, 3);
    }

    #[test]
    fn s75_other_texts_are_refused() {
        for uri in [
            "artifact://apps/a/users/u/artifacts/f/versions/x",
            "artifact://apps/a/users/u/artifacts/f/versions/",
            "artifact://apps/a/users/u/artifacts/f/versions/-1",
            "artifact://apps//users/u/artifacts/f/versions/1",
            "artifact://apps/a/sessions/s/users/u/artifacts/f/versions/1",
            "artifact://apps/a/users/u/sessions/s/versions/1",
            "artifact://apps/a/users/u/artifacts/f\n/versions/1",
            "gs://apps/a/users/u/artifacts/f/versions/1",
            "",
        ] {
            assert!(ArtifactReference::parse(uri).is_err(), "{uri}");
        }
    }
}
