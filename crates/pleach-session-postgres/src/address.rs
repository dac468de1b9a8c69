//! The address of a database: strict parsing of its URL.

mod parameters;
mod pooler_hints;
mod tls;

use std::str::FromStr as _;
use std::time::Duration;

use pleach_session::SessionResult;
use sqlx::postgres::PgConnectOptions;

use self::parameters::{OfDriver, is_word, parameters, plain_url, refuse_two_of_a_kind, refused, twice};
use self::pooler_hints::{hosted, pooling};
use self::tls::tls_mode;
use crate::fault::Server;
use crate::pooling::Pooling;
use crate::secure::Secure;
use crate::settings::Settings;

/// A parsed URL. It does not implement `Debug`, because the options hold the password.
#[derive(Clone)]
pub(crate) struct Address {
    /// How to open connections that start with the settings.
    pub(crate) secure: Secure,
    /// How to open connections that start without them, for a pooler.
    pub(crate) pooled: Secure,
    /// The settings of the server.
    pub(crate) settings: Settings,
    /// The pooling mode, if the URL names one.
    pub(crate) pooling: Option<Pooling>,
    pub(crate) server: Server,
    /// The service's own settings; `None` for each one that the URL does not set.
    pub(crate) connections: Option<u32>,
    pub(crate) operation_timeout: Option<Duration>,
}

impl Address {
    /// Reads `postgres://`, `postgresql://` and google-adk's `postgresql+asyncpg://` and `postgresql+psycopg://`.
    pub(crate) fn parse(url: &str) -> SessionResult<Self> {
        let plain = plain_url(url)?;
        let (base, query) = plain.split_once('?').unwrap_or((&plain, ""));
        let (query, fragment) = query.split_once('#').unwrap_or((query, ""));
        let (own, of_driver) = parameters(query, fragment)?;
        refuse_two_of_a_kind(base, &of_driver)?;
        // The driver does not support `sslrootcert=system`, but it trusts the system's authorities if there is no
        // file.
        let trusts_system = of_driver.iter().any(|(kind, pair)| *kind == "sslrootcert" && pair.ends_with("=system"));
        let pairs = of_driver.iter().filter(|(kind, _)| !(trusts_system && *kind == "sslrootcert"));
        let pairs: OfDriver<'_> = pairs.copied().collect();
        let connect = connect(base, &pairs)?;
        let without_settings: OfDriver<'_> = pairs.iter().filter(|(kind, _)| *kind != "options").copied().collect();
        let server = Server::new(name(&connect));
        let kinds: Vec<&str> = of_driver.iter().map(|(kind, _)| *kind).collect();
        let mode = tls_mode(connect.get_ssl_mode(), &kinds, trusts_system)?;
        let pooled = Secure { connect: self::connect(base, &without_settings)?, mode, allows_cleartext: false };
        let secure = Secure { connect, mode, allows_cleartext: false };
        let settings = Settings::default();
        let pooling = hosted(&secure.connect);
        let mut address =
            Self { secure, pooled, settings, pooling, server, connections: None, operation_timeout: None };
        address.set_pooling(&own, &of_driver)?;
        for (name, value) in own {
            address.set(name, &value)?;
        }
        address.refuse_a_setting_twice(&kinds)?;
        address.settings = Settings::read(address.secure.connect.get_options().unwrap_or_default());
        if address.pooling == Some(Pooling::Transaction) {
            address.check_settings_of_transactions()?;
        }
        Ok(address)
    }

    /// Applies the URL's parameters about a pooler. They take precedence over what is known about the host.
    fn set_pooling(&mut self, own: &[(&'static str, String)], of_driver: &OfDriver<'_>) -> SessionResult<()> {
        let own = own.iter().map(|(name, value)| (*name, value.as_str()));
        let of_driver =
            of_driver.iter().map(|(kind, pair)| (*kind, pair.split_once('=').map_or("", |(_, value)| value)));
        let mut said: Option<(&str, Pooling)> = None;
        for (name, value) in own.chain(of_driver) {
            let Some(pooling) = pooling(name, value)? else { continue };
            match said {
                Some((other, earlier)) if earlier != pooling => {
                    return Err(refused(format!("its `{other}` and its `{name}` contradict each other")));
                }
                _ => said = Some((name, pooling)),
            }
        }
        self.pooling = said.map(|(_, pooling)| pooling).or(self.pooling);
        Ok(())
    }

    /// Refuses settings that a transaction cannot make, for connections that have no session of their own.
    pub(crate) fn check_settings_of_transactions(&self) -> SessionResult<()> {
        let of_session = ["idle_session_timeout"].into_iter().find(|name| self.settings.has(name));
        let reason = match (&self.settings.other, of_session) {
            (None, None) => return Ok(()),
            (_, Some(name)) => format!("`{name}` applies to a session, which a pooler in transaction mode shares"),
            (Some(word), None) => {
                let is_shown = is_word(word.trim_start_matches('-'));
                let what = if is_shown { format!("`{word}`, which") } else { "something that".to_owned() };
                format!("its `options` contain {what} is not a setting, and a transaction can only begin with settings")
            }
        };
        Err(refused(format!("{reason}: leave it out, or set it in the pooler")))
    }

    /// Refuses a server setting that both `options` and another parameter set, or that `options` sets twice.
    fn refuse_a_setting_twice(&self, kinds: &[&str]) -> SessionResult<()> {
        let all = self.secure.connect.get_options().unwrap_or_default();
        // The driver appends the URL's options to those of `PGOPTIONS`. The last value wins, so the URL takes
        // precedence.
        let variable = std::env::var("PGOPTIONS").unwrap_or_default();
        let settings = Settings::read(all.strip_prefix(variable.as_str()).unwrap_or(all));
        let mut names: Vec<String> = settings.values.into_iter().map(|(name, _)| name).collect();
        names.extend(kinds.iter().filter(|kind| **kind == "application_name").map(|kind| (*kind).to_owned()));
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) if is_word(&pair[0]) => Err(twice(&pair[0])),
            Some(_) => Err(twice("options")),
            None => Ok(()),
        }
    }

    fn set(&mut self, name: &str, value: &str) -> SessionResult<()> {
        match name {
            "allow_cleartext_password" => {
                self.secure.allows_cleartext = match value {
                    "true" => true,
                    "false" => false,
                    _ => return Err(refused("`allow_cleartext_password` must be `true` or `false`".to_owned())),
                };
                self.pooled.allows_cleartext = self.secure.allows_cleartext;
            }
            "channel_binding" => match value {
                "disable" | "prefer" => {}
                "require" => {
                    let reason = "`channel_binding=require` is not possible with this driver: use \
                                  sslmode=verify-full, which knows the server by its certificate";
                    return Err(refused(reason.to_owned()));
                }
                _ => return Err(refused("`channel_binding` must be `disable`, `prefer` or `require`".to_owned())),
            },
            "connections" => match value.parse() {
                Ok(count @ 1..=10_000) => self.connections = Some(count),
                _ => return Err(refused("`connections` must be a number from 1 to 10000".to_owned())),
            },
            "operation_timeout" => self.operation_timeout = Some(millis(name, value)?),
            // `set_pooling` reads these.
            "pooler" | "pgbouncer" | "prepared_statement_cache_size" => {}
            // The others are settings of the server, whose milliseconds are an `i32`.
            _ => {
                let millis = millis(name, value)?.as_millis();
                let connect = self.secure.connect.clone();
                self.secure.connect = connect.options([(name, millis.to_string())]);
            }
        }
        Ok(())
    }
}

fn connect(base: &str, pairs: &OfDriver<'_>) -> SessionResult<PgConnectOptions> {
    let pairs: Vec<&str> = pairs.iter().map(|(_, pair)| *pair).collect();
    let url = format!("{base}?{}", pairs.join("&"));
    let connect = PgConnectOptions::from_str(&url).map_err(|error| refused(reason(&error)))?;
    // Poolers refuse this parameter, and numbers are read in binary anyway.
    let connect = connect.extra_float_digits(None);
    Ok(if connect.get_application_name().is_none() { connect.application_name("pleach") } else { connect })
}

/// Reads a time in milliseconds; the server's limit is 24 days.
fn millis(name: &str, value: &str) -> SessionResult<Duration> {
    match value.parse::<u32>() {
        Ok(millis @ 0..=2_147_483_647) if millis > 0 || name != "operation_timeout" => {
            Ok(Duration::from_millis(millis.into()))
        }
        _ => Err(refused(format!("`{name}` must be a number of milliseconds, such as `10000`"))),
    }
}

fn reason(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Configuration(source) => source.to_string(),
        other => other.to_string(),
    }
}

fn name(connect: &PgConnectOptions) -> String {
    // If no database is named, the server uses the user's name.
    let database = connect.get_database().unwrap_or(connect.get_username());
    match connect.get_socket() {
        Some(socket) => format!("Postgres database {database} at {}", socket.display()),
        None => format!("Postgres database {database} at {}:{}", connect.get_host(), connect.get_port()),
    }
}

#[cfg(test)]
mod tests {
    use sqlx::postgres::PgSslMode;

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
        check("postgres://u:s3cret@h/db?sslmode=require&sslmode=disable", "`sslmode` twice");
        check("postgres://u:s3cret@h/db?sslmode=require&ssl-mode=require", "`sslmode` twice");
        check("postgres://u:s3cret@h/db?host=other", "`host` twice");
        check("postgres://u:s3cret@h:1/db?port=2", "`port` twice");
        check("postgres://u:s3cret@h/db?dbname=s3cret", "`dbname` twice");
        check("postgres://u:s3cret@h/db?password=s3cret", "`password` twice");
        check("postgres://u@[::1]/db?port=2", "Postgres database db at [::1]:2");
        check("postgres://h/db?sslmode=disable&sslrootcert=a", "uses no certificate");
        check("postgres://h/db?sslcert=a", "belong together");
        check("postgres://h/db?sslmode=verify-ca", "needs `sslrootcert`");
        check("postgres://h/db?sslmode=require&sslrootcert=system", "needs `sslmode=verify-full`");
        check("postgres://h/db?channel_binding=require", "not possible");
        check("postgres://h/db?channel_binding=s3cret", "`disable`, `prefer` or `require`");
        check("postgres://h/db?allow_cleartext_password=s3cret", "`true` or `false`");
        for name in ["operation_timeout", "statement_timeout", "lock_timeout", "idle_session_timeout"] {
            check(&format!("postgres://h/db?{name}=10s3cret"), "number of milliseconds");
            check(&format!("postgres://h/db?{name}=-1"), "number of milliseconds");
            check(&format!("postgres://h/db?{name}=1&{name}=1"), "twice");
        }
        for (query, name) in [
            ("options=-c%20statement_timeout%3D5&statement_timeout=1000", "statement_timeout"),
            ("options=-cstatement_timeout%3D5&statement_timeout=1000", "statement_timeout"),
            ("options=--statement-timeout%3D5&options[statement_timeout]=6", "statement_timeout"),
            ("options[LOCK_timeout]=1&lock_timeout=9", "lock_timeout"),
            ("options[a]=1&options[a]=1", "a"),
            ("options=-c%20a%3D1%20-c%20a%3D2", "a"),
            ("options=-c%20a%3D1&options=-c%20a%3D2", "a"),
            ("options[application_name]=x&application_name=y", "application_name"),
            ("options=-c%20s3cret!%3D1%20-c%20s3cret!%3D2", "options"),
        ] {
            check(&format!("postgres://h/db?{query}"), &format!("sets `{name}` twice"));
        }
        check(
            "postgres://u@h/db?options=-c%20a%3Dx%5C%20-c%20-c%20b%3D2&options[c]=1",
            "Postgres database db at h:5432",
        );
        check("postgres://h/db?connections=0", "from 1 to 10000");
        check("postgres://h/db?operation_timeout=0", "number of milliseconds");
    }

    #[test]
    fn parameters_of_a_url_are_read() {
        let url =
            "postgres://u@h/db?connections=3&operation_timeout=250&statement_timeout=1000&options=-csearch_path%3Dx";
        let address = Address::parse(url).unwrap();
        assert_eq!((address.connections, address.operation_timeout), (Some(3), Some(Duration::from_millis(250))));
        assert_eq!(address.secure.connect.get_options(), Some("-csearch_path=x -c statement_timeout=1000"));
        for (query, expected) in [
            ("sslmode=prefer", PgSslMode::Prefer),
            ("sslmode=allow&channel_binding=prefer", PgSslMode::Allow),
            ("sslmode=require", PgSslMode::Require),
            ("sslmode=require&sslrootcert=ca.pem", PgSslMode::VerifyCa),
            ("sslrootcert=system", PgSslMode::VerifyFull),
            ("sslrootcert=system&sslmode=verify-full", PgSslMode::VerifyFull),
        ] {
            let mode = Address::parse(&format!("postgres://u@h/db?{query}")).unwrap().secure.mode;
            assert_eq!(std::mem::discriminant(&mode), std::mem::discriminant(&expected), "{query}");
        }
    }

    #[test]
    fn a_pooler_is_recognised_by_parameters_and_known_hosts() {
        use Pooling::{Session, Transaction};
        for (rest, expected) in [
            ("h/db", None),
            ("h/db?pooler=transaction", Some(Transaction)),
            ("h/db?pooler=session", Some(Session)),
            ("h/db?pooler=none", Some(Session)),
            ("h/db?pgbouncer=true", Some(Transaction)),
            ("h/db?pgbouncer=false", None),
            ("h/db?pgbouncer=false&pooler=session", Some(Session)),
            ("h/db?statement-cache-capacity=0", Some(Transaction)),
            ("h/db?statement-cache-capacity=50", None),
            ("h/db?prepared_statement_cache_size=0&pooler=transaction", Some(Transaction)),
            ("ep-cool-1-pooler.eu-1.aws.neon.tech/db", Some(Transaction)),
            ("ep-cool-1.eu-1.aws.neon.tech/db", None),
            ("ep-cool-1-pooler.eu-1.aws.neon.tech/db?pooler=session", Some(Session)),
            ("ep-cool-1-pooler.example.com/db", None),
            ("aws-0-eu.pooler.supabase.com:6543/db", Some(Transaction)),
            ("aws-0-eu.pooler.supabase.com:5432/db", None),
            ("db.x.supabase.co:6543/db", Some(Transaction)),
            ("h:6543/db", None),
        ] {
            assert_eq!(Address::parse(&format!("postgres://u@{rest}")).unwrap().pooling, expected, "{rest}");
        }
        for (query, expected) in [
            ("pooler=s3cret", "`pooler` must be `transaction`, `session` or `none`"),
            ("pooler=statement", "such a pooler has no transactions"),
            ("pgbouncer=s3cret", "`pgbouncer` must be `true` or `false`"),
            ("prepared_statement_cache_size=5", "`statement-cache-capacity` sets another size"),
            ("pooler=session&pgbouncer=true", "contradict each other"),
            ("statement-cache-capacity=0&pooler=none", "contradict each other"),
            ("pooler=transaction&pooler=transaction", "`pooler` twice"),
            ("pooler=transaction&idle_session_timeout=5", "`idle_session_timeout` applies to a session"),
            ("pooler=transaction&options=-B%205", "`-B`, which is not a setting"),
        ] {
            check(&format!("postgres://h/db?{query}"), expected);
        }
        let address =
            Address::parse("postgres://h/db?pgbouncer=true&options=-csearch_path%3Dx&lock_timeout=5").unwrap();
        let settings = [("search_path", "x"), ("lock_timeout", "5")].map(|(name, value)| (name.into(), value.into()));
        assert_eq!(address.settings.values, settings);
        // A pooler refuses options at the start of a connection.
        assert_eq!(address.pooled.connect.get_options(), None);
    }

    /// If `/`, `?`, `#` or `@` is not percent-encoded in a password, it is parsed as another part of the URL.
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
