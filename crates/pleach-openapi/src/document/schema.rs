//! [`Schemas`]: the schemas of a document as JSON Schema for models.

use std::collections::{BTreeMap, HashMap};

use pleach_core::Map;
use serde_json::{Value, json};

use super::refs::Document;
use super::schema_node::Converter;
use super::schema_targets::Targets;
use crate::OpenApiFaultKind;
use crate::fault::Faults;

/// The schemas that references lead to, by their place in the document. Each is converted once, however many operations refer to it: so a cycle
/// of references ends, and no schema is repeated.
#[derive(Debug)]
pub(crate) struct Schemas<'d> {
    targets: Targets<'d>,
    shared: HashMap<String, Shared>,
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
        Self { targets: Targets::new(document), shared: HashMap::new() }
    }

    /// Converts a schema of an operation. What it refers to is among the [`definitions`](Self::definitions).
    pub(crate) fn convert(&mut self, schema: &Value, pointer: &str, used: &mut Used, faults: &mut Faults) -> Value {
        let (converted, refers_to) = self.converted(schema, pointer, faults);
        used.pointers.extend(refers_to);
        converted
    }

    fn converted(&mut self, schema: &Value, pointer: &str, faults: &mut Faults) -> (Value, Vec<String>) {
        let mut converter = Converter { targets: &mut self.targets, refers_to: Vec::new(), faults };
        let converted = converter.schema(schema, pointer);
        (converted, converter.refers_to)
    }

    /// Returns the `$defs` that an operation needs.
    pub(crate) fn definitions(&mut self, used: Used, faults: &mut Faults) -> Map {
        let mut definitions = BTreeMap::new();
        let mut waiting = used.pointers;
        while let Some(pointer) = waiting.pop() {
            let name = self.targets.name(&pointer);
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
            let document = self.targets.document;
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
}
