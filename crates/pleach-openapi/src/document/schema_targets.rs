//! [`Targets`]: what references lead to, and its names in `$defs`.

use std::collections::{HashMap, HashSet};

use serde_json::json;

use super::refs::{Document, pointer_of};
use crate::OpenApiFaultKind;

/// The places that references of a document lead to, each with a name.
#[derive(Debug)]
pub(super) struct Targets<'d> {
    pub(super) document: &'d Document,
    names: HashMap<String, String>,
    taken: HashSet<String>,
}

impl<'d> Targets<'d> {
    pub(super) fn new(document: &'d Document) -> Self {
        Self { document, names: HashMap::new(), taken: HashSet::new() }
    }

    /// Returns the pointer and the name of what a reference leads to.
    pub(super) fn target(&mut self, reference: &str) -> Result<(String, String), OpenApiFaultKind> {
        let pointer = pointer_of(reference)?;
        // A chain of references only, without a schema at its end, has no meaning.
        self.document.resolve(&json!({"$ref": reference}), String::new()).map(drop)?;
        let name = self.name(&pointer);
        Ok((pointer, name))
    }

    /// Returns the name in `$defs`: that in the document, of letters, digits and `_`.
    pub(super) fn name(&mut self, pointer: &str) -> String {
        if let Some(name) = self.names.get(pointer) {
            return name.clone();
        }
        let last = pointer.rsplit('/').next().unwrap_or_default();
        let plain: String = last.chars().take(48).map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let plain = if plain.is_empty() { "Document".to_owned() } else { plain };
        let numbered = (2..).map(|number| format!("{plain}_{number}"));
        let mut candidates = std::iter::once(plain.clone()).chain(numbered);
        let name = candidates.find(|name| self.taken.insert(name.clone())).expect("the numbers do not end");
        self.names.insert(pointer.to_owned(), name.clone());
        name
    }
}
