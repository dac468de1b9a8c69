//! [`TraceLayer`]: a subscriber layer that records spans.

use tracing::Subscriber;
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::recorder::Recorder;
use super::visit::Fields;

pub(super) struct TraceLayer(pub(super) Recorder);

impl<S> Layer<S> for TraceLayer
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, ctx: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let parent = ctx.span(id).and_then(|span| span.parent()).map(|parent| parent.id().into_u64());
        let now = self.0.now();
        self.0.spans().open(id.into_u64(), parent, attributes.metadata().name(), fields, now);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        let mut fields = Fields::default();
        values.record(&mut fields);
        self.0.spans().record(id.into_u64(), fields);
    }

    fn on_close(&self, id: Id, _: Context<'_, S>) {
        let now = self.0.now();
        self.0.spans().close(id.into_u64(), now);
    }
}
