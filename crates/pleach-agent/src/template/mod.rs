//! Instructions with references to state and artifacts.

mod artifact;
mod error;
mod grammar;

use pleach_core::{BoxFuture, Part};
use serde_json::Value;

use crate::python;
pub use error::TemplateError;
use grammar::{Piece, Reference};

/// The state and the artifacts to which a template refers.
pub trait TemplateSource: Sync {
    /// Returns the value of a state key, which includes its prefix; `None` if the key is absent.
    fn state(&self, key: &str) -> Option<Value>;

    /// Loads the newest version of an artifact. Returns `None` if there is no artifact with this name.
    ///
    /// # Errors
    /// [`TemplateError::NoArtifactService`] if there is no artifact service, and [`TemplateError::Artifact`] if loading
    /// failed.
    fn artifact<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Part>, TemplateError>>;
}

/// Replaces the references in an instruction with values of the state and texts of artifacts.
///
/// - `{key}` is replaced with the value of a state key, which may have the prefix `app:`, `user:` or `temp:`. A null
///   value is replaced with an empty text.
/// - `{artifact.name}` is replaced with the text of an artifact.
/// - A `?` before the closing brace makes a reference optional: if the key or artifact is absent, the text is empty.
/// - Spaces around the name and repeated braces make no difference.
/// - Braces without a valid name, such as `{"a": 1}` or `{a.b}`, stay as they are. A reference after `$` or `\` also
///   stays, together with that character.
///
/// Values are printed as Python prints them (`True`, `[1, 'a']`). References within values are not replaced.
/// ADK: `inject_session_state`
///
/// ```
/// use pleach_agent::{TemplateError, TemplateSource, inject_session_state};
/// use pleach_core::{BoxFuture, Part};
/// use serde_json::{Value, json};
///
/// struct Given(Value);
///
/// impl TemplateSource for Given {
///     fn state(&self, key: &str) -> Option<Value> {
///         self.0.get(key).cloned()
///     }
///
///     fn artifact<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<Part>, TemplateError>> {
///         Box::pin(async { Err(TemplateError::NoArtifactService) })
///     }
/// }
///
/// # futures_util::FutureExt::now_or_never(async {
/// let given = Given(json!({"user:name": "Ana", "open": 2}));
/// let template = "Help {user:name} with {open} tickets. {note?}";
/// assert_eq!(inject_session_state(template, &given, "helper").await?, "Help Ana with 2 tickets. ");
/// # Ok::<_, TemplateError>(())
/// # }).unwrap().unwrap();
/// ```
///
/// # Errors
/// A state key or artifact is absent although its reference is not optional, or an artifact cannot be loaded. Errors
/// about absent keys and artifacts name `agent`.
///
/// # Cancel safety
/// The future only reads, so it can be dropped at any time.
// L10–L19
pub async fn inject_session_state<S: TemplateSource + ?Sized>(
    template: &str,
    source: &S,
    agent: &str,
) -> Result<String, TemplateError> {
    let mut out = String::with_capacity(template.len());
    for piece in grammar::pieces(template) {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Reference(Reference::State { key, optional }) => match source.state(key) {
                Some(Value::Null) => {}
                Some(value) => out.push_str(&python::text(&value)),
                None if optional => {}
                None => return Err(TemplateError::MissingState { key: key.to_owned(), agent: agent.to_owned() }),
            },
            Piece::Reference(Reference::Artifact { name, optional }) => match source.artifact(name).await? {
                Some(part) => out.push_str(&artifact::text(&part, name)),
                None if optional => {}
                None => return Err(TemplateError::MissingArtifact { name: name.to_owned(), agent: agent.to_owned() }),
            },
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests;
