//! [`Traces`]: the spans of the last runs, in memory.
//!
//! A [`layer`] of the program's subscriber records the spans that `docs/tracing.md` lists, and those of the program around them. Spans hold no
//! messages, so a [`plugin`] of the Runners adds what models were asked and have answered, and whose session a run is in.

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

/// How many spans are kept.
const SPANS: usize = 10_000;

/// How many bytes their attributes may take.
const BYTES: usize = 64 << 20;

/// The spans of the last runs, in memory: what the trace tab of a browser UI shows. Clones are the same spans.
///
/// The server shows what a layer of the program's subscriber has recorded; without the layer there are no traces.
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
/// Spans of level INFO and above are recorded, those of other crates, too: they are shown where they belong to the trace of a run. What models
/// are asked and answer is kept with them, without media and credentials. The oldest spans are dropped behind 10,000 spans or 64 MiB.
///
/// ADK: `InMemoryExporter`
// H110–H112
#[derive(Clone)]
pub struct Traces(Recorder);

impl Traces {
    /// Returns an empty record.
    #[must_use]
    pub fn new() -> Self {
        Self(Recorder::new(Spans::new(SPANS, BYTES), Arc::new(SystemClock)))
    }

    /// Sets how much is kept: a number of spans, and the bytes of all their attributes.
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

    /// Returns the layer that records spans, for one subscriber. It has a filter of its own, and changes nothing for other layers.
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
