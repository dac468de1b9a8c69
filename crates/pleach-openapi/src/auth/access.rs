//! [`Access`]: the credentials that the program configures, and the configs with which a client is asked for the
//! others.

use std::collections::BTreeMap;

use pleach_auth::{AuthCredential, credential_key};
use pleach_core::{AuthConfig, Map};
use pleach_http::Headers;
use serde_json::{Value, json};

use super::Endpoints;
use super::endpoints::{fault_of_sign_in, flow, has_sign_in};
use super::fields::{has_token, of_oauth2};
use super::grant::{Grant, further_headers};
use crate::document::{Alternative, Base, Scheme, SchemeKind};
use crate::http::set_header;

/// The credentials of a toolset. Their debug output shows no secret.
#[derive(Clone, Debug, Default)]
pub(crate) struct Access {
    /// The credential for all schemes that accept its kind.
    pub(crate) general: Option<AuthCredential>,
    /// The credentials for individual schemes, by the names of the schemes.
    pub(crate) named: BTreeMap<String, AuthCredential>,
    /// The addresses of token endpoints, by the names of schemes.
    pub(crate) token_urls: BTreeMap<String, Base>,
}

impl Access {
    /// Returns the credential for a scheme.
    pub(crate) fn of(&self, scheme: &Scheme) -> Option<&AuthCredential> {
        self.named.get(&scheme.name).or_else(|| self.general_for(scheme))
    }

    /// Returns the general credential if it is used for a scheme.
    pub(crate) fn general_for(&self, scheme: &Scheme) -> Option<&AuthCredential> {
        let is_named = self.named.contains_key(&scheme.name);
        self.general.as_ref().filter(|credential| !is_named && fits(&scheme.kind, credential))
    }

    /// Returns the endpoints that issue the tokens of a flow.
    ///
    /// # Errors
    /// The reason why secrets cannot be sent there.
    pub(crate) fn endpoints(&self, scheme: &Scheme, flow: &str, base: &Base) -> Result<Endpoints, String> {
        Endpoints::of(scheme, flow, self.token_urls.get(&scheme.name), base)
    }

    /// Returns the names of the further headers of credentials.
    ///
    /// # Errors
    /// The reason why one of them cannot be sent.
    pub(crate) fn header_names(&self) -> Result<Vec<String>, String> {
        let mut headers = Headers::default();
        for (name, value) in self.named.values().chain(&self.general).flat_map(further_headers) {
            let value = value.as_str().ok_or_else(|| format!("its header `{name}` is not a text"))?;
            set_header(&mut headers, name, value)
                .map_err(|reason| format!("its header `{name}` cannot be sent: {reason}"))?;
        }
        Ok(headers.names().map(str::to_owned).collect())
    }

    /// Removes the alternatives that can never be satisfied.
    ///
    /// # Errors
    /// The reasons why no alternative is left.
    pub(crate) fn keep_possible(&self, alternatives: &mut Vec<Alternative>, base: &Base) -> Result<(), String> {
        let needs_one = !alternatives.is_empty();
        let mut reasons: Vec<String> = Vec::new();
        alternatives.retain(|alternative| {
            let mut faults: Vec<String> = alternative.schemes().filter_map(|scheme| self.fault(scheme, base)).collect();
            faults.extend(self.ambiguity(alternative));
            faults.extend(collision(alternative));
            let is_possible = faults.is_empty();
            reasons.extend(faults);
            is_possible
        });
        reasons.dedup();
        if needs_one && alternatives.is_empty() { Err(reasons.join("; ")) } else { Ok(()) }
    }

    /// Returns a fault if an alternative would send the general credential in two places. The program must configure
    /// this explicitly.
    fn ambiguity(&self, alternative: &Alternative) -> Option<String> {
        let of_general: Vec<&str> = alternative
            .schemes()
            .filter(|scheme| self.general_for(scheme).is_some())
            .map(|scheme| scheme.name.as_str())
            .collect();
        (of_general.len() > 1).then(|| {
            let names = of_general.join("` and `");
            format!("`.credential(…)` fits `{names}`, which are needed together: use `.credential_for(…)`")
        })
    }

    /// Returns the reason why a scheme can never be satisfied.
    fn fault(&self, scheme: &Scheme, base: &Base) -> Option<String> {
        let name = &scheme.name;
        let configured = self.of(scheme);
        // The time is ignored, because an expired token may be refreshed.
        let sent = configured.and_then(|configured| Grant::of(scheme, configured, f64::NEG_INFINITY).err());
        if let Some(reason) = sent {
            return Some(format!("the credential for `{name}` cannot be sent: {reason}"));
        }
        match &scheme.kind {
            SchemeKind::Unsupported(what) => Some(format!("`{name}` is {what}, which is not supported")),
            SchemeKind::OpenIdConnect if !configured.is_some_and(has_token) => {
                Some(format!("`{name}` is OpenID Connect, whose addresses the document does not have: {}", help(name)))
            }
            SchemeKind::OAuth2 => self.fault_of_oauth2(scheme, base),
            _ => None,
        }
    }

    fn fault_of_oauth2(&self, scheme: &Scheme, base: &Base) -> Option<String> {
        let name = &scheme.name;
        let configured = self.of(scheme);
        if configured.is_some_and(|own| of_oauth2(own, "refresh_token").is_some() && has_client(own)) {
            return self.endpoints(scheme, flow_of_refresh(scheme), base).err();
        }
        if configured.is_some_and(has_token) {
            return None;
        }
        let has_id = configured.is_some_and(has_client);
        let has_secret = configured.is_some_and(|own| of_oauth2(own, "client_secret").is_some());
        match (has_sign_in(scheme), flow(scheme, "clientCredentials").is_some()) {
            (true, _) if !has_id => Some(format!(
                "`{name}` is OAuth2: give the client that users sign in to, or a token, by `.credential_for(\"{name}\", …)`"
            )),
            (true, _) => fault_of_sign_in(scheme).or_else(|| self.endpoints(scheme, "authorizationCode", base).err()),
            (false, true) if !has_id || !has_secret => Some(format!(
                "`{name}` is OAuth2: give the client, with id and secret, or a token, by `.credential_for(\"{name}\", …)`"
            )),
            (false, true) => self.endpoints(scheme, "clientCredentials", base).err(),
            (false, false) => Some(format!("`{name}` is OAuth2 without a sign-in for users: {}", help(name))),
        }
    }
}

/// Returns true if a scheme accepts a credential of this kind.
pub(crate) fn fits(kind: &SchemeKind, credential: &AuthCredential) -> bool {
    let has = |name: &str| {
        let http = credential.http.as_ref().and_then(|http| http.get("credentials"));
        http.and_then(|credentials| credentials.get(name)).is_some_and(|value| !value.is_null())
    };
    match kind {
        SchemeKind::ApiKey { .. } => credential.api_key.is_some(),
        SchemeKind::Basic => has("username") || has("password"),
        SchemeKind::Bearer => has("token") || has_token(credential),
        SchemeKind::OAuth2 | SchemeKind::OpenIdConnect => has("token") || credential.oauth2.is_some(),
        SchemeKind::Unsupported(_) => false,
    }
}

/// Returns the flow whose endpoint refreshes a token of the program.
pub(super) fn flow_of_refresh(scheme: &Scheme) -> &'static str {
    let flows = ["authorizationCode", "password", "clientCredentials"];
    flows.into_iter().find(|name| flow(scheme, name).is_some()).unwrap_or("authorizationCode")
}

pub(super) fn has_client(credential: &AuthCredential) -> bool {
    of_oauth2(credential, "client_id").is_some()
}

/// Returns the fault of an alternative that sends two credentials in one header.
fn collision(alternative: &Alternative) -> Option<String> {
    let headers: Vec<String> =
        alternative.schemes().filter_map(|scheme| scheme.header().map(str::to_ascii_lowercase)).collect();
    let twice = headers.iter().enumerate().find(|(place, header)| headers[..*place].contains(header));
    twice.map(|(_, header)| format!("two schemes that are needed together are sent in the header `{header}`"))
}

fn help(name: &str) -> String {
    format!("give a credential with a token by `.credential_for(\"{name}\", …)`")
}

/// Returns the config with which the client is asked for the credential of a scheme.
///
/// Its key contains the server's address and google-adk's digest of scheme and credential. Without them, a credential
/// could be sent to another server whose document has a scheme of the same form, and a token of one OAuth2 client could
/// be used for another client.
pub(crate) fn config(scheme: &Scheme, base: &Base, configured: Option<&AuthCredential>) -> AuthConfig {
    let raw = match (&scheme.kind, configured) {
        (_, Some(configured)) => serde_json::to_value(configured).unwrap_or_default(),
        (SchemeKind::ApiKey { .. }, None) => json!({"authType": "apiKey"}),
        (SchemeKind::Basic, None) => json!({"authType": "http", "http": {"scheme": "basic", "credentials": {}}}),
        (SchemeKind::Bearer, None) => json!({"authType": "http", "http": {"scheme": "bearer", "credentials": {}}}),
        _ => Value::Null,
    };
    let mut config = json!({ "authScheme": shown(scheme) });
    if !raw.is_null() {
        config["rawAuthCredential"] = raw;
    }
    let digest = credential_key(&AuthConfig::new(config.clone()));
    config["credentialKey"] = format!("adk_openapi_{}_{}_{digest}", base.prefix(), scheme.name).into();
    AuthConfig::new(config)
}

/// Returns the scheme as the client sees it. Its own credential key is removed, and also all flows except the one with
/// which users sign in.
fn shown(scheme: &Scheme) -> Value {
    let mut shown = scheme.json.clone();
    if let Some(members) = shown.as_object_mut() {
        for own in ["credential_key", "credentialKey"] {
            members.remove(own);
        }
        if let Some(code) = flow(scheme, "authorizationCode").filter(|_| scheme.kind == SchemeKind::OAuth2) {
            members.insert(
                "flows".to_owned(),
                Map::from_iter([("authorizationCode".to_owned(), code.clone().into())]).into(),
            );
        }
    }
    shown
}
