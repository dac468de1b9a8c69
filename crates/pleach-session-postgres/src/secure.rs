//! Opening a connection with the URL's TLS settings. The password is not sent to just any server that asks for it.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;

use sqlx::error::{DatabaseError, ErrorKind};
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use sqlx::{ConnectOptions as _, PgConnection};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The client's request for TLS.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
/// Version 3.0 of the protocol.
const PROTOCOL: [u8; 4] = [0, 3, 0, 0];
/// The largest length of a greeting. A longer one does not come from a Postgres server.
const LONGEST_GREETING: usize = 64 * 1024;

/// The way connections are opened. It does not implement `Debug`, because the options hold the password.
#[derive(Clone)]
pub(crate) struct Secure {
    pub(crate) connect: PgConnectOptions,
    /// The TLS mode of the URL, with libpq's meaning.
    pub(crate) mode: PgSslMode,
    /// Whether a server without TLS may get the password in clear text.
    pub(crate) allows_cleartext: bool,
}

/// The greeting that a server sends to a client without TLS.
#[derive(Debug, PartialEq, Eq)]
enum Greeting {
    /// The server requires no password.
    Trusts,
    /// The server requires a proof that does not reveal the password.
    WantsProof,
    WantsCleartext,
}

impl Secure {
    /// Opens a connection.
    pub(crate) async fn open(&self) -> sqlx::Result<PgConnection> {
        // A Unix socket does not leave the machine, and its servers do not support TLS.
        if self.connect.get_socket().is_some() || self.connect.get_host().starts_with('/') {
            return self.connect.clone().ssl_mode(PgSslMode::Disable).connect().await;
        }
        match self.mode {
            PgSslMode::Disable => self.open_plain().await,
            PgSslMode::Allow => match self.open_plain().await {
                Err(error) if is_refusal(&error) => self.open_tls(PgSslMode::Require).await,
                outcome => outcome,
            },
            PgSslMode::Prefer => self.open_preferring_tls().await,
            mode => self.open_tls(mode).await,
        }
    }

    async fn open_preferring_tls(&self) -> sqlx::Result<PgConnection> {
        if !self.speaks_tls().await? {
            return self.open_plain().await;
        }
        // The first answer decides: a server that first accepts TLS and later refuses it does not get the password.
        match self.open_tls(PgSslMode::Require).await {
            Err(error) if is_refusal(&error) => self.open_plain().await,
            outcome => outcome,
        }
    }

    async fn open_tls(&self, mode: PgSslMode) -> sqlx::Result<PgConnection> {
        self.connect.clone().ssl_mode(mode).connect().await
    }

    async fn open_plain(&self) -> sqlx::Result<PgConnection> {
        let connect = self.connect.clone().ssl_mode(PgSslMode::Disable);
        if self.allows_cleartext {
            return connect.connect().await;
        }
        match self.greeting().await? {
            Greeting::WantsProof => connect.connect().await,
            Greeting::Trusts => connect.password("").connect().await,
            Greeting::WantsCleartext => Err(sqlx::Error::Tls(Box::new(CleartextRefused))),
        }
    }

    async fn dial(&self) -> sqlx::Result<TcpStream> {
        // For an IPv6 address, the driver keeps the brackets of the URL.
        let host = self.connect.get_host().trim_matches(['[', ']']);
        Ok(TcpStream::connect((host, self.connect.get_port())).await?)
    }

    async fn speaks_tls(&self) -> sqlx::Result<bool> {
        let mut stream = self.dial().await?;
        stream.write_all(&SSL_REQUEST).await?;
        match stream.read_u8().await? {
            b'S' => Ok(true),
            b'N' => Ok(false),
            _ => Err(sqlx::Error::Protocol("the server does not answer like a Postgres server".to_owned())),
        }
    }

    /// Starts like a client and checks which authentication the server requests. The driver itself would answer any
    /// request.
    async fn greeting(&self) -> sqlx::Result<Greeting> {
        let mut stream = self.dial().await?;
        let user = self.connect.get_username();
        let database = self.connect.get_database().unwrap_or(user);
        stream.write_all(&startup(user, database)).await?;
        loop {
            let kind = stream.read_u8().await?;
            let length = usize::try_from(stream.read_u32().await?).unwrap_or(usize::MAX);
            let strange = || sqlx::Error::Protocol("the server does not greet like a Postgres server".to_owned());
            let length = length.checked_sub(4).filter(|length| *length <= LONGEST_GREETING).ok_or_else(strange)?;
            let mut body = vec![0; length];
            stream.read_exact(&mut body).await?;
            match (kind, body.first_chunk()) {
                (b'R', Some(method)) => {
                    return Ok(match u32::from_be_bytes(*method) {
                        0 => Greeting::Trusts,
                        3 => Greeting::WantsCleartext,
                        _ => Greeting::WantsProof,
                    });
                }
                (b'E', _) => return Err(sqlx::Error::Database(Box::new(Refused::read(&body)))),
                // A notice.
                (b'N', _) => {}
                _ => return Err(strange()),
            }
        }
    }
}

fn startup(user: &str, database: &str) -> Vec<u8> {
    let mut body = PROTOCOL.to_vec();
    for text in ["user", user, "database", database] {
        body.extend_from_slice(text.as_bytes());
        body.push(0);
    }
    body.push(0);
    let length = u32::try_from(body.len() + 4).unwrap_or(u32::MAX);
    [length.to_be_bytes().to_vec(), body].concat()
}

/// Returns `true` if connecting with the other TLS setting may succeed, because the server refused this one or TLS
/// failed.
fn is_refusal(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Tls(_) => true,
        sqlx::Error::Database(error) => error.code().is_some_and(|code| code == "28000"),
        _ => false,
    }
}

/// The server requests the password in clear text over an unencrypted connection.
#[derive(Debug)]
struct CleartextRefused;

impl fmt::Display for CleartextRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the server asks for the password in clear text over a connection without TLS and did not get it: turn on \
             TLS on the server and use sslmode=verify-full, or let it use scram-sha-256; to send the password anyway, put \
             allow_cleartext_password=true into the URL",
        )
    }
}

impl StdError for CleartextRefused {}

/// The error that the server sent instead of a greeting.
#[derive(Debug)]
struct Refused {
    code: String,
    message: String,
}

impl Refused {
    fn read(body: &[u8]) -> Self {
        let fields = body.split(|byte| *byte == 0).filter_map(|field| Some((*field.first()?, field.get(1..)?)));
        let text = |wanted: u8| {
            let field = fields.clone().find(|(kind, _)| *kind == wanted);
            field.map_or_else(String::new, |(_, text)| String::from_utf8_lossy(text).into_owned())
        };
        Self { code: text(b'C'), message: text(b'M') }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for Refused {}

impl DatabaseError for Refused {
    fn message(&self) -> &str {
        &self.message
    }

    fn code(&self) -> Option<Cow<'_, str>> {
        Some(Cow::Borrowed(&self.code))
    }

    fn as_error(&self) -> &(dyn StdError + Send + Sync + 'static) {
        self
    }

    fn as_error_mut(&mut self) -> &mut (dyn StdError + Send + Sync + 'static) {
        self
    }

    fn into_error(self: Box<Self>) -> Box<dyn StdError + Send + Sync + 'static> {
        self
    }

    fn kind(&self) -> ErrorKind {
        ErrorKind::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_has_its_code_and_its_message() {
        let refused = Refused::read(b"SFATAL\0C57P03\0Mstarting up\0\0");
        assert_eq!((refused.code().as_deref(), refused.message()), (Some("57P03"), "starting up"));
        assert!(Refused::read(b"").message().is_empty());
    }
}
