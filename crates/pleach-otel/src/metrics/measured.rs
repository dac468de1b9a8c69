//! [`Measured`]: a span while it is open.

use std::time::{Duration, Instant};

use super::fields::Fields;

/// The kind of work that a span covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Invocation,
    Workflow,
    Node,
    Agent,
    Tool,
    Model,
}

impl Operation {
    pub(super) fn of(span: &str) -> Option<Self> {
        Some(match span {
            "invocation" => Self::Invocation,
            "invoke_workflow" => Self::Workflow,
            "invoke_node" => Self::Node,
            "invoke_agent" => Self::Agent,
            "execute_tool" => Self::Tool,
            "generate_content" => Self::Model,
            _ => return None,
        })
    }
}

/// A span while it is open, kept in the registry.
pub(super) struct Measured {
    pub(super) operation: Operation,
    pub(super) fields: Fields,
    started: Instant,
    /// How long the work took, once its outcome is recorded. The span itself may be closed later.
    took: Option<Duration>,
}

impl Measured {
    pub(super) fn start(operation: Operation) -> Self {
        Self { operation, fields: Fields::default(), started: now(), took: None }
    }

    /// Stores how long the work took, as soon as its outcome is known.
    pub(super) fn note_end(&mut self) {
        if self.took.is_none() && self.fields.text("pleach.outcome").is_some() {
            self.took = Some(self.elapsed());
        }
    }

    fn elapsed(&self) -> Duration {
        now().saturating_duration_since(self.started)
    }

    /// Returns how long the work took, in seconds.
    pub(super) fn seconds(&self) -> f64 {
        self.took.unwrap_or_else(|| self.elapsed()).as_secs_f64()
    }
}

/// Returns the real time, as exporters do. The clock of an app may be a test clock.
#[expect(clippy::disallowed_methods, reason = "spans of one process have no invocation's clock in common")]
fn now() -> Instant {
    Instant::now()
}
