//! The log lines about an answer that was repaired.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt as _};

use super::expected::says;

/// Keeps the fields of warnings as text.
#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<String>>);

impl<S: Subscriber> Layer<S> for Warnings {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() == Level::WARN {
            event.record(&mut Text(&mut self.0.lock().unwrap()));
        }
    }
}

struct Text<'a>(&'a mut String);

impl Visit for Text<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, "{field}={value:?} ").unwrap();
    }
}

// With one thread, the subscriber of this test sees everything that its tasks log.
#[tokio::test(flavor = "current_thread")]
async fn an_unknown_word_is_named_and_the_answer_is_not_shown() {
    let warnings = Warnings::default();
    let _guard = pleach_contract::own_tests::subscribe(tracing_subscriber::registry().with(warnings.clone()));
    super::play::check("o05w_unknown_word_after_a_text", says("A secret.")).await;
    let text = warnings.0.lock().unwrap().clone();
    assert!(text.contains("word=\"tool_turn_end\"") && text.contains("model=\"m\""), "{text}");
    assert!(!text.contains("secret"), "{text}");
}

pub(super) const FILES: &[&str] = &["o05w_unknown_word_after_a_text"];
