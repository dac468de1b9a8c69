//! Reads the fields of credentials.

use pleach_auth::AuthCredential;
use serde_json::Value;

/// A token is treated as expired this many seconds before its end, because it must last until the server sees it.
const LEEWAY: f64 = 10.0;

/// Returns a string of the HTTP credentials, unless it is empty.
pub(super) fn of_http<'c>(credential: &'c AuthCredential, name: &str) -> Option<&'c str> {
    text(credential.http.as_ref()?.get("credentials")?.get(name))
}

/// Returns a string of the OAuth2 part, unless it is empty.
pub(super) fn of_oauth2<'c>(credential: &'c AuthCredential, name: &str) -> Option<&'c str> {
    text(credential.oauth2.as_ref()?.get(name))
}

/// Returns the access token, whether it has expired or not.
pub(super) fn access_token(credential: &AuthCredential) -> Option<&str> {
    of_oauth2(credential, "access_token")
}

/// Returns true if the access token has expired at `now`, in seconds since the epoch. A token without an end never
/// expires.
pub(super) fn has_expired(credential: &AuthCredential, now: f64) -> bool {
    let expires_at = credential.oauth2.as_ref().and_then(|oauth2| number(oauth2.get("expires_at")?));
    expires_at.is_some_and(|expires_at| expires_at <= now + LEEWAY)
}

/// Returns true if a credential has a bearer token.
pub(super) fn has_token(credential: &AuthCredential) -> bool {
    of_http(credential, "token").or_else(|| access_token(credential)).is_some()
}

/// Returns the values that identify a credential.
pub(super) fn identity(credential: &AuthCredential) -> impl PartialEq + '_ {
    let oauth2 = ["access_token", "refresh_token", "auth_code", "auth_response_uri"];
    (&credential.api_key, &credential.http, oauth2.map(|name| of_oauth2(credential, name)))
}

/// Returns a number. Some servers write numbers as text.
pub(super) fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.trim().parse().ok()).filter(|number: &f64| number.is_finite())
}

fn text(value: Option<&Value>) -> Option<&str> {
    value?.as_str().filter(|text| !text.is_empty())
}
