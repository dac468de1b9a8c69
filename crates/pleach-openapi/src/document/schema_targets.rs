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
    /// The next number, by name.
    next: HashMap<String, usize>,
}

impl<'d> Targets<'d> {
    pub(super) fn new(document: &'d Document) -> Self {
        Self { document, names: HashMap::new(), taken: HashSet::new(), next: HashMap::new() }
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
        let next = self.next.entry(plain.clone()).or_insert(1);
        let name = loop {
            let name = if *next == 1 { plain.clone() } else { format!("{plain}_{next}") };
            *next += 1;
            if self.taken.insert(name.clone()) {
                break name;
            }
        };
        self.names.insert(pointer.to_owned(), name.clone());
        name
    }
}
