//! [`Grant`]: what a credential adds to a request.

use http::header::AUTHORIZATION;
use http::{HeaderName, HeaderValue};
use pleach_auth::AuthCredential;
use pleach_core::Bytes;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

use crate::call::{Prepared, encoded};
use crate::document::{KeyPlace, Scheme, SchemeKind};
use crate::http::Secrets;

/// What a credential adds to a request.
pub(crate) struct Grant {
    sent: Vec<Sent>,
}

enum Sent {
    Header(HeaderName, SecretString),
    Query(String, SecretString),
    Cookie(String, SecretString),
}

impl Grant {
    /// Reads a credential for a scheme; `None` if it lacks what the scheme sends, has expired at `now` (seconds since the epoch), or
    /// cannot be sent.
    pub(crate) fn of(scheme: &Scheme, credential: &AuthCredential, now: f64) -> Option<Self> {
        let sent = match &scheme.kind {
            SchemeKind::ApiKey { place, name } => {
                let key = credential.api_key.as_deref().filter(|key| !key.is_empty())?;
                vec![of_key(*place, name, key)?]
            }
            SchemeKind::Basic => {
                let (user, password) = (of_http(credential, "username"), of_http(credential, "password"));
                if user.is_none() && password.is_none() {
                    return None;
                }
                let (user, password) = (user.unwrap_or_default(), password.unwrap_or_default());
                let pair = (!user.contains(':')).then(|| format!("{user}:{password}"))?;
                vec![authorization(format!("Basic {}", Bytes(pair.into_bytes()).to_base64()))?]
            }
            SchemeKind::Bearer | SchemeKind::OAuth2 | SchemeKind::OpenIdConnect => {
                let token = of_http(credential, "token").or_else(|| access_token(credential, now))?;
                vec![authorization(format!("Bearer {token}"))?]
            }
            SchemeKind::Unsupported(_) => return None,
        };
        let further = credential.http.as_ref().and_then(|http| http.get("additional_headers")?.as_object());
        let further = further.into_iter().flatten().filter_map(|(name, value)| header(name, value.as_str()?));
        Some(Self { sent: sent.into_iter().chain(further).collect() })
    }

    /// Adds the credential to a request, and notes what must not be shown.
    pub(crate) fn write(&self, request: &mut Prepared, secrets: &mut Secrets) {
        for sent in &self.sent {
            match sent {
                Sent::Header(name, value) => {
                    secrets.add(name.as_str(), value.expose_secret());
                    secrets.add_credential(value.expose_secret());
                    if let Ok(mut value) = HeaderValue::from_str(value.expose_secret()) {
                        value.set_sensitive(true);
                        request.headers.insert(name.clone(), value);
                    }
                }
                Sent::Query(name, value) => {
                    secrets.add_credential(value.expose_secret());
                    request.query.push(format!("{}={}", encoded(name), encoded(value.expose_secret())));
                }
                Sent::Cookie(name, value) => {
                    secrets.add_credential(value.expose_secret());
                    request.cookies.push(format!("{name}={}", encoded(value.expose_secret())));
                }
            }
        }
    }
}

fn of_key(place: KeyPlace, name: &str, key: &str) -> Option<Sent> {
    match place {
        KeyPlace::Header => header(name, key),
        KeyPlace::Query => Some(Sent::Query(name.to_owned(), key.into())),
        KeyPlace::Cookie => Some(Sent::Cookie(name.to_owned(), key.into())),
    }
}

fn authorization(value: String) -> Option<Sent> {
    header(AUTHORIZATION.as_str(), &value)
}

fn header(name: &str, value: &str) -> Option<Sent> {
    HeaderValue::from_str(value).ok()?;
    Some(Sent::Header(HeaderName::try_from(name).ok()?, value.into()))
}

fn of_http<'c>(credential: &'c AuthCredential, name: &str) -> Option<&'c str> {
    text(credential.http.as_ref()?.get("credentials")?.get(name))
}

/// Returns the access token, unless it has expired.
fn access_token(credential: &AuthCredential, now: f64) -> Option<&str> {
    let oauth2 = credential.oauth2.as_ref()?;
    let expires_at = oauth2.get("expires_at").and_then(Value::as_f64);
    if expires_at.is_some_and(|expires_at| expires_at <= now) {
        return None;
    }
    text(oauth2.get("access_token"))
}

fn text(value: Option<&Value>) -> Option<&str> {
    value?.as_str().filter(|text| !text.is_empty())
}
