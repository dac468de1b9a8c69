//! [`AuthCredential`].

use std::fmt;

use pleach_core::{AuthDocument, CREDENTIAL_KINDS};
use serde::{Deserialize, Serialize};

/// A credential: a key, a token, or the data that is needed to obtain one. Debug output never shows it.
///
/// ADK: `AuthCredential`.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct AuthCredential {
    /// The kind: `apiKey`, `http`, `oauth2`, `openIdConnect`, `serviceAccount`.
    #[serde(alias = "authType")]
    pub auth_type: String,
    /// The name of a credential that is stored elsewhere.
    #[serde(default, alias = "resourceRef", skip_serializing_if = "Option::is_none")]
    pub resource_ref: Option<String>,
    /// The API key, for kind `apiKey`.
    #[serde(default, alias = "apiKey", skip_serializing_if = "Option::is_none")]
    pub api_key: Option<String>,
    /// The HTTP scheme and its credentials, for kind `http`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<AuthDocument>,
    /// The OAuth2 client, codes and tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oauth2: Option<AuthDocument>,
    /// The service account and its scopes.
    #[serde(default, alias = "serviceAccount", skip_serializing_if = "Option::is_none")]
    pub service_account: Option<AuthDocument>,
}

impl AuthCredential {
    /// Creates an empty credential of a kind.
    pub fn of(auth_type: impl Into<String>) -> Self {
        let auth_type = auth_type.into();
        Self { auth_type, resource_ref: None, api_key: None, http: None, oauth2: None, service_account: None }
    }

    /// Creates a credential with an API key.
    pub fn api_key(key: impl Into<String>) -> Self {
        Self { api_key: Some(key.into()), ..Self::of("apiKey") }
    }

    /// Returns true if the kind is one that ADK knows.
    pub(crate) fn is_of_known_kind(&self) -> bool {
        CREDENTIAL_KINDS.contains(&self.auth_type.as_str())
    }
}

impl fmt::Debug for AuthCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An unknown kind may be a secret in the wrong place.
        let kind = CREDENTIAL_KINDS.into_iter().find(|kind| *kind == self.auth_type);
        f.debug_struct("AuthCredential").field("auth_type", &kind).finish_non_exhaustive()
    }
}
