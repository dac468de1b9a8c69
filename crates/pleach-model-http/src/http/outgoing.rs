//! A request that is ready to be sent, and to be sent again.

use std::time::Duration;

use bytes::Bytes;
use pleach_core::Map;
use pleach_model::{HttpOptions, ModelError, ModelErrorKind};
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName};
use serde_json::Value;

use super::Headers;
use super::headers::sensitive;
use crate::endpoint::Endpoint;
use crate::wire::{Prepared, unsupported};

/// Where requests of a model are sent, and with which headers.
pub(crate) struct Target {
    pub(crate) endpoint: Endpoint,
    pub(crate) headers: Headers,
    /// Whether keys may be sent to another machine without encryption.
    pub(crate) plain_http: bool,
}

/// A request that is ready to be sent. Clones share the body.
#[derive(Clone)]
pub(crate) struct Outgoing {
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// How long the request and its answer may take together.
    pub(super) timeout: Option<Duration>,
}

impl Target {
    /// Completes a request with the headers of the model and the options of the request.
    pub(crate) fn outgoing(
        &self,
        model: &str,
        prepared: Prepared,
        options: Option<&HttpOptions>,
    ) -> Result<Outgoing, ModelError> {
        let Prepared { version, path, mut body } = prepared;
        let mut headers = self.headers.write();
        let mut endpoint = self.endpoint.clone();
        if let Some(options) = options {
            for (name, value) in options.headers.iter().flatten() {
                let fault = || unsupported(model, format!("the header `{name}` of the request cannot be sent"));
                let value = sensitive(value).map_err(|_| fault())?;
                headers.insert(HeaderName::try_from(name).map_err(|_| fault())?, value);
            }
            if let Some(url) = &options.base_url {
                endpoint = self.other_endpoint(model, url, &headers)?;
            }
            merge(&mut body, options.extra_body.iter().flatten());
        }
        let body = serde_json::to_vec(&body)
            .map_err(|error| ModelError::new(model, ModelErrorKind::InvalidRequest).with_cause(error))?;
        let path = match version.filter(|_| !endpoint.has_version()) {
            Some(version) => format!("{version}/{path}"),
            None => path,
        };
        let timeout = options.and_then(|options| options.timeout).map(Duration::from_millis);
        Ok(Outgoing { url: endpoint.join(&path), headers, body: body.into(), timeout })
    }

    /// Checks the base URL of a request as that of the model was.
    fn other_endpoint(&self, model: &str, url: &str, headers: &HeaderMap) -> Result<Endpoint, ModelError> {
        let endpoint = Endpoint::parse(model, url).map_err(|error| unsupported(model, error.to_string()))?;
        let has_secrets = headers.values().any(|value| value.is_sensitive());
        match endpoint.exposed_host().filter(|_| has_secrets && !self.plain_http) {
            Some(host) => Err(unsupported(
                model,
                format!("the base URL of the request would send the key to `{host}` without encryption: use https"),
            )),
            None => Ok(endpoint),
        }
    }
}

/// Merges members into a body: objects member by member, everything else is replaced.
fn merge<'a>(body: &mut Map, extra: impl IntoIterator<Item = (&'a String, &'a Value)>) {
    for (key, value) in extra {
        match (body.get_mut(key), value) {
            (Some(Value::Object(own)), Value::Object(extra)) => merge(own, extra),
            _ => drop(body.insert(key.clone(), value.clone())),
        }
    }
}
