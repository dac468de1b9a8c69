//! [`Param`]: a parameter in the path, query, headers or cookies of an operation.

use std::collections::HashSet;

use serde_json::Value;

use super::header_names::{is_of_connection, is_token};
use super::media::is_json;
use super::refs::Document;
use super::schema::{Schemas, Used};
use super::value::Object;
use crate::OpenApiFaultKind;
use crate::fault::Faults;
use crate::names::Names;

/// A parameter.
#[derive(Clone, Debug)]
pub(crate) struct Param {
    /// The name of the argument.
    pub(crate) arg: String,
    /// The name in the request.
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) coding: Coding,
    pub(crate) is_required: bool,
    pub(crate) default: Option<Value>,
    /// The JSON schema of the argument.
    pub(crate) schema: Value,
}

/// The place where a parameter is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    Path,
    Query,
    Header,
    Cookie,
}

/// The encoding of a value as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Styled {
        style: Style,
        explode: bool,
    },
    /// The parameter has a `content` of JSON.
    Json,
}

/// The styles of OpenAPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Matrix,
    Label,
    Simple,
    Form,
    SpaceDelimited,
    PipeDelimited,
    DeepObject,
}

/// Headers that are described elsewhere in a document. OpenAPI ignores parameters with these names.
const IGNORED: [&str; 3] = ["accept", "authorization", "content-type"];

impl Style {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "matrix" => Self::Matrix,
            "label" => Self::Label,
            "simple" => Self::Simple,
            "form" => Self::Form,
            "spaceDelimited" => Self::SpaceDelimited,
            "pipeDelimited" => Self::PipeDelimited,
            "deepObject" => Self::DeepObject,
            _ => return None,
        })
    }

    /// Reads `style` and `explode` of a parameter, or of the encoding of a property.
    pub(crate) fn read(holder: &Object<'_>, place: Place, faults: &mut Faults) -> Option<Coding> {
        let default = match place {
            Place::Path | Place::Header => Self::Simple,
            Place::Query | Place::Cookie => Self::Form,
        };
        let style = match holder.text("style", faults) {
            Some(name) => Self::of(name).filter(|style| style.is_allowed(place)),
            None => Some(default),
        };
        let Some(style) = style else {
            faults.add(&holder.at("style"), OpenApiFaultKind::Expected("a style of its place"));
            return None;
        };
        let explode = holder.flag("explode", faults).unwrap_or(style == Self::Form);
        Some(Coding::Styled { style, explode })
    }

    fn is_allowed(self, place: Place) -> bool {
        match place {
            Place::Path => matches!(self, Self::Matrix | Self::Label | Self::Simple),
            Place::Query => matches!(self, Self::Form | Self::SpaceDelimited | Self::PipeDelimited | Self::DeepObject),
            Place::Header => self == Self::Simple,
            Place::Cookie => self == Self::Form,
        }
    }
}

/// A declared parameter that is not read yet.
struct Declared<'d> {
    /// The name, in lower case for a header, and the place.
    key: (String, Place),
    object: Object<'d>,
    name: &'d str,
}

/// The context for reading parameters.
pub(super) struct Reader<'a, 'd> {
    pub(super) document: &'d Document,
    pub(super) schemas: &'a mut Schemas<'d>,
    pub(super) used: &'a mut Used,
    pub(super) names: &'a mut Names,
    pub(super) keeps_case: bool,
    pub(super) faults: &'a mut Faults,
}

impl<'d> Reader<'_, 'd> {
    /// Reads the parameters of an operation, and the parameters of its path that the operation does not replace. Leaves
    /// out parameters for which `covered` returns true, because the program sends them as credentials or headers.
    pub(super) fn parameters(
        &mut self,
        path: &Object<'d>,
        operation: &Object<'d>,
        covered: impl Fn(Place, &str) -> bool,
    ) -> Vec<Param> {
        let own = self.declared(operation);
        let of_path = self.declared(path);
        let keys: HashSet<(String, Place)> = own.iter().map(|declared| declared.key.clone()).collect();
        let of_path = of_path.into_iter().filter(|declared| !keys.contains(&declared.key));
        let all = own.into_iter().chain(of_path).filter(|declared| !covered(declared.key.1, declared.name));
        all.filter_map(|declared| self.parameter(&declared.object, declared.name, declared.key.1)).collect()
    }

    /// Finds the parameters that an operation or a path declares.
    fn declared(&mut self, holder: &Object<'d>) -> Vec<Declared<'d>> {
        let mut all: Vec<Declared<'d>> = Vec::new();
        let mut keys = HashSet::new();
        for (item, pointer) in holder.items("parameters", self.faults) {
            let Some(object) = self.document.object(item, pointer, self.faults) else { continue };
            let name = object.required_text("name", self.faults);
            let place = object.required_text("in", self.faults);
            let (Some(name), Some(place)) = (name, place) else { continue };
            let Some(place) = place_of(place) else {
                let kind = OpenApiFaultKind::Expected("`path`, `query`, `header` or `cookie`");
                self.faults.add(&object.at("in"), kind);
                continue;
            };
            // Header names are compared without case.
            let key = (if place == Place::Header { name.to_ascii_lowercase() } else { name.to_owned() }, place);
            if !keys.insert(key.clone()) {
                let reason = "is declared twice for one place".to_owned();
                self.faults.add(&object.pointer, OpenApiFaultKind::Parameter { name: name.to_owned(), reason });
            }
            all.push(Declared { key, object, name });
        }
        all
    }

    fn parameter(&mut self, object: &Object<'d>, name: &str, place: Place) -> Option<Param> {
        if place == Place::Header {
            let lower = name.to_ascii_lowercase();
            if IGNORED.contains(&lower.as_str()) {
                return None;
            }
            let reason = match (is_of_connection(&lower), http::HeaderName::try_from(name)) {
                (true, _) => Some("belongs to the connection"),
                (_, Err(_)) => Some("has characters that no header may have"),
                _ => None,
            };
            if let Some(reason) = reason {
                let kind = OpenApiFaultKind::Parameter { name: name.to_owned(), reason: reason.to_owned() };
                self.faults.add(&object.pointer, kind);
                return None;
            }
        }
        if place == Place::Cookie && !is_token(name) {
            let reason = "has characters that no cookie may have".to_owned();
            self.faults.add(&object.pointer, OpenApiFaultKind::Parameter { name: name.to_owned(), reason });
            return None;
        }
        let (coding, schema, pointer) = self.coding(object, name, place)?;
        let default = self.default(schema, &pointer);
        let mut schema = self.schemas.convert(schema, &pointer, self.used, self.faults);
        describe(&mut schema, object.text("description", self.faults));
        if object.flag("deprecated", self.faults) == Some(true)
            && let Value::Object(members) = &mut schema
        {
            members.insert("deprecated".to_owned(), true.into());
        }
        let is_required = object.flag("required", self.faults).unwrap_or(false) || place == Place::Path;
        let fallback = ["path_param", "query_param", "header_param", "cookie_param"][place as usize];
        let arg = self.names.argument(name, fallback, self.keeps_case);
        Some(Param { arg, name: name.to_owned(), place, coding, is_required, default, schema })
    }

    /// Returns the coding of the parameter, its schema, and the schema's place.
    fn coding(&mut self, object: &Object<'d>, name: &str, place: Place) -> Option<(Coding, &'d Value, String)> {
        let Some(content) = object.get("content") else {
            let coding = Style::read(object, place, self.faults)?;
            return Some((coding, object.get("schema").unwrap_or(&Value::Bool(true)), object.at("schema")));
        };
        let content = Object::of(content, object.at("content"), self.faults)?;
        let json = content.members.iter().find(|(media, _)| is_json(media));
        let Some((media, media_type)) = json else {
            let reason = "has a content that is not JSON".to_owned();
            self.faults.add(&content.pointer, OpenApiFaultKind::Parameter { name: name.to_owned(), reason });
            return None;
        };
        let media_type = Object::of(media_type, content.at(media), self.faults)?;
        Some((Coding::Json, media_type.get("schema").unwrap_or(&Value::Bool(true)), media_type.at("schema")))
    }

    /// Returns the default value of a schema.
    pub(super) fn default(&mut self, schema: &'d Value, pointer: &str) -> Option<Value> {
        // The conversion of the schema reports faults of its references.
        let (schema, _) = self.document.resolve(schema, pointer.to_owned()).ok()?;
        schema.get("default").filter(|default| !default.is_null()).cloned()
    }
}

/// Adds a description to a schema that has none. For this, a boolean schema becomes an object.
pub(super) fn describe(schema: &mut Value, description: Option<&str>) {
    if schema.is_boolean() {
        *schema = serde_json::json!({});
    }
    if let (Value::Object(members), Some(description)) = (schema, description.filter(|text| !text.is_empty())) {
        members.entry("description").or_insert_with(|| description.into());
    }
}

fn place_of(name: &str) -> Option<Place> {
    Some(match name {
        "path" => Place::Path,
        "query" => Place::Query,
        "header" => Place::Header,
        "cookie" => Place::Cookie,
        _ => return None,
    })
}
