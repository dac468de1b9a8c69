//! Records metrics from the spans that `pleach_context::telemetry` opens and from the load of Runners.
//!
//! Attributes are names that the program has chosen, and values from small sets. They contain neither ids of sessions,
//! users or invocations nor texts of conversations.

mod fields;
mod instruments;
mod layer;
mod load;
mod measured;

pub(crate) use instruments::Metrics;
pub(crate) use layer::{MetricsLayer, measures};
