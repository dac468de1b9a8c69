//! The TLS mode of a URL.

use pleach_session::SessionResult;
use sqlx::postgres::PgSslMode;

use super::parameters::refused;

/// Returns the TLS mode that the URL or libpq's variables request. `kinds` are the parameters in the URL.
pub(crate) fn tls_mode(mode: PgSslMode, kinds: &[&str], trusts_system: bool) -> SessionResult<PgSslMode> {
    let from_environment = |name: &str| std::env::var(name).is_ok_and(|value| !value.is_empty());
    let has = |kind: &str, variable: &str| kinds.contains(&kind) || from_environment(variable);
    let wrong = |reason: &str| Err(refused(reason.to_owned()));
    if has("sslcert", "PGSSLCERT") != has("sslkey", "PGSSLKEY") {
        return wrong("`sslcert` and `sslkey` belong together: set both or neither");
    }
    let has_certificate = kinds.iter().any(|kind| matches!(*kind, "sslrootcert" | "sslcert" | "sslkey"));
    if matches!(mode, PgSslMode::Disable) && has_certificate {
        return wrong(
            "`sslmode=disable` uses no certificate: leave out `sslrootcert`, `sslcert` and `sslkey`, or change it",
        );
    }
    let has_root = has("sslrootcert", "PGSSLROOTCERT");
    match mode {
        _ if trusts_system && !has("sslmode", "PGSSLMODE") => Ok(PgSslMode::VerifyFull),
        PgSslMode::VerifyFull => Ok(mode),
        _ if trusts_system => {
            wrong("`sslrootcert=system` trusts every known authority, which needs `sslmode=verify-full`")
        }
        // libpq does this for compatibility with older configurations.
        PgSslMode::Require if has_root => Ok(PgSslMode::VerifyCa),
        PgSslMode::VerifyCa if !has_root => wrong(
            "`sslmode=verify-ca` needs `sslrootcert`, the file of the authority to trust; `sslmode=verify-full` \
             without it trusts the system's",
        ),
        mode => Ok(mode),
    }
}
