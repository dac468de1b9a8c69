//! What the stored events of a session say, read without the engine.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pleach::Event;
use serde_json::Value;

/// The outputs of every run, by path, echoes of replayed ones left out.
pub(crate) fn results(events: &[Arc<Event>]) -> BTreeMap<String, Vec<Value>> {
    let mut results: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for event in events.iter().filter(|event| event.is_output_for(event.path())) {
        results.entry(event.path().to_string()).or_default().extend(event.output().cloned());
    }
    results
}

/// The outputs of every node, in no order: run ids may change where lanes meet in an ordinary node.
pub(crate) fn results_by_node(events: &[Arc<Event>]) -> BTreeMap<String, Vec<String>> {
    let mut results: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for event in events.iter().filter(|event| event.is_output_for(event.path())) {
        results.entry(event.path().name().to_owned()).or_default().extend(event.output().map(Value::to_string));
    }
    results.values_mut().for_each(|outputs| outputs.sort_unstable());
    results
}

/// The runs that are complete: their output is stored. One whose output a child gives is complete once that is recorded:
/// what it does behind its child is not known before.
pub(crate) fn finished(events: &[Arc<Event>]) -> BTreeSet<String> {
    let outputs = events.iter().filter(|event| event.is_output_for(event.path()));
    let own = outputs.map(|event| event.path().to_string());
    let notes = events.iter().filter_map(|event| event.custom_metadata()?.get("_adk_delegated_runs")?.as_array());
    own.chain(notes.flatten().filter_map(|note| Some(note["run"].as_str()?.to_owned()))).collect()
}

/// Every question that was asked.
pub(crate) fn asked(events: &[Arc<Event>]) -> BTreeSet<String> {
    events.iter().flat_map(|event| event.questions()).map(|question| question.id).collect()
}

/// The questions without an answer behind them.
pub(crate) fn open(events: &[Arc<Event>]) -> BTreeSet<String> {
    let mut open = BTreeSet::new();
    for event in events {
        if event.author() == "user" {
            for response in event.function_responses() {
                open.remove(response.id.as_deref().unwrap_or_default());
            }
        } else {
            open.extend(event.interrupt_ids().into_iter().map(str::to_owned));
        }
    }
    open
}
