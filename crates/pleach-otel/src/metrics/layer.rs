//! [`MetricsLayer`]: measures spans from their start to their recorded end.

use std::sync::Arc;

use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::Metrics;
use super::fields::Fields;
use super::measured::{Measured, Operation};

/// The name of the event for a retried request to a model. The model's client emits it.
const MODEL_RETRY: &str = "pleach.model.retry";
/// The names of the events for a question that was stored, and for a question that no longer needs an answer. The
/// Runner emits them.
const QUESTION_OPENED: &str = "pleach.question.opened";
const QUESTION_CLOSED: &str = "pleach.question.closed";

/// Returns true if a span or an event is measured.
pub(crate) fn measures(metadata: &Metadata<'_>) -> bool {
    if metadata.is_span() {
        metadata.target() == "pleach" && Operation::of(metadata.name()).is_some()
    } else {
        [MODEL_RETRY, QUESTION_CLOSED, QUESTION_OPENED].contains(&metadata.name())
    }
}

/// Measures spans and counts events.
pub(crate) struct MetricsLayer(Arc<Metrics>);

impl MetricsLayer {
    pub(crate) fn new(metrics: Arc<Metrics>) -> Self {
        Self(metrics)
    }
}

impl<S: Subscriber + for<'s> LookupSpan<'s>> Layer<S> for MetricsLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, ctx: Context<'_, S>) {
        let (Some(operation), Some(span)) = (Operation::of(attributes.metadata().name()), ctx.span(id)) else { return };
        let mut measured = Measured::start(operation);
        attributes.record(&mut measured.fields);
        self.0.started(&measured);
        span.extensions_mut().insert(measured);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, ctx: Context<'_, S>) {
        let Some(span) = ctx.span(id) else { return };
        if let Some(measured) = span.extensions_mut().get_mut::<Measured>() {
            values.record(&mut measured.fields);
            measured.note_end();
        }
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        match event.metadata().name() {
            MODEL_RETRY => self.0.model_retried(&fields),
            QUESTION_OPENED => self.0.question_opened(&fields),
            QUESTION_CLOSED => self.0.question_closed(&fields),
            _ => {}
        }
    }

    fn on_close(&self, id: Id, ctx: Context<'_, S>) {
        // The measurement is removed from the span first: instruments may log, and the span must not be locked at that
        // time.
        let measured = ctx.span(&id).and_then(|span| span.extensions_mut().remove::<Measured>());
        measured.into_iter().for_each(|measured| self.0.ended(&measured));
    }
}
