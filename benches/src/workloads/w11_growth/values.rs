//! Reading and writing one large event.

use std::hint::black_box;
use std::time::Duration;

use pleach::{BoxError, Content, Event, FunctionCall, Map, Part, StateOp};
use serde_json::{Value, json};

use super::growth::growth;
use crate::measure::now;
use crate::row::Row;

pub(super) fn rows() -> Vec<Row> {
    vec![
        growth("read_parts", 2_000, async |parts| read(&with_parts(parts))),
        growth("read_state", 2_000, async |keys| read(&with_keys(keys))),
        growth("read_path", 2_000, async |segments| read(&with_path(segments))),
        growth("read_unknown_fields", 2_000, async |fields| read_text(&unknown_fields(fields)?)),
        growth("write_calls", 2_000, async |calls| write(&with_calls(calls))),
        growth("state_ops_of_a_key", 1_000, async |ops| {
            let begin = now();
            let event = (0..ops).fold(Event::new(), |event, _| event.with_state_op("total", StateOp::Add(1.into())));
            black_box(event);
            Ok(begin.elapsed())
        }),
    ]
}

fn read(event: &Event) -> Result<Duration, BoxError> {
    read_text(&serde_json::to_string(event)?)
}

fn read_text(text: &str) -> Result<Duration, BoxError> {
    let begin = now();
    let event: Event = serde_json::from_str(text)?;
    let time = begin.elapsed();
    drop(event);
    Ok(time)
}

fn write(event: &Event) -> Result<Duration, BoxError> {
    let begin = now();
    black_box(serde_json::to_string(event)?);
    Ok(begin.elapsed())
}

fn with_parts(parts: usize) -> Event {
    Event::new().with_content(Content::new("model", (0..parts).map(|part| Part::text(format!("part {part}")))))
}

/// An event with `keys` keys in its state delta.
pub(super) fn with_keys(keys: usize) -> Event {
    (0..keys).fold(Event::from_author("support"), |event, key| event.with_state(format!("key{key}"), key))
}

/// An event of a run at a path of `segments` segments.
pub(super) fn with_path(segments: usize) -> Event {
    let path: Vec<String> = (0..segments).map(|segment| format!("n{segment}@1")).collect();
    Event::from_author("support").with_node_path(&*path.join("/")).with_output("done")
}

/// An event that calls a long-running tool `calls` times.
pub(super) fn with_calls(calls: usize) -> Event {
    let call = |number| Part::function_call(FunctionCall::new(format!("call{number}"), "approve", Map::new()));
    Event::from_author("support")
        .with_content(Content::new("model", (0..calls).map(call)))
        .with_long_running((0..calls).map(|number| format!("call{number}")))
}

fn unknown_fields(fields: usize) -> Result<String, BoxError> {
    let mut event = serde_json::to_value(with_parts(1))?;
    let map = event.as_object_mut().ok_or("an event is no object")?;
    map.extend((0..fields).map(|field| (format!("field{field}"), json!({"value": field}))));
    Ok(Value::to_string(&event))
}
