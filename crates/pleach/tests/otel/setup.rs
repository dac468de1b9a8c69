//! Set-up and shut-down.

use opentelemetry_sdk::metrics::{InMemoryMetricExporter, SdkMeterProvider};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
use pleach::otel::{InvocationIds, Otel};
use pleach::prelude::*;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::{Layer as _, fmt};

use crate::collector::finish;

fn node() -> impl pleach::Node {
    FunctionNode::new("one", async || 1)
}

#[tokio::test]
async fn dropping_it_sends_the_remaining_data() {
    let (spans, metrics) = (InMemorySpanExporter::default(), InMemoryMetricExporter::default());
    let provider =
        SdkTracerProvider::builder().with_simple_exporter(spans.clone()).with_id_generator(InvocationIds::default());
    let meters = SdkMeterProvider::builder().with_periodic_exporter(metrics.clone());
    let otel = Otel::builder().tracer_provider(provider.build()).meter_provider(meters.build()).build().unwrap();
    let guard = pleach_contract::own_tests::subscribe(tracing_subscriber::registry().with(otel.layer()));
    finish(otel.build(Runner::builder("t").root(node())).unwrap().run("ana", "s1", "go")).await;
    assert_eq!(spans.get_finished_spans().unwrap().len(), 2);
    assert!(metrics.get_finished_metrics().unwrap().is_empty());
    drop(otel);
    assert!(!metrics.get_finished_metrics().unwrap().is_empty());
    drop(guard);
}

#[tokio::test]
async fn the_layer_of_a_log_has_a_filter_of_its_own() {
    let spans = InMemorySpanExporter::default();
    let otel = Otel::builder().span_exporter(spans.clone()).no_metrics().build().unwrap();
    let log = fmt::layer().with_writer(std::io::sink).with_filter(Targets::new().with_default(LevelFilter::ERROR));
    let guard = pleach_contract::own_tests::subscribe(tracing_subscriber::registry().with(log).with(otel.layer()));
    finish(otel.build(Runner::builder("t").root(node())).unwrap().run("ana", "s1", "go")).await;
    otel.flush().unwrap();
    assert_eq!(spans.get_finished_spans().unwrap().len(), 2);
    drop(guard);
}

#[tokio::test]
async fn a_runner_is_not_kept_alive_by_its_metrics() {
    let otel = Otel::builder().no_traces().no_metrics().build().unwrap();
    let runner = otel.build(Runner::builder("t").root(node())).unwrap();
    let load = runner.load_reader();
    let clone = runner.clone();
    drop(runner);
    assert_eq!(load().unwrap().active, 0);
    drop(clone);
    assert!(load().is_none());
}
