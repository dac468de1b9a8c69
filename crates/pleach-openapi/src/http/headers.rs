//! Headers that the program sends with every request, or makes for each call.

use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue};
use pleach_context::{NodeError, ReadonlyContext};
use pleach_core::BoxFuture;
use secrecy::{ExposeSecret as _, SecretString};

use super::Secrets;
use crate::document::is_of_connection;

/// Makes the headers of a call.
pub(crate) type HeaderProvider =
    Arc<dyn Fn(ReadonlyContext) -> BoxFuture<'static, Result<Vec<(String, String)>, NodeError>> + Send + Sync>;

/// Headers that can be sent.
#[derive(Clone, Default)]
pub(crate) struct Headers(Vec<(HeaderName, SecretString)>);

impl Headers {
    /// Sets a header; it replaces one of the same name.
    ///
    /// # Errors
    /// Why it cannot be sent.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<(), &'static str> {
        HeaderValue::from_str(value).map_err(|_| "its value has a line break or another control character")?;
        let name = HeaderName::try_from(name).map_err(|_| "its name has characters that no header may have")?;
        if is_of_connection(name.as_str()) || name == http::header::CONTENT_TYPE {
            return Err("the request sets it itself");
        }
        self.0.retain(|(other, _)| *other != name);
        self.0.push((name, SecretString::from(value)));
        Ok(())
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.0.iter().map(|(name, _)| name.as_str().to_owned()).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Writes them into a request, and notes their values.
    pub(crate) fn write(&self, headers: &mut HeaderMap, secrets: &mut Secrets) {
        for (name, value) in &self.0 {
            secrets.add(name.as_str(), value.expose_secret());
            if let Ok(mut value) = HeaderValue::from_str(value.expose_secret()) {
                value.set_sensitive(true);
                headers.insert(name.clone(), value);
            }
        }
    }
}
