//! Recognising a URL that leads to a pooler, by its parameters or by a known host.

use pleach_session::SessionResult;
use sqlx::postgres::PgConnectOptions;

use super::parameters::refused;
use crate::pooling::Pooling;

/// Reads a parameter about a pooler. Returns `None` for other parameters, and for a value that leaves the question
/// open.
pub(crate) fn pooling(name: &str, value: &str) -> SessionResult<Option<Pooling>> {
    match (name, value) {
        ("pooler", "transaction") | ("pgbouncer", "true") => Ok(Some(Pooling::Transaction)),
        ("pooler", "session" | "none") => Ok(Some(Pooling::Session)),
        ("pooler", "statement") => Err(refused(
            "`pooler=statement` is not possible: such a pooler has no transactions; use one in the mode `transaction` or \
             `session`, or the address of the server itself"
                .to_owned(),
        )),
        ("pooler", _) => Err(refused("`pooler` must be `transaction`, `session` or `none`".to_owned())),
        ("pgbouncer", "false") => Ok(None),
        ("pgbouncer", _) => Err(refused("`pgbouncer` must be `true` or `false`".to_owned())),
        // Other drivers have these parameters, which are 0 if prepared statements are not kept.
        ("prepared_statement_cache_size" | "statement-cache-capacity", "0") => Ok(Some(Pooling::Transaction)),
        ("prepared_statement_cache_size", _) => Err(refused(
            "`prepared_statement_cache_size` can only be `0`, for a pooler in transaction mode; `statement-cache-capacity` sets \
             another size"
                .to_owned(),
        )),
        _ => Ok(None),
    }
}

/// Recognises the hosts of hosted databases that lead to a pooler in transaction mode.
pub(crate) fn hosted(connect: &PgConnectOptions) -> Option<Pooling> {
    let host = connect.get_host().to_ascii_lowercase();
    let is_neon = host.ends_with(".neon.tech") && host.split('.').next()?.ends_with("-pooler");
    let is_supabase = host.ends_with(".supabase.com") || host.ends_with(".supabase.co");
    (is_neon || is_supabase && connect.get_port() == 6543).then_some(Pooling::Transaction)
}
