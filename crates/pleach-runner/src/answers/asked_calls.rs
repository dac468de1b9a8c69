//! [`AskedCalls`]: finds the calls that the answers of one message refer to, in one pass over the session.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use foldhash::{HashMap, HashSet};
use pleach_core::{Event, FunctionCall, InvocationId, NodePath, Question};
use pleach_session::newest_effective_events;

/// Returns the question with this id, if the event asks it.
pub(crate) fn question_of(event: &Event, id: &str) -> Option<Question> {
    event.questions().into_iter().find(|question| question.id == id)
}

/// A call and the event that contains it.
pub(crate) type AskedCall<'a> = (&'a Event, &'a FunctionCall);

/// The calls with some ids, and which of them are open questions.
#[derive(Debug)]
pub(crate) struct AskedCalls<'a> {
    /// Calls by id, newest first.
    calls: HashMap<&'a str, Vec<AskedCall<'a>>>,
    /// Open questions by id. For each invocation that asks, the map has the path of the asking run.
    open: HashMap<&'a str, BTreeMap<&'a InvocationId, &'a NodePath>>,
}

impl<'a> AskedCalls<'a> {
    pub(crate) fn of<'i>(
        events: &'a [Arc<Event>],
        ids: impl Iterator<Item = &'i str>,
        open_questions: &'a [Question],
    ) -> Self {
        let ids: HashSet<&str> = ids.collect();
        let mut calls: HashMap<&str, Vec<AskedCall<'_>>> = HashMap::default();
        for event in newest_effective_events(events) {
            for call in event.function_calls() {
                if let Some(id) = call.id.as_deref().filter(|id| ids.contains(id)) {
                    calls.entry(id).or_default().push((event, call));
                }
            }
        }
        let mut open: HashMap<&str, BTreeMap<_, _>> = HashMap::default();
        for question in open_questions {
            open.entry(&question.id).or_default().insert(&question.invocation_id, &question.node_path);
        }
        Self { calls, open }
    }

    /// Returns the newest call with this id in the named invocation. If that has no such call, returns the newest one
    /// in the session.
    // R905
    pub(crate) fn newest(&self, id: &str, named: Option<&InvocationId>) -> Option<AskedCall<'a>> {
        let calls = self.calls.get(id)?;
        let is_named = |(event, _): &&AskedCall<'_>| named.is_none_or(|named| event.invocation_id() == named);
        calls.iter().find(is_named).or(calls.first()).copied()
    }

    /// Returns the newest call with this id that asks a question. If an invocation is named, only its calls are
    /// searched.
    pub(crate) fn newest_question(&self, id: &str, named: Option<&InvocationId>) -> Option<AskedCall<'a>> {
        let asks = |(event, _): &&AskedCall<'_>| {
            named.is_none_or(|named| event.invocation_id() == named) && event.interrupt_ids().contains(id)
        };
        self.calls.get(id)?.iter().find(asks).copied()
    }

    /// Returns all questions with this id that the invocation has asked.
    pub(crate) fn questions(&self, id: &str, invocation: &InvocationId) -> Vec<Question> {
        let calls = self.calls.get(id).into_iter().flatten().filter(|(event, _)| event.invocation_id() == invocation);
        calls.flat_map(|(event, _)| question_of(event, id)).collect()
    }

    /// Returns the call of the open question with this id in the invocation of `newest`; another run may have asked it.
    /// If no such question is open, returns `newest`.
    pub(crate) fn open_or(&self, newest: AskedCall<'a>, id: &str) -> AskedCall<'a> {
        let invocation = newest.0.invocation_id();
        let Some(asking) = self.open.get(id).and_then(|open| open.get(invocation)) else { return newest };
        let is_open = |(event, _): &&AskedCall<'_>| event.invocation_id() == invocation && event.path() == *asking;
        self.calls.get(id).and_then(|calls| calls.iter().find(is_open)).copied().unwrap_or(newest)
    }

    /// Returns `true` if the invocation has an open question with this id.
    pub(crate) fn is_open(&self, id: &str, invocation: &InvocationId) -> bool {
        self.open.get(id).is_some_and(|open| open.contains_key(invocation))
    }

    /// Returns the invocations that have an open question with this id.
    pub(crate) fn asking(&self, id: &str) -> BTreeSet<&'a InvocationId> {
        self.open.get(id).into_iter().flat_map(BTreeMap::keys).copied().collect()
    }
}
