//! The OAuth2 client in a credential. It is always taken from the agent's config, whatever a stored or sent credential
//! contains.

use pleach_core::AuthConfig;
use serde_json::Value;

use crate::AuthCredential;

pub(crate) const CLIENT_ID: &str = "client_id";
pub(crate) const CLIENT_SECRET: &str = "client_secret";

/// The fields of the OAuth2 client that [`with_client`] sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientFields {
    /// The secret.
    Secret,
    /// The id and the secret.
    IdAndSecret,
}

/// Sets the OAuth2 client of a credential to the config's client. A field that the config lacks is removed.
#[must_use]
pub fn with_client(mut credential: AuthCredential, config: &AuthConfig, fields: ClientFields) -> AuthCredential {
    let fields: &[&str] = match fields {
        ClientFields::Secret => &[CLIENT_SECRET],
        ClientFields::IdAndSecret => &[CLIENT_ID, CLIENT_SECRET],
    };
    let client = config.get("raw_auth_credential").and_then(|raw| raw.get("oauth2")).and_then(Value::as_object);
    if let (Some(client), Some(oauth2)) = (client, &mut credential.oauth2) {
        let mut value = oauth2.as_value().clone();
        if let Value::Object(kept) = &mut value {
            for field in fields {
                match client.get(*field) {
                    Some(given) => kept.insert((*field).to_owned(), given.clone()),
                    None => kept.remove(*field),
                };
            }
        }
        *oauth2 = value.into();
    }
    credential
}

/// Removes the secret of the OAuth2 client from a credential in its JSON form.
#[must_use]
pub fn without_client_secret(mut credential: Value) -> Value {
    if let Some(Value::Object(oauth2)) = credential.get_mut("oauth2") {
        oauth2.remove(CLIENT_SECRET);
    }
    credential
}
