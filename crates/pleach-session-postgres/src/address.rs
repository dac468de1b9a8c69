//! Where a database is: its URL, read with care.

use std::str::FromStr as _;

use pleach_session::{SessionError, SessionResult};
use sqlx::postgres::PgConnectOptions;

use crate::fault::Server;

/// What a URL may set behind its `?`. Anything else is refused: a misspelt `sslmode` must not go unnoticed.
const PARAMETERS: [&str; 16] = [
    "sslmode",
    "ssl-mode",
    "sslrootcert",
    "ssl-root-cert",
    "ssl-ca",
    "sslcert",
    "ssl-cert",
    "sslkey",
    "ssl-key",
    "statement-cache-capacity",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
];

/// A parsed URL. No `Debug`: the options hold the password.
#[derive(Clone)]
pub(crate) struct Address {
    pub(crate) connect: PgConnectOptions,
    pub(crate) server: Server,
}

impl Address {
    /// Reads `postgres://`, `postgresql://` and google-adk's `postgresql+asyncpg://` and `postgresql+psycopg://`.
    pub(crate) fn parse(url: &str) -> SessionResult<Self> {
        let plain = plain_url(url)?;
        if let Some(unknown) = unknown_parameter(&plain) {
            let known = "sslmode, host, port, dbname, user, password, application_name, options";
            let what = match is_word(unknown) {
                true => format!("it has the unknown parameter `{unknown}`"),
                false => "what is behind its `?` is not understood".to_owned(),
            };
            return Err(refused(format!("{what}; there are {known} and a few more")));
        }
        let mut connect = PgConnectOptions::from_str(&plain).map_err(|error| refused(reason(&error)))?;
        if connect.get_application_name().is_none() {
            connect = connect.application_name("pleach");
        }
        let server = Server::new(name(&connect));
        Ok(Self { connect, server })
    }
}

fn plain_url(url: &str) -> SessionResult<String> {
    let schemes = ["postgres", "postgresql", "postgresql+asyncpg", "postgresql+psycopg"];
    let Some((_, rest)) = url.split_once("://").filter(|(scheme, _)| schemes.contains(scheme)) else {
        return Err(refused("it must begin with `postgresql://` or `postgres://`".to_owned()));
    };
    // A password with one of these would be taken for a database or a parameter, and shown as one.
    if rest.split_once(['/', '?', '#']).is_some_and(|(_, behind)| behind.contains('@')) {
        let reason = "it has an `@` behind a `/`, `?` or `#`: in a password and elsewhere, such characters must be \
                      percent-encoded";
        return Err(refused(reason.to_owned()));
    }
    Ok(format!("postgres://{rest}"))
}

/// True for what may be the name of a parameter, and nothing else.
fn is_word(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'-'))
}

fn unknown_parameter(url: &str) -> Option<&str> {
    let (_, query) = url.split_once('?')?;
    let keys = query.split(['&', '#']).map(|pair| pair.split_once('=').map_or(pair, |(key, _)| key));
    let known = |key: &str| {
        key.is_empty()
            || PARAMETERS.contains(&key)
            || matches!(key, "application_name" | "options")
            || key.starts_with("options[")
    };
    keys.into_iter().find(|key| !known(key))
}

/// The URL itself is not repeated: it may hold a password anywhere.
fn refused(reason: String) -> SessionError {
    SessionError::Unsupported { what: "the URL of the Postgres database".to_owned(), reason }
}

fn reason(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Configuration(source) => source.to_string(),
        other => other.to_string(),
    }
}

fn name(connect: &PgConnectOptions) -> String {
    // The server takes the user's name for a database that is not named.
    let database = connect.get_database().unwrap_or(connect.get_username());
    match connect.get_socket() {
        Some(socket) => format!("Postgres database {database} at {}", socket.display()),
        None => format!("Postgres database {database} at {}:{}", connect.get_host(), connect.get_port()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, expected: &str) {
        match Address::parse(url) {
            Ok(address) => assert_eq!(address.server.to_string(), expected),
            Err(error) => {
                let text = format!("{error} {error:?}");
                assert!(text.contains(expected), "{text}");
                assert!(!text.contains("s3cret"), "{text}");
            }
        }
    }

    #[test]
    fn s66_1_the_schemes_of_google_adk_mean_the_same_database() {
        for scheme in ["postgres", "postgresql", "postgresql+asyncpg", "postgresql+psycopg"] {
            check(&format!("{scheme}://u:s3cret@db.example:5433/adk"), "Postgres database adk at db.example:5433");
        }
        check("postgres:///adk?host=/run/pg&user=u", "Postgres database adk at /run/pg");
        check("postgres://u@h", "Postgres database u at h:5432");
    }

    #[test]
    fn faults_of_a_url_are_named_and_show_no_password() {
        check("mysql://u:s3cret@h/db", "must begin with `postgresql://`");
        check("postgres:h/db?password=s3cret", "must begin with `postgresql://`");
        check("postgres://u:s3cret@h/db?ssl=require", "unknown parameter `ssl`");
        check("postgres://u:s3cret@h:port/db", "invalid port number");
        check("postgres://u:s3cret@h/db?sslmode=maybe", "ssl_mode");
        check("postgres://u:s3cret@h/db?ssl%20=no", "is not understood");
    }

    /// A password in which `/`, `?`, `#` or `@` is not percent-encoded ends up where nobody looks for it.
    #[test]
    fn pieces_of_a_password_are_shown_nowhere() {
        for mark in
            ["?", "#", "/", "??", "?a=1&", "?sslmode=", "?host=", "?application_name=", "/?", "?s3cret@", "/s3cret?"]
        {
            for start in ["abc", "12", ""] {
                check(&format!("postgres://u:{start}{mark}s3cret@h/db"), "percent-encoded");
                check(&format!("postgres://u:{start}{mark}s3cret@h/db?sslmode=prefer"), "percent-encoded");
            }
        }
        check("postgres://u:abc?s3cret", "is not understood");
        check("postgres://u:p@s3cret@h/db", "Postgres database db at h:5432");
        check("postgres://h/db?user=me%40x&password=s3cret%3F", "Postgres database db at h:5432");
    }
}
