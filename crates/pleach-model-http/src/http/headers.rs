//! The headers of a model, with the key among them.

use std::sync::Arc;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret as _, SecretString};

use super::secrets::Secrets;
use crate::ModelSetupError;
use crate::endpoint::Endpoint;
use crate::wire::Provider;

/// A key, and where it may be sent.
pub(crate) struct Key {
    pub(crate) value: SecretString,
    /// Whether the program names it; one that is only found in the environment is for the model's own server.
    pub(crate) is_named: bool,
}

/// The headers that every request of a model has. Their values are overwritten in memory when they are dropped.
pub(crate) struct Headers {
    fixed: &'static [(&'static str, &'static str)],
    key: Option<(HeaderName, Key)>,
    own: Vec<(HeaderName, SecretString)>,
    /// What is hidden in messages of the provider.
    pub(super) secrets: Arc<Secrets>,
}

impl Headers {
    /// Checks that all of them can be sent. The query of the endpoint may hold a key, too.
    pub(crate) fn new(
        model: &str,
        provider: &Provider,
        key: Option<Key>,
        own: Vec<(String, SecretString)>,
        endpoint: &Endpoint,
    ) -> Result<Self, ModelSetupError> {
        let (name, prefix) = provider.key_header;
        let mut secrets = Secrets::default();
        secrets.add_query(endpoint);
        let mut of_key = None;
        if let Some(Key { value, is_named }) = key {
            secrets.add_key(value.expose_secret());
            let value = SecretString::from(format!("{prefix}{}", value.expose_secret()));
            of_key = Some((checked(model, name, value.expose_secret())?, Key { value, is_named }));
        }
        let mut checked_own = Vec::new();
        for (name, value) in own {
            secrets.add_value(&name, value.expose_secret());
            checked_own.push((checked(model, &name, value.expose_secret())?, value));
        }
        Ok(Self { fixed: provider.headers, key: of_key, own: checked_own, secrets: Arc::new(secrets) })
    }

    /// Writes them for one request to the model's own server or to another; a later one replaces an earlier one of the same
    /// name.
    pub(super) fn write(&self, is_own_server: bool) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in self.fixed {
            headers.insert(*name, HeaderValue::from_static(value));
        }
        let key =
            self.key.iter().filter(|(_, key)| is_own_server || key.is_named).map(|(name, key)| (name, &key.value));
        for (name, secret) in key.chain(self.own.iter().map(|(name, value)| (name, value))) {
            if let Ok(value) = sensitive(secret.expose_secret()) {
                headers.insert(name.clone(), value);
            }
        }
        headers
    }
}

/// A value that no log of the client shows.
pub(super) fn sensitive(value: &str) -> Result<HeaderValue, reqwest::header::InvalidHeaderValue> {
    let mut value = HeaderValue::from_str(value)?;
    value.set_sensitive(true);
    Ok(value)
}

fn checked(model: &str, name: &str, value: &str) -> Result<HeaderName, ModelSetupError> {
    let fault = |reason| ModelSetupError::Header { model: model.to_owned(), header: name.to_owned(), reason };
    sensitive(value).map_err(|_| fault("its value has a line break or another control character"))?;
    HeaderName::try_from(name).map_err(|_| fault("its name has characters that no header may have"))
}
