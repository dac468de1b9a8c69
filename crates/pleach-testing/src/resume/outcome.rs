//! [`Outcome`]: what a conversation has come to, to be compared.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pleach_core::{Event, Question, Session};
use serde_json::Value;

use super::failure::Difference;
use super::settings::Settings;
use super::talk::End;
use crate::CountedIds;
use crate::trace::{is_stable, uuids};

/// What a conversation has come to, by places that a failure names; several values of one place in lines.
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
            // Lanes that run side by side end in any order.
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

/// The questions by their ids, each with a line for each time that a run asked it: a run that begins again and asks again asks once.
fn questions(events: &[Arc<Event>], app: &str) -> BTreeMap<String, String> {
    let mut asked = BTreeMap::new();
    for question in events.iter().flat_map(|event| event.questions()) {
        let run = (question.invocation_id.clone(), question.node_path.clone(), question.id.clone());
        asked.insert(run, question);
    }
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for question in asked.values() {
        // Equal for all whose ids are counted.
        let place = stable(&format!("question '{}'", question.id), app);
        places.entry(place).or_default().push(stable(&asks(question), app));
    }
    // Lanes that run side by side ask in any order.
    places.values_mut().for_each(|asks| asks.sort_unstable());
    places.into_iter().map(|(place, asks)| (place, asks.join("\n"))).collect()
}

/// What a person sees of a question. Its deadline follows the clock, so that only whether there is one is the same in each run.
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

/// The routes by paths without run ids.
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

/// How many runs of each path have written something other than errors.
fn runs(events: &[Arc<Event>]) -> BTreeMap<String, usize> {
    let written = events.iter().filter(|event| !event.is_from_user() && event.error_code().is_none());
    let runs: BTreeSet<_> = written.map(|event| (event.invocation_id(), event.path())).collect();
    let mut counts = BTreeMap::new();
    for (_, path) in runs {
        *counts.entry(path.static_path()).or_default() += 1;
    }
    counts
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
        if CountedIds::is_counted(id) || is_stable(id) {
            stable.push_str(&text[end..place.start]);
            stable.push_str("<id>");
            end = place.end;
        }
    }
    stable.push_str(&text[end..]);
    stable.replace(app, "<app>")
}
