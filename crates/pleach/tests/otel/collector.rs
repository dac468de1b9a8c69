//! [`Collector`]: a process with exporters in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use opentelemetry_sdk::metrics::InMemoryMetricExporter;
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SpanData};
use pleach::otel::Otel;
use pleach::otel::opentelemetry::KeyValue;
use pleach::prelude::*;
use pleach::{InMemorySessionService, Node, Run, RunnerBuilder};
use pleach_contract::{CountedIds, TestClock};
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::layer::SubscriberExt as _;

/// The services that the Runners of several processes share.
#[derive(Clone)]
pub(crate) struct World {
    sessions: Arc<InMemorySessionService>,
    ids: CountedIds,
}

/// A process: its exporters, and its subscriber, which is installed until the value is dropped.
pub(crate) struct Collector {
    pub(crate) otel: Otel,
    spans: InMemorySpanExporter,
    metrics: InMemoryMetricExporter,
    world: World,
    _guard: DefaultGuard,
}

/// A point of a metric: the count of a histogram or the value of another metric, and the sum.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Point {
    pub(crate) attributes: BTreeMap<String, String>,
    pub(crate) count: i64,
    pub(crate) sum: f64,
}

impl World {
    pub(crate) fn new() -> Self {
        Self { sessions: Arc::new(InMemorySessionService::new()), ids: CountedIds::new() }
    }

    /// Starts a process with the same services.
    pub(crate) fn process(&self) -> Collector {
        let (spans, metrics) = (InMemorySpanExporter::default(), InMemoryMetricExporter::default());
        let builder = Otel::builder().service_name("test");
        let otel = builder.span_exporter(spans.clone()).metric_exporter(metrics.clone()).build().unwrap();
        let guard = pleach_contract::own_tests::subscribe(tracing_subscriber::registry().with(otel.layer()));
        Collector { otel, spans, metrics, world: self.clone(), _guard: guard }
    }
}

impl Collector {
    pub(crate) fn start() -> Self {
        World::new().process()
    }

    pub(crate) fn builder(&self, root: impl Node) -> RunnerBuilder {
        let builder = Runner::builder("t").root(root).sessions(Arc::clone(&self.world.sessions));
        builder.clock(TestClock::skipping()).ids(self.world.ids.clone())
    }

    pub(crate) fn runner(&self, root: impl Node) -> Runner {
        self.otel.build(self.builder(root)).unwrap()
    }

    /// The spans that were exported, in the order of their ends.
    pub(crate) fn spans(&self) -> Vec<SpanData> {
        self.otel.flush().unwrap();
        self.spans.get_finished_spans().unwrap()
    }

    /// The current points of a metric with their attributes.
    pub(crate) fn points(&self, name: &str) -> Vec<Point> {
        let mut points: Vec<Point> = self.all().remove(name).unwrap_or_default();
        points.sort_by(|a, b| a.attributes.cmp(&b.attributes));
        points
    }

    /// The points of a metric, one line each: the attributes and the count.
    pub(crate) fn lines(&self, name: &str) -> Vec<String> {
        let line = |point: Point| {
            let attributes: Vec<String> =
                point.attributes.iter().map(|(name, value)| format!("{name}={value}")).collect();
            format!("{} {}", attributes.join(" "), point.count)
        };
        self.points(name).into_iter().map(line).collect()
    }

    /// All metrics with their current points.
    pub(crate) fn all(&self) -> BTreeMap<String, Vec<Point>> {
        self.metrics.reset();
        self.otel.flush().unwrap();
        let exported = self.metrics.get_finished_metrics().unwrap();
        let last = exported.last().unwrap();
        let metrics = last.scope_metrics().flat_map(|scope| scope.metrics());
        metrics.map(|metric| (metric.name().to_owned(), points_of(metric.data()))).collect()
    }
}

fn points_of(data: &AggregatedMetrics) -> Vec<Point> {
    match data {
        AggregatedMetrics::F64(MetricData::Histogram(histogram)) => {
            histogram.data_points().map(|p| point(p.attributes(), p.count() as i64, p.sum())).collect()
        }
        AggregatedMetrics::U64(MetricData::Histogram(histogram)) => {
            histogram.data_points().map(|p| point(p.attributes(), p.count() as i64, p.sum() as f64)).collect()
        }
        AggregatedMetrics::U64(MetricData::Sum(sum)) => {
            sum.data_points().map(|p| point(p.attributes(), p.value() as i64, p.value() as f64)).collect()
        }
        AggregatedMetrics::I64(MetricData::Sum(sum)) => {
            sum.data_points().map(|p| point(p.attributes(), p.value(), p.value() as f64)).collect()
        }
        AggregatedMetrics::U64(MetricData::Gauge(gauge)) => {
            gauge.data_points().map(|p| point(p.attributes(), p.value() as i64, p.value() as f64)).collect()
        }
        other => panic!("{other:?}"),
    }
}

fn point<'a>(attributes: impl Iterator<Item = &'a KeyValue>, count: i64, sum: f64) -> Point {
    let attributes = attributes.map(|attribute| (attribute.key.to_string(), attribute.value.to_string())).collect();
    Point { attributes, count, sum }
}

/// Reads a run to its end. The metrics show how it ended.
pub(crate) async fn finish(mut run: Run) {
    while let Some(event) = run.next().await {
        if event.is_err() {
            break;
        }
    }
}
