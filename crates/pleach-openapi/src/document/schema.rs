//! [`Schemas`]: the schemas of a document as JSON Schema for models.

use std::collections::{BTreeMap, HashMap, HashSet};

use pleach_core::Map;
use serde_json::{Value, json};

use super::refs::{Document, pointer_of};
use super::schema_node::Converter;
use crate::OpenApiFaultKind;
use crate::fault::Faults;

/// The schemas that references lead to, by their place in the document. Each is converted once, however many operations refer to it: so a cycle
/// of references ends, and no schema is repeated.
#[derive(Debug)]
pub(crate) struct Schemas<'d> {
    pub(crate) document: &'d Document,
    shared: HashMap<String, Shared>,
    names: HashMap<String, String>,
    taken: HashSet<String>,
}

#[derive(Debug)]
struct Shared {
    schema: Value,
    refers_to: Vec<String>,
    faults: Vec<(String, OpenApiFaultKind)>,
}

/// The schemas of one operation.
#[derive(Debug, Default)]
pub(crate) struct Used {
    /// The places of the schemas that it refers to.
    pointers: Vec<String>,
}

impl<'d> Schemas<'d> {
    pub(crate) fn new(document: &'d Document) -> Self {
        Self { document, shared: HashMap::new(), names: HashMap::new(), taken: HashSet::new() }
    }

    /// Converts a schema of an operation. What it refers to is among the [`definitions`](Self::definitions).
    pub(crate) fn convert(&mut self, schema: &Value, pointer: &str, used: &mut Used, faults: &mut Faults) -> Value {
        let (converted, refers_to) = self.converted(schema, pointer, faults);
        used.pointers.extend(refers_to);
        converted
    }

    fn converted(&mut self, schema: &Value, pointer: &str, faults: &mut Faults) -> (Value, Vec<String>) {
        let mut converter = Converter { schemas: self, refers_to: Vec::new(), faults };
        let converted = converter.schema(schema, pointer);
        (converted, converter.refers_to)
    }

    /// Returns the `$defs` that an operation needs.
    pub(crate) fn definitions(&mut self, used: Used, faults: &mut Faults) -> Map {
        let mut definitions = BTreeMap::new();
        let mut waiting = used.pointers;
        while let Some(pointer) = waiting.pop() {
            let name = self.name(&pointer);
            if definitions.contains_key(&name) {
                continue;
            }
            let shared = self.shared(&pointer);
            faults.0.extend(shared.faults.iter().map(|(pointer, kind)| crate::OpenApiFault {
                pointer: pointer.clone(),
                operation: None,
                kind: kind.clone(),
            }));
            waiting.extend(shared.refers_to.iter().cloned());
            definitions.insert(name, shared.schema.clone());
        }
        definitions.into_iter().collect()
    }

    fn shared(&mut self, pointer: &str) -> &Shared {
        if !self.shared.contains_key(pointer) {
            let document = self.document;
            let mut faults = Faults::default();
            let (schema, refers_to) = match document.root.pointer(pointer) {
                Some(schema) => self.converted(schema, pointer, &mut faults),
                None => (json!({}), Vec::new()),
            };
            let faults = faults.0.into_iter().map(|fault| (fault.pointer, fault.kind)).collect();
            self.shared.insert(pointer.to_owned(), Shared { schema, refers_to, faults });
        }
        &self.shared[pointer]
    }

    /// Returns the pointer and the name of what a reference leads to.
    pub(crate) fn target(&mut self, reference: &str) -> Result<(String, String), OpenApiFaultKind> {
        let pointer = pointer_of(reference)?;
        // A chain of references only, without a schema at its end, has no meaning.
        self.document.resolve(&json!({"$ref": reference}), String::new()).map(drop)?;
        let name = self.name(&pointer);
        Ok((pointer, name))
    }

    /// Returns the name in `$defs`: that in the document, of letters, digits and `_`.
    fn name(&mut self, pointer: &str) -> String {
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
