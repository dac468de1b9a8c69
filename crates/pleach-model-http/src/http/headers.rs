//! The headers of a model, including the key.

use std::sync::Arc;

use pleach_http::{Endpoint, HeaderFault, Headers as OwnHeaders, Secrets, read_header};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret as _, SecretString};

use crate::ModelSetupError;
use crate::wire::Provider;

/// A key, and where it may be sent.
pub(crate) struct Key {
    pub(crate) value: SecretString,
    /// Whether the program names the key. A key that is only found in the environment is for the model's own server.
    pub(crate) is_named: bool,
}

/// The headers that every request of a model has. Their values are overwritten in memory when they are dropped.
pub(crate) struct Headers {
    fixed: &'static [(&'static str, &'static str)],
    key: Option<(HeaderName, Key)>,
    own: OwnHeaders,
    /// The values that are hidden in messages of the provider.
    pub(super) secrets: Arc<Secrets>,
}

impl Headers {
    /// Checks that all headers can be sent. The query of the endpoint is a secret like the key.
    pub(crate) fn new(
        model: &str,
        provider: &Provider,
        key: Option<Key>,
        own: Vec<(String, SecretString)>,
        endpoint: &Endpoint,
    ) -> Result<Self, ModelSetupError> {
        let fault = |name: &str, fault: HeaderFault| ModelSetupError::Header {
            model: model.to_owned(),
            header: name.to_owned(),
            reason: fault.reason(),
        };
        let mut secrets = Secrets::default();
        secrets.add_query(endpoint);
        let (name, prefix) = provider.key_header;
        let mut of_key = None;
        if let Some(Key { value, is_named }) = key {
            secrets.add_key(value.expose_secret());
            let value = SecretString::from(format!("{prefix}{}", value.expose_secret()));
            let (header, _) = read_header(name, value.expose_secret()).map_err(|found| fault(name, found))?;
            of_key = Some((header, Key { value, is_named }));
        }
        let mut checked = OwnHeaders::default();
        for (name, value) in own {
            checked.set(&name, value.expose_secret()).map_err(|found| fault(&name, found))?;
        }
        checked.add_to(&mut secrets);
        Ok(Self { fixed: provider.headers, key: of_key, own: checked, secrets: Arc::new(secrets) })
    }

    /// Returns the headers of a request to the model's own server or to another one. The program's headers replace the
    /// key, and the key replaces fixed headers.
    pub(super) fn write(&self, is_own_server: bool) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in self.fixed {
            headers.insert(*name, HeaderValue::from_static(value));
        }
        if let Some((name, key)) = self.key.as_ref().filter(|(_, key)| is_own_server || key.is_named)
            && let Ok((name, value)) = read_header(name.as_str(), key.value.expose_secret())
        {
            headers.insert(name, value);
        }
        self.own.write(&mut headers);
        headers
    }
}
