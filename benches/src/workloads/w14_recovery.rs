//! W14: a starting process searches for unfinished sessions among many sessions that have ended. It is measured for the
//! first process and for later ones.

use std::time::Duration;

use pleach::prelude::*;
use pleach::{BoxError, ListUnfinished, SessionService};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};

use super::w1_chain::chain;
use crate::measure::{Metric, micros, now};
use crate::row::Row;
use crate::stores::{Backend, Storage, Store};

/// The number of nodes of the chain. With the message there are ten events.
const NODES: usize = 9;
/// The number of sessions that change between two processes.
const CHANGED: usize = 100;

/// Copies the only session that was run, with other ids. `{row}` yields the numbers of the copies.
const COPY: &str = "\
    INSERT INTO sessions (app_name, user_id, id, state, create_time, update_time)
        SELECT app_name, user_id, 'copy' || n, state, create_time, update_time FROM sessions, ({row}) numbers
        WHERE app_name = 'recovery' AND id = 'original';
    INSERT INTO events (id, app_name, user_id, session_id, invocation_id, timestamp, event_data)
        SELECT id, app_name, user_id, 'copy' || n, invocation_id, timestamp, event_data FROM events, ({row}) numbers
        WHERE app_name = 'recovery' AND session_id = 'original'";

pub(super) fn rows() -> Vec<Row> {
    let rows = |backend: Backend| {
        [10_000, 100_000].map(|sessions| {
            let param = format!("{},sessions={sessions}", backend.name());
            Row::new("W14", param, measure(backend, sessions)).on(backend)
        })
    };
    [Backend::Sqlite, Backend::Postgres].into_iter().flat_map(rows).collect()
}

async fn measure(backend: Backend, sessions: usize) -> Result<Vec<Metric>, BoxError> {
    let store = backend.open().await?;
    process(&store)?.run("ana", "original", Message::data(0)).output::<i64>().await?;
    copy(&store, sessions).await?;
    store.settle().await?;
    let first = recover(&process(&store)?, 0).await?;
    let second = recover(&process(&store)?, 0).await?;
    let again = process(&store)?;
    recover(&again, 0).await?;
    let same = recover(&again, 0).await?;
    for number in 0..CHANGED {
        let run = process(&store)?.run("ana", format!("copy{}", number + 1), Message::data(0));
        run.output::<i64>().await?;
    }
    let changed = recover(&process(&store)?, 0).await?;
    store.sessions.close().await?;
    Ok(vec![
        Metric::micros("first_process", micros(first)),
        Metric::micros("second_process", micros(second)),
        Metric::micros("same_process", micros(same)),
        Metric::micros("changed_100", micros(changed)),
        Metric::peak_rss()?,
    ])
}

fn process(store: &Store) -> Result<Runner, BoxError> {
    Ok(Runner::builder("recovery").root(chain(NODES)?).sessions(std::sync::Arc::clone(&store.sessions)).build()?)
}

async fn recover(runner: &Runner, expected: usize) -> Result<Duration, BoxError> {
    let begin = now();
    let resumed = runner.resume_unfinished(ListUnfinished::new()).await?;
    let time = begin.elapsed();
    if resumed.len() == expected {
        Ok(time)
    } else {
        Err(format!("{} runs instead of {expected}", resumed.len()).into())
    }
}

async fn copy(store: &Store, sessions: usize) -> Result<(), BoxError> {
    match &store.place {
        Storage::Folder(_) => {
            let row = format!(
                "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {sessions}) SELECT n FROM c"
            );
            let mut connection = SqliteConnectOptions::new().filename(store.place.file()).connect().await?;
            sqlx::raw_sql(sqlx::AssertSqlSafe(COPY.replace("{row}", &row))).execute(&mut connection).await?;
            connection.close().await?;
        }
        Storage::Schema(schema) => {
            let row = format!("SELECT n FROM generate_series(1, {sessions}) n");
            schema.run(&COPY.replace("{row}", &row)).await?;
        }
        Storage::Memory => {}
    }
    store.sessions.health_check().await?;
    Ok(())
}
