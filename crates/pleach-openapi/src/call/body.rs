//! Writes the body of a request: JSON, a form, multipart, or text.

use std::collections::BTreeMap;

use http::HeaderValue;
use pleach_context::{exact_json, has_big_integer};
use pleach_core::Map;
use serde_json::{Value, json};

use super::field::{Field, text, value};
use super::shape::scalar;
use super::style::{Pair, in_query};
use super::{ArgumentError, multipart};
use crate::document::{Body, BodyArgs, BodyField, BodyKind};

/// Writes the body with its content type. Returns `None` if an optional body has no argument. `root` contains the
/// schemas that the body's schemas refer to.
pub(super) fn write(
    body: &Body,
    root: &Value,
    args: &Map,
    boundary: impl Fn() -> String,
) -> Result<Option<(HeaderValue, Vec<u8>)>, ArgumentError> {
    let of_type = |content_type: &str| HeaderValue::from_str(content_type);
    let plain = of_type(&body.content_type).unwrap_or_else(|_| HeaderValue::from_static("application/octet-stream"));
    let (whole, field) = match &body.args {
        BodyArgs::Properties(properties) => {
            // An optional body may be omitted as a whole. If it is sent, it needs its required properties.
            let is_given = |field: &BodyField| value(args, &field.arg, None, field.excludes_null).is_some();
            if !body.is_required && !properties.iter().any(is_given) {
                return Ok(None);
            }
            let fields = fields(properties, args)?;
            return match body.kind {
                BodyKind::Form => Ok(Some((plain, form(body, &fields)?))),
                BodyKind::Multipart => multipart::write(body, &fields, boundary).map(Some),
                BodyKind::Json | BodyKind::Text => {
                    let object: Map = fields.iter().map(|field| (field.name.to_owned(), field.value.clone())).collect();
                    let schemas = || properties.iter().map(|of| (of.name.clone(), of.schema.clone())).collect::<Map>();
                    Ok(Some((plain, json_bytes(root, || json!({ "properties": schemas() }), &Value::Object(object)))))
                }
            };
        }
        BodyArgs::Whole(field) => {
            let default = field.default.as_ref().filter(|_| body.is_required);
            match value(args, &field.arg, default, field.excludes_null) {
                Some(whole) => (whole, field),
                None if body.is_required => return Err(ArgumentError::Missing(field.arg.clone())),
                None => return Ok(None),
            }
        }
    };
    let arg = field.arg.as_str();
    let members = |kind| {
        let object = whole.as_object().ok_or_else(|| ArgumentError::invalid(arg, kind))?;
        Ok(object.iter().map(|(name, value)| Field { arg, name, value }).collect::<Vec<_>>())
    };
    match body.kind {
        BodyKind::Json => Ok(Some((plain, json_bytes(root, || field.schema.clone(), whole)))),
        BodyKind::Form => Ok(Some((plain, form(body, &members("must be an object: it is sent as a form")?)?))),
        BodyKind::Multipart => {
            multipart::write(body, &members("must be an object: it is sent in parts")?, boundary).map(Some)
        }
        BodyKind::Text => Ok(Some((plain, text(whole).into_bytes()))),
    }
}

/// Writes JSON. An integer of more than 64 bits, which arguments hold as a string, becomes a number if the schema
/// demands a number.
fn json_bytes(root: &Value, schema: impl FnOnce() -> Value, value: &Value) -> Vec<u8> {
    let exact = has_big_integer(value).then(|| exact_json(root, &schema(), value)).and_then(Result::ok);
    exact.unwrap_or_else(|| value.to_string()).into_bytes()
}

fn fields<'v>(properties: &'v [BodyField], args: &'v Map) -> Result<Vec<Field<'v>>, ArgumentError> {
    let mut fields = Vec::new();
    for property in properties {
        let default = property.default.as_ref().filter(|_| property.is_required);
        match value(args, &property.arg, default, property.excludes_null) {
            Some(value) => fields.push(Field { arg: &property.arg, name: &property.name, value }),
            None if property.is_required => return Err(ArgumentError::Missing(property.arg.clone())),
            None => {}
        }
    }
    Ok(fields)
}

/// Writes a form. Lists become repeated fields and objects become JSON, unless the document sets another encoding.
fn form(body: &Body, fields: &[Field<'_>]) -> Result<Vec<u8>, ArgumentError> {
    let mut pairs = Vec::new();
    let mut owners: BTreeMap<String, &str> = BTreeMap::new();
    for field in fields {
        let before = pairs.len();
        let coding = body.encodings.get(field.name).and_then(|encoding| encoding.coding);
        match (coding, field.value) {
            (Some(coding), value) => {
                let styled = in_query(field.name, coding, value);
                pairs.extend(styled.map_err(|reason| ArgumentError::invalid(field.arg, reason))?);
            }
            (None, Value::Array(items)) if items.iter().all(|item| scalar(item).is_ok()) => {
                pairs.extend(items.iter().map(|item| Pair::new(field.name, &text(item))));
            }
            (None, value) => pairs.push(Pair::new(field.name, &text(value))),
        }
        // A model chooses the field names of an exploded object. They must not be names of other properties.
        for pair in &pairs[before..] {
            let is_property = pair.name != field.name && body.encodings.contains_key(&pair.name);
            let owner = owners.entry(pair.name.clone()).or_insert(field.arg);
            if is_property || *owner != field.arg {
                return Err(ArgumentError::invalid(field.arg, "has a field with the name of another property"));
            }
        }
    }
    Ok(pairs.iter().map(Pair::written).collect::<Vec<_>>().join("&").into_bytes())
}
