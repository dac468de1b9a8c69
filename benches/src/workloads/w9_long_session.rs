//! W9: one session of an agent, turn after turn. It measures the median time of the turns around the Nth one. Each
//! request to the model contains the whole conversation.

use pleach::prelude::*;
use pleach::{BoxError, SessionId};

use crate::agents::{Turn, agent, turn_in};
use crate::measure::{Metric, Samples, micros};
use crate::row::Row;
use crate::stores::Backend;

/// The number of turns before and after the Nth that are measured.
const AROUND: usize = 5;

pub(super) fn rows() -> Vec<Row> {
    let rows = |backend: Backend| {
        [10, 100, 300, 1_000].map(|turn| {
            Row::new("W9", format!("{},llm,turn={turn}", backend.name()), measure(backend, turn)).on(backend)
        })
    };
    Backend::ALL.into_iter().flat_map(rows).collect()
}

async fn measure(backend: Backend, turn: usize) -> Result<Vec<Metric>, BoxError> {
    let store = backend.open().await?;
    let runner = Runner::builder("bench").root(agent(Turn::Text)?).sessions(store.sessions.clone()).build()?;
    let session = SessionId::from("s");
    let mut times = Samples::default();
    for number in 1..=turn + AROUND {
        let time = turn_in(&runner, Turn::Text, &session).await?;
        if number + AROUND >= turn {
            times.push(micros(time));
        }
    }
    Ok(vec![Metric::micros("turn_median", times.median()), Metric::peak_rss()?])
}
