//! [`Grant`]: the parts of a request that carry a credential.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::AUTHORIZATION;
use http::{HeaderName, HeaderValue};
use pleach_auth::AuthCredential;
use pleach_http::Secrets;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

use super::fields::{access_token, has_expired, of_http};
use crate::call::{Prepared, encoded};
use crate::document::{KeyPlace, Scheme, SchemeKind};

/// The parts of a request that carry a credential.
#[derive(Default)]
pub(crate) struct Grant {
    sent: Vec<Sent>,
    /// Secrets in the credential that are sent in another form, such as a password.
    hidden: Vec<SecretString>,
}

enum Sent {
    Header(HeaderName, SecretString),
    Query(String, SecretString),
    Cookie(String, SecretString),
}

impl Grant {
    /// Reads a credential for a scheme at `now`, in seconds since the epoch. Returns `None` if the credential has
    /// expired, or lacks a part that the scheme sends.
    ///
    /// # Errors
    /// The reason why it can never be sent.
    pub(crate) fn of(scheme: &Scheme, credential: &AuthCredential, now: f64) -> Result<Option<Self>, &'static str> {
        let mut grant = Self::default();
        match &scheme.kind {
            SchemeKind::ApiKey { place, name } => {
                let Some(key) = credential.api_key.as_deref().map(str::trim).filter(|key| !key.is_empty()) else {
                    return Ok(None);
                };
                grant.sent.push(key_part(*place, name, key)?);
            }
            SchemeKind::Basic => {
                let (user, password) = (of_http(credential, "username"), of_http(credential, "password"));
                if user.is_none() && password.is_none() {
                    return Ok(None);
                }
                let (user, password) = (user.unwrap_or_default(), password.unwrap_or_default());
                if user.contains(':') {
                    return Err("its user name has a `:`");
                }
                grant.sent.push(header(AUTHORIZATION, basic(user, password))?);
                grant.hidden.push(password.into());
            }
            SchemeKind::Bearer | SchemeKind::OAuth2 | SchemeKind::OpenIdConnect => {
                let of_oauth2 = || access_token(credential).filter(|_| !has_expired(credential, now));
                let Some(token) = of_http(credential, "token").or_else(of_oauth2) else { return Ok(None) };
                grant.sent.push(header(AUTHORIZATION, format!("Bearer {}", token.trim()))?);
            }
            SchemeKind::Unsupported(_) => return Ok(None),
        }
        Ok(Some(grant))
    }

    /// Adds the further headers of a credential of the program. A credential from a client must not be passed here,
    /// because a client must not choose headers.
    pub(crate) fn with_headers(mut self, credential: &AuthCredential) -> Self {
        let further = further_headers(credential).filter_map(|(name, value)| {
            let name = HeaderName::try_from(name.as_str()).ok()?;
            header(name, value.as_str()?.to_owned()).ok()
        });
        self.sent.extend(further);
        self
    }

    /// Adds the credential to a request, and its secrets to `secrets`, which are hidden.
    ///
    /// # Errors
    /// The request already has this header, set by the program.
    pub(crate) fn write(&self, request: &mut Prepared, secrets: &mut Secrets) -> Result<(), HeaderName> {
        for hidden in &self.hidden {
            secrets.add_key(hidden.expose_secret());
        }
        for sent in &self.sent {
            match sent {
                Sent::Header(name, value) => {
                    secrets.add(name.as_str(), value.expose_secret());
                    secrets.add_key(value.expose_secret());
                    if request.headers.contains_key(name) {
                        return Err(name.clone());
                    }
                    if let Ok(mut value) = HeaderValue::from_str(value.expose_secret()) {
                        value.set_sensitive(true);
                        request.headers.insert(name.clone(), value);
                    }
                }
                Sent::Query(name, value) => {
                    secrets.add_key(value.expose_secret());
                    request.query.push(format!("{}={}", encoded(name), encoded(value.expose_secret())));
                }
                Sent::Cookie(name, value) => {
                    secrets.add_key(value.expose_secret());
                    request.cookies.push(format!("{name}={}", value.expose_secret()));
                }
            }
        }
        Ok(())
    }
}

/// Returns the value of `Authorization` for a name and a password, in the standard alphabet of base64 (RFC 7617).
pub(super) fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

/// Returns the further headers of a credential: names and values.
pub(super) fn further_headers(credential: &AuthCredential) -> impl Iterator<Item = (&String, &Value)> {
    let headers = credential.http.as_ref().and_then(|http| http.get("additional_headers")?.as_object());
    headers.into_iter().flatten()
}

fn key_part(place: KeyPlace, name: &str, key: &str) -> Result<Sent, &'static str> {
    match place {
        KeyPlace::Header => {
            header(HeaderName::try_from(name).map_err(|_| "no header can have its name")?, key.to_owned())
        }
        KeyPlace::Query => Ok(Sent::Query(name.to_owned(), key.into())),
        KeyPlace::Cookie if key.bytes().all(is_cookie_byte) => Ok(Sent::Cookie(name.to_owned(), key.into())),
        KeyPlace::Cookie => Err("it has characters that no cookie may have"),
    }
}

fn header(name: HeaderName, value: String) -> Result<Sent, &'static str> {
    HeaderValue::from_str(&value).map_err(|_| "it has characters that no header may have, such as line breaks")?;
    Ok(Sent::Header(name, value.into()))
}

/// Returns true if the value of a cookie may contain the byte (RFC 6265).
fn is_cookie_byte(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b',' | b';' | b'\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    // RFC 7617 requires the standard alphabet, which has `+` and `/`.
    #[test]
    fn basic_credentials_are_written_in_the_standard_alphabet() {
        assert_eq!(basic("ana", "~~~?>"), "Basic YW5hOn5+fj8+");
    }
}
