//! The fields of an auth config that hold credentials.

/// The agent's own credential, such as the OAuth2 client.
pub(crate) const RAW: &str = "raw_auth_credential";
/// The credential from the user's sign-in or answer.
pub(crate) const EXCHANGED: &str = "exchanged_auth_credential";
