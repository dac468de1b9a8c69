//! The HTTP client: encryption, no redirects, and no URL in errors.

use std::sync::Arc;
use std::time::Duration;

use reqwest::redirect::Policy;
use rustls::crypto::aws_lc_rs;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;

use crate::endpoint::CheckedEndpoint;

/// A client for all sessions with a server.
#[derive(Clone)]
pub(crate) struct Client(pub(super) reqwest::Client);

impl Client {
    /// # Errors
    /// Why no encrypted connections can be made.
    pub(crate) fn new(endpoint: &CheckedEndpoint, connect: Duration) -> Result<Self, String> {
        let tls = match trusting_the_system() {
            Err(_) if !endpoint.is_https() => trusting_none(),
            tls => tls,
        };
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls.map_err(|error| error.to_string())?)
            .connect_timeout(connect)
            .user_agent(concat!("pleach/", env!("CARGO_PKG_VERSION")))
            // A redirect would carry headers that hold keys to another address.
            .redirect(Policy::none());
        if endpoint.is_loopback() {
            builder = builder.no_proxy();
        }
        builder.build().map(Self).map_err(|error| error.without_url().to_string())
    }
}

fn trusting_the_system() -> Result<ClientConfig, rustls::Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
    Ok(builder.with_safe_default_protocol_versions()?.with_platform_verifier()?.with_no_client_auth())
}

/// A configuration that trusts no server, for servers that are reached without encryption.
fn trusting_none() -> Result<ClientConfig, rustls::Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
    let builder = builder.with_safe_default_protocol_versions()?;
    Ok(builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth())
}
