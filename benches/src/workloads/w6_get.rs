//! W6: loading a session, whole and only its 20 most recent events.

use pleach::{BoxError, CreateSession, GetSessionConfig, SessionServiceExt as _};

use super::Row;
use crate::events::event;
use crate::measure::{Metric, now, sample};
use crate::stores::{Backend, Store};

const RECENT: usize = 20;

pub(super) fn rows() -> Vec<Row> {
    let rows = |backend: Backend| {
        [100, 1_000, 10_000]
            .map(|events| Row::new("W6", format!("{},events={events}", backend.name()), measure(backend, events)))
    };
    Backend::ALL.into_iter().flat_map(rows).collect()
}

async fn measure(backend: Backend, events: usize) -> Result<Vec<Metric>, BoxError> {
    let store = backend.open().await?;
    let key = fill(&store, events).await?;
    let load = async |config: GetSessionConfig, expected: usize| {
        let start = now();
        let session = store.sessions.get_session(&key, config).await?;
        let time = start.elapsed();
        match session.map_or(0, |session| session.events.len()) {
            loaded if loaded == expected => Ok(time),
            loaded => Err(BoxError::from(format!("{loaded} events loaded, {expected} expected"))),
        }
    };
    let [whole] = sample(async || Ok([load(GetSessionConfig::all(), events).await?])).await?;
    let [recent] = sample(async || Ok([load(GetSessionConfig::recent(RECENT), RECENT).await?])).await?;
    Ok(vec![Metric::micros("get_median", whole.median()), Metric::micros("get_recent20_median", recent.median())])
}

async fn fill(store: &Store, events: usize) -> Result<pleach::SessionKey, BoxError> {
    let sessions = store.unsynced().await?;
    let mut session = sessions.create_session(CreateSession::new("bench", "ana")).await?;
    for index in 0..events {
        sessions.append_event(&mut session, event(index)).await?;
    }
    sessions.flush().await?;
    Ok(session.key().clone())
}
