//! [`QuestionCount`]: reports which questions an event opens and closes. Metrics find these `tracing` events by their names.

use std::collections::BTreeMap;
use std::sync::Arc;

use pleach_context::engine::InvocationHandle;
use pleach_core::{Event, InvocationId, QuestionKind};
use pleach_session::{ends_aborted, open_questions};
use tracing::{Level, debug, level_enabled};

/// The open questions of an invocation before an event is stored, by id.
pub(crate) struct QuestionCount(BTreeMap<String, QuestionKind>);

impl QuestionCount {
    /// Notes the open questions before an event is stored. Returns `None` if the event cannot change them, or they are not counted.
    pub(crate) fn before(ic: &InvocationHandle, event: &Event) -> Option<Box<Self>> {
        (level_enabled!(Level::DEBUG) && may_change(event)).then(|| Box::new(Self(open(ic))))
    }

    /// Reports the changed questions, once the event is stored.
    pub(crate) fn report(mut self, ic: &InvocationHandle) {
        for (id, kind) in open(ic) {
            if self.0.remove(&id).is_none() {
                debug!(name: "pleach.question.opened", target: "pleach", kind = kind.as_str(), "a question is open");
            }
        }
        self.0.into_values().for_each(closed);
    }
}

/// Reports the questions of an invocation as closed that was ended without a run, once its end is stored. `events` are those before it.
pub(crate) fn report_closed(events: &[Arc<Event>], invocation: &InvocationId) {
    if level_enabled!(Level::DEBUG) {
        let questions = open_questions(events).into_iter();
        questions.filter(|question| question.invocation_id == *invocation).for_each(|question| closed(question.kind));
    }
}

fn closed(kind: QuestionKind) {
    debug!(name: "pleach.question.closed", target: "pleach", kind = kind.as_str(), "a question is closed");
}

/// Returns `true` if an event may open or close a question. The results of an agent's ordinary calls do not.
fn may_change(event: &Event) -> bool {
    event.is_interrupt() || ends_aborted(event) || (event.is_from_user() && event.function_responses().next().is_some())
}

fn open(ic: &InvocationHandle) -> BTreeMap<String, QuestionKind> {
    let own = |events: &[Arc<Event>]| {
        let open = open_questions(events).into_iter();
        open.filter(|question| question.invocation_id == *ic.invocation_id())
            .map(|question| (question.id, question.kind))
            .collect()
    };
    ic.with_events(own)
}
