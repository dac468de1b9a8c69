//! W7: turns of an agent whose model answers at once, each in a new session. A turn is a text, or a tool call followed
//! by a text. Turns are taken one after the other, or 64 at a time. Creating the session is not timed.

use std::time::Duration;

use futures_util::future::try_join_all;
use pleach::prelude::*;
use pleach::{BoxError, CreateSession, SessionId, SessionKey};

use crate::agents::{Turn, agent, turn_in};
use crate::measure::{Metric, Samples, micros, now, sample};
use crate::row::Row;
use crate::stores::Backend;

pub(super) fn rows() -> Vec<Row> {
    let row = |backend: Backend, turn: Turn, at_once: usize| {
        let param = format!("{},{},c={at_once}", backend.name(), turn.name());
        Row::new("W7", param, measure(backend, turn, at_once)).on(backend)
    };
    let rows = |backend: Backend| {
        Turn::ALL.into_iter().flat_map(move |turn| [1, 64].map(|at_once| row(backend, turn, at_once)))
    };
    Backend::ALL.into_iter().flat_map(rows).collect()
}

async fn measure(backend: Backend, turn: Turn, at_once: usize) -> Result<Vec<Metric>, BoxError> {
    let store = backend.open().await?;
    let runner = Runner::builder("bench").root(agent(turn)?).sessions(store.sessions.clone()).build()?;
    let mut round = 0;
    let mut turns = Samples::default();
    let [rounds] = sample(async || {
        round += 1;
        let sessions: Vec<_> = (0..at_once).map(|number| SessionId::from(format!("s{round}-{number}"))).collect();
        let (time, times) = once(&runner, turn, &sessions).await?;
        turns.extend(times.into_iter().map(micros));
        Ok([time])
    })
    .await?;
    Ok(vec![
        Metric::micros("invocation_median", turns.median()),
        Metric::micros("invocation_p99", turns.quantile(0.99)),
        Metric::rate("rate", at_once as f64 * 1e6 / rounds.median(), "inv/s"),
        Metric::peak_rss()?,
    ])
}

/// Takes one turn in each of these new sessions at once. Returns the total time and the time of each turn.
async fn once(runner: &Runner, turn: Turn, sessions: &[SessionId]) -> Result<(Duration, Vec<Duration>), BoxError> {
    let store = runner.sessions();
    let create = |id: &SessionId| store.create_session(CreateSession::new("bench", "ana").with_session_id(id.clone()));
    try_join_all(sessions.iter().map(create)).await?;
    let start = now();
    let times = try_join_all(sessions.iter().map(|session| turn_in(runner, turn, session))).await?;
    let time = start.elapsed();
    for session in sessions {
        store.delete_session(&SessionKey::new("bench", "ana", session.clone())).await?;
    }
    Ok((time, times))
}
