//! [`TokenRequest`]: a request to a token endpoint, and its answer (RFC 6749).

use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use pleach_auth::AuthCredential;
use pleach_core::{AppName, AuthDocument, Map, UserId};
use pleach_http::Endpoint;
use reqwest::Url;
use serde_json::Value;

use super::Endpoints;
use super::fields::{number, of_oauth2};
use super::grant::basic;
use crate::call::{Outgoing, encoded};
use crate::document::Base;
use crate::http::Answer;

/// The grant that a token is issued for. Requests with the same source share a token.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Source {
    endpoint: String,
    form: Vec<(&'static str, String)>,
    authorization: Option<String>,
    /// The owner of the token; `None` for the program. Tokens are kept by owner, so that a user cannot get a token with
    /// another user's code.
    pub(super) owner: Option<Owner>,
}

/// A user of an app.
pub(crate) type Owner = (AppName, UserId);

/// A request for a token.
pub(crate) struct TokenRequest {
    pub(crate) source: Source,
    endpoints: Endpoints,
    endpoint: Base,
    credential: AuthCredential,
}

/// The reason why an endpoint issued no token, for the model.
pub(crate) enum TokenError {
    /// The endpoint refused the grant.
    Refused(String),
    /// The endpoint cannot be reached, or its answer cannot be used.
    Failed(String),
}

impl TokenRequest {
    /// Creates the request for a credential, with its refresh token or, without one, with the code of its sign-in.
    /// Returns `None` if the credential has neither.
    ///
    /// # Errors
    /// The reason why it cannot be sent.
    pub(crate) fn of(
        endpoints: Endpoints,
        credential: AuthCredential,
        owner: Option<Owner>,
    ) -> Result<Option<Self>, &'static str> {
        if let Some(token) = of_oauth2(&credential, "refresh_token").map(str::to_owned) {
            return Self::refreshing(endpoints, &token, credential, owner).map(Some);
        }
        let Some(code) = code(&credential) else { return Ok(None) };
        let mut form = vec![("grant_type", "authorization_code".to_owned()), ("code", code)];
        let more = ["redirect_uri", "code_verifier"].into_iter();
        form.extend(more.filter_map(|name| Some((name, of_oauth2(&credential, name)?.to_owned()))));
        let endpoint = endpoints.token.clone();
        Self::new(endpoints, endpoint, form, credential, owner).map(Some)
    }

    fn refreshing(
        endpoints: Endpoints,
        token: &str,
        mut credential: AuthCredential,
        owner: Option<Owner>,
    ) -> Result<Self, &'static str> {
        // If the answer has no new refresh token, this one stays valid.
        let mut oauth2 = credential.oauth2.take().map(AuthDocument::into_value).unwrap_or_default();
        if let Some(members) = oauth2.as_object_mut() {
            members.insert("refresh_token".to_owned(), token.into());
        }
        credential.oauth2 = Some(AuthDocument::new(oauth2));
        let form = vec![("grant_type", "refresh_token".to_owned()), ("refresh_token", token.to_owned())];
        let endpoint = endpoints.refresh.clone();
        Self::new(endpoints, endpoint, form, credential, owner)
    }

    /// Creates the request for a token of the program itself, with these scopes.
    ///
    /// # Errors
    /// The reason why it cannot be sent.
    pub(crate) fn of_program(
        endpoints: Endpoints,
        scopes: &[String],
        credential: &AuthCredential,
    ) -> Result<Self, &'static str> {
        let mut form = vec![("grant_type", "client_credentials".to_owned())];
        if !scopes.is_empty() {
            form.push(("scope", scopes.join(" ")));
        }
        let endpoint = endpoints.token.clone();
        Self::new(endpoints, endpoint, form, credential.clone(), None)
    }

    fn new(
        endpoints: Endpoints,
        endpoint: Base,
        mut form: Vec<(&'static str, String)>,
        credential: AuthCredential,
        owner: Option<Owner>,
    ) -> Result<Self, &'static str> {
        let id = of_oauth2(&credential, "client_id").ok_or("the credential has no `client_id`")?;
        let in_body = of_oauth2(&credential, "token_endpoint_auth_method") == Some("client_secret_post");
        let mut authorization = None;
        match of_oauth2(&credential, "client_secret") {
            Some(secret) if !in_body => authorization = Some(basic(&encoded(id), &encoded(secret))),
            Some(secret) => form.extend([("client_id", id.to_owned()), ("client_secret", secret.to_owned())]),
            None => form.push(("client_id", id.to_owned())),
        }
        let source = Source { endpoint: endpoint.url().to_string(), form, authorization, owner };
        Ok(Self { source, endpoints, endpoint, credential })
    }

    /// Returns the request that renews the token that this request got. It uses the refresh token from the answer;
    /// without one, it is the same request.
    pub(super) fn after(self, given: &AuthCredential) -> Self {
        let Some(token) = of_oauth2(given, "refresh_token") else { return self };
        let owner = self.source.owner.clone();
        Self::refreshing(self.endpoints.clone(), token, self.credential.clone(), owner).unwrap_or(self)
    }

    /// Returns the HTTP request, and the endpoint that it is for.
    pub(crate) fn outgoing(&self) -> (Outgoing, &Endpoint) {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        let authorization = self.source.authorization.as_deref();
        if let Some(mut value) = authorization.and_then(|value| HeaderValue::from_str(value).ok()) {
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let pairs = self.source.form.iter().map(|(name, value)| format!("{name}={}", encoded(value)));
        let body = Some(pairs.collect::<Vec<_>>().join("&").into_bytes());
        let outgoing = Outgoing { method: Method::POST, url: self.endpoint.url().clone(), headers, body };
        (outgoing, self.endpoint.endpoint())
    }

    /// Returns the credential with the tokens of the answer at `now`, in seconds since the epoch.
    ///
    /// # Errors
    /// The endpoint refused the grant, or its answer cannot be used. The text shows nothing that the endpoint may have
    /// repeated.
    pub(crate) fn answered(self, answer: &Answer, now: f64) -> Result<AuthCredential, TokenError> {
        let fields: Map = serde_json::from_slice(&answer.body).unwrap_or_default();
        if !answer.status.is_success() {
            // Error codes are words. Any other text may be a secret that the endpoint repeats.
            let is_word = |code: &&str| code.len() <= 64 && code.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
            let code = fields.get("error").and_then(Value::as_str).filter(is_word);
            let code = code.map(|code| format!(": {code}")).unwrap_or_default();
            let reason = format!("the token endpoint answered {}{code}", answer.status);
            let is_refusal = matches!(answer.status.as_u16(), 400 | 401 | 403);
            return Err(if is_refusal { TokenError::Refused(reason) } else { TokenError::Failed(reason) });
        }
        let is_token = |value: &&Value| value.as_str().is_some_and(|token| !token.is_empty());
        if fields.get("access_token").filter(is_token).is_none() {
            return Err(TokenError::Failed("the token endpoint answered without a token".to_owned()));
        }
        let mut credential = self.credential;
        let mut oauth2 = credential.oauth2.take().map(AuthDocument::into_value).unwrap_or_default();
        if let Some(members) = oauth2.as_object_mut() {
            exchange(members, &fields, now);
        }
        credential.oauth2 = Some(AuthDocument::new(oauth2));
        Ok(credential)
    }
}

fn exchange(members: &mut Map, fields: &Map, now: f64) {
    // A code can be used only once, and the client's secret belongs to the agent.
    for used in ["auth_code", "auth_response_uri", "code_verifier", "client_secret", "expires_at", "expires_in"] {
        members.remove(used);
    }
    for name in ["access_token", "refresh_token", "id_token", "expires_in"] {
        if let Some(value) = fields.get(name).filter(|value| !value.is_null()) {
            members.insert(name.to_owned(), value.clone());
        }
    }
    if let Some(seconds) = fields.get("expires_in").and_then(number) {
        members.insert("expires_at".to_owned(), (now + seconds).into());
    }
}

/// Returns the code of a sign-in. It is in `auth_code`, or in the address that the sign-in led back to.
fn code(credential: &AuthCredential) -> Option<String> {
    if let Some(code) = of_oauth2(credential, "auth_code") {
        return Some(code.to_owned());
    }
    let url = Url::parse(of_oauth2(credential, "auth_response_uri")?).ok()?;
    url.query_pairs().find(|(name, value)| name == "code" && !value.is_empty()).map(|(_, code)| code.into_owned())
}
