//! [`TokenRequest`]: what a token endpoint is asked for, and what it answers. RFC 6749.

use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use pleach_auth::AuthCredential;
use pleach_core::{AuthDocument, Bytes, Map};
use reqwest::Url;
use serde_json::Value;

use crate::call::{Outgoing, encoded};
use crate::document::{Base, Scheme};
use crate::http::Answer;

/// What a token is given for. Two requests of one source give one token.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Source {
    endpoint: String,
    kind: &'static str,
    /// The code, the refresh token, or the client's id.
    given: String,
}

/// A request for a token.
pub(crate) struct TokenRequest {
    pub(crate) source: Source,
    endpoint: Base,
    form: Vec<(&'static str, String)>,
    authorization: Option<String>,
    credential: AuthCredential,
}

impl TokenRequest {
    /// Makes the request for a credential of a client that has signed in: with its refresh token if the access token has expired, else with the code of the
    /// sign-in. `None` if there is neither, or the scheme names no endpoint.
    pub(crate) fn of_user(scheme: &Scheme, credential: AuthCredential) -> Option<Self> {
        let flow = flow(scheme, "authorizationCode")?;
        let oauth2 = credential.oauth2.as_ref()?;
        let (kind, name, given) = match (text(oauth2, "refresh_token"), code(oauth2)) {
            (Some(token), _) if text(oauth2, "access_token").is_some() => {
                ("refresh_token", "refresh_token", token.to_owned())
            }
            (_, Some(code)) => ("authorization_code", "code", code),
            (Some(token), None) => ("refresh_token", "refresh_token", token.to_owned()),
            (None, None) => return None,
        };
        let endpoint =
            ["refreshUrl", "tokenUrl"].into_iter().filter(|url| *url == "tokenUrl" || kind == "refresh_token");
        let endpoint = endpoint.filter_map(|url| flow.get(url)?.as_str()).next()?;
        let mut form = vec![("grant_type", kind.to_owned()), (name, given.clone())];
        if kind == "authorization_code" {
            let more = ["redirect_uri", "code_verifier"].into_iter();
            form.extend(more.filter_map(|name| Some((name, text(oauth2, name)?.to_owned()))));
        }
        Self::new(endpoint, kind, given, form, credential)
    }

    /// Makes the request of a client for itself. `None` unless it has a secret and the scheme an endpoint for it.
    pub(crate) fn of_client(scheme: &Scheme, credential: &AuthCredential) -> Option<Self> {
        let flow = flow(scheme, "clientCredentials")?;
        let oauth2 = credential.oauth2.as_ref()?;
        let id = text(oauth2, "client_id").filter(|_| text(oauth2, "client_secret").is_some())?.to_owned();
        let mut form = vec![("grant_type", "client_credentials".to_owned())];
        let scopes: Vec<&str> =
            flow.get("scopes").and_then(Value::as_object).into_iter().flat_map(Map::keys).map(String::as_str).collect();
        if !scopes.is_empty() {
            form.push(("scope", scopes.join(" ")));
        }
        Self::new(flow.get("tokenUrl")?.as_str()?, "client_credentials", id, form, credential.clone())
    }

    fn new(
        endpoint: &str,
        kind: &'static str,
        given: String,
        mut form: Vec<(&'static str, String)>,
        credential: AuthCredential,
    ) -> Option<Self> {
        let source = Source { endpoint: endpoint.to_owned(), kind, given };
        let endpoint = endpoint_of(endpoint)?;
        let oauth2 = credential.oauth2.as_ref()?;
        let id = text(oauth2, "client_id")?;
        let secret = text(oauth2, "client_secret");
        let in_body = text(oauth2, "token_endpoint_auth_method") == Some("client_secret_post");
        let mut authorization = None;
        match secret {
            Some(secret) if !in_body => {
                let pair = format!("{}:{}", encoded(id), encoded(secret));
                authorization = Some(format!("Basic {}", Bytes(pair.into_bytes()).to_base64()));
            }
            Some(secret) => form.extend([("client_id", id.to_owned()), ("client_secret", secret.to_owned())]),
            None => form.push(("client_id", id.to_owned())),
        }
        Some(Self { source, endpoint, form, authorization, credential })
    }

    /// Returns the HTTP request, and whether it is for this machine.
    pub(crate) fn outgoing(&self) -> (Outgoing, bool) {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        if let Some(mut value) = self.authorization.as_deref().and_then(|value| HeaderValue::from_str(value).ok()) {
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let pairs: Vec<String> = self.form.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        let body = Some(pairs.join("&").into_bytes());
        (
            Outgoing { method: Method::POST, url: self.endpoint.url().clone(), headers, body },
            self.endpoint.is_loopback(),
        )
    }

    /// Returns the credential with the tokens of the answer at `now`, in seconds since the epoch.
    ///
    /// # Errors
    /// What the endpoint answered, without what it repeats.
    pub(crate) fn answered(self, answer: &Answer, now: f64) -> Result<AuthCredential, String> {
        let fields: Map = serde_json::from_slice(&answer.body).unwrap_or_default();
        if !answer.status.is_success() {
            // Codes of errors are words; anything else may be a secret that is repeated.
            let is_word = |code: &&str| code.len() <= 64 && code.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
            let code = fields.get("error").and_then(Value::as_str).filter(is_word);
            let code = code.map(|code| format!(": {code}")).unwrap_or_default();
            return Err(format!("the token endpoint answered {}{code}", answer.status));
        }
        let is_token = |value: &&Value| value.as_str().is_some_and(|token| !token.is_empty());
        if fields.get("access_token").filter(is_token).is_none() {
            return Err("the token endpoint answered without a token".to_owned());
        }
        let mut credential = self.credential;
        let mut oauth2 = credential.oauth2.take().map(AuthDocument::into_value).unwrap_or_default();
        let members = oauth2.as_object_mut().ok_or("the credential is no OAuth2 credential")?;
        // A code counts once, and the client belongs to the agent.
        for used in ["auth_code", "auth_response_uri", "code_verifier", "client_secret", "expires_at", "expires_in"] {
            members.remove(used);
        }
        for name in ["access_token", "refresh_token", "id_token", "expires_in"] {
            if let Some(value) = fields.get(name).filter(|value| !value.is_null()) {
                members.insert(name.to_owned(), value.clone());
            }
        }
        if let Some(seconds) = fields.get("expires_in").and_then(Value::as_f64) {
            members.insert("expires_at".to_owned(), (now + seconds).into());
        }
        credential.oauth2 = Some(AuthDocument::new(oauth2));
        Ok(credential)
    }
}

/// Returns the URL of a token endpoint, if secrets may be sent there.
fn endpoint_of(text: &str) -> Option<Base> {
    let base = Base::new(Url::parse(text).ok()?).ok()?;
    (base.is_https() || base.is_loopback()).then_some(base)
}

/// Returns a flow of a scheme, if it has a token endpoint that can be asked.
pub(crate) fn flow<'s>(scheme: &'s Scheme, name: &str) -> Option<&'s Map> {
    let flow = scheme.json.get("flows")?.get(name)?.as_object()?;
    flow.get("tokenUrl")?.as_str().and_then(endpoint_of).map(|_| flow)
}

/// Returns the code of a sign-in: as it is, or in the address that the sign-in led back to.
fn code(oauth2: &AuthDocument) -> Option<String> {
    if let Some(code) = text(oauth2, "auth_code") {
        return Some(code.to_owned());
    }
    let url = Url::parse(text(oauth2, "auth_response_uri")?).ok()?;
    url.query_pairs().find(|(name, value)| name == "code" && !value.is_empty()).map(|(_, code)| code.into_owned())
}

fn text<'d>(oauth2: &'d AuthDocument, name: &str) -> Option<&'d str> {
    oauth2.get(name)?.as_str().filter(|text| !text.is_empty())
}
