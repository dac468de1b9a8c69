//! [`Outcome`]: what a conversation has come to, to be compared.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pleach_core::{Event, Session};
use serde_json::Value;

use super::failure::Difference;
use super::talk::End;
use crate::trace::uuids;
use crate::{CountedIds, Effects};

/// The version of the UUIDs that idempotency keys are.
const STABLE: usize = 8;

/// What a conversation has come to, by places that a failure names; several values of one place in lines.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Outcome {
    places: BTreeMap<String, String>,
}

impl Outcome {
    /// Reads a stored session. `ignored` are places as `ResumeProperty::ignore` names them.
    pub(super) fn of(session: &Session, ends: &BTreeMap<usize, End>, effects: &Effects, ignored: &[String]) -> Self {
        let mut places = BTreeMap::new();
        for (message, end) in ends {
            places.insert(format!("end of message {}", message + 1), end.to_string());
        }
        for (path, mut outputs) in outputs(&session.events) {
            // Lanes that run side by side end in any order.
            outputs.sort_unstable();
            if !ignored.contains(&path) {
                places.insert(format!("output of {path}"), outputs.join("\n"));
            }
        }
        for (key, value) in session.state.iter().filter(|(key, _)| !ignored.contains(&format!("state:{key}"))) {
            places.insert(format!("state '{key}'"), pretty(value));
        }
        let asked: BTreeSet<String> = session.events.iter().flat_map(|event| event.questions()).map(|q| q.id).collect();
        places.insert("questions".to_owned(), asked.into_iter().collect::<Vec<_>>().join("\n"));
        for (what, count) in effects.counts() {
            let times = if count == 1 { "done once".to_owned() } else { format!("done {count} times") };
            places.insert(format!("effect '{what}'"), times);
        }
        let app = session.app_name().as_str();
        let stable = |(place, text): (String, String)| (stable(&place, app), stable(&text, app));
        Self { places: places.into_iter().map(stable).collect() }
    }

    /// What the other one has differently.
    pub(super) fn differences(&self, other: &Self) -> Vec<Difference> {
        let places: BTreeSet<&String> = self.places.keys().chain(other.places.keys()).collect();
        let difference = |place: &String| Difference {
            place: place.clone(),
            expected: self.places.get(place).cloned(),
            found: other.places.get(place).cloned(),
        };
        let all = places.into_iter().map(difference);
        all.filter(|difference| difference.expected != difference.found).collect()
    }
}

/// The runs that gave more than one output.
pub(super) fn several_outputs(events: &[Arc<Event>]) -> Vec<String> {
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for event in events.iter().filter(|event| gives(event)) {
        *counts.entry((event.invocation_id().as_str(), event.path().as_str())).or_default() += 1;
    }
    counts.into_iter().filter(|(_, count)| *count > 1).map(|((_, path), _)| path.to_owned()).collect()
}

/// The outputs by paths without run ids.
fn outputs(events: &[Arc<Event>]) -> BTreeMap<String, Vec<String>> {
    let mut outputs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for event in events.iter().filter(|event| gives(event)) {
        let output = event.output().map_or_else(|| pretty(&Value::from(event.text())), pretty);
        outputs.entry(event.path().static_path()).or_default().push(output);
    }
    outputs
}

/// Whether an event gives the output of the run that wrote it.
fn gives(event: &Event) -> bool {
    let has_output = event.output().is_some() || event.node_info().message_as_output() == Some(true);
    has_output && !event.is_from_user() && event.is_output_for(event.path())
}

fn pretty(value: &Value) -> String {
    // A value always has a JSON form.
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// A text without what another run has differently on purpose: counted ids, idempotency keys, the name of the app.
fn stable(text: &str, app: &str) -> String {
    let mut stable = String::with_capacity(text.len());
    let mut end = 0;
    for (place, id) in uuids(text) {
        if CountedIds::is_counted(id) || id.get_version_num() == STABLE {
            stable.push_str(&text[end..place.start]);
            stable.push_str("<id>");
            end = place.end;
        }
    }
    stable.push_str(&text[end..]);
    stable.replace(app, "<app>")
}
