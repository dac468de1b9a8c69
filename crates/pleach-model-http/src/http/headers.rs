//! The headers of a model, with the key among them.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret as _, SecretString};

use crate::ModelSetupError;
use crate::wire::Provider;

/// The headers that every request of a model has. Their values are overwritten in memory when they are dropped.
pub(crate) struct Headers {
    fixed: &'static [(&'static str, &'static str)],
    secret: Vec<(HeaderName, SecretString)>,
    /// What is hidden in messages of the provider.
    hidden: Vec<SecretString>,
}

impl Headers {
    /// Checks that all of them can be sent.
    pub(crate) fn new(
        model: &str,
        provider: &Provider,
        key: Option<SecretString>,
        own: Vec<(String, SecretString)>,
    ) -> Result<Self, ModelSetupError> {
        let (name, prefix) = provider.key_header;
        let mut hidden: Vec<SecretString> = own.iter().map(|(_, value)| value.clone()).collect();
        hidden.extend(key.clone());
        let of_key = key.map(|key| (name.to_owned(), SecretString::from(format!("{prefix}{}", key.expose_secret()))));
        let mut secret = Vec::new();
        for (name, value) in of_key.into_iter().chain(own) {
            secret.push((checked(model, &name, value.expose_secret())?, value));
        }
        Ok(Self { fixed: provider.headers, secret, hidden })
    }

    /// Writes them for one request; a later one replaces an earlier one of the same name.
    pub(super) fn write(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in self.fixed {
            headers.insert(*name, HeaderValue::from_static(value));
        }
        for (name, secret) in &self.secret {
            if let Ok(value) = sensitive(secret.expose_secret()) {
                headers.insert(name.clone(), value);
            }
        }
        headers
    }

    /// Hides keys and header values in a text of the provider.
    pub(super) fn hide(&self, text: &str) -> String {
        let secrets = self.hidden.iter().map(|secret| secret.expose_secret());
        // A short value is a word, such as the name of a region.
        secrets.filter(|secret| secret.len() >= 8).fold(text.to_owned(), |text, secret| text.replace(secret, "…"))
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
