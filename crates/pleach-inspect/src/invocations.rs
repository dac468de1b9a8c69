//! [`invocations`]: the invocations of a session.

use std::sync::Arc;

use foldhash::HashMap;
use pleach_context::History;
use pleach_core::{Event, InvocationId, NodePath};
use pleach_session::{effective_events_and_rewinds, ends_aborted, open_questions, partly_rewound};
use pleach_workflow::{RunStatus, run_status};
use serde::Serialize;

/// An invocation of a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InvocationSummary {
    /// The id of the invocation.
    pub id: InvocationId,
    /// The position of the first event in the session, from 0.
    pub place: usize,
    /// When the first event was stored, in seconds since the epoch.
    pub began: f64,
    /// When the last event was stored, in seconds since the epoch.
    pub ended: f64,
    /// The number of events.
    pub events: usize,
    /// The text that started the invocation.
    pub message: String,
    /// The status of the invocation. If a rewind has undone all of it, the status is done.
    pub status: RunStatus,
    /// Whether the invocation was aborted, so that it cannot be resumed.
    pub aborted: bool,
    /// The ids of the open questions.
    pub open: Vec<String>,
    /// Whether the invocation is effective. If false, a later rewind has undone it.
    pub effective: bool,
}

/// Lists the invocations of a session, in the order in which they began. Events without an invocation are skipped.
#[must_use]
pub fn invocations(events: &[Arc<Event>]) -> Vec<InvocationSummary> {
    let mut found: Vec<(InvocationSummary, Vec<&Arc<Event>>)> = Vec::new();
    let mut places: HashMap<&InvocationId, usize> = HashMap::default();
    for (place, event) in events.iter().enumerate().filter(|(_, event)| !event.invocation_id().is_empty()) {
        let index = *places.entry(event.invocation_id()).or_insert_with(|| {
            found.push((begun(place, event), Vec::new()));
            found.len() - 1
        });
        let summary = &mut found[index].0;
        summary.ended = event.timestamp();
        summary.events += 1;
        if summary.message.is_empty() && event.is_from_user() {
            summary.message = event.text();
        }
    }
    for event in effective_events_and_rewinds(events) {
        // A rewind to the middle of an invocation is read as an event of that invocation, because it records which runs
        // had completed before.
        let rewound = partly_rewound(event).map(|(invocation, _)| InvocationId::from(invocation));
        if let Some(index) = places.get(rewound.as_ref().unwrap_or(event.invocation_id())) {
            found[*index].1.push(event);
        }
    }
    for question in open_questions(events) {
        if let Some(index) = places.get(&question.invocation_id) {
            found[*index].0.open.push(question.id);
        }
    }
    let completed = found.into_iter().map(|(mut summary, own)| {
        summary.effective = !own.is_empty();
        summary.aborted = own.iter().any(|event| ends_aborted(event));
        summary.status = status(&summary, &own);
        summary
    });
    completed.collect()
}

fn begun(place: usize, event: &Event) -> InvocationSummary {
    InvocationSummary {
        id: event.invocation_id().clone(),
        place,
        began: event.timestamp(),
        ended: event.timestamp(),
        events: 0,
        message: String::new(),
        status: RunStatus::Started,
        aborted: false,
        open: Vec::new(),
        effective: false,
    }
}

/// Returns the status of an invocation according to its effective events.
fn status(summary: &InvocationSummary, own: &[&Arc<Event>]) -> RunStatus {
    if !summary.open.is_empty() {
        return RunStatus::Waiting;
    }
    if summary.aborted {
        return RunStatus::Failed;
    }
    let last = own.iter().rev().find(|event| !event.is_partial());
    // This works only for nodes, which have paths. Agents of an older google-adk have none.
    match root_status(own) {
        Some(status) => status,
        None if last.is_some_and(|event| event.error_code().is_some()) => RunStatus::Failed,
        None if last.is_some_and(|event| !event.is_from_user() && event.is_final_response()) => RunStatus::Done,
        // If there are only state changes and rewinds, nothing was run.
        None if own.iter().all(|event| event.is_from_user() && event.content().is_none()) => RunStatus::Done,
        None => RunStatus::Started,
    }
}

/// Returns the status of the first root run, if nodes have run.
fn root_status(own: &[&Arc<Event>]) -> Option<RunStatus> {
    let history = History::of(own);
    let root = history.children(&NodePath::root()).next()?.path;
    run_status(&history, root)
}
