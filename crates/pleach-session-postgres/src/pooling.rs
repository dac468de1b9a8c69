//! Detection of poolers: whether a connection keeps its server session between two transactions.
//!
//! A pooler in front of a server does not announce itself. In transaction mode, it lends each session to many
//! connections, one after another, so two connections may see the same session. The check changes nothing on the server:
//! it only reads, without prepared statements.

use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _};
use tokio::time::Instant;

use crate::fault::Fault;
use crate::refusal::Refusal;
use crate::secure::Secure;
use crate::settings::{Settings, quoted};

/// The number of queries on each of the two connections if no session is older than its connection.
const PAIRS: usize = 2;
/// The number of queries on each connection if a session is older than its connection, so that there is a pooler. With
/// many users, a pooler may lend many other sessions before it lends the same one again.
const PAIRS_AT_POOLER: usize = 16;
/// The tolerance for a server whose clock is adjusted during the check.
const TOLERANCE: Duration = Duration::from_millis(250);

/// Whether a connection keeps its server session between two transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pooling {
    /// The connection keeps a session of its own: there is no pooler, or one in session mode.
    Session,
    /// The connection has no session of its own: each transaction may be executed in another one.
    Transaction,
}

/// An answer of the server to one of two connections.
#[derive(Clone, Copy, Debug)]
struct Answer {
    /// The session's process.
    process: i32,
    /// Whether the session began before its connection.
    is_older: bool,
}

/// Finds out whether connections have sessions of their own. Also returns the first connection, if it can be used.
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
        // The connection may have been idle for too long, or the server may allow only one connection. If there is a
        // pooler, later statements will show it.
        Err(error) => {
            tracing::debug!(%error, "cannot find out whether there is a pooler");
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
        // The connections take turns in asking first. A pooler may lend its sessions in a fixed order, and with a
        // fixed order of queries each connection might always get the same session.
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
    // The age is NULL for a role that may not see it.
    let age = row.try_get::<Option<f64>, _>("age")?.unwrap_or_default();
    let is_older = age > (start.elapsed() + TOLERANCE).as_secs_f64();
    Ok(Answer { process: row.try_get("pid")?, is_older })
}

/// Returns `true` if the answers show that sessions are lent: one connection has seen two, or both have seen the same
/// one.
fn is_shared([first, second]: &[Vec<Answer>; 2]) -> bool {
    let changed = |answers: &[Answer]| answers.windows(2).any(|pair| pair[0].process != pair[1].process);
    let process = |answers: &[Answer]| answers.first().map(|answer| answer.process);
    changed(first) || changed(second) || process(first) == process(second)
}

/// Returns `true` if the server does not have the settings with which the connection started, because a pooler has
/// dropped them.
async fn has_dropped(settings: &Settings, connection: &mut PgConnection) -> sqlx::Result<bool> {
    // Names with a dot belong to extensions, and the view may not have them.
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
        // The pooler lends two sessions in turn, and the connections ask in the order first, second, second, first.
        check(&[1, 2], &[2, 1], true);
    }
}
