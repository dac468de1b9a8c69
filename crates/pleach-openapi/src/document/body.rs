//! [`Body`]: the content type and the arguments of a request body.

use std::collections::BTreeMap;

use serde_json::Value;

use super::media::{essence, is_json, sent_type};
use super::parameters::{Coding, Place, Reader, Style, describe};
use super::schema_node::is_read_only;
use super::value::{Object, member};
use crate::OpenApiFaultKind;

/// The body of a request.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    pub(crate) kind: BodyKind,
    /// The content type of the request. A multipart body gets its boundary when it is sent.
    pub(crate) content_type: String,
    pub(crate) is_required: bool,
    pub(crate) args: BodyArgs,
    /// The encodings of the properties of forms, by name.
    pub(crate) encodings: BTreeMap<String, Encoding>,
}

/// The format of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyKind {
    Json,
    Form,
    Multipart,
    /// A text that is sent unchanged.
    Text,
}

/// The arguments of a body.
#[derive(Clone, Debug)]
pub(crate) enum BodyArgs {
    /// A single argument is the body.
    Whole(BodyField),
    /// Each property of the object is an argument.
    Properties(Vec<BodyField>),
}

/// An argument of a body.
#[derive(Clone, Debug)]
pub(crate) struct BodyField {
    pub(crate) arg: String,
    /// The name of the property.
    pub(crate) name: String,
    pub(crate) is_required: bool,
    pub(crate) default: Option<Value>,
    /// Whether the property excludes null, so that a null argument is treated as absent.
    pub(crate) excludes_null: bool,
    pub(crate) schema: Value,
}

/// How a property of a form is written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Encoding {
    pub(crate) coding: Option<Coding>,
    /// The content type of the part of a multipart body.
    pub(crate) content_type: Option<String>,
    /// Whether the property is the content of a file.
    pub(crate) is_file: bool,
}

impl<'d> Reader<'_, 'd> {
    /// Reads the body of an operation.
    pub(super) fn body(&mut self, operation: &Object<'d>) -> Option<Body> {
        let body = self.document.object(operation.get("requestBody")?, operation.at("requestBody"), self.faults)?;
        let content = body.object("content", self.faults)?;
        if content.members.is_empty() {
            return None;
        }
        let Some((media, kind)) = self.chosen(&content) else {
            let types: Vec<&str> = content.members.keys().map(String::as_str).collect();
            self.faults.add(&content.pointer, OpenApiFaultKind::ContentType(super::refs::shown(&types.join(", "))));
            return None;
        };
        let media_type = Object::of(&content.members[media], content.at(media), self.faults)?;
        let is_required = body.flag("required", self.faults).unwrap_or(false);
        let description = body.text("description", self.faults);
        let schema = media_type.get("schema").unwrap_or(&Value::Bool(true));
        let properties = match kind {
            BodyKind::Text => None,
            _ => self.properties(schema, &media_type.at("schema")),
        };
        let args = properties.map_or_else(
            || BodyArgs::Whole(self.whole(schema, &media_type.at("schema"), is_required, description)),
            BodyArgs::Properties,
        );
        let encodings = self.encodings(&media_type, schema, kind);
        Some(Body { kind, content_type: sent_type(media), is_required, args, encodings })
    }

    /// Chooses the content type to send by a fixed ranking with JSON first, whatever the order in the document.
    fn chosen(&mut self, content: &Object<'d>) -> Option<(&'d str, BodyKind)> {
        let ranked = content.members.iter().filter_map(|(media, media_type)| {
            let (rank, kind) = self.rank(media, media_type)?;
            Some((rank, media.as_str(), kind))
        });
        ranked.min_by_key(|(rank, media, _)| (*rank, *media)).map(|(_, media, kind)| (media, kind))
    }

    fn rank(&self, media: &str, media_type: &Value) -> Option<(u8, BodyKind)> {
        http::HeaderValue::from_str(&sent_type(media)).ok()?;
        Some(match essence(media).as_str() {
            "application/json" => (0, BodyKind::Json),
            "*/*" | "application/*" => (2, BodyKind::Json),
            _ if is_json(media) => (1, BodyKind::Json),
            "application/x-www-form-urlencoded" => (3, BodyKind::Form),
            "multipart/form-data" => (4, BodyKind::Multipart),
            "text/plain" => (5, BodyKind::Text),
            "application/octet-stream" => (6, BodyKind::Text),
            other if other.contains('*') || other.starts_with("multipart/") => return None,
            // The model can write any other format itself.
            _ if self.is_text(media_type) => (7, BodyKind::Text),
            _ => return None,
        })
    }

    /// Returns true if the schema of a content describes a string, or if there is no schema.
    fn is_text(&self, media_type: &Value) -> bool {
        let Some(schema) = media_type.get("schema") else { return true };
        let resolved = self.document.resolve(schema, String::new());
        resolved.is_ok_and(|(schema, _)| match schema.get("type") {
            Some(kind) => kind == "string",
            None => schema.as_object().is_some_and(|members| members.is_empty()),
        })
    }

    fn whole(&mut self, schema: &'d Value, pointer: &str, is_required: bool, description: Option<&str>) -> BodyField {
        let default = self.default(schema, pointer);
        let mut converted = self.schemas.convert(schema, pointer, self.used, self.faults);
        describe(&mut converted, description);
        let arg = self.names.argument("body", "body", self.keeps_case);
        let excludes_null = self.excludes_null(schema);
        BodyField { arg, name: "body".to_owned(), is_required, default, excludes_null, schema: converted }
    }

    /// Returns the properties of a schema that describes an object by its properties alone.
    fn properties(&mut self, schema: &'d Value, pointer: &str) -> Option<Vec<BodyField>> {
        // OpenAPI 3.1 allows keywords next to `$ref`. Splitting the object into properties would lose them.
        let is_alone = |name: &String| matches!(name.as_str(), "$ref" | "description" | "summary" | "title");
        if self.document.is_3_1 && schema.get("$ref").is_some() && !schema.as_object()?.keys().all(is_alone) {
            return None;
        }
        let (resolved, at) = self.document.resolve(schema, pointer.to_owned()).ok()?;
        let members = resolved.as_object().filter(|members| is_plain_object(members))?;
        let properties = members.get("properties")?.as_object().filter(|properties| !properties.is_empty())?;
        let required = members.get("required").and_then(Value::as_array);
        let is_in = |name: &str| required.is_some_and(|names| names.iter().any(|required| required == name));
        let at = member(&at, "properties");
        let mut fields = Vec::new();
        for (name, property) in properties.iter().filter(|(_, property)| !is_read_only(property)) {
            let pointer = member(&at, name);
            let default = self.default(property, &pointer);
            let mut schema = self.schemas.convert(property, &pointer, self.used, self.faults);
            describe(&mut schema, None);
            let arg = self.names.argument(name, "body", self.keeps_case);
            let excludes_null = self.excludes_null(property);
            let is_required = is_in(name);
            fields.push(BodyField { arg, name: name.clone(), is_required, default, excludes_null, schema });
        }
        Some(fields)
    }

    fn encodings(&mut self, media_type: &Object<'d>, schema: &'d Value, kind: BodyKind) -> BTreeMap<String, Encoding> {
        let mut encodings = BTreeMap::new();
        if !matches!(kind, BodyKind::Form | BodyKind::Multipart) {
            return encodings;
        }
        let resolved = self.document.resolve(schema, String::new()).ok();
        let properties = resolved.and_then(|(schema, _)| schema.get("properties")).and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            encodings.insert(name.clone(), Encoding { is_file: self.is_file(property), ..Encoding::default() });
        }
        let Some(declared) = media_type.object("encoding", self.faults) else { return encodings };
        for (name, encoding) in declared.members {
            let Some(encoding) = Object::of(encoding, declared.at(name), self.faults) else { continue };
            let entry = encodings.entry(name.clone()).or_default();
            entry.content_type = encoding.text("contentType", self.faults).map(str::to_owned);
            if kind == BodyKind::Form && (encoding.get("style").is_some() || encoding.get("explode").is_some()) {
                entry.coding = Style::read(&encoding, Place::Query, self.faults);
            }
        }
        encodings
    }

    /// Returns true if a schema, or the schema that it refers to, certainly excludes null.
    fn excludes_null(&self, schema: &Value) -> bool {
        let mut schema = schema;
        for _ in 0..8 {
            if schema.get("nullable") == Some(&Value::Bool(true)) {
                return false;
            }
            let kind = schema.get("type");
            match (kind, schema.get("$ref").and_then(Value::as_str)) {
                (Some(Value::String(kind)), _) => return !kind.eq_ignore_ascii_case("null") && kind != "any",
                (Some(Value::Array(kinds)), _) => return !kinds.iter().any(|kind| kind == "null"),
                (_, Some(reference)) => {
                    let target = super::refs::pointer_of(reference).ok();
                    let target = target.and_then(|pointer| self.document.root.pointer(&pointer));
                    let Some(target) = target else { return false };
                    schema = target;
                }
                _ => return false,
            }
        }
        false
    }

    /// Returns true if a property, or an item of it, is the content of a file.
    fn is_file(&self, property: &Value) -> bool {
        let Ok((schema, _)) = self.document.resolve(property, String::new()) else { return false };
        let is_binary = |schema: &Value| {
            schema.get("format").is_some_and(|format| format == "binary" || format == "byte")
                || schema.get("contentMediaType").is_some()
                || schema.get("contentEncoding").is_some()
        };
        let item = schema.get("items").and_then(|items| self.document.resolve(items, String::new()).ok());
        is_binary(schema) || item.is_some_and(|(item, _)| is_binary(item))
    }
}

/// Returns true if an object is described by its properties alone.
fn is_plain_object(members: &pleach_core::Map) -> bool {
    let is_object = match members.get("type") {
        None => true,
        Some(Value::String(kind)) => kind.eq_ignore_ascii_case("object"),
        Some(Value::Array(kinds)) => kinds.iter().all(|kind| kind == "object" || kind == "null"),
        Some(_) => false,
    };
    let others = [
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "if",
        "patternProperties",
        "dependentRequired",
        "dependentSchemas",
        "propertyNames",
        "unevaluatedProperties",
        "$dynamicRef",
        "$recursiveRef",
    ];
    let is_closed = members.get("additionalProperties").is_none_or(|other| other == &Value::Bool(false));
    is_object && is_closed && !others.iter().any(|keyword| members.contains_key(*keyword))
}
