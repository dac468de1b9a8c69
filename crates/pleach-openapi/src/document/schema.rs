//! [`Schemas`]: converts the schemas of a document to JSON Schema for models.

use std::collections::{BTreeMap, HashMap};

use pleach_core::Map;
use serde_json::{Value, json};

use super::refs::Document;
use super::schema_node::Converter;
use super::schema_targets::Targets;
use crate::OpenApiFaultKind;
use crate::fault::Faults;

/// The maximum size of all declarations of a toolset together, in bytes of JSON.
const LARGEST: usize = 64 << 20;
/// The maximum size of the declaration of one operation. No model accepts a larger declaration, and it must not use up
/// the bytes that other operations need.
const LARGEST_OPERATION: usize = 4 << 20;

/// The schemas that references lead to, by their place in the document. Each schema is converted once, however many
/// operations refer to it, so a cycle of references ends.
#[derive(Debug)]
pub(crate) struct Schemas<'d> {
    targets: Targets<'d>,
    shared: HashMap<String, Shared>,
    /// The bytes that are left for the declarations of further operations.
    budget: usize,
    /// The bytes that are left for the declaration of this operation.
    of_operation: usize,
}

#[derive(Debug)]
struct Shared {
    schema: Value,
    bytes: usize,
    refers_to: Vec<String>,
    faults: Vec<(String, OpenApiFaultKind)>,
}

/// The schemas of one operation.
#[derive(Debug, Default)]
pub(crate) struct Used {
    /// The places of the schemas that the operation refers to.
    pointers: Vec<String>,
}

impl<'d> Schemas<'d> {
    pub(crate) fn new(document: &'d Document) -> Self {
        Self {
            targets: Targets::new(document),
            shared: HashMap::new(),
            budget: LARGEST,
            of_operation: LARGEST_OPERATION,
        }
    }

    /// Restarts the limit for the schemas of one operation.
    pub(crate) fn begin_operation(&mut self) {
        self.of_operation = LARGEST_OPERATION;
    }

    /// Converts a schema of an operation. The schemas that it refers to are returned by
    /// [`definitions`](Self::definitions).
    pub(crate) fn convert(&mut self, schema: &Value, pointer: &str, used: &mut Used, faults: &mut Faults) -> Value {
        if self.budget == 0 {
            faults.add(pointer, OpenApiFaultKind::TooLarge(LARGEST));
            return json!({});
        }
        let (converted, refers_to) = self.converted(schema, pointer, faults);
        if self.spend(converted.to_string().len(), pointer, faults).is_none() {
            return json!({});
        }
        used.pointers.extend(refers_to);
        converted
    }

    /// Counts the bytes of a schema. Each operation repeats the schemas that it refers to, so a small document can have
    /// large declarations.
    fn spend(&mut self, bytes: usize, pointer: &str, faults: &mut Faults) -> Option<()> {
        let of_operation = self.of_operation.checked_sub(bytes);
        // An operation that is too large uses up no more bytes than its own limit.
        let spent = if of_operation.is_some() { bytes } else { self.of_operation };
        let left = self.budget.checked_sub(spent);
        self.budget = left.unwrap_or(0);
        self.of_operation = of_operation.unwrap_or(0);
        match (left, of_operation) {
            (None, _) => faults.add(pointer, OpenApiFaultKind::TooLarge(LARGEST)),
            (_, None) => faults.add(pointer, OpenApiFaultKind::OperationTooLarge(LARGEST_OPERATION)),
            _ => return Some(()),
        }
        None
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
            let bytes = shared.bytes;
            if self.spend(bytes, &pointer, faults).is_none() {
                return Map::new();
            }
            definitions.insert(name, self.shared[&pointer].schema.clone());
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
            let bytes = schema.to_string().len();
            self.shared.insert(pointer.to_owned(), Shared { schema, bytes, refers_to, faults });
        }
        &self.shared[pointer]
    }
}
