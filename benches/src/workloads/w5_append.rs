//! W5: appending events, to one session or to 64 at once.

use std::time::Duration;

use futures_util::future::join_all;
use pleach::{BoxError, CreateSession, Event, Session, SessionService, SessionServiceExt as _};

use super::Row;
use crate::events::event;
use crate::measure::{Metric, Samples, micros, now};
use crate::stores::Backend;

/// How long passes are repeated, the making of their events included.
const TIME_LIMIT: Duration = Duration::from_secs(1);
const MAX_PASSES: usize = 50;

/// How many sessions get how many events each, all sessions at once.
#[derive(Clone, Copy)]
struct Load {
    backend: Backend,
    sessions: usize,
    events: usize,
}

pub(super) fn rows() -> Vec<Row> {
    let loads = Backend::ALL.into_iter().flat_map(|backend| {
        // Longer than any peer was measured: whether an append stays flat. On a disk it would only measure the disk.
        let long = matches!(backend, Backend::Memory).then_some((1, 100_000));
        let shapes = [(1, 2_000), (64, 50)].into_iter().chain(long);
        shapes.map(move |(sessions, events)| Load { backend, sessions, events })
    });
    let row = |load: Load| {
        let Load { backend, sessions, events } = load;
        Row::new("W5", format!("{},{sessions}x{events}", backend.name()), measure(load))
    };
    loads.map(row).collect()
}

/// What passes over one load have given.
#[derive(Default)]
struct Passes {
    count: usize,
    rates: Samples,
    latencies: Samples,
    first_tenth: Samples,
    last_tenth: Samples,
    errors: usize,
}

async fn measure(load: Load) -> Result<Vec<Metric>, BoxError> {
    pass(load, &mut Passes::default()).await?;
    let mut passes = Passes::default();
    let begin = now();
    while passes.count == 0 || (passes.count < MAX_PASSES && begin.elapsed() < TIME_LIMIT) {
        pass(load, &mut passes).await?;
    }
    Ok(vec![
        Metric::per_second("rate", passes.rates.median()),
        Metric::micros("p50", passes.latencies.median()),
        Metric::micros("p99", passes.latencies.quantile(0.99)),
        Metric::micros("first_tenth_p50", passes.first_tenth.median()),
        Metric::micros("last_tenth_p50", passes.last_tenth.median()),
        Metric::count("errors", passes.errors),
    ])
}

/// Fills fresh sessions of a fresh store once.
async fn pass(load: Load, passes: &mut Passes) -> Result<(), BoxError> {
    let store = load.backend.open().await?;
    let mut writers = Vec::with_capacity(load.sessions);
    for _ in 0..load.sessions {
        let session = store.sessions.create_session(CreateSession::new("bench", "ana")).await?;
        writers.push((session, (0..load.events).map(event).collect::<Vec<_>>()));
    }
    let start = now();
    let written = join_all(writers.into_iter().map(|(session, events)| write(&*store.sessions, session, events))).await;
    let time = start.elapsed();
    passes.count += 1;
    let mut stored = 0;
    for Written { session, latencies, errors } in written {
        stored += latencies.len();
        passes.errors += errors;
        let tenth = latencies.len() / 10;
        passes.first_tenth.extend(latencies[..tenth].iter().copied());
        passes.last_tenth.extend(latencies[latencies.len() - tenth..].iter().copied());
        passes.latencies.extend(latencies);
        drop(session);
    }
    passes.rates.push(stored as f64 / time.as_secs_f64());
    store.sessions.close().await?;
    Ok(())
}

struct Written {
    session: Session,
    latencies: Vec<f64>,
    errors: usize,
}

/// Appends one event after the other. A failed append counts as an error, and has no latency.
async fn write(sessions: &dyn SessionService, mut session: Session, events: Vec<Event>) -> Written {
    let mut latencies = Vec::with_capacity(events.len());
    let mut errors = 0;
    let mut last = now();
    for event in events {
        let appended = sessions.append_event(&mut session, event).await;
        let end = now();
        match appended {
            Ok(_) => latencies.push(micros(end - last)),
            Err(_) => errors += 1,
        }
        last = end;
    }
    Written { session, latencies, errors }
}
