//! [`Base`]: the URL that the paths of an operation are added to.

use std::collections::{BTreeMap, BTreeSet};

use pleach_core::Map;
use pleach_http::Endpoint;
use reqwest::Url;
use serde_json::Value;

use super::refs::{Document, shown};
use super::value::{Object, member};
use crate::OpenApiFaultKind;
use crate::fault::Faults;

/// The options of the program for servers.
#[derive(Debug, Default)]
pub(crate) struct ServerOptions {
    /// The URL that replaces all servers of the document.
    pub(crate) base_url: Option<Url>,
    /// The address of the document.
    pub(crate) document_url: Option<Url>,
    /// Values of the variables in the URLs of servers.
    pub(crate) variables: BTreeMap<String, String>,
    /// The variables that some server uses.
    pub(crate) used: BTreeSet<String>,
}

/// The URL of a server: `http` or `https`, without user, query and fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Base {
    endpoint: Endpoint,
}

impl Base {
    /// Checks a URL.
    ///
    /// # Errors
    /// The reason why no request can be sent there.
    pub(crate) fn new(url: Url) -> Result<Self, String> {
        let endpoint = Endpoint::new(url).map_err(|fault| fault.with_advice("use `.credential(…)`"))?;
        if endpoint.url().query().is_some() || endpoint.url().fragment().is_some() {
            return Err("has a query or a fragment, which no path can follow".to_owned());
        }
        Ok(Self { endpoint })
    }

    /// Returns the URL without a trailing `/`.
    pub(crate) fn prefix(&self) -> &str {
        self.url().as_str().trim_end_matches('/')
    }

    pub(crate) fn url(&self) -> &Url {
        self.endpoint.url()
    }

    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Returns true if secrets reach the server encrypted, or stay on this machine.
    pub(crate) fn is_safe(&self) -> bool {
        self.endpoint.exposed_host(true).is_none()
    }
}

impl ServerOptions {
    /// Returns the server of an operation: the first one that the operation, its path or the document declares, in this
    /// order.
    pub(crate) fn base(&mut self, holders: &[&Object<'_>], document: &Document, faults: &mut Faults) -> Option<Base> {
        let empty = Map::new();
        let root = Object { members: document.root.as_object().unwrap_or(&empty), pointer: String::new() };
        if let Some(url) = &self.base_url {
            return Base::new(url.clone()).ok();
        }
        for holder in holders.iter().copied().chain([&root]) {
            let servers = holder.items("servers", faults);
            if let Some((server, pointer)) = servers.into_iter().next() {
                let server = Object::of(server, pointer, faults)?;
                return self.server_base(&server, faults);
            }
        }
        // The default server is `/`, relative to the document's address.
        self.checked("/", "/", "", faults)
    }

    fn server_base(&mut self, server: &Object<'_>, faults: &mut Faults) -> Option<Base> {
        let template = server.required_text("url", faults)?;
        let url = self.filled(template, server, faults)?;
        self.checked(template, &url, &server.at("url"), faults)
    }

    fn filled(&mut self, template: &str, server: &Object<'_>, faults: &mut Faults) -> Option<String> {
        let unusable = |reason: String| OpenApiFaultKind::Server { url: without_user(template), reason };
        let variables = server.object("variables", faults);
        let mut url = String::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, after)) = after.split_once('}') else {
                faults.add(&server.pointer, unusable("has a `{` without `}`".to_owned()));
                return None;
            };
            let declared = variables.as_ref().and_then(|variables| variables.members.get(name));
            let value = match self.variable(name, declared) {
                Ok(value) => value,
                Err(reason) => {
                    faults.add(&member(&server.at("variables"), name), unusable(reason));
                    return None;
                }
            };
            url.push_str(before);
            url.push_str(&value);
            rest = after;
        }
        url.push_str(rest);
        Some(url)
    }

    fn variable(&mut self, name: &str, declared: Option<&Value>) -> Result<String, String> {
        let given = self.variables.get(name);
        if given.is_some() {
            self.used.insert(name.to_owned());
        }
        let declared = declared.ok_or_else(|| format!("has the variable `{name}`, which is not declared"))?;
        let default = || declared.get("default").and_then(Value::as_str);
        let value = given.map(String::as_str).or_else(default);
        let value = value.ok_or_else(|| format!("has the variable `{name}` without a default"))?;
        if value.contains(['@', '?', '#', '\\']) {
            return Err(format!("cannot have this value of the variable `{name}`: it has `@`, `?`, `#` or `\\`"));
        }
        if let Some(Value::Array(allowed)) = declared.get("enum")
            && !allowed.iter().any(|allowed| allowed == value)
        {
            return Err(format!("cannot have this value of the variable `{name}`: its enum lacks it"));
        }
        Ok(value.to_owned())
    }

    fn checked(&self, template: &str, url: &str, pointer: &str, faults: &mut Faults) -> Option<Base> {
        let parsed = match (Url::parse(url), &self.document_url) {
            (Err(_), Some(document)) => document.join(url).map_err(|error| format!("cannot be read: {error}")),
            (Err(_), None) => Err(
                "is relative: give the address of the API with `.base_url(…)`, or that of the document with `.document_url(…)`"
                    .to_owned(),
            ),
            (Ok(url), _) => Ok(url),
        };
        match parsed.and_then(Base::new) {
            Ok(base) => Some(base),
            Err(reason) => {
                faults.add(pointer, OpenApiFaultKind::Server { url: without_user(template), reason });
                None
            }
        }
    }
}

/// Returns the URL for errors, without a user name and password.
fn without_user(url: &str) -> String {
    let begin = url.find("//").map_or(0, |place| place + 2);
    let end = url[begin..].find(['/', '?', '#']).map_or(url.len(), |place| begin + place);
    match url[begin..end].rfind('@') {
        Some(at) => shown(&format!("{}…{}", &url[..begin], &url[begin + at..])),
        None => shown(url),
    }
}
