//! [`Recorder`]: a subscriber that keeps all spans with their fields and whether they are entered and closed.

use std::collections::BTreeMap;
use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, Registry};

/// The spans and warnings of this thread since [`Recorder::start`].
#[derive(Clone, Default)]
pub(crate) struct Recorder {
    spans: Arc<Mutex<Vec<Recorded>>>,
    events: Arc<Mutex<Vec<BTreeMap<&'static str, String>>>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) name: &'static str,
    /// The parent's position in the order of starts.
    pub(crate) parent: Option<usize>,
    pub(crate) fields: BTreeMap<&'static str, String>,
    /// The number of times that the span is currently entered.
    pub(crate) entered: i32,
    pub(crate) closed: bool,
}

/// The position of a span in the order of starts, kept in the registry.
struct Place(usize);

impl Recorder {
    /// Starts recording, until the guard is dropped.
    pub(crate) fn start() -> (Self, DefaultGuard) {
        let recorder = Self::default();
        let guard = pleach_contract::own_tests::subscribe(Registry::default().with(recorder.clone()));
        (recorder, guard)
    }

    pub(crate) fn spans(&self) -> Vec<Recorded> {
        self.spans.lock().unwrap().clone()
    }

    /// The fields of the warnings, in the order of the warnings.
    pub(crate) fn warnings(&self) -> Vec<BTreeMap<&'static str, String>> {
        self.events.lock().unwrap().clone()
    }

    /// The spans that exporters show under this name, in the order of their starts.
    pub(crate) fn named(&self, name: &str) -> Vec<Recorded> {
        self.spans().into_iter().filter(|span| span.shown() == name).collect()
    }

    pub(crate) fn one(&self, name: &str) -> Recorded {
        let mut found = self.named(name);
        assert_eq!(found.len(), 1, "{name}:\n{}", self.tree());
        found.remove(0)
    }

    /// One line for each span, below the line of its parent: the name, the outcome and the error.
    pub(crate) fn tree(&self) -> String {
        let spans = self.spans();
        let mut text = String::new();
        for index in (0..spans.len()).filter(|index| spans[*index].parent.is_none()) {
            write(&spans, index, 0, &mut text);
        }
        text
    }

    /// Checks that no span is entered and that all spans are closed.
    pub(crate) fn assert_over(&self) {
        for span in self.spans() {
            assert!(span.closed && span.entered == 0, "{span:?}");
        }
    }
}

fn write(spans: &[Recorded], index: usize, depth: usize, text: &mut String) {
    let span = &spans[index];
    let mut line = span.shown().to_owned();
    if let Some(attempt) = span.fields.get("pleach.node.attempt").filter(|attempt| *attempt != "1") {
        let _ = write!(line, " (attempt {attempt})");
    }
    for field in ["pleach.outcome", "error.type", "otel.status_code"] {
        if let Some(value) = span.fields.get(field) {
            let _ = write!(line, " {value}");
        }
    }
    let _ = writeln!(text, "{:1$}{line}", "", depth * 2);
    for (child, _) in spans.iter().enumerate().filter(|(_, span)| span.parent == Some(index)) {
        write(spans, child, depth + 1, text);
    }
}

impl Recorded {
    /// The name that exporters show.
    pub(crate) fn shown(&self) -> &str {
        self.fields.get("otel.name").map_or(self.name, String::as_str)
    }

    pub(crate) fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }
}

impl Visit for Recorded {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.fields.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.name(), value.to_owned());
    }
}

impl<S: Subscriber + for<'s> LookupSpan<'s>> Layer<S> for Recorder {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, ctx: Context<'_, S>) {
        let span = ctx.span(id).unwrap();
        let parent = span.parent().map(|parent| parent.extensions().get::<Place>().unwrap().0);
        let name = attributes.metadata().name();
        let mut recorded = Recorded { name, parent, fields: BTreeMap::new(), entered: 0, closed: false };
        attributes.record(&mut recorded);
        let mut spans = self.spans.lock().unwrap();
        span.extensions_mut().insert(Place(spans.len()));
        spans.push(recorded);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, ctx: Context<'_, S>) {
        self.change(id, &ctx, |span| values.record(span));
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() == Level::WARN {
            let (name, fields) = (event.metadata().name(), BTreeMap::new());
            let mut recorded = Recorded { name, parent: None, fields, entered: 0, closed: true };
            event.record(&mut recorded);
            self.events.lock().unwrap().push(recorded.fields);
        }
    }

    fn on_enter(&self, id: &Id, ctx: Context<'_, S>) {
        self.change(id, &ctx, |span| span.entered += 1);
    }

    fn on_exit(&self, id: &Id, ctx: Context<'_, S>) {
        self.change(id, &ctx, |span| span.entered -= 1);
    }

    fn on_close(&self, id: Id, ctx: Context<'_, S>) {
        self.change(&id, &ctx, |span| span.closed = true);
    }
}

impl Recorder {
    fn change<S>(&self, id: &Id, ctx: &Context<'_, S>, change: impl FnOnce(&mut Recorded))
    where
        S: Subscriber + for<'s> LookupSpan<'s>,
    {
        let place = ctx.span(id).unwrap().extensions().get::<Place>().unwrap().0;
        change(&mut self.spans.lock().unwrap()[place]);
    }
}
