//! W13: 500 clients of `/run_sse` read 1 KB per second each. In parallel, 200 runs per second start at fixed times,
//! each in a new session. The server has one thread, and the clients have another one.
//!
//! `alone` is the time of the runs before the slow clients start, and `beside` is the time of the runs while they read.
//! `rss_growth` is the growth of the process's memory in the second half of that time. With sessions in memory it is
//! not zero, because the sessions stay. SQLite does not wait for the disk.

mod fast;
mod slow;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use pleach::prelude::*;
use pleach::server::Server;
use pleach::{App, BoxError, SessionService};
use tokio::sync::oneshot;

use crate::agents::{Turn, agent};
use crate::measure::{Metric, Samples, rss};
use crate::row::Row;
use crate::stores::Backend;

/// The number of clients on slow links.
const SLOW: usize = 500;

/// The time for which runs are timed, once without and once with slow clients.
const TIMED: Duration = Duration::from_secs(10);

/// The time for the slow clients to start and for their runs to fill the buffers of the system.
const SETTLING: Duration = Duration::from_secs(10);

pub(super) fn rows() -> Vec<Row> {
    let rows = [(Backend::Memory, 0), (Backend::Memory, SLOW), (Backend::Sqlite, 0), (Backend::Sqlite, SLOW)];
    let row = |(backend, slow): (Backend, usize)| {
        Row::new("W13", format!("{},slow={slow}", backend.name()), measure(backend, slow))
    };
    rows.into_iter().map(row).collect()
}

async fn measure(backend: Backend, slow: usize) -> Result<Vec<Metric>, BoxError> {
    let store = backend.open().await?;
    // With synchronous writes the disk would be measured.
    let sessions = if backend == Backend::Sqlite { store.unsynced().await? } else { Arc::clone(&store.sessions) };
    let (port, stop) = serve(sessions)?;
    let port = port.await?;
    // The first runs open connections and fill caches.
    fast::runs(port, "warm", Duration::from_secs(1)).await?;
    let alone = fast::runs(port, "alone", TIMED).await?;
    let clients = slow::Clients::open(port, slow);
    tokio::time::sleep(SETTLING).await;
    let first = fast::runs(port, "first", TIMED / 2).await?;
    let before = rss()?;
    let second = fast::runs(port, "second", TIMED / 2).await?;
    let growth = rss()? - before;
    let events = clients.close().await?;
    drop(stop);
    let mut beside = Samples::default();
    beside.extend(first.into_iter().chain(second));
    let mut samples = Samples::default();
    samples.extend(alone);
    Ok(vec![
        Metric::micros("alone_median", samples.median()),
        Metric::micros("alone_p99", samples.quantile(0.99)),
        Metric::micros("beside_median", beside.median()),
        Metric::micros("beside_p99", beside.quantile(0.99)),
        Metric::ratio("p99_to_alone", beside.quantile(0.99) / samples.quantile(0.99)),
        Metric::count("slow_events", events),
        Metric::mebibytes("rss_growth", growth),
        Metric::peak_rss()?,
    ])
}

/// Serves in a thread of its own until the sender is dropped. The receiver gets the port.
fn serve(sessions: Arc<dyn SessionService>) -> Result<(oneshot::Receiver<u16>, oneshot::Sender<()>), BoxError> {
    let (port, told) = oneshot::channel();
    let (stop, stopped) = oneshot::channel::<()>();
    let server = Server::new()
        .app(App::new("bench", agent(Turn::Tool)?)?)
        .app(App::new("tell", slow::tell())?)
        .sessions(sessions)
        .auto_create_session(true);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    thread::spawn(move || {
        runtime.block_on(async {
            let bound = server.bind("127.0.0.1:0").await?;
            port.send(bound.local_addr().port()).map_err(|_| "the measurement has ended")?;
            let stop = async { stopped.await.unwrap_or_default() };
            bound.serve_until(stop, Duration::ZERO).await;
            Ok::<_, BoxError>(())
        })
    });
    Ok((told, stop))
}
