//! Instructions with references to state and artifacts.

mod artifact;
mod error;
mod grammar;

use pleach_core::{BoxFuture, Part};
use serde_json::Value;

use crate::python;
pub use error::TemplateError;
use grammar::{Piece, Reference};

/// Where a template finds what it refers to.
pub trait TemplateSource: Sync {
    /// Returns the value of a state key, its prefix included; `None` when the key is absent.
    fn state(&self, key: &str) -> Option<Value>;

    /// Loads the newest version of an artifact; `None` when there is none of this name.
    ///
    /// # Errors
    /// [`TemplateError::NoArtifactService`] where there is none, [`TemplateError::Artifact`] when loading failed.
    fn artifact<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Part>, TemplateError>>;
}

/// Replaces the references of an instruction by what they refer to.
///
/// - `{key}` is the value of a state key, also with one of the prefixes `app:`, `user:` and `temp:`. Null gives nothing.
/// - `{artifact.name}` is the text of an artifact.
/// - A `?` before the closing brace makes a reference optional: what is absent gives nothing.
/// - Spaces around the name, and more braces than one, make no difference.
/// - What is no name, such as `{"a": 1}` or `{a.b}`, stays as it is. So does a reference behind `$` or `\`, together with
///   that character.
///
/// Values are printed as Python prints them (`True`, `[1, 'a']`), and are not searched for references.
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
/// When a reference that is not optional finds nothing, and when an artifact cannot be loaded. `agent` is named in the
/// error.
///
/// # Cancel safety
/// Only reads.
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
