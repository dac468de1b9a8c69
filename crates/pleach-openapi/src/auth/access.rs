//! [`Access`]: the credentials that the program configures, and what can be asked for.

use std::collections::BTreeMap;

use pleach_auth::AuthCredential;
use pleach_core::AuthConfig;
use serde_json::{Value, json};

use super::token::{TokenRequest, flow};
use crate::document::{Alternative, Base, Scheme, SchemeKind};

/// The credentials of a toolset. Debug output of them shows no secret.
#[derive(Clone, Debug, Default)]
pub(crate) struct Access {
    /// For all schemes whose kind it fits.
    pub(crate) general: Option<AuthCredential>,
    /// By the names of schemes.
    pub(crate) named: BTreeMap<String, AuthCredential>,
}

impl Access {
    /// Returns the credential for a scheme.
    pub(crate) fn of(&self, scheme: &Scheme) -> Option<&AuthCredential> {
        let general = || self.general.as_ref().filter(|credential| fits(&scheme.kind, credential));
        self.named.get(&scheme.name).or_else(general)
    }

    /// Removes the alternatives that can never be met.
    ///
    /// # Errors
    /// Why none of them can.
    pub(crate) fn keep_possible(&self, alternatives: &mut Vec<Alternative>) -> Result<(), String> {
        let needs_one = !alternatives.is_empty();
        let mut reasons: Vec<String> = Vec::new();
        alternatives.retain(|alternative| {
            let faults: Vec<String> = alternative.0.iter().filter_map(|scheme| self.fault(scheme)).collect();
            let is_possible = faults.is_empty();
            reasons.extend(faults);
            is_possible
        });
        reasons.dedup();
        if needs_one && alternatives.is_empty() { Err(reasons.join("; ")) } else { Ok(()) }
    }

    /// Returns why a scheme can never be met.
    fn fault(&self, scheme: &Scheme) -> Option<String> {
        let configured = self.of(scheme);
        let has_token = configured.is_some_and(has_token);
        let name = &scheme.name;
        let help = format!("give a credential with a token by `.credential_for(\"{name}\", …)`");
        match &scheme.kind {
            SchemeKind::Unsupported(what) => Some(format!("`{name}` is {what}, which is not supported")),
            SchemeKind::OpenIdConnect if !has_token => {
                Some(format!("`{name}` is OpenID Connect, whose addresses the document does not have: {help}"))
            }
            SchemeKind::OAuth2 if has_token => None,
            // The program signs in itself.
            SchemeKind::OAuth2 if configured.is_some_and(|own| TokenRequest::of_client(scheme, own).is_some()) => None,
            SchemeKind::OAuth2 if flow(scheme, "clientCredentials").is_some() && !has_sign_in(&scheme.json) => {
                Some(format!(
                    "`{name}` is OAuth2: give the client, with id and secret, or a token, by `.credential_for(\"{name}\", …)`"
                ))
            }
            SchemeKind::OAuth2 if !has_sign_in(&scheme.json) => {
                Some(format!("`{name}` is OAuth2 without a sign-in for users: {help}"))
            }
            SchemeKind::OAuth2 if !configured.is_some_and(has_client) => Some(format!(
                "`{name}` is OAuth2: give the client that users sign in to, or a token, by `.credential_for(\"{name}\", …)`"
            )),
            _ => None,
        }
    }
}

/// Whether a credential is of a kind that a scheme takes.
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

/// Whether a credential has a bearer token.
fn has_token(credential: &AuthCredential) -> bool {
    let token = credential.http.as_ref().and_then(|http| http.get("credentials")?.get("token"));
    let access = credential.oauth2.as_ref().and_then(|oauth2| oauth2.get("access_token"));
    [token, access].into_iter().flatten().any(|value| value.as_str().is_some_and(|text| !text.is_empty()))
}

fn has_client(credential: &AuthCredential) -> bool {
    credential.oauth2.as_ref().is_some_and(|oauth2| oauth2.get("client_id").is_some_and(Value::is_string))
}

/// Whether users can sign in.
pub(crate) fn has_sign_in(scheme: &Value) -> bool {
    ["authorizationCode", "implicit"].iter().any(|flow| scheme["flows"][flow]["authorizationUrl"].is_string())
}

/// Returns the config by which the client is asked for the credential of a scheme. Its key has the server's address: a key for one server must
/// not be sent to another one whose document has a scheme of the same form.
pub(crate) fn config(scheme: &Scheme, base: &Base, configured: Option<&AuthCredential>) -> AuthConfig {
    let raw = match (&scheme.kind, configured) {
        (_, Some(configured)) => serde_json::to_value(configured).unwrap_or_default(),
        (SchemeKind::ApiKey { .. }, None) => json!({"authType": "apiKey"}),
        (SchemeKind::Basic, None) => json!({"authType": "http", "http": {"scheme": "basic", "credentials": {}}}),
        (SchemeKind::Bearer, None) => json!({"authType": "http", "http": {"scheme": "bearer", "credentials": {}}}),
        _ => Value::Null,
    };
    let port = base.url().port_or_known_default().unwrap_or_default();
    let key = format!("adk_openapi_{}_{}_{port}_{}", base.url().scheme(), base.host(), scheme.name);
    let mut config = json!({"authScheme": scheme.json, "credentialKey": key});
    if !raw.is_null() {
        config["rawAuthCredential"] = raw;
    }
    AuthConfig::new(config)
}
