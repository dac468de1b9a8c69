//! [`Outcome`]: the comparable result of a conversation.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pleach_core::{Event, Question, Session};
use serde_json::Value;

use super::failure::Difference;
use super::settings::Settings;
use super::talk::End;
use crate::CountedIds;
use crate::trace::{is_stable, uuids};

/// The result of a conversation, by the places that a failure names. Several values of one place are on separate lines.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Outcome {
    places: BTreeMap<String, String>,
}

impl Outcome {
    /// Reads a stored session.
    pub(super) fn of(session: &Session, ends: &BTreeMap<usize, End>, settings: &Settings) -> Self {
        let Settings { effects, ignored, .. } = settings;
        let mut places = BTreeMap::new();
        for (message, end) in ends {
            places.insert(format!("end of message {}", message + 1), end.to_string());
        }
        for (path, mut outputs) in outputs(&session.events) {
            // Parallel lanes end in any order.
            outputs.sort_unstable();
            if !ignored.contains(&path) {
                places.insert(format!("output of {path}"), outputs.join("\n"));
            }
        }
        for (key, value) in session.state.iter().filter(|(key, _)| !ignored.contains(&format!("state:{key}"))) {
            places.insert(format!("state '{key}'"), pretty(value));
        }
        let app = session.app_name().as_str();
        for (place, asked) in questions(&session.events, app) {
            let is_it = |id: &str| place == format!("question '{id}'");
            if !ignored.iter().filter_map(|place| place.strip_prefix("question:")).any(is_it) {
                places.insert(place, asked);
            }
        }
        for (path, taken) in routes(&session.events) {
            places.insert(format!("route of {path}"), taken);
        }
        for (path, count) in runs(&session.events) {
            places.insert(format!("runs of {path}"), count.to_string());
        }
        for (what, count) in effects.counts() {
            let times = if count == 1 { "done once".to_owned() } else { format!("done {count} times") };
            places.insert(format!("effect '{what}'"), times);
        }
        let stable = |(place, text): (String, String)| (stable(&place, app), stable(&text, app));
        Self { places: places.into_iter().map(stable).collect() }
    }

    /// Returns the differences from another outcome.
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

/// Returns the runs with more than one output.
pub(super) fn several_outputs(events: &[Arc<Event>]) -> Vec<String> {
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for event in events.iter().filter(|event| gives(event)) {
        *counts.entry((event.invocation_id().as_str(), event.path().as_str())).or_default() += 1;
    }
    counts.into_iter().filter(|(_, count)| *count > 1).map(|((_, path), _)| path.to_owned()).collect()
}

/// Returns the outputs by paths without run ids.
fn outputs(events: &[Arc<Event>]) -> BTreeMap<String, Vec<String>> {
    let mut outputs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for event in events.iter().filter(|event| gives(event)) {
        let output = event.output().map_or_else(|| pretty(&Value::from(event.text())), pretty);
        outputs.entry(event.path().static_path()).or_default().push(output);
    }
    outputs
}

/// Returns the questions by their ids. Each has a line for each run that asked it: a run that starts again and asks
/// again counts once.
fn questions(events: &[Arc<Event>], app: &str) -> BTreeMap<String, String> {
    let mut asked = BTreeMap::new();
    for question in events.iter().flat_map(|event| event.questions()) {
        let run = (question.invocation_id.clone(), question.node_path.clone(), question.id.clone());
        asked.insert(run, question);
    }
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for question in asked.values() {
        // Questions with counted ids share one place.
        let place = stable(&format!("question '{}'", question.id), app);
        places.entry(place).or_default().push(stable(&asks(question), app));
    }
    // Parallel lanes ask in any order.
    places.values_mut().for_each(|asks| asks.sort_unstable());
    places.into_iter().map(|(place, asks)| (place, asks.join("\n"))).collect()
}

/// Returns the text of a question as a person sees it. Its deadline depends on the clock, so only its presence is
/// shown.
fn asks(question: &Question) -> String {
    let mut text = format!("{}: {:?}", question.node_path.static_path(), question.message);
    if let Some(payload) = &question.payload {
        text.push_str(&format!(", with {payload}"));
    }
    if let Some(assignee) = &question.assignee {
        text.push_str(&format!(", of {assignee}"));
    }
    if question.deadline.is_some() {
        text.push_str(", with a deadline");
    }
    text
}

/// Returns the routes by paths without run ids.
fn routes(events: &[Arc<Event>]) -> BTreeMap<String, String> {
    let mut routes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for event in events {
        let Some(route) = event.actions().route() else { continue };
        // A route always has a JSON form.
        let route = serde_json::to_string(route).unwrap_or_default();
        routes.entry(event.path().static_path()).or_default().push(route);
    }
    routes.values_mut().for_each(|routes| routes.sort_unstable());
    routes.into_iter().map(|(path, routes)| (path, routes.join("\n"))).collect()
}

/// Returns the number of runs of each path that have written something other than errors.
fn runs(events: &[Arc<Event>]) -> BTreeMap<String, usize> {
    let written = events.iter().filter(|event| !event.is_from_user() && event.error_code().is_none());
    let runs: BTreeSet<_> = written.map(|event| (event.invocation_id(), event.path())).collect();
    let mut counts = BTreeMap::new();
    for (_, path) in runs {
        *counts.entry(path.static_path()).or_default() += 1;
    }
    counts
}

/// Returns true if an event has the output of the run that wrote it.
fn gives(event: &Event) -> bool {
    let has_output = event.output().is_some() || event.node_info().message_as_output() == Some(true);
    has_output && !event.is_from_user() && event.is_output_for(event.path())
}

fn pretty(value: &Value) -> String {
    // A value always has a JSON form.
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// Returns a text without the parts that differ between runs on purpose: counted ids, idempotency keys, and the name of
/// the app.
fn stable(text: &str, app: &str) -> String {
    let mut stable = String::with_capacity(text.len());
    let mut end = 0;
    for (place, id) in uuids(text) {
        if CountedIds::is_counted(id) || is_stable(id) {
            stable.push_str(&text[end..place.start]);
            stable.push_str("<id>");
            end = place.end;
        }
    }
    stable.push_str(&text[end..]);
    stable.replace(app, "<app>")
}
