//! TLS, and servers that ask for the password in clear text.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pleach_contract::sessions::{chain, created};
use pleach_session::{SessionError, SessionService as _};
use pleach_session_postgres::PostgresSessionService;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

use super::{Database, key};

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A front that speaks TLS and passes everything on to the server of a database.
struct Front {
    url: String,
    folder: TempDir,
    encrypted: Arc<AtomicUsize>,
    listening: JoinHandle<()>,
}

impl Front {
    /// Creates a front whose certificate is for `name`. If `wants_certificate` is set, clients need a certificate.
    async fn of(database: &Database, name: &str, wants_certificate: bool) -> Self {
        let (ca, other) = (authority(), authority());
        let server_key = KeyPair::generate().unwrap();
        let server = CertificateParams::new([name.to_owned()]).unwrap().signed_by(&server_key, &ca).unwrap();
        let client_key = KeyPair::generate().unwrap();
        let client = CertificateParams::new(["ana".to_owned()]).unwrap().signed_by(&client_key, &ca).unwrap();
        let folder = tempfile::tempdir().unwrap();
        for (file, pem) in [
            ("ca.pem", ca.pem()),
            ("other.pem", other.pem()),
            ("client.pem", client.pem()),
            ("client.key", client_key.serialize_pem()),
        ] {
            std::fs::write(folder.path().join(file), pem).unwrap();
        }
        let provider = Arc::new(tokio_rustls::rustls::crypto::aws_lc_rs::default_provider());
        let config =
            ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions().unwrap();
        let config = if wants_certificate {
            let mut roots = RootCertStore::empty();
            roots.add(ca.der().clone()).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
            config.with_client_cert_verifier(verifier)
        } else {
            config.with_no_client_auth()
        };
        let secret = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(server_key.serialize_der()));
        let config = config.with_single_cert(vec![server.der().clone()], secret).unwrap();
        let url = database.url();
        let (before, rest) = url.rsplit_once('@').unwrap();
        let (target, behind) = rest.split_once('/').unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let encrypted = Arc::new(AtomicUsize::new(0));
        let (acceptor, count, target) = (TlsAcceptor::from(Arc::new(config)), encrypted.clone(), target.to_owned());
        let listening = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(pass(client, acceptor.clone(), count.clone(), target.clone()));
            }
        });
        Self { url: format!("{before}@{address}/{behind}"), folder, encrypted, listening }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    async fn open(&self, query: &str) -> Result<PostgresSessionService, SessionError> {
        let query = ["ca.pem", "other.pem", "client.pem", "client.key"]
            .into_iter()
            .fold(query.to_owned(), |query, name| query.replace(name, &self.file(name).display().to_string()));
        PostgresSessionService::open(&format!("{}&{query}&operation_timeout=5000", self.url)).await
    }

    fn encrypted(&self) -> usize {
        self.encrypted.load(Ordering::SeqCst)
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

async fn pass(mut client: TcpStream, acceptor: TlsAcceptor, count: Arc<AtomicUsize>, target: String) {
    let mut asked = [0; 8];
    if client.peek(&mut asked).await.is_err() {
        return;
    }
    let mut server = TcpStream::connect(target).await.unwrap();
    if asked != [0, 0, 0, 8, 4, 210, 22, 47] {
        let _ = copy_bidirectional(&mut client, &mut server).await;
        return;
    }
    client.read_exact(&mut asked).await.unwrap();
    client.write_all(b"S").await.unwrap();
    if let Ok(mut client) = acceptor.accept(client).await {
        count.fetch_add(1, Ordering::SeqCst);
        let _ = copy_bidirectional(&mut client, &mut server).await;
    }
}

#[tokio::test]
async fn sslmode_has_the_same_meaning_as_in_libpq() {
    let Some(database) = Database::new().await else { return };
    let front = Front::of(&database, "127.0.0.1", false).await;
    for (query, encrypted) in [
        ("sslmode=disable", false),
        ("sslmode=allow", false),
        ("application_name=x", true),
        ("sslmode=prefer", true),
        ("sslmode=require", true),
        ("sslmode=require&sslrootcert=ca.pem", true),
        ("sslmode=verify-ca&sslrootcert=ca.pem", true),
        ("sslmode=verify-full&sslrootcert=ca.pem", true),
    ] {
        let query = if query.starts_with("application") { "channel_binding=prefer" } else { query };
        let before = front.encrypted();
        let service = front.open(query).await.unwrap_or_else(|error| panic!("{query}: {}", chain(&error)));
        assert_eq!(front.encrypted() > before, encrypted, "{query}");
        service.health_check().await.unwrap();
    }
    for query in [
        "sslmode=require&sslrootcert=other.pem",
        "sslmode=verify-ca&sslrootcert=other.pem",
        "sslmode=verify-full&sslrootcert=other.pem",
        "sslmode=verify-full",
        "sslrootcert=system",
    ] {
        let error = front.open(query).await.expect_err(query);
        assert!(matches!(error, SessionError::Unavailable { .. }), "{query}: {}", chain(&error));
    }
    created(&front.open("sslmode=require").await.unwrap(), &key("s"), json!({})).await;
}

#[tokio::test]
async fn only_verify_full_checks_the_name() {
    let Some(database) = Database::new().await else { return };
    let front = Front::of(&database, "db.example", false).await;
    front.open("sslmode=verify-ca&sslrootcert=ca.pem").await.unwrap();
    assert!(front.open("sslmode=verify-full&sslrootcert=ca.pem").await.is_err());
}

#[tokio::test]
async fn a_client_shows_its_certificate() {
    let Some(database) = Database::new().await else { return };
    let front = Front::of(&database, "127.0.0.1", true).await;
    front.open("sslmode=require&sslcert=client.pem&sslkey=client.key").await.unwrap();
    assert!(front.open("sslmode=verify-full&sslrootcert=ca.pem").await.is_err());
}

/// A server that refuses TLS and asks for the password in clear text. The counter shows how often
/// it has received the password.
async fn thief() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stolen = Arc::new(AtomicUsize::new(0));
    let count = stolen.clone();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let count = count.clone();
            tokio::spawn(async move {
                let mut buffer = vec![0; 4096];
                while let Ok(length @ 1..) = client.read(&mut buffer).await {
                    let said = &buffer[..length];
                    if said.windows(6).any(|bytes| bytes == b"s3cret") {
                        count.fetch_add(1, Ordering::SeqCst);
                        return;
                    }
                    let answer: &[u8] = if length == 8 { b"N" } else { &[b'R', 0, 0, 0, 8, 0, 0, 0, 3] };
                    if client.write_all(answer).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    (format!("postgres://ana:s3cret@{address}/db"), stolen)
}

#[tokio::test]
async fn a_server_without_tls_does_not_get_the_password_in_clear_text() {
    let (url, stolen) = thief().await;
    for mode in ["disable", "allow", "prefer", "require", "verify-full"] {
        let error = PostgresSessionService::open(&format!("{url}?sslmode={mode}")).await.unwrap_err();
        let text = format!("{} {error:?}", chain(&error));
        assert!(matches!(error, SessionError::Unavailable { .. }) && !text.contains("s3cret"), "{mode}: {text}");
        if matches!(mode, "disable" | "prefer") {
            assert!(text.contains("allow_cleartext_password=true"), "{mode}: {text}");
        }
    }
    assert_eq!(stolen.load(Ordering::SeqCst), 0);
    let allowed = format!("{url}?sslmode=disable&allow_cleartext_password=true&operation_timeout=300");
    PostgresSessionService::open(&allowed).await.unwrap_err();
    assert!(stolen.load(Ordering::SeqCst) > 0);
}
