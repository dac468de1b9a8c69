//! [`Traces`]: the spans of the latest runs, in memory.
//!
//! A [`layer`] of the program's subscriber records the spans that `docs/tracing.md` lists, and the program's spans
//! around them. Spans contain no messages, so a [`plugin`] of the Runners adds the requests and responses of models,
//! and the session of each run.

mod layer;
mod plugin;
mod recorder;
mod routes;
mod spans;
mod visit;

use std::sync::{Arc, MutexGuard};

use pleach_context::SystemClock;
use pleach_core::Clock;
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{FilterExt as _, LevelFilter, filter_fn};
use tracing_subscriber::registry::LookupSpan;

use layer::TraceLayer;
pub(super) use plugin::PLUGIN;
pub(crate) use plugin::TracePlugin;
use recorder::Recorder;
pub(super) use routes::{of_event, of_session};
use spans::Spans;

/// The number of spans that are kept.
const SPANS: usize = 10_000;

/// The maximum size of the attributes of all spans together, in bytes.
const BYTES: usize = 64 << 20;

/// The spans of the latest runs, in memory, for the trace tab of a browser UI. Clones share the same spans.
///
/// The spans are recorded by a layer, which the program must add to its subscriber. Without the layer there are no
/// traces.
///
/// ```
/// use pleach_server::{Server, Traces};
/// use tracing_subscriber::layer::SubscriberExt as _;
///
/// let traces = Traces::new();
/// let subscriber = tracing_subscriber::registry().with(traces.layer());
/// let server = Server::new().dev(true).traces(traces);
/// # drop((subscriber, server));
/// ```
///
/// Spans of level INFO and above are recorded, including spans of other crates. A span is shown if it belongs to the
/// trace of a run. The requests and responses of models are kept with the spans, without media and credentials. At most
/// 10,000 spans or 64 MiB are kept; the oldest spans are dropped first.
///
/// ADK: `InMemoryExporter`
// H110–H112
#[derive(Clone)]
pub struct Traces(Recorder);

impl Traces {
    /// Returns traces without any spans.
    #[must_use]
    pub fn new() -> Self {
        Self(Recorder::new(Spans::new(SPANS, BYTES), Arc::new(SystemClock)))
    }

    /// Sets how many spans are kept, and the maximum size of all their attributes together, in bytes.
    #[must_use]
    pub fn limits(self, spans: usize, bytes: usize) -> Self {
        self.spans().limit(spans, bytes);
        self
    }

    /// Sets the clock; tests use a fixed one.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.0.set_clock(Arc::new(clock));
        self
    }

    /// Returns the layer that records spans, for one subscriber. The layer has its own filter and does not affect other
    /// layers.
    pub fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        TraceLayer(self.0.clone()).with_filter(filter_fn(|metadata| metadata.is_span()).and(LevelFilter::INFO))
    }

    fn spans(&self) -> MutexGuard<'_, Spans> {
        self.0.spans()
    }
}

impl Default for Traces {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Traces {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Traces")
    }
}
