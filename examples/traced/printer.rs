//! [`Printer`]: an exporter that prints a line for each span and each point of a metric, in place of a collector.

use std::io::Write as _;
use std::time::Duration;

use pleach::otel::opentelemetry::KeyValue;
use pleach::otel::opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use pleach::otel::opentelemetry_sdk::metrics::Temporality;
use pleach::otel::opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData, ResourceMetrics};
use pleach::otel::opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use pleach::otel::opentelemetry_sdk::trace::{SpanData, SpanExporter};

/// An exporter that prints spans and metric points.
#[derive(Debug)]
pub(crate) struct Printer;

impl SpanExporter for Printer {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        batch.iter().try_for_each(|span| print(&span_line(span)))
    }
}

impl PushMetricExporter for Printer {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        for metric in metrics.scope_metrics().flat_map(|scope| scope.metrics()) {
            points(metric.data()).iter().try_for_each(|point| print(&format!("metric {} {point}", metric.name())))?;
        }
        Ok(())
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }

    fn temporality(&self) -> Temporality {
        Temporality::Cumulative
    }
}

/// Returns a line with the ids of the trace, the span and its parent, and the name of the work that the span covers.
fn span_line(span: &SpanData) -> String {
    let (own, parent) = (&span.span_context, span.parent_span_id);
    let outcome = span.attributes.iter().find(|attribute| attribute.key.as_str() == "pleach.outcome");
    let outcome = outcome.map(|attribute| format!(": {}", attribute.value)).unwrap_or_default();
    let links: String = span.links.iter().map(|link| format!(", linked to {}", link.span_context.trace_id())).collect();
    format!("{} {} {parent} {}{outcome}{links}", own.trace_id(), own.span_id(), span.name)
}

/// Returns a line for each point of a metric: for a histogram the number of values, for other metrics the value.
fn points(data: &AggregatedMetrics) -> Vec<String> {
    match data {
        AggregatedMetrics::F64(MetricData::Histogram(histogram)) => {
            histogram.data_points().map(|point| line(point.attributes(), point.count())).collect()
        }
        AggregatedMetrics::U64(MetricData::Sum(sum)) => {
            sum.data_points().map(|point| line(point.attributes(), point.value())).collect()
        }
        AggregatedMetrics::I64(MetricData::Sum(sum)) => {
            sum.data_points().map(|point| line(point.attributes(), point.value())).collect()
        }
        AggregatedMetrics::U64(MetricData::Gauge(gauge)) => {
            gauge.data_points().map(|point| line(point.attributes(), point.value())).collect()
        }
        _ => Vec::new(),
    }
}

fn line<'a>(attributes: impl Iterator<Item = &'a KeyValue>, value: impl std::fmt::Display) -> String {
    let mut attributes: Vec<String> = attributes.map(|known| format!("{}={}", known.key, known.value)).collect();
    attributes.sort_unstable();
    format!("{{{}}} {value}", attributes.join(", "))
}

fn print(line: &str) -> OTelSdkResult {
    let written = writeln!(std::io::stdout().lock(), "{line}");
    written.map_err(|error| OTelSdkError::InternalFailure(error.to_string()))
}
