//! [`HttpModelBuilder`]: the address, the key and the limits of a model.

use std::sync::Arc;
use std::time::Duration;

use pleach_model::HttpRetryOptions;
use secrecy::SecretString;

use crate::endpoint::read_base_url;
use crate::environment::{self, Lookup};
use crate::http::{Headers, Http, Key, Limits, Target};
use crate::retry::RetryPolicy;
use crate::wire::Wire;
use crate::{HttpModel, ModelSetupError};

/// Sets the address, the key and the limits of a model.
///
/// By default the key and the base URL are read from the environment when [`build`](Self::build) is called. A key of
/// the environment is only sent to the base URL of the environment or of the provider. With
/// [`base_url`](Self::base_url), the key must be set as well, with [`key`](Self::key) or [`key_from`](Self::key_from).
///
/// Debug output shows no key and no header.
#[must_use]
pub struct HttpModelBuilder {
    wire: Arc<dyn Wire>,
    name: String,
    base_url: Option<String>,
    key: Option<SecretString>,
    key_variable: Option<String>,
    headers: Vec<(String, SecretString)>,
    limits: Limits,
    retry: RetryPolicy,
    plain_http: bool,
}

impl HttpModelBuilder {
    pub(crate) fn new(wire: impl Wire, name: impl Into<String>) -> Self {
        Self {
            wire: Arc::new(wire),
            name: name.into(),
            base_url: None,
            key: None,
            key_variable: None,
            headers: Vec::new(),
            limits: Limits::default(),
            retry: RetryPolicy::default(),
            plain_http: false,
        }
    }

    /// Sets the key. It is overwritten in memory when the model is dropped.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(SecretString::from(key.into()));
        self
    }

    /// Sets the environment variable that holds the key.
    pub fn key_from(mut self, variable: impl Into<String>) -> Self {
        self.key_variable = Some(variable.into());
        self
    }

    /// Sets the address of the provider, for example `https://openrouter.ai/api/v1`. A query is kept, and treated as a
    /// secret.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// Adds a header to every request. It replaces a header of the same name. Its value is treated as a secret.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), SecretString::from(value.into())));
        self
    }

    /// Sets how long connecting may take, by the system's clock. The default is 10 seconds.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.limits.connect = timeout;
        self
    }

    /// Sets how long to wait for the beginning of an answer, by the invocation's clock. The default is 10 minutes. An
    /// answer that is not streamed begins when it is complete.
    pub fn first_byte_timeout(mut self, timeout: Duration) -> Self {
        self.limits.first_byte = timeout;
        self
    }

    /// Sets how long to wait for further content of an answer that has begun, by the invocation's clock. The default is
    /// 5 minutes. Comments, pings, empty pieces and blanks are not content.
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.limits.idle = timeout;
        self
    }

    /// Sets how long a request and its whole answer may take together, by the invocation's clock. The default is one
    /// hour. The limit applies to each attempt. A `timeout` in the HTTP options of a request replaces it.
    pub fn total_timeout(mut self, timeout: Duration) -> Self {
        self.limits.total = timeout;
        self
    }

    /// Sets the maximum size of an answer, or of one event of a streamed answer, in bytes. The default is 64 MiB.
    pub fn max_response_bytes(mut self, bytes: usize) -> Self {
        self.limits.response_bytes = bytes;
        self
    }

    /// Sets the maximum size of a whole streamed answer, including its JSON syntax, in bytes. The default is 256 MiB.
    pub fn max_stream_bytes(mut self, bytes: usize) -> Self {
        self.limits.stream_bytes = bytes;
        self
    }

    /// Sets how many calls an answer may have. The default is 1,000.
    pub fn max_calls(mut self, calls: usize) -> Self {
        self.limits.calls = calls;
        self
    }

    /// Sets the retries of failed requests.
    ///
    /// By default a request is sent up to three times, after waits of 1 and 2 seconds plus up to a second at random. If
    /// the provider asks for a wait, that wait is used. If it is longer than `max_delay`, 60 seconds by default, the
    /// request fails. A request is retried after a status of 408, 429 or 5xx, or if the connection breaks before the
    /// first fragment. After the first fragment, nothing is retried.
    // L215
    pub fn retry(mut self, options: HttpRetryOptions) -> Self {
        self.retry = RetryPolicy::of(&options);
        self
    }

    /// Allows sending the key, the headers and the query to another machine without encryption.
    pub fn allow_plain_http(mut self) -> Self {
        self.plain_http = true;
        self
    }

    /// Builds the model.
    ///
    /// # Errors
    /// A key, base URL, header or the system's certificates are missing or cannot be used.
    pub fn build(self) -> Result<HttpModel, ModelSetupError> {
        self.build_with(&environment::process)
    }

    /// Builds the model with the variables of `lookup`.
    pub(crate) fn build_with(self, lookup: Lookup<'_>) -> Result<HttpModel, ModelSetupError> {
        let provider = self.wire.provider();
        if self.name.trim().is_empty() {
            return Err(ModelSetupError::MissingName { provider: provider.name, example: provider.example });
        }
        let key = self.find_key(lookup)?;
        let from_environment = || environment::first(lookup, provider.base_url_variables);
        let base_url = self.base_url.clone().or_else(from_environment).map(|url| self.wire.complete_base_url(url));
        let endpoint = read_base_url(&self.name, base_url.as_deref().unwrap_or(provider.base_url))?;
        let sends_secrets = key.is_some() || !self.headers.is_empty();
        if let Some(host) = endpoint.exposed_host(sends_secrets).filter(|_| !self.plain_http) {
            return Err(ModelSetupError::PlainHttp { model: self.name, host: host.to_owned() });
        }
        let headers = Headers::new(&self.name, provider, key, self.headers, &endpoint)?;
        let http = Http::new(&self.name, Target { endpoint, headers, plain_http: self.plain_http }, self.limits)?;
        Ok(HttpModel::new(self.name, self.wire, http, self.retry))
    }

    /// Returns the key that is set, or the key of the environment.
    fn find_key(&self, lookup: Lookup<'_>) -> Result<Option<Key>, ModelSetupError> {
        let provider = self.wire.provider();
        let missing = |variables: String| ModelSetupError::MissingKey {
            model: self.name.clone(),
            provider: provider.name,
            variables,
        };
        let named = |value| Key { value, is_named: true };
        if let Some(key) = &self.key {
            return Ok(Some(named(key.clone())));
        }
        if let Some(variable) = &self.key_variable {
            let key = environment::key(lookup, &[variable]);
            return key.map(|key| Some(named(key))).ok_or_else(|| missing(environment::listed(&[variable])));
        }
        if self.base_url.is_some() {
            return Ok(None);
        }
        let key = environment::key(lookup, provider.key_variables);
        let is_default_url = environment::first(lookup, provider.base_url_variables).is_none();
        let is_in_header = self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(provider.key_header.0));
        if key.is_none() && provider.needs_key && is_default_url && !is_in_header {
            return Err(missing(environment::listed(provider.key_variables)));
        }
        Ok(key.map(|value| Key { value, is_named: false }))
    }
}

impl std::fmt::Debug for HttpModelBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpModelBuilder").field("name", &self.name).finish_non_exhaustive()
    }
}
