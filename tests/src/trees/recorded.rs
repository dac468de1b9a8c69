//! The recorded behaviour of google-adk in the scenarios, in short form.
//!
//! The file has a block of lines for each scenario. The first line has the name with a digest of the scenario, and the
//! last line a digest of the sessions. Between them is a line for each turn, with a digest of everything visible in the
//! turn and a description of the events. The digests are made from the normal forms of
//! [`normalise`](crate::normalise::normalise), so equal blocks mean equal traces.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::Value;

use crate::corpus::Lane;
use crate::normalise::{Errors, Order, Style, dumps, normalise};
use crate::scenario::{play, read};

/// The file of the recorded blocks.
pub fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance/trees.txt")
}

/// Reads the recorded blocks, in the order of their numbers.
///
/// # Errors
/// The file cannot be read.
pub fn recorded() -> anyhow::Result<Vec<String>> {
    let text = std::fs::read_to_string(file()).with_context(|| format!("cannot read {}", file().display()))?;
    Ok(text.trim_end().split("\n\n").map(str::to_owned).collect())
}

/// Plays a scenario with pleach in memory and returns its trace in the normal form.
///
/// # Errors
/// The scenario is wrong, or it hangs.
pub fn played(scenario: &Value) -> anyhow::Result<Value> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build()?;
    let lane = Lane { backend: "memory".into(), reopen: false };
    // The scenario is read from text, because assignments keep their order.
    let scenario = &read(&scenario.to_string())?;
    let played = runtime.block_on(play(scenario, &lane))?;
    Ok(normalise(&played.trace, order(scenario), Errors::Full)?)
}

/// The order by which the events of a scenario are compared.
pub(super) fn order(scenario: &Value) -> Order {
    match scenario["compare"].as_str() {
        Some("per_node") => Order::PerNode,
        _ => Order::Ordered,
    }
}

/// Returns the block of a scenario with a trace in the normal form.
pub fn block(scenario: &Value, trace: &Value) -> String {
    let mut out = format!("{} {}", scenario["name"].as_str().unwrap_or_default(), digest(scenario));
    for turn in trace["turns"].as_array().into_iter().flatten() {
        let events = match &turn["yielded"] {
            Value::Object(groups) => groups.values().flat_map(|group| group.as_array().into_iter().flatten()).collect(),
            list => Vec::from_iter(list.as_array().into_iter().flatten()),
        };
        let mut line: Vec<String> = events.into_iter().map(event).collect();
        line.extend(turn.get("error").map(|error| format!("fails: {}", error["type"].as_str().unwrap_or_default())));
        let _ = write!(out, "\n{} {}", digest(turn), line.join("; "));
    }
    let _ = write!(out, "\n{}", digest(&trace["sessions"]));
    out
}

/// Describes an event in a few words.
fn event(event: &Value) -> String {
    let author = event["author"].as_str().unwrap_or_default();
    let mut words = vec![author.to_owned()];
    for part in event["content"]["parts"].as_array().into_iter().flatten() {
        let named = |kind: &str| part[kind]["name"].as_str();
        words.extend(part["text"].as_str().map(|text| format!("\"{text}\"")));
        words.extend(named("functionCall").map(|name| format!("calls {name}")));
        words.extend(named("functionResponse").map(|name| format!("has {name}")));
    }
    words.extend(event["actions"]["transferToAgent"].as_str().map(|agent| format!("-> {agent}")));
    words.extend(event["errorCode"].as_str().map(|code| format!("fails: {code}")));
    if event.get("output").is_some() {
        words.push("output".to_owned());
    }
    words.join(" ")
}

/// Returns a short digest (FNV-1a) of a value, independent of the order of its keys.
fn digest(value: &Value) -> String {
    let hash = dumps(value, Style::COMPACT)
        .bytes()
        .fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3));
    format!("{hash:016x}")
}
