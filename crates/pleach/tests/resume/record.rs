//! Reads facts from the stored events of a session without the engine.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pleach::{Event, FunctionResponse, Question};
use serde_json::Value;

use crate::bodies::{stable, topic};

/// The outputs of all node runs by path, without the echoes of replayed runs.
pub(crate) fn results(events: &[Arc<Event>]) -> BTreeMap<String, Vec<Value>> {
    let mut results: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for event in events.iter().filter(|event| event.is_output_for(event.path())) {
        results.entry(event.path().to_string()).or_default().extend(output(event));
    }
    results
}

/// The output of a run. If a message is the output, it is the text of the message. The output for a taken signal omits the id of the
/// signal's event, which differs in each session.
fn output(event: &Event) -> Option<Value> {
    let mut output = event.output().cloned();
    if let (Some(Value::Object(taken)), "pleach_signal") = (&mut output, event.path().name()) {
        taken.remove("event");
    }
    output.or_else(|| (event.node_info().message_as_output() == Some(true)).then(|| event.text().into()))
}

/// The outputs of all nodes, in no order. Where lanes meet in an ordinary node, run ids may differ.
pub(crate) fn results_by_node(events: &[Arc<Event>]) -> BTreeMap<String, Vec<String>> {
    let mut results: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for event in events.iter().filter(|event| event.is_output_for(event.path())) {
        results
            .entry(event.path().name().to_owned())
            .or_default()
            .extend(output(event).map(|output| output.to_string()));
    }
    results.values_mut().for_each(|outputs| outputs.sort_unstable());
    results
}

/// The complete runs, whose output is stored. A run with a delegate is complete only when its own end is recorded,
/// because it may have more work after the delegate.
pub(crate) fn finished(events: &[Arc<Event>]) -> BTreeSet<String> {
    let outputs = events.iter().filter(|event| event.is_output_for(event.path()));
    let own = outputs.map(|event| event.path().to_string());
    let notes = events.iter().filter_map(|event| event.custom_metadata()?.get("pleach_delegated_runs")?.as_array());
    own.chain(notes.flatten().filter_map(|note| Some(note["run"].as_str()?.to_owned()))).collect()
}

/// All questions that were asked.
pub(crate) fn asked(events: &[Arc<Event>]) -> BTreeSet<String> {
    events.iter().flat_map(|event| event.questions()).map(|question| topic(&question)).collect()
}

/// The questions without a later answer.
pub(crate) fn open(events: &[Arc<Event>]) -> BTreeSet<String> {
    let mut open = BTreeSet::new();
    let mut selects = BTreeMap::new();
    for event in events {
        if event.author() == "user" {
            for response in event.function_responses() {
                let id = response.id.as_deref().unwrap_or_default();
                open.remove(id);
                if let Some(others) = selects.get(id) {
                    open.retain(|other| selects.get(other) != Some(others));
                }
            }
        } else {
            open.extend(event.interrupt_ids().into_iter().map(str::to_owned));
            let select = |question: Question| Some((question.id, (question.node_path, question.select?)));
            selects.extend(event.questions().into_iter().filter_map(select));
        }
    }
    open
}

/// How often the person has answered questions.
pub(crate) fn answers(events: &[Arc<Event>]) -> usize {
    events.iter().filter(|event| event.author() == "user" && event.function_responses().any(is_of_client)).count()
}

/// Returns true if the client has sent the response. Responses to calls of tasks are also stored as the user's, but the
/// client has not sent them.
fn is_of_client(response: &FunctionResponse) -> bool {
    !response.name.as_deref().is_some_and(is_agent)
}

fn is_agent(name: &str) -> bool {
    name == "a" || name.starts_with("a_")
}

/// Returns true if a task has asked the user something that is not answered.
pub(crate) fn waits_for_word(events: &[Arc<Event>]) -> bool {
    let asked = events.iter().filter(|event| is_agent(event.author()) && event.text().starts_with("ask ")).count();
    let told = events.iter().filter(|event| event.author() == "user" && event.text() == "told").count();
    asked > told
}

/// The texts, calls, responses and changes of agents, in no order, because the cut decides how they are distributed
/// over events.
pub(crate) fn deeds(events: &[Arc<Event>]) -> Vec<String> {
    let (mut deeds, mut asked_for) = (Vec::new(), BTreeSet::new());
    // A resume does not repeat work after a stored output or a transfer.
    let ends = |event: &Event| event.is_output_for(event.path()) || event.actions().transfer_to_agent().is_some();
    let has_ended = |agent: &str| events.iter().any(|event| ends(event) && event.author() == agent);
    // Nodes that are tools write events in the name of the agent.
    let is_own = |event: &&Arc<Event>| {
        is_agent(event.author()) && !event.path().segments().any(|segment| segment.starts_with("t_"))
    };
    for event in events.iter().filter(is_own).filter(|event| !event.is_partial()) {
        let author = event.author();
        let calls = event.function_calls().filter(|call| !call.name.as_deref().unwrap_or_default().starts_with("adk_"));
        deeds.extend(calls.map(|call| format!("{author} calls {:?} {:?}", call.name, call.args)));
        let (asked, responses): (Vec<_>, Vec<_>) = event.function_responses().partition(|response| {
            event.actions().requested_tool_confirmations().contains_key(response.id.as_deref().unwrap_or_default())
        });
        // A placeholder for a result may be stored again with the question.
        asked_for.extend(asked.iter().map(|response| stable(&format!("{author} asks for {:?}", response.id))));
        let responses = responses.into_iter();
        deeds.extend(responses.map(|response| format!("{author} answers {:?} {:?}", response.name, response.response)));
        if !event.text().is_empty() {
            deeds.push(format!("{author} says {}", event.text()));
        }
        if event.content().is_none() && !event.actions().state_delta().is_empty() && event.error_code().is_none() {
            deeds.push(format!("{author} changes {:?}", event.actions().state_delta()));
        }
        if event.actions().end_of_agent() == Some(true) && !has_ended(author) {
            deeds.push(format!("{author} ends"));
        }
    }
    let mut deeds: Vec<String> = deeds.iter().map(|deed| stable(deed)).chain(asked_for).collect();
    deeds.sort_unstable();
    deeds
}

/// The keys of the calls with stored results.
pub(crate) fn called(events: &[Arc<Event>]) -> BTreeSet<String> {
    let responses = events.iter().flat_map(|event| event.function_responses());
    let results = responses.filter_map(|response| response.response.as_ref()?.get("result")?.as_str());
    results.filter_map(|result| result.strip_prefix("did ").map(str::to_owned)).collect()
}
