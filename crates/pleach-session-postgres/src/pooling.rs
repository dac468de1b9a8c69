//! Poolers: who has the server's session between two transactions, and how that is found out.
//!
//! A pooler in front of a server does not say that it is there. One in transaction mode lends a session to many connections in turn, so
//! two of them see the same one. Asking changes nothing: it is a read without a prepared statement.

use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _};
use tokio::time::Instant;

use crate::fault::Fault;
use crate::refusal::Refusal;
use crate::secure::Secure;
use crate::settings::{Settings, quoted};

/// How often the two connections ask, in pairs, where sessions are no older than their connections.
const PAIRS: usize = 2;
/// The same where there is a pooler: with many users, it takes a while until a session comes round.
const PAIRS_AT_POOLER: usize = 16;
/// The tolerance for a server whose clock is adjusted while it is asked.
const TOLERANCE: Duration = Duration::from_millis(250);

/// Whether a connection keeps its server session between two transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pooling {
    /// It keeps a session of its own: there is no pooler, or one in session mode.
    Session,
    /// It keeps none: each transaction may be executed in another session.
    Transaction,
}

/// One answer of the server to one of two connections.
#[derive(Clone, Copy, Debug)]
struct Answer {
    /// The session's process.
    process: i32,
    /// Whether the session began before its connection.
    is_older: bool,
}

/// Finds out what connections have, and returns the first of them, if it can be used.
///
/// # Errors
/// The first connection cannot be opened.
pub(crate) async fn find(secure: &Secure, settings: &Settings) -> sqlx::Result<(Pooling, Option<PgConnection>)> {
    let start = Instant::now();
    let mut first = match secure.open().await {
        Err(error) if Fault::of(&error) == Fault::Refused(Refusal::Parameter) => {
            return Ok((Pooling::Transaction, None));
        }
        opened => opened?,
    };
    match look(secure, settings, &mut first, start).await {
        Ok(Pooling::Session) => Ok((Pooling::Session, Some(first))),
        Ok(Pooling::Transaction) => {
            first.close().await?;
            Ok((Pooling::Transaction, None))
        }
        // It may have been idle for too long, or the server allows one connection only. If there is a pooler, statements show it.
        Err(error) => {
            tracing::debug!(%error, "whether there is a pooler is not known");
            Ok((Pooling::Session, None))
        }
    }
}

async fn look(secure: &Secure, settings: &Settings, first: &mut PgConnection, start: Instant) -> sqlx::Result<Pooling> {
    if has_dropped(settings, first).await? {
        return Ok(Pooling::Transaction);
    }
    let second_start = Instant::now();
    let mut second = secure.open().await?;
    let pooling = compare((first, start), (&mut second, second_start)).await?;
    second.close().await?;
    Ok(pooling)
}

async fn compare(first: (&mut PgConnection, Instant), second: (&mut PgConnection, Instant)) -> sqlx::Result<Pooling> {
    let mut asked = [Vec::new(), Vec::new()];
    let mut pairs = 0;
    loop {
        // In turn, and not the same one first each time: a pooler may lend its sessions in turn, too.
        for index in [pairs % 2, 1 - pairs % 2] {
            let (connection, start) = if index == 0 { (&mut *first.0, first.1) } else { (&mut *second.0, second.1) };
            asked[index].push(ask(connection, start).await?);
        }
        pairs += 1;
        if is_shared(&asked) {
            return Ok(Pooling::Transaction);
        }
        let enough = if asked.iter().flatten().any(|answer| answer.is_older) { PAIRS_AT_POOLER } else { PAIRS };
        if pairs >= enough {
            return Ok(Pooling::Session);
        }
    }
}

async fn ask(connection: &mut PgConnection, start: Instant) -> sqlx::Result<Answer> {
    let text = "SELECT pid, extract(epoch FROM clock_timestamp() - backend_start)::float8 AS age \
                FROM pg_stat_activity WHERE pid = pg_backend_pid()";
    let row = sqlx::raw_sql(text).fetch_one(connection).await?;
    // NULL for who may not see it.
    let age = row.try_get::<Option<f64>, _>("age")?.unwrap_or_default();
    let is_older = age > (start.elapsed() + TOLERANCE).as_secs_f64();
    Ok(Answer { process: row.try_get("pid")?, is_older })
}

/// Returns `true` if the answers show sessions that are lent: one connection has seen two, or both have seen the same.
fn is_shared([first, second]: &[Vec<Answer>; 2]) -> bool {
    let changed = |answers: &[Answer]| answers.windows(2).any(|pair| pair[0].process != pair[1].process);
    let process = |answers: &[Answer]| answers.first().map(|answer| answer.process);
    changed(first) || changed(second) || process(first) == process(second)
}

/// Returns `true` if the server has not got the settings that the connection started with: a pooler has dropped them.
async fn has_dropped(settings: &Settings, connection: &mut PgConnection) -> sqlx::Result<bool> {
    // Names with a dot are those of extensions, which the view may lack.
    let names = settings.values.iter().map(|(name, _)| name).filter(|name| !name.contains('.'));
    let names: Vec<String> = names.map(|name| quoted(name)).collect();
    if names.is_empty() {
        return Ok(false);
    }
    let text = format!(
        "SELECT 1 FROM pg_settings WHERE lower(name) IN ({}) AND source NOT IN ('client', 'session') LIMIT 1",
        names.join(", ")
    );
    let rows = sqlx::raw_sql(AssertSqlSafe(text)).fetch_all(connection).await?;
    Ok(!rows.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(first: &[i32], second: &[i32], expected: bool) {
        let answers = |processes: &[i32]| {
            let answer = |process: &i32| Answer { process: *process, is_older: false };
            processes.iter().map(answer).collect::<Vec<_>>()
        };
        assert_eq!(is_shared(&[answers(first), answers(second)]), expected, "{first:?} {second:?}");
    }

    #[test]
    fn sessions_are_lent_if_one_connection_sees_two_or_both_see_the_same() {
        check(&[1, 1], &[2, 2], false);
        check(&[1], &[1], true);
        check(&[1, 2], &[3, 3], true);
        check(&[1, 1], &[2, 1], true);
        // A pooler that lends two sessions in turn, asked by first, second, second, first.
        check(&[1, 2], &[2, 1], true);
    }
}
