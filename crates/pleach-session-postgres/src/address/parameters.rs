//! The parameters of a URL: which of them exist, and who reads them. Unknown and repeated parameters are refused.

use pleach_session::{SessionError, SessionResult};

/// The driver's parameters, each with its other spellings. Unknown parameters are refused, because a misspelt `sslmode`
/// must not be ignored.
const DRIVERS: [&[&str]; 11] = [
    &["sslmode", "ssl-mode"],
    &["sslrootcert", "ssl-root-cert", "ssl-ca"],
    &["sslcert", "ssl-cert"],
    &["sslkey", "ssl-key"],
    &["statement-cache-capacity"],
    &["host", "hostaddr"],
    &["port"],
    &["dbname"],
    &["user"],
    &["password"],
    &["application_name"],
];
/// The service's own parameters.
const OWN: [&str; 11] = [
    "allow_cleartext_password",
    "channel_binding",
    "connections",
    "operation_timeout",
    // These parameters tell who owns the server's session: pleach's, Prisma's and SQLAlchemy's (for asyncpg).
    "pooler",
    "pgbouncer",
    "prepared_statement_cache_size",
    "statement_timeout",
    "lock_timeout",
    "idle_session_timeout",
    "idle_in_transaction_session_timeout",
];

/// A driver parameter's name, and the parameter as it is in the URL.
pub(crate) type OfDriver<'u> = Vec<(&'static str, &'u str)>;

/// Splits the parameters into the service's own, with their values, and the driver's.
pub(crate) fn parameters<'u>(
    query: &'u str,
    fragment: &'u str,
) -> SessionResult<(Vec<(&'static str, String)>, OfDriver<'u>)> {
    let mut own = Vec::new();
    let mut of_driver = OfDriver::new();
    let pairs = query.split('&').chain((!fragment.is_empty()).then_some(fragment));
    for pair in pairs.filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let kind = DRIVERS.iter().find(|names| names.contains(&key)).map(|names| names[0]);
        if let Some(name) = OWN.into_iter().find(|name| *name == key) {
            if own.iter().any(|(other, _)| *other == name) {
                return Err(twice(name));
            }
            own.push((name, value.to_owned()));
        } else if let Some(kind) = kind {
            if of_driver.iter().any(|(other, _)| *other == kind) {
                return Err(twice(kind));
            }
            of_driver.push((kind, pair));
        } else if key == "options" || key.starts_with("options[") {
            of_driver.push(("options", pair));
        } else {
            let known = "sslmode, sslrootcert, sslcert, sslkey, connections, operation_timeout, statement_timeout, \
                         lock_timeout, pooler, host, port, dbname, user, password, application_name, options";
            let what = if is_word(key) {
                format!("it has the unknown parameter `{key}`")
            } else {
                "the text after its `?` is not understood".to_owned()
            };
            return Err(refused(format!("{what}; known parameters include {known}")));
        }
    }
    Ok((own, of_driver))
}

pub(crate) fn twice(name: &str) -> SessionError {
    refused(format!("it sets `{name}` twice, perhaps in another spelling: leave one of them out"))
}

/// Refuses a parameter that repeats a part before the `?`.
pub(crate) fn refuse_two_of_a_kind(base: &str, of_driver: &[(&'static str, &str)]) -> SessionResult<()> {
    let rest = base.split_once("://").map_or(base, |(_, rest)| rest);
    let (server, database) = rest.split_once('/').unwrap_or((rest, ""));
    let (login, server) = server.rsplit_once('@').unwrap_or(("", server));
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    // The colons of an IPv6 address are inside its brackets.
    let (host, port) = match server.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port),
        _ => (server, ""),
    };
    for (kind, given) in [("user", user), ("password", password), ("host", host), ("port", port), ("dbname", database)]
    {
        if !given.is_empty() && of_driver.iter().any(|(other, _)| *other == kind) {
            return Err(twice(kind));
        }
    }
    Ok(())
}

pub(crate) fn plain_url(url: &str) -> SessionResult<String> {
    let schemes = ["postgres", "postgresql", "postgresql+asyncpg", "postgresql+psycopg"];
    let Some((_, rest)) = url.split_once("://").filter(|(scheme, _)| schemes.contains(scheme)) else {
        return Err(refused("it must begin with `postgresql://` or `postgres://`".to_owned()));
    };
    // If a password contains one of these, it would be parsed, and shown, as a database or a parameter.
    if rest.split_once(['/', '?', '#']).is_some_and(|(_, rest)| rest.contains('@')) {
        let reason = "it has an `@` after a `/`, `?` or `#`: in a password and elsewhere, such characters must be \
                      percent-encoded";
        return Err(refused(reason.to_owned()));
    }
    Ok(format!("postgres://{rest}"))
}

/// Returns `true` if the text can only be the name of a parameter.
pub(crate) fn is_word(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'-'))
}

/// Creates the error without repeating the URL, which may contain a password anywhere.
pub(crate) fn refused(reason: String) -> SessionError {
    SessionError::Unsupported { what: "the URL of the Postgres database".to_owned(), reason }
}
