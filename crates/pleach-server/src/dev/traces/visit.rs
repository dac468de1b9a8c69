//! [`Fields`]: reads the fields of a span.

use std::fmt;

use pleach_core::Map;
use serde_json::Value;
use tracing::field::{Field, Visit};

/// The fields of a span as JSON, and the name under which exporters show the span.
#[derive(Default)]
pub(super) struct Fields {
    pub(super) attributes: Map,
    pub(super) name: Option<String>,
}

impl Fields {
    fn take(&mut self, field: &Field, value: Value) {
        match field.name() {
            "otel.name" => self.name = value.as_str().map(str::to_owned),
            // Exporters do not show these fields as attributes.
            "otel.kind" | "otel.status_code" => {}
            // `tracing` fields cannot be lists, so the list is made here.
            name @ "gen_ai.response.finish_reasons" => {
                self.attributes.insert(name.to_owned(), Value::Array(vec![value]));
            }
            name => {
                self.attributes.insert(name.to_owned(), value);
            }
        }
    }
}

impl Visit for Fields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.take(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.take(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.take(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.take(field, value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.take(field, value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.take(field, format!("{value:?}").into());
    }
}
