//! W6: loading a whole session, loading its 20 newest events, and finding that a session has not changed. On a disk it
//! is compared with the driver alone, for the same rows.

use std::time::Duration;

use pleach::{BoxError, CreateSession, GetSessionConfig, SessionKey, SessionServiceExt as _};

use super::raw::{ReadTimes, Reader};
use crate::events::event;
use crate::measure::{Metric, Samples, now, sample};
use crate::row::Row;
use crate::stores::{Backend, Store};

const RECENT: usize = 20;

pub(super) fn rows() -> Vec<Row> {
    let rows = |backend: Backend| {
        [100, 1_000, 10_000].map(|events| {
            let param = format!("{},events={events}", backend.name());
            Row::new("W6", param, measure(backend, events)).on(backend)
        })
    };
    Backend::ALL.into_iter().flat_map(rows).collect()
}

async fn measure(backend: Backend, events: usize) -> Result<Vec<Metric>, BoxError> {
    let store = backend.open().await?;
    let key = fill(&store, events).await?;
    let mut reader = Reader::open(&store).await?;
    // Pleach and the limits are measured in turns, so disturbances of the machine affect all of them alike.
    let [whole, rows, typed] = sample(async || {
        let own = load(&store, &key, GetSessionConfig::all(), events).await?;
        let ReadTimes { rows, typed } = reader.events(&key, events).await?;
        Ok([own, rows, typed])
    })
    .await?;
    let [recent, recent_typed] = sample(async || {
        let own = load(&store, &key, GetSessionConfig::recent(RECENT), RECENT).await?;
        Ok([own, reader.events(&key, RECENT).await?.typed])
    })
    .await?;
    // The cost of finding that nothing has changed.
    let mut session = store.sessions.get_session(&key, GetSessionConfig::recent(0)).await?.ok_or("no session")?;
    let [unchanged, head] = sample(async || {
        let start = now();
        let changed = store.sessions.refresh(&mut session).await?;
        let own = start.elapsed();
        if changed { Err(BoxError::from("the session has changed")) } else { Ok([own, reader.head(&key).await?]) }
    })
    .await?;
    let mut metrics = vec![
        Metric::micros("get_median", whole.median()),
        Metric::micros("get_recent20_median", recent.median()),
        Metric::micros("unchanged_median", unchanged.median()),
    ];
    if reader.is_limit() {
        let ratio = |own: &Samples, limit: &Samples| own.median() / limit.median();
        metrics.extend([
            Metric::ratio("get_to_limit", ratio(&whole, &typed)),
            Metric::ratio("get_recent20_to_limit", ratio(&recent, &recent_typed)),
            Metric::ratio("unchanged_to_limit", ratio(&unchanged, &head)),
            Metric::micros("get_rows_median", rows.median()).of_limit(""),
            Metric::micros("get_median", typed.median()).of_limit(""),
            Metric::micros("get_recent20_median", recent_typed.median()).of_limit(""),
            Metric::micros("unchanged_median", head.median()).of_limit(""),
        ]);
    }
    Ok(metrics)
}

async fn load(
    store: &Store,
    key: &SessionKey,
    config: GetSessionConfig,
    expected: usize,
) -> Result<Duration, BoxError> {
    let start = now();
    let session = store.sessions.get_session(key, config).await?;
    let time = start.elapsed();
    match session.map(|session| session.events.len()) {
        Some(loaded) if loaded == expected => Ok(time),
        loaded => Err(format!("{loaded:?} events loaded, {expected} expected").into()),
    }
}

async fn fill(store: &Store, events: usize) -> Result<SessionKey, BoxError> {
    let sessions = store.unsynced().await?;
    let mut session = sessions.create_session(CreateSession::new("bench", "ana")).await?;
    for index in 0..events {
        sessions.append_event(&mut session, event(index)).await?;
    }
    sessions.flush().await?;
    store.settle().await?;
    Ok(session.key().clone())
}
