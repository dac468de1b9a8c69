//! Draws the stored events of sessions as trees of node runs.

use std::fmt::Write as _;
use std::sync::Arc;

use pleach::{Event, NodePath, Session};

use crate::desk::{Outcome, Standing, standing};

/// Draws every session as a tree. Each node run is a branch, with the contents of its events below it, in order.
pub(crate) fn of(sessions: &[Session]) -> String {
    let mut out = String::new();
    for session in sessions {
        let _ = writeln!(out, "{}  {}: {}", session.id(), session.user_id(), heading(session));
        // A person's messages do not belong to a run. Answers are shown below their questions.
        for event in session.events.iter().filter(|event| event.path().is_root() && !event.text().is_empty()) {
            let _ = writeln!(out, "   {} says {:?}", event.author(), event.text());
        }
        Tree { events: &session.events, runs: runs(&session.events) }.draw(&NodePath::root(), "", &mut out);
        out.push('\n');
    }
    out
}

fn heading(session: &Session) -> String {
    let events = session.events.len();
    match standing(session) {
        Ok(Standing::Ended(Outcome::Closed(_))) => format!("closed, {events} events"),
        Ok(Standing::Ended(Outcome::Waiting(case))) => {
            format!("waits for an answer to {}, {events} events", case.question.id)
        }
        Ok(Standing::New | Standing::CutOff(_)) => format!("stopped midway, {events} events"),
        Err(fault) => fault.with_causes(),
    }
}

/// Returns all runs that have written events, and the runs around them, in the order of their first events.
fn runs(events: &[Arc<Event>]) -> Vec<NodePath> {
    let mut runs = Vec::new();
    for event in events {
        let around = std::iter::successors(Some(event.path().clone()), NodePath::parent);
        let new: Vec<_> = around.filter(|path| !path.is_root() && !runs.contains(path)).collect();
        runs.extend(new.into_iter().rev());
    }
    runs
}

struct Tree<'a> {
    events: &'a [Arc<Event>],
    runs: Vec<NodePath>,
}

impl Tree<'_> {
    fn draw(&self, parent: &NodePath, indent: &str, out: &mut String) {
        let children: Vec<_> = self.runs.iter().filter(|run| run.is_direct_child_of(parent)).collect();
        for (left, run) in (0..children.len()).rev().zip(children) {
            let (fork, stem) = if left > 0 { ("├─", "│ ") } else { ("└─", "  ") };
            let below = format!("{indent}{stem} ");
            let own: Vec<&Event> = self.events.iter().map(Arc::as_ref).filter(|event| event.path() == run).collect();
            let _ = writeln!(out, "{indent}{fork} {}{}", segment(run), ran(&own));
            for detail in own.iter().flat_map(|event| self.details(event)) {
                let _ = writeln!(out, "{below}    {detail}");
            }
            self.draw(run, &below, out);
        }
    }

    fn details(&self, event: &Event) -> Vec<String> {
        let mut details = Vec::new();
        if !event.text().is_empty() {
            details.push(format!("says {:?}", event.text()));
        }
        for question in event.questions() {
            details.push(format!("asks {}: {:?}", question.id, question.message));
            details.extend(self.answer_to(&question.id).map(|answer| format!("answered {answer}")));
        }
        if let Some(code) = event.error_code() {
            details.push(format!("failed with {code}: {}", event.error_message().unwrap_or_default()));
        }
        if let Some(route) = event.actions().route() {
            let keys: Vec<String> = route.keys().iter().map(ToString::to_string).collect();
            details.push(format!("route {}", keys.join(", ")));
        }
        if let Some(output) = event.output() {
            details.push(format!("output {output}"));
        }
        for (key, value) in event.actions().state_delta() {
            details.push(format!("state {key} = {value}"));
        }
        details
    }

    fn answer_to(&self, question: &str) -> Option<String> {
        let mut responses = self.events.iter().flat_map(|event| event.function_responses());
        let answer = responses.find(|response| response.id.as_deref() == Some(question))?;
        serde_json::to_string(&answer.response).ok()
    }
}

/// Returns the last segment of a path: `classify@1`.
fn segment(run: &NodePath) -> &str {
    run.segments().next_back().unwrap_or_default()
}

/// Returns who wrote the events of a run, and how often the run ended with a result, a question or a failure. The
/// result of a workflow is written by its last node, so the workflow itself may have written nothing.
fn ran(own: &[&Event]) -> String {
    let Some(first) = own.first() else { return String::new() };
    let ends = |event: &&&Event| event.output().is_some() || event.is_interrupt() || event.error_code().is_some();
    let times = match own.iter().filter(ends).count() {
        0 => "has not finished".to_owned(),
        1 => "finished once".to_owned(),
        n => format!("finished {n} times"),
    };
    format!("  by {}, {times}", first.author())
}
