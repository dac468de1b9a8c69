//! [`prepare`]: creates a request from the arguments of a call.

use std::collections::BTreeMap;

use http::header::{CONTENT_TYPE, COOKIE};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use pleach_core::Map;
use reqwest::Url;
use serde_json::Value;

use super::field::value;
use super::shape::{Shape, encoded};
use super::style::{Pair, in_path, in_query, joined};
use super::{ArgumentError, body, path};
use crate::document::{Alternative, BodyArgs, Coding, KeyPlace, Param, Place, Plan, SchemeKind, Style};

/// A request without credentials.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    pub(crate) method: Method,
    /// The URL without its query.
    pub(crate) url: String,
    /// The pairs of the query, percent-encoded.
    pub(crate) query: Vec<String>,
    pub(crate) headers: HeaderMap,
    /// The cookies, each as `name=value`.
    pub(crate) cookies: Vec<String>,
    pub(crate) body: Option<Vec<u8>>,
}

/// A request as it is sent.
pub(crate) struct Outgoing {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Vec<u8>>,
}

/// Creates the request of a call. `schema` is the JSON schema of the arguments. `boundary` returns candidates for the
/// boundary of a multipart body.
///
/// # Errors
/// The model's mistake in the arguments.
pub(crate) fn prepare(
    plan: &Plan,
    schema: &Value,
    args: &Map,
    boundary: impl Fn() -> String,
) -> Result<Prepared, ArgumentError> {
    refuse_unknown(plan, args)?;
    let mut writer = Writer::default();
    for param in &plan.params {
        match value(args, &param.arg, param.default.as_ref().filter(|_| param.is_required), true) {
            Some(value) => writer.write(param, value, plan)?,
            None if param.is_required => return Err(ArgumentError::Missing(param.arg.clone())),
            None => {}
        }
    }
    let filled = plan.path.filled(&writer.path);
    let filled = filled.map_err(|reason| {
        let in_path = plan.params.iter().find(|param| param.place == Place::Path);
        ArgumentError::invalid(in_path.map_or("path", |param| param.arg.as_str()), reason)
    })?;
    let mut query = Vec::new();
    if !plan.path.query.is_empty() {
        query.push(plan.path.query.clone());
    }
    query.extend(writer.query.iter().map(Pair::written));
    let mut headers = writer.headers;
    let mut sent = None;
    if let Some(of_plan) = &plan.body
        && let Some((content_type, bytes)) = body::write(of_plan, schema, args, boundary)?
    {
        headers.insert(CONTENT_TYPE, content_type);
        sent = Some(bytes);
    }
    let url = format!("{}{filled}", plan.base.prefix());
    Ok(Prepared { method: plan.view.method.clone(), url, query, headers, cookies: writer.cookies, body: sent })
}

impl Prepared {
    /// Completes the request. Returns `None` if its URL cannot be read or leads to another server than the plan's.
    pub(crate) fn finish(self, plan: &Plan) -> Option<Outgoing> {
        let mut url = Url::parse(&self.url).ok()?;
        if url.origin() != plan.base.url().origin() {
            return None;
        }
        if !self.query.is_empty() {
            url.set_query(Some(&self.query.join("&")));
        }
        let mut headers = self.headers;
        if !self.cookies.is_empty() {
            let mut cookies = HeaderValue::from_str(&self.cookies.join("; ")).ok()?;
            cookies.set_sensitive(true);
            headers.insert(COOKIE, cookies);
        }
        Some(Outgoing { method: self.method, url, headers, body: self.body })
    }
}

/// The parts of a request while its parameters are written.
#[derive(Default)]
struct Writer<'p> {
    path: BTreeMap<&'p str, String>,
    query: Vec<Pair>,
    headers: HeaderMap,
    cookies: Vec<String>,
}

impl<'p> Writer<'p> {
    fn write(&mut self, param: &'p Param, value: &Value, plan: &Plan) -> Result<(), ArgumentError> {
        let invalid = |reason| ArgumentError::invalid(&param.arg, reason);
        match param.place {
            Place::Path => {
                let written = path_value(param, value).map_err(invalid)?;
                self.path.insert(&param.name, written);
            }
            Place::Query => {
                let pairs = in_query(&param.name, param.coding, value).map_err(invalid)?;
                if let Some(reason) = fault_of_names(param, &pairs, plan) {
                    return Err(invalid(reason));
                }
                self.query.extend(pairs);
            }
            Place::Header => {
                let text = plain(param.coding, value).map_err(invalid)?;
                let header = HeaderValue::from_str(&text);
                let header =
                    header.map_err(|_| invalid("has characters that no header may have, such as line breaks"))?;
                let name = HeaderName::try_from(param.name.as_str())
                    .map_err(|_| invalid("has a name that no header may have"))?;
                self.headers.insert(name, header);
            }
            Place::Cookie => {
                if value.is_object() && param.coding != Coding::Json {
                    return Err(invalid("is an object, which a cookie cannot hold"));
                }
                let pairs = in_query(&param.name, param.coding, value).map_err(invalid)?;
                self.cookies.extend(pairs.into_iter().map(|pair| format!("{}={}", pair.name, pair.value)));
            }
        }
        Ok(())
    }
}

fn path_value(param: &Param, value: &Value) -> Result<String, &'static str> {
    let Coding::Styled { style, explode } = param.coding else {
        let text = value.to_string();
        return path::fault_of_value(&text).map_or_else(|| Ok(encoded(&text)), Err);
    };
    let shape = Shape::of(value)?;
    let texts = shape.texts();
    let is_bare = matches!(style, Style::Simple);
    if is_bare && texts.is_empty() {
        return Err("is empty, and it is a part of the path");
    }
    if let Some(reason) = texts.into_iter().find_map(path::fault_of_value) {
        return Err(reason);
    }
    Ok(in_path(&param.name, style, explode, shape.map(encoded)))
}

/// Returns the value of a header, which is not encoded.
fn plain(coding: Coding, value: &Value) -> Result<String, &'static str> {
    match coding {
        Coding::Json => Ok(value.to_string()),
        Coding::Styled { explode, .. } => Ok(joined(Shape::of(value)?.map(str::to_owned), ",", explode)),
    }
}

/// Returns a fault if a pair has the name of another parameter. The model chooses the field names of an exploded
/// object, which become names in the query.
fn fault_of_names(param: &Param, pairs: &[Pair], plan: &Plan) -> Option<&'static str> {
    let is_other = |name: &str| {
        let of_params = plan.params.iter().filter(|other| other.place == Place::Query && other.arg != param.arg);
        let schemes = plan.security.iter().flat_map(Alternative::schemes);
        let mut keys = schemes.filter_map(|scheme| match &scheme.kind {
            SchemeKind::ApiKey { place: KeyPlace::Query, name } => Some(name.as_str()),
            _ => None,
        });
        let mut written = plan.path.query.split('&').filter_map(|pair| pair.split('=').next());
        let encoded = encoded(name);
        // Many servers ignore the case of names in the query.
        of_params.into_iter().any(|other| other.name.eq_ignore_ascii_case(name))
            || keys.any(|key| key.eq_ignore_ascii_case(name))
            || written.any(|written| written.eq_ignore_ascii_case(name) || written.eq_ignore_ascii_case(&encoded))
    };
    let has_other = pairs.iter().any(|pair| pair.name != param.name && is_other(&pair.name));
    has_other.then_some("has a field with the name of another query parameter")
}

fn refuse_unknown(plan: &Plan, args: &Map) -> Result<(), ArgumentError> {
    let params = plan.params.iter().map(|param| param.arg.as_str());
    let of_body: Vec<&str> = match plan.body.as_ref().map(|body| &body.args) {
        Some(BodyArgs::Whole(field)) => vec![&field.arg],
        Some(BodyArgs::Properties(fields)) => fields.iter().map(|field| field.arg.as_str()).collect(),
        None => Vec::new(),
    };
    let known: Vec<&str> = params.chain(of_body).collect();
    match args.keys().find(|arg| !known.contains(&arg.as_str())) {
        Some(unknown) => {
            let unknown = unknown.chars().take(100).collect();
            Err(ArgumentError::Unknown { unknown, known: known.join(", ") })
        }
        None => Ok(()),
    }
}
