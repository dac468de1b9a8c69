//! [`Spans`]: the open spans, and the last of those that have ended.

use std::collections::{HashMap, HashSet, VecDeque};

use pleach_core::{Map, SessionKey};
use serde_json::{Value, json};

use super::visit::Fields;

/// What the script of a page reads without rounding.
const IN_A_FLOAT: u64 = (1 << 53) - 1;

const SESSION: &str = "gen_ai.conversation.id";
const EVENT: &str = "gcp.vertex.agent.event_id";
const CALL: &str = "gen_ai.tool.call.id";
const REQUEST: &str = "gcp.vertex.agent.llm_request";
const RESPONSE: &str = "gcp.vertex.agent.llm_response";

/// The spans of a process.
pub(super) struct Spans {
    /// By the subscriber's ids, which later spans get again.
    open: HashMap<u64, Open>,
    ended: VecDeque<Ended>,
    bytes: usize,
    limits: (usize, usize),
    /// The number of the last span.
    last: u64,
}

/// A span that has not ended.
struct Open {
    span: Span,
    /// What the next model call below is asked.
    request: Option<String>,
}

#[derive(Clone)]
struct Span {
    name: String,
    trace: u64,
    id: u64,
    parent: Option<u64>,
    /// Nanoseconds since the epoch.
    start: u64,
    attributes: Map,
    /// The session of the run. Spans around runs belong to none.
    owner: Option<SessionKey>,
}

struct Ended {
    span: Span,
    end: u64,
    bytes: usize,
}

/// Whose spans are asked for: those of an app and, where the caller is bound to one, of a user.
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
        self.ended.push_back(Ended { span, end: nanoseconds(now), bytes });
        self.evict();
    }

    fn evict(&mut self) {
        while self.ended.len() > self.limits.0 || self.bytes > self.limits.1 {
            let Some(oldest) = self.ended.pop_front() else { return };
            self.bytes -= oldest.bytes;
        }
    }

    /// Notes whose session a run is in, by an open span.
    pub(super) fn belongs_to(&mut self, key: u64, owner: &SessionKey) {
        if let Some(open) = self.open.get_mut(&key) {
            open.span.owner = Some(owner.clone());
        }
    }

    /// Keeps what a model is asked for the span of the call that follows below an open span.
    pub(super) fn asks(&mut self, key: u64, request: String) {
        if let Some(open) = self.open.get_mut(&key) {
            open.request = Some(request);
        }
    }

    /// Adds what a model has answered to the open span of its call.
    pub(super) fn answers(&mut self, key: u64, response: String) {
        if let Some(open) = self.open.get_mut(&key).filter(|open| open.span.is_model_call()) {
            open.span.attributes.insert(RESPONSE.into(), response.into());
        }
    }

    /// Adds the id of an event to the spans of the calls that it answers. A call may be made again: the last one without an event counts.
    pub(super) fn answered_by(&mut self, call: &str, event: &str) {
        let is_of = |span: &Span| span.attributes.get(CALL).is_some_and(|id| id == call);
        let mut spans = self.ended.iter_mut().rev().map(|ended| &mut ended.span);
        if let Some(span) = spans.find(|span| is_of(span)).filter(|span| !span.attributes.contains_key(EVENT)) {
            span.attributes.insert(EVENT.into(), event.into());
        }
    }

    /// Returns the attributes of the model call or tool call of an event, with the ids of its span.
    // H110
    pub(super) fn of_event(&self, event: &str, asker: &Asker<'_>) -> Option<Value> {
        let is_of = |span: &Span| span.is_call() && span.attributes.get(EVENT).is_some_and(|id| id == event);
        let mut spans = self.ended.iter().rev().map(|ended| &ended.span);
        let span = spans.find(|span| is_of(span) && asker.may_see(span.owner.as_ref()))?;
        let mut attributes = span.attributes.clone();
        attributes.insert("trace_id".into(), span.trace.into());
        attributes.insert("span_id".into(), span.id.into());
        Some(attributes.into())
    }

    /// Returns the spans of all traces in which a span belongs to a session, in the order in which they have ended.
    // H111
    pub(super) fn of_session(&self, session: &str, asker: &Asker<'_>) -> Value {
        let is_of = |span: &Span| span.attributes.get(SESSION).is_some_and(|id| id == session);
        let traces: HashSet<u64> = self
            .ended
            .iter()
            .filter(|ended| is_of(&ended.span) && asker.may_see(ended.span.owner.as_ref()))
            .map(|ended| ended.span.trace)
            .collect();
        let of_trace = self.ended.iter().filter(|ended| traces.contains(&ended.span.trace));
        of_trace.filter(|ended| asker.user.is_none() || asker.may_see(ended.span.owner.as_ref())).map(to_json).collect()
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

fn to_json(ended: &Ended) -> Value {
    let Ended { span, end, .. } = ended;
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

/// Returns the trace that the span of an invocation names: the same one before and after a pause.
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
    // Whole microseconds: a float of seconds has no more.
    (seconds * 1e6).round() as u64 * 1000
}

fn size(value: &Value) -> usize {
    value.as_str().map_or(16, str::len)
}
