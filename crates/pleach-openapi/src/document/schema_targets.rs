//! [`Targets`]: the schemas that references lead to, and their names in `$defs`.

use std::collections::{HashMap, HashSet};

use super::refs::{Document, pointer_of, shown};
use super::schema_anchors::{Anchors, Reference, anchor_of, recursive_root};
use crate::OpenApiFaultKind;

/// The places that references of a document lead to, each with a name.
#[derive(Debug)]
pub(super) struct Targets<'d> {
    pub(super) document: &'d Document,
    names: HashMap<String, String>,
    taken: HashSet<String>,
    /// The next number for each name that is taken.
    next: HashMap<String, usize>,
    /// The anchors of the document. They are searched for when a reference first needs them.
    anchors: Option<Anchors>,
}

impl<'d> Targets<'d> {
    pub(super) fn new(document: &'d Document) -> Self {
        Self { document, names: HashMap::new(), taken: HashSet::new(), next: HashMap::new(), anchors: None }
    }

    /// Returns the pointer and the name of the schema that the schema at `at` refers to.
    pub(super) fn target(&mut self, reference: &Reference<'_>, at: &str) -> Result<(String, String), OpenApiFaultKind> {
        let pointer = match reference {
            Reference::Recursive => recursive_root(&self.document.root, at),
            Reference::Plain(text) | Reference::Dynamic(text) => match anchor_of(text) {
                Some(anchor) => {
                    let anchors = self.anchors.get_or_insert_with(|| Anchors::of(&self.document.root));
                    let unsupported = || OpenApiFaultKind::UnsupportedRef(shown(text));
                    anchors.find(anchor, at).map(str::to_owned).ok_or_else(unsupported)?
                }
                None => pointer_of(text)?,
            },
        };
        // A chain of references must end at a schema.
        let dangling = || OpenApiFaultKind::DanglingRef(shown(reference.text()));
        let target = self.document.root.pointer(&pointer).ok_or_else(dangling)?;
        self.document.resolve(target, pointer.clone()).map(drop)?;
        let name = self.name(&pointer);
        Ok((pointer, name))
    }

    /// Returns the name of a schema in `$defs`: its name in the document, reduced to letters, digits and `_`.
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
