//! [`Spans`]: the open spans, and the latest spans that have ended.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use pleach_core::{Map, SessionKey};
use serde_json::{Value, json};

use super::visit::Fields;

/// The largest integer that JavaScript reads exactly.
const IN_A_FLOAT: u64 = (1 << 53) - 1;

const SESSION: &str = "gen_ai.conversation.id";
const EVENT: &str = "gcp.vertex.agent.event_id";
const CALL: &str = "gen_ai.tool.call.id";
const REQUEST: &str = "gcp.vertex.agent.llm_request";
const RESPONSE: &str = "gcp.vertex.agent.llm_response";

/// The spans of a process.
pub(super) struct Spans {
    /// The open spans by the ids that the subscriber gives them. It reuses an id once its span has ended.
    open: HashMap<u64, Open>,
    ended: VecDeque<Arc<Ended>>,
    bytes: usize,
    limits: (usize, usize),
    /// The id of the newest span.
    last: u64,
}

/// A span that has not ended.
struct Open {
    span: Span,
    /// The request of the next model call below this span, until that call's span is opened.
    request: Option<String>,
}

#[derive(Clone)]
struct Span {
    name: String,
    trace: u64,
    id: u64,
    parent: Option<u64>,
    /// The start, in nanoseconds since the epoch.
    start: u64,
    attributes: Map,
    /// The session of the run. Spans around runs have none.
    owner: Option<SessionKey>,
}

/// A span that has ended. Readers share it by `Arc`, so they need the lock only to find it.
#[derive(Clone)]
pub(super) struct Ended {
    span: Span,
    end: u64,
    bytes: usize,
}

/// Who asks for spans: the app and, if the caller is bound to a user, that user.
pub(super) struct Asker<'a> {
    pub(super) app: &'a str,
    pub(super) user: Option<&'a str>,
}

impl Asker<'_> {
    fn may_see(&self, owner: Option<&SessionKey>) -> bool {
        match (owner, self.user) {
            (None, user) => user.is_none(),
            (Some(key), None) => key.app_name.as_str() == self.app,
            (Some(key), Some(user)) => key.app_name.as_str() == self.app && key.user_id.as_str() == user,
        }
    }
}

impl Spans {
    pub(super) fn new(spans: usize, bytes: usize) -> Self {
        Self { open: HashMap::new(), ended: VecDeque::new(), bytes: 0, limits: (spans, bytes), last: 0 }
    }

    pub(super) fn limit(&mut self, spans: usize, bytes: usize) {
        self.limits = (spans, bytes);
        self.evict();
    }

    /// Opens a span. `now` is in seconds since the epoch.
    pub(super) fn open(&mut self, key: u64, parent: Option<u64>, name: &str, fields: Fields, now: f64) {
        self.last += 1;
        let above = parent.and_then(|parent| self.open.get_mut(&parent));
        let mut span = Span {
            name: fields.name.unwrap_or_else(|| name.to_owned()),
            trace: trace_of(&fields.attributes).unwrap_or(self.last),
            id: self.last,
            parent: None,
            start: nanoseconds(now),
            attributes: fields.attributes,
            owner: None,
        };
        if let Some(above) = above {
            (span.trace, span.parent) = (above.span.trace, Some(above.span.id));
            span.owner.clone_from(&above.span.owner);
            if span.is_model_call()
                && let Some(request) = above.request.take()
            {
                span.attributes.insert(REQUEST.into(), request.into());
            }
        }
        self.open.insert(key, Open { span, request: None });
    }

    pub(super) fn record(&mut self, key: u64, fields: Fields) {
        let Some(open) = self.open.get_mut(&key) else { return };
        open.span.attributes.extend(fields.attributes);
        if let Some(name) = fields.name {
            open.span.name = name;
        }
    }

    pub(super) fn close(&mut self, key: u64, now: f64) {
        let Some(Open { span, .. }) = self.open.remove(&key) else { return };
        let bytes = span.name.len() + span.attributes.iter().map(|(key, value)| key.len() + size(value)).sum::<usize>();
        self.bytes += bytes;
        self.ended.push_back(Arc::new(Ended { span, end: nanoseconds(now), bytes }));
        self.evict();
    }

    fn evict(&mut self) {
        while self.ended.len() > self.limits.0 || self.bytes > self.limits.1 {
            let Some(oldest) = self.ended.pop_front() else { return };
            self.bytes -= oldest.bytes;
        }
    }

    /// Sets the session of the run that an open span belongs to.
    pub(super) fn belongs_to(&mut self, key: u64, owner: &SessionKey) {
        if let Some(open) = self.open.get_mut(&key) {
            open.span.owner = Some(owner.clone());
        }
    }

    /// Keeps a model request for the span of the next call below an open span.
    pub(super) fn asks(&mut self, key: u64, request: String) {
        if let Some(open) = self.open.get_mut(&key) {
            open.request = Some(request);
        }
    }

    /// Adds a model's response to the open span of its call.
    pub(super) fn answers(&mut self, key: u64, response: String) {
        if let Some(open) = self.open.get_mut(&key).filter(|open| open.span.is_model_call()) {
            open.span.attributes.insert(RESPONSE.into(), response.into());
        }
    }

    /// Adds the id of an event to the span of a call that the event answers. If the call was made several times, the
    /// latest span without an event gets the id. Some providers just number their calls, so call ids are compared only
    /// within a session.
    pub(super) fn answered_by(&mut self, call: &str, event: &str, session: &SessionKey) {
        let is_of = |span: &Span| {
            span.attributes.get(CALL).is_some_and(|id| id == call)
                && span.owner.as_ref() == Some(session)
                && !span.attributes.contains_key(EVENT)
        };
        if let Some(ended) = self.ended.iter_mut().rev().find(|ended| is_of(&ended.span)) {
            Arc::make_mut(ended).span.attributes.insert(EVENT.into(), event.into());
        }
    }

    /// Returns the span of the model call or tool call that produced an event.
    // H110
    pub(super) fn of_event(&self, event: &str, asker: &Asker<'_>) -> Option<Arc<Ended>> {
        let is_of = |span: &Span| span.is_call() && span.attributes.get(EVENT).is_some_and(|id| id == event);
        let mut spans = self.ended.iter().rev();
        spans.find(|ended| is_of(&ended.span) && asker.may_see(ended.span.owner.as_ref())).cloned()
    }

    /// Returns the spans of all traces that include a span of the session, in the order in which the spans ended.
    // H111
    pub(super) fn of_session(&self, session: &str, asker: &Asker<'_>) -> Vec<Arc<Ended>> {
        let is_of = |span: &Span| span.attributes.get(SESSION).is_some_and(|id| id == session);
        let traces: HashSet<u64> = self
            .ended
            .iter()
            .filter(|ended| is_of(&ended.span) && asker.may_see(ended.span.owner.as_ref()))
            .map(|ended| ended.span.trace)
            .collect();
        let of_trace = self.ended.iter().filter(|ended| traces.contains(&ended.span.trace));
        of_trace.filter(|ended| asker.user.is_none() || asker.may_see(ended.span.owner.as_ref())).cloned().collect()
    }
}

impl Span {
    fn is_model_call(&self) -> bool {
        self.name.starts_with("generate_content")
    }

    fn is_call(&self) -> bool {
        self.is_model_call() || self.name.starts_with("execute_tool")
    }
}

impl Ended {
    /// Returns the attributes together with the ids of the span.
    // H110
    pub(super) fn attributes(&self) -> Value {
        let mut attributes = self.span.attributes.clone();
        attributes.insert("trace_id".into(), self.span.trace.into());
        attributes.insert("span_id".into(), self.span.id.into());
        attributes.into()
    }

    // H111
    pub(super) fn to_json(&self) -> Value {
        let Self { span, end, .. } = self;
        json!({
            "name": span.name,
            "start_time": span.start,
            "end_time": end,
            "trace_id": span.trace,
            "span_id": span.id,
            "parent_span_id": span.parent,
            "attributes": span.attributes,
            "logs": [],
        })
    }
}

/// Returns the trace id that the span of an invocation has as an attribute. All spans of an invocation have the same
/// one, before and after a pause.
fn trace_of(attributes: &Map) -> Option<u64> {
    let hex = attributes.get("pleach.trace_id")?.as_str()?;
    let low = hex.get(hex.len().checked_sub(16)?..)?;
    Some(u64::from_str_radix(low, 16).ok()? & IN_A_FLOAT)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a time since the epoch in nanoseconds has 61 bits"
)]
fn nanoseconds(seconds: f64) -> u64 {
    // The time is rounded to microseconds, because seconds in a float are not more precise.
    (seconds * 1e6).round() as u64 * 1000
}

fn size(value: &Value) -> usize {
    value.as_str().map_or(16, str::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asker(app: &str) -> Asker<'_> {
        Asker { app, user: None }
    }

    // H110
    #[test]
    fn h110_the_same_id_of_a_call_in_two_sessions_is_two_calls() {
        let mut spans = Spans::new(10, 1 << 20);
        let keys = ["a", "b"].map(|session| SessionKey::new("shop", "u", session));
        for (number, key) in (0..).zip(&keys) {
            spans.open(number, None, "execute_tool read", Fields::default(), 1.0);
            spans.belongs_to(number, key);
            let attributes = Map::from_iter([(CALL.to_owned(), "call_0".into()), (SESSION.to_owned(), "x".into())]);
            spans.record(number, Fields { attributes, name: None });
            spans.close(number, 2.0);
        }
        spans.answered_by("call_0", "e-a", &keys[0]);
        spans.answered_by("call_0", "e-b", &keys[1]);
        let owner = |event: &str| spans.of_event(event, &asker("shop")).and_then(|ended| ended.span.owner.clone());
        assert_eq!((owner("e-a"), owner("e-b")), (Some(keys[0].clone()), Some(keys[1].clone())));
        assert!(spans.of_event("e-a", &asker("other")).is_none());
    }

    #[test]
    fn a_call_that_is_made_again_has_a_span_for_each_answer() {
        let mut spans = Spans::new(10, 1 << 20);
        let key = SessionKey::new("shop", "u", "s");
        for number in 0..2 {
            let attributes = Map::from_iter([(CALL.to_owned(), "call_0".into())]);
            spans.open(number, None, "execute_tool read", Fields { attributes, name: None }, 1.0);
            spans.belongs_to(number, &key);
            spans.close(number, 2.0);
        }
        spans.answered_by("call_0", "e1", &key);
        spans.answered_by("call_0", "e2", &key);
        assert!(["e1", "e2"].iter().all(|event| spans.of_event(event, &asker("shop")).is_some()));
    }
}
