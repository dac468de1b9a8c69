//! [`Scheme`]: the security schemes of a document, and the requirements of operations.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::header_names::{is_of_connection, is_token};
use super::refs::Document;
use super::value::Object;
use crate::OpenApiFaultKind;
use crate::fault::Faults;

/// A security scheme.
#[derive(Debug)]
pub(crate) struct Scheme {
    pub(crate) name: String,
    pub(crate) kind: SchemeKind,
    /// The object of the document.
    pub(crate) json: Value,
}

impl Scheme {
    /// Returns the header that carries the credential.
    pub(crate) fn header(&self) -> Option<&str> {
        match &self.kind {
            SchemeKind::ApiKey { place: KeyPlace::Header, name } => Some(name),
            SchemeKind::ApiKey { .. } | SchemeKind::Unsupported(_) => None,
            SchemeKind::Basic | SchemeKind::Bearer | SchemeKind::OAuth2 | SchemeKind::OpenIdConnect => {
                Some("authorization")
            }
        }
    }
}

/// The kind of a scheme, which decides what is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SchemeKind {
    ApiKey {
        place: KeyPlace,
        name: String,
    },
    Basic,
    Bearer,
    OAuth2,
    OpenIdConnect,
    /// A kind that is not supported, with a description.
    Unsupported(String),
}

/// The place where an API key is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyPlace {
    Header,
    Query,
    Cookie,
}

/// Schemes that are needed together.
#[derive(Clone, Debug)]
pub(crate) struct Alternative(pub(crate) Vec<Requirement>);

/// A scheme that an operation needs.
#[derive(Clone, Debug)]
pub(crate) struct Requirement {
    pub(crate) scheme: Arc<Scheme>,
    /// The scopes that a token must have.
    pub(crate) scopes: Vec<String>,
}

impl Alternative {
    pub(crate) fn schemes(&self) -> impl Iterator<Item = &Scheme> {
        self.0.iter().map(|requirement| &*requirement.scheme)
    }
}

/// The schemes that have been read from a document, by name.
#[derive(Debug, Default)]
pub(crate) struct Schemes(HashMap<String, Arc<Scheme>>);

impl Schemes {
    /// Reads the alternatives of an operation or, if it declares none, the alternatives of the document. An empty
    /// alternative needs no credential.
    pub(crate) fn alternatives(
        &mut self,
        document: &Document,
        operation: &Object<'_>,
        faults: &mut Faults,
    ) -> Vec<Alternative> {
        let empty = pleach_core::Map::new();
        let root = Object { members: document.root.as_object().unwrap_or(&empty), pointer: String::new() };
        let holder = if operation.get("security").is_some() { operation } else { &root };
        let mut alternatives = Vec::new();
        for (requirement, pointer) in holder.items("security", faults) {
            let Some(requirement) = Object::of(requirement, pointer, faults) else { continue };
            let schemes = requirement.members.keys().map(|name| {
                let scopes = requirement.items(name, faults).into_iter();
                let scopes = scopes.filter_map(|(scope, _)| scope.as_str().map(str::to_owned)).collect();
                Some(Requirement { scheme: self.scheme(document, name, &requirement.at(name), faults)?, scopes })
            });
            alternatives.extend(schemes.collect::<Option<_>>().map(Alternative));
        }
        alternatives
    }

    fn scheme(&mut self, document: &Document, name: &str, used_at: &str, faults: &mut Faults) -> Option<Arc<Scheme>> {
        if let Some(scheme) = self.0.get(name) {
            return Some(Arc::clone(scheme));
        }
        let pointer = super::value::member("/components/securitySchemes", name);
        let Some(value) = document.root.pointer(&pointer) else {
            faults.add(used_at, OpenApiFaultKind::Security(format!("there is no security scheme `{name}`")));
            return None;
        };
        let object = document.object(value, pointer, faults)?;
        let kind = kind(&object, faults)?;
        let scheme = Arc::new(Scheme { name: name.to_owned(), kind, json: Value::Object(object.members.clone()) });
        self.0.insert(name.to_owned(), Arc::clone(&scheme));
        Some(scheme)
    }

    /// Returns the schemes that operations need.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Scheme> {
        self.0.values().map(|scheme| &**scheme)
    }
}

fn kind(object: &Object<'_>, faults: &mut Faults) -> Option<SchemeKind> {
    Some(match object.required_text("type", faults)? {
        "apiKey" => {
            let name = object.required_text("name", faults)?.to_owned();
            let place = match object.required_text("in", faults)? {
                "header" => KeyPlace::Header,
                "query" => KeyPlace::Query,
                "cookie" => KeyPlace::Cookie,
                _ => {
                    faults.add(&object.at("in"), OpenApiFaultKind::Expected("`header`, `query` or `cookie`"));
                    return None;
                }
            };
            if !is_sendable(place, &name) {
                faults.add(&object.at("name"), OpenApiFaultKind::Expected("a name that can be sent there"));
                return None;
            }
            SchemeKind::ApiKey { place, name }
        }
        "http" => match object.required_text("scheme", faults)?.to_ascii_lowercase().as_str() {
            "basic" => SchemeKind::Basic,
            "bearer" => SchemeKind::Bearer,
            other => SchemeKind::Unsupported(format!("the HTTP scheme `{other}`")),
        },
        "oauth2" => SchemeKind::OAuth2,
        "openIdConnect" => SchemeKind::OpenIdConnect,
        "mutualTLS" => SchemeKind::Unsupported("mutual TLS".to_owned()),
        other => SchemeKind::Unsupported(format!("the type `{}`", super::refs::shown(other))),
    })
}

fn is_sendable(place: KeyPlace, name: &str) -> bool {
    match place {
        KeyPlace::Query => !name.is_empty(),
        KeyPlace::Header => http::HeaderName::try_from(name).is_ok() && !is_of_connection(name),
        KeyPlace::Cookie => is_token(name),
    }
}
