//! A request that is ready to be sent, and to be sent again.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use pleach_core::Map;
use pleach_http::{Endpoint, Secrets, read_header};
use pleach_model::{HttpOptions, ModelError, ModelErrorKind};
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderValue};
use serde_json::Value;

use super::Headers;
use crate::endpoint::{below, has_version, read_base_url};
use crate::wire::{Prepared, unsupported};

/// The address and the headers of a model's requests.
pub(crate) struct Target {
    pub(crate) endpoint: Endpoint,
    pub(crate) headers: Headers,
    /// Whether keys may be sent to another machine without encryption.
    pub(crate) plain_http: bool,
}

/// A request that is ready to be sent. Clones share the body.
#[derive(Clone)]
pub(crate) struct Outgoing {
    /// The base URL, which decides how the server is reached.
    pub(super) endpoint: Endpoint,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// The time limit for the request and its answer together.
    pub(super) timeout: Option<Duration>,
    /// The values that are hidden in messages of the provider.
    pub(super) secrets: Arc<Secrets>,
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
        let endpoint = self.endpoint(model, options)?;
        let mut headers = self.headers.write(endpoint.has_origin_of(&self.endpoint));
        let mut secrets = self.headers.secrets.clone();
        if let Some(options) = options {
            if options.base_url.is_some() {
                Arc::make_mut(&mut secrets).add_query(&endpoint);
            }
            for (name, value) in options.headers.iter().flatten() {
                Arc::make_mut(&mut secrets).add(name, value);
                let (name, value) = read_header(name, value).map_err(|fault| {
                    let reason = fault.reason();
                    unsupported(model, format!("the header `{name}` of the request cannot be sent: {reason}"))
                })?;
                headers.insert(name, value);
            }
            merge(&mut body, options.extra_body.iter().flatten());
        }
        self.check_exposed(model, &endpoint, &headers)?;
        let body = serde_json::to_vec(&body)
            .map_err(|error| ModelError::new(model, ModelErrorKind::InvalidRequest).with_cause(error))?;
        let path = match version.filter(|_| !has_version(&endpoint)) {
            Some(version) => format!("{version}/{path}"),
            None => path,
        };
        let timeout = options.and_then(|options| options.timeout).map(Duration::from_millis);
        let url = below(&endpoint, &path);
        Ok(Outgoing { endpoint, url, headers, body: body.into(), timeout, secrets })
    }

    /// Returns the address of a request: its own base URL or the model's.
    fn endpoint(&self, model: &str, options: Option<&HttpOptions>) -> Result<Endpoint, ModelError> {
        match options.and_then(|options| options.base_url.as_deref()) {
            Some(url) => read_base_url(model, url).map_err(|error| unsupported(model, error.to_string())),
            None => Ok(self.endpoint.clone()),
        }
    }

    /// Checks that a request sends no secret unencrypted. The model itself was checked when it was built.
    fn check_exposed(&self, model: &str, endpoint: &Endpoint, headers: &HeaderMap) -> Result<(), ModelError> {
        let has_secrets = headers.values().any(HeaderValue::is_sensitive);
        match endpoint.exposed_host(has_secrets).filter(|_| !self.plain_http) {
            Some(host) => Err(unsupported(
                model,
                format!("the request would send a key, headers or a query to `{host}` without encryption: use https"),
            )),
            None => Ok(()),
        }
    }
}

/// Merges members into a body. Objects are merged member by member; other values are replaced.
fn merge<'a>(body: &mut Map, extra: impl IntoIterator<Item = (&'a String, &'a Value)>) {
    for (key, value) in extra {
        match (body.get_mut(key), value) {
            (Some(Value::Object(own)), Value::Object(extra)) => merge(own, extra),
            _ => drop(body.insert(key.clone(), value.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;
    use serde_json::json;

    use super::*;
    use crate::http::Key;
    use crate::wire::Provider;

    static PROVIDER: Provider = Provider {
        name: "P",
        telemetry_name: "p",
        example: "m",
        base_url: "https://api.example.com/v1",
        base_url_variables: &[],
        key_variables: &["P_KEY"],
        key_header: ("authorization", "Bearer "),
        headers: &[],
        needs_key: true,
    };

    fn sent(base_url: &str, key: Option<bool>, options: Value) -> Result<Outgoing, String> {
        let endpoint = read_base_url("m", base_url).unwrap();
        let key = key.map(|is_named| Key { value: SecretString::from("sk-hush-hush"), is_named });
        let headers = Headers::new("m", &PROVIDER, key, Vec::new(), &endpoint).unwrap();
        let target = Target { endpoint, headers, plain_http: false };
        let prepared = Prepared { version: None, path: "chat".to_owned(), body: Map::new() };
        let options = serde_json::from_value(options).unwrap();
        target.outgoing("m", prepared, Some(&options)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_key_of_the_environment_is_only_sent_to_the_models_own_server() {
        let own = PROVIDER.base_url;
        for (is_named, url, has_key) in [
            (false, own, true),
            (false, "https://api.example.com/v2", true),
            (false, "https://api.example.com:444/v1", false),
            (false, "http://api.example.com/v1", false),
            (false, "http://localhost:8000/v1", false),
            (false, "https://gateway.example.com/v1", false),
            (true, "https://gateway.example.com/v1", true),
        ] {
            let sent = sent(own, Some(is_named), json!({"baseUrl": url})).unwrap();
            assert_eq!(sent.headers.contains_key("authorization"), has_key, "{is_named} {url}");
            assert!(sent.url.as_str().starts_with(url));
        }
    }

    #[test]
    fn a_request_sends_no_secret_in_the_open() {
        let exposed = "http://gpu.example.com/v1";
        let (other, headers) = (json!({"baseUrl": exposed}), json!({"headers": {"x-user": "tok"}}));
        let query = json!({"baseUrl": format!("{exposed}?key=k")});
        for (base_url, key, options) in [
            (PROVIDER.base_url, Some(true), other.clone()),
            (PROVIDER.base_url, None, query),
            (exposed, None, headers.clone()),
        ] {
            let error = sent(base_url, key, options).err().unwrap();
            assert!(error.contains("to `gpu.example.com` without encryption: use https"), "{error}");
        }
        assert!(sent(PROVIDER.base_url, None, other).is_ok());
        assert!(sent(exposed, None, json!({})).is_ok());
        assert!(sent(PROVIDER.base_url, None, headers).is_ok());
        let error = sent(PROVIDER.base_url, None, json!({"baseUrl": "https://me:hush@a.example.com"})).err().unwrap();
        assert!(error.contains("contains a user name or password") && !error.contains("hush"), "{error}");
    }

    #[test]
    fn what_a_request_adds_is_hidden_too() {
        let options = json!({"baseUrl": "https://b/v1?token=q%2Dabc", "headers": {"x-user": "Token tok-hush-hush"}});
        let sent = sent("https://a/v1?code=query-hush", Some(true), options).unwrap();
        let text = "sk-hush-hush, tok-hush-hush, query-hush, q%2Dabc, q-abc, chat";
        assert_eq!(sent.secrets.hide(text), "…, …, …, …, …, chat");
    }
}
