//! The normal form of a whole trace: turns, sessions, counters.

use serde_json::{Map, Value, json};

use super::ids::Ids;
use super::{Errors, Order, Result, clean, group, is_true, items, object, text};

/// The normal form of a raw trace, by the rules N1 to N7.
///
/// # Errors
/// [`Malformed`](super::Malformed) if the value does not have the shape of a trace.
pub fn normalise(trace: &Value, order: Order, errors: Errors) -> Result<Value> {
    let raw = object(trace, "a trace")?;
    let scenario = raw.get("scenario").cloned().unwrap_or_default();
    if let Some(error) = raw.get("construction_error").filter(|e| is_true(e)) {
        let error = object(error, "construction_error")?;
        let member = |key: &str| error.get(key).cloned().unwrap_or_default();
        return Ok(json!({
            "scenario": scenario,
            "construction_error": {"type": member("type"), "rule": member("rule")},
        }));
    }
    let mut out = Map::new();
    out.insert("scenario".into(), scenario);
    let turns =
        items(raw.get("turns"), "turns")?.iter().map(|raw| turn(raw, errors)).collect::<Result<Vec<Value>>>()?;
    out.insert("turns".into(), Value::Array(turns));
    out.insert("sessions".into(), sessions(raw.get("sessions"), errors)?);
    if let Some(counters) = raw.get("counters").filter(|c| is_true(c)) {
        out.insert("counters".into(), counters.clone());
    }
    let out = Value::Object(out);
    let mut ids = Ids::new(order);
    see_events(&mut ids, &out);
    let mut out = group::whole_numbers(ids.apply(&out));
    clean::sort_named_ids(&mut out);
    if order == Order::PerNode {
        group::by_node(&mut out);
    }
    Ok(out)
}

fn turn(raw: &Value, errors: Errors) -> Result<Value> {
    let raw = object(raw, "a turn")?;
    let mut out = Map::new();
    out.insert("yielded".into(), events(raw.get("yielded"), errors)?);
    if let Some(error) = raw.get("error").filter(|e| is_true(e)) {
        let error = object(error, "error")?;
        let mut kept = Map::new();
        let member = |key: &str| error.get(key).cloned().unwrap_or_default();
        kept.insert("type".into(), member("type"));
        if errors == Errors::Full {
            kept.insert("message".into(), member("message"));
        }
        out.insert("error".into(), Value::Object(kept));
    }
    let requests =
        items(raw.get("llm_requests"), "llm_requests")?.iter().map(request).collect::<Result<Vec<Value>>>()?;
    if !requests.is_empty() {
        out.insert("llm_requests".into(), Value::Array(requests));
    }
    if let Some(log) = raw.get("log").filter(|log| is_true(log)) {
        out.insert("log".into(), log.clone());
    }
    Ok(Value::Object(out))
}

/// The normal form of a request to a model: without empty fields, and with JSON in texts in its canonical form.
fn request(raw: &Value) -> Result<Value> {
    let raw = object(raw, "an llm request")?;
    let mut out: Map<String, Value> = raw
        .iter()
        .filter(|(_, value)| is_true(value) || value.is_object())
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let mut contents = Vec::new();
    for content in items(raw.get("contents"), "contents")? {
        let mut content = clean::content(content)?;
        text::canonical(&mut content);
        contents.push(content);
    }
    out.insert("contents".into(), Value::Array(contents));
    Ok(Value::Object(out))
}

fn sessions(raw: Option<&Value>, errors: Errors) -> Result<Value> {
    let mut out = Map::new();
    let Some(raw) = raw.filter(|raw| is_true(raw)) else {
        return Ok(Value::Object(out));
    };
    for (id, session) in object(raw, "sessions")? {
        let session = object(session, "a session")?;
        let state = session.get("state").filter(|state| is_true(state));
        out.insert(
            id.clone(),
            json!({
                "events": events(session.get("events"), errors)?,
                "state": state.cloned().unwrap_or_else(|| json!({})),
            }),
        );
    }
    Ok(Value::Object(out))
}

fn events(raw: Option<&Value>, errors: Errors) -> Result<Value> {
    items(raw, "events")?.iter().map(|event| clean::event(event, errors)).collect()
}

/// Names ids in the order of rule N2: yielded events by turn, then stored ones by session.
fn see_events(ids: &mut Ids, trace: &Value) {
    let turns = trace.get("turns").and_then(Value::as_array);
    for turn in turns.into_iter().flatten() {
        see_list(ids, turn.get("yielded"));
    }
    let sessions = trace.get("sessions").and_then(Value::as_object);
    let mut sessions: Vec<_> = sessions.into_iter().flatten().collect();
    sessions.sort_unstable_by_key(|(id, _)| *id);
    for (_, session) in sessions {
        see_list(ids, session.get("events"));
    }
}

fn see_list(ids: &mut Ids, events: Option<&Value>) {
    for event in events.and_then(Value::as_array).into_iter().flatten() {
        ids.see_event(event);
    }
}
