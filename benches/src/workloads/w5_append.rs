//! W5: appending events to one session, or to 64 sessions at once. On a disk it is compared with the driver alone.

use std::time::Duration;

use futures_util::future::{join_all, try_join_all};
use pleach::{BoxError, CreateSession, Event, Session, SessionService, SessionServiceExt as _};

use super::raw::{Append, Limit};
use crate::events::event;
use crate::measure::{Metric, Samples, micros, now};
use crate::row::Row;
use crate::stores::{Backend, Store};

/// The time for which rounds are repeated, including the making of their events.
const TIME_LIMIT: Duration = Duration::from_secs(1);
const MAX_ROUNDS: usize = 50;
/// The minimum number of rounds if there is a limit to compare with, even if they take long.
const MIN_ROUNDS: usize = 5;

/// The number of sessions and of events of each session, which are all appended at once.
#[derive(Clone, Copy)]
struct Load {
    backend: Backend,
    sessions: usize,
    events: usize,
    /// Whether every delta also has a key of the app. All sessions then write the same row.
    app_key: bool,
}

pub(super) fn rows() -> Vec<Row> {
    let loads = Backend::ALL.into_iter().flat_map(|backend| {
        let load = move |sessions, events| Load { backend, sessions, events, app_key: false };
        // This load is longer than that of any peer. It shows whether the time of an append stays constant. On a disk
        // it would only measure the disk.
        let long = (backend == Backend::Memory).then(|| load(1, 100_000));
        [load(1, 2_000), load(64, 50), Load { app_key: true, ..load(64, 50) }].into_iter().chain(long)
    });
    let row = |load: Load| {
        let Load { backend, sessions, events, app_key } = load;
        let suffix = if app_key { ",app_key" } else { "" };
        Row::new("W5", format!("{},{sessions}x{events}{suffix}", backend.name()), measure(load)).on(backend)
    };
    loads.map(row).collect()
}

impl Load {
    /// The events of one session.
    fn events(self) -> impl Iterator<Item = Event> {
        let complete =
            move |event: Event, index: usize| if self.app_key { event.with_state("app:orders", index) } else { event };
        (0..self.events).map(move |index| complete(event(index), index))
    }

    async fn create_sessions(self, store: &Store) -> Result<Vec<Session>, BoxError> {
        let create = || store.sessions.create_session(CreateSession::new("bench", "ana"));
        Ok(try_join_all((0..self.sessions).map(|_| create())).await?)
    }
}

/// The results of the passes over one load.
#[derive(Default)]
struct Passes {
    rates: Samples,
    latencies: Samples,
    first_tenth: Samples,
    last_tenth: Samples,
    errors: usize,
}

impl Passes {
    fn add(&mut self, stored: usize, time: Duration) -> f64 {
        let rate = stored as f64 / time.as_secs_f64();
        self.rates.push(rate);
        rate
    }

    fn metrics(&self) -> Vec<Metric> {
        let mut metrics = vec![Metric::per_second("rate", self.rates.median())];
        if !self.latencies.is_empty() {
            metrics.push(Metric::micros("p50", self.latencies.median()));
            metrics.push(Metric::micros("p99", self.latencies.quantile(0.99)));
        }
        metrics
    }

    fn own_metrics(&self) -> Vec<Metric> {
        let mut metrics = self.metrics();
        metrics.extend([
            Metric::micros("first_tenth_p50", self.first_tenth.median()),
            Metric::micros("last_tenth_p50", self.last_tenth.median()),
            Metric::count("errors", self.errors),
        ]);
        metrics
    }
}

/// Rounds of passes. In each round pleach and the limits take turns, so that disturbances of the machine affect all of
/// them alike.
struct Rounds {
    load: Load,
    limits: Vec<Limit>,
    own: Passes,
    others: Vec<Passes>,
    /// The ratios of pleach's rate to the fastest limit's rate, one for each round.
    ratios: Samples,
}

async fn measure(load: Load) -> Result<Vec<Metric>, BoxError> {
    let mut store = load.backend.open().await?;
    let limits = Limit::all(&store, load.sessions).await?;
    let mut rounds = Rounds::new(load, limits);
    store = rounds.round(store).await?;
    store.settle().await?;
    rounds = Rounds::new(load, rounds.limits);
    let min = if rounds.limits.is_empty() { 1 } else { MIN_ROUNDS };
    let begin = now();
    for round in 0..MAX_ROUNDS {
        if round >= min && begin.elapsed() > TIME_LIMIT {
            break;
        }
        store = rounds.round(store).await?;
    }
    store.sessions.close().await?;
    Ok(rounds.metrics())
}

impl Rounds {
    fn new(load: Load, limits: Vec<Limit>) -> Self {
        let others = limits.iter().map(|_| Passes::default()).collect();
        Self { load, limits, own: Passes::default(), others, ratios: Samples::default() }
    }

    async fn round(&mut self, mut store: Store) -> Result<Store, BoxError> {
        store = store.renew().await?;
        let rate = own_pass(self.load, &store, &mut self.own).await?;
        let mut fastest: f64 = 0.0;
        for (limit, passes) in self.limits.iter_mut().zip(&mut self.others) {
            store = store.renew().await?;
            fastest = fastest.max(limit_pass(self.load, &store, limit, passes).await?);
        }
        self.ratios.push(rate / fastest);
        Ok(store)
    }

    fn metrics(&self) -> Vec<Metric> {
        let mut metrics = self.own.own_metrics();
        if !self.limits.is_empty() {
            metrics.push(Metric::ratio("rate_to_limit", self.ratios.median()));
        }
        for (limit, passes) in self.limits.iter().zip(&self.others) {
            metrics.extend(passes.metrics().into_iter().map(|metric| metric.of_limit(limit.variant)));
        }
        metrics
    }
}

/// Fills fresh sessions once.
async fn own_pass(load: Load, store: &Store, passes: &mut Passes) -> Result<f64, BoxError> {
    let sessions = load.create_sessions(store).await?;
    let writers: Vec<_> = sessions.into_iter().map(|session| (session, load.events().collect::<Vec<_>>())).collect();
    let start = now();
    let written = join_all(writers.into_iter().map(|(session, events)| write(&*store.sessions, session, events))).await;
    let time = start.elapsed();
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
    Ok(passes.add(stored, time))
}

async fn limit_pass(load: Load, store: &Store, limit: &mut Limit, passes: &mut Passes) -> Result<f64, BoxError> {
    let sessions = load.create_sessions(store).await?;
    let appends = |session: &Session| load.events().map(|event| Append::new(session.key(), event)).collect();
    let appends = sessions.iter().map(appends).collect::<Result<Vec<Vec<_>>, _>>()?;
    let (time, latencies) = limit.write(store, appends).await?;
    passes.latencies.extend(latencies);
    Ok(passes.add(load.sessions * load.events, time))
}

struct Written {
    session: Session,
    latencies: Vec<f64>,
    errors: usize,
}

/// Appends one event after the other. A failed append is counted as an error and has no latency.
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
