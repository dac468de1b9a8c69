//! Checks the testkit's resume property on the same random workflows. It must hold whenever the property of `check`
//! holds.

use std::collections::BTreeMap;
use std::sync::Mutex;

use pleach::prelude::*;
use pleach::{Question, QuestionKind, REQUEST_CONFIRMATION};
use pleach_testkit::{ResumeProperty, ScriptedHuman};
use proptest::strategy::Strategy;
use serde_json::{Value, json};

use crate::bodies::{OPEN, topic};
use crate::cases::check;
use crate::flow::{Flow, Tail, flow, flow_of_agents};
use crate::graph::root;
use crate::world::World;

/// The person's answer to a question, as a plain value.
fn answer(question: &Question) -> Value {
    let topic = topic(question);
    match question.kind {
        QuestionKind::Confirmation => {
            let refused = question.function == REQUEST_CONFIRMATION && topic.len().is_multiple_of(3);
            json!({"confirmed": !refused})
        }
        _ => format!("to {topic}").into(),
    }
}

/// Returns true if the ends of two runs can be compared. Nothing may fail for good, no lanes may meet in an ordinary
/// node, and no model may answer the status of a call: if the process is cut off before the tool has run, the result
/// comes first, and the model answers once less.
fn is_steady(flow: &Flow) -> bool {
    let flow_text = format!("{flow:?}").replace("fails: 0", "");
    matches!(flow.tail, Tail::None) && !flow_text.contains("fails: ") && !flow_text.contains("has_status: true")
}

fn holds(flow: &Flow) {
    let (own, worlds) = (flow.clone(), Mutex::new(BTreeMap::<String, World>::new()));
    let property = ResumeProperty::app(move |name| {
        let world = worlds.lock().unwrap().entry(name.to_string()).or_default().clone();
        Runner::builder(name).root(root(&own, &world)).resumable(own.resumable)
    });
    let human = ScriptedHuman::new().leaves_open(format!("*{OPEN}")).leaves_open(format!("pleach_signal:*{OPEN}"));
    let human = human.answers_with("*", answer).answers_with("pleach_signal:*", answer);
    let property = property.input("go").human(&human);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    if let Err(failure) = runtime.block_on(property.check()) {
        panic!("{failure}");
    }
}

fn check_steady(name: &str, cases: u32, flows: impl Strategy<Value = Flow>) {
    check(name, cases, flows.prop_filter("steady", is_steady), holds);
}

#[test]
fn the_property_of_users_holds_for_random_workflows() {
    check_steady("public", 25, flow(false));
}

#[test]
fn the_property_of_users_holds_for_random_resumable_workflows() {
    check_steady("public, resumable", 20, flow(true));
}

#[test]
fn the_property_of_users_holds_for_random_agents() {
    check_steady("public, agents", 6, flow_of_agents(false));
}
