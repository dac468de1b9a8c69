//! Encrypted connections.

use std::sync::Arc;

use pleach_model::ModelErrorKind;
use pleach_model_http::openai;
use rcgen::{CertificateParams, KeyPair};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::support::{KEY, error, with_config};

#[tokio::test]
async fn a_server_that_nothing_vouches_for_gets_no_request() {
    let pair = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["localhost".to_owned()]).unwrap().self_signed(&pair).unwrap();
    let secret = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(pair.serialize_der()));
    let builder = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let config = builder.with_single_cert(vec![certificate.der().clone()], secret).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        TlsAcceptor::from(Arc::new(config)).accept(stream).await.is_err()
    });
    let model = openai("m").base_url(format!("https://localhost:{port}/v1")).key(KEY).build().unwrap();
    let request = with_config(json!({"httpOptions": {"retryOptions": {"attempts": 1}}}));
    let error = error(&model, &request, false).await;
    assert_eq!(error.kind(), ModelErrorKind::Unreachable);
    assert!(error.to_string().contains("certificate"), "{error}");
    assert!(server.await.unwrap(), "the handshake fails");
}
