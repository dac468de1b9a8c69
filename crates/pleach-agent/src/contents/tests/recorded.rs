//! Requests that google-adk 2.13.0 sent, compared with what this crate makes of the recorded sessions.
//!
//! The scenarios come from `tests/conformance` and from `tests/recorded` next to this crate.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use pleach_core::{Branch, Content, NodePath, to_camel};
use serde_json::{Value, json};

use super::super::*;
use crate::guidance::{self, AgentProfile, Surroundings};
use crate::python;

/// A scenario and its recording.
struct Recording {
    name: String,
    scenario: Value,
    trace: Value,
}

fn recordings() -> Vec<Recording> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = BTreeMap::new();
    for folder in [own.join("../../tests/conformance/scenarios"), own.join("tests/recorded")] {
        for entry in fs::read_dir(folder).expect("the scenarios are part of the repository") {
            let path = entry.unwrap().path();
            let Some(name) = path.to_str().and_then(|path| path.strip_suffix(".golden.json")) else { continue };
            let golden = fs::read_to_string(&path).unwrap();
            if !golden.contains("\"llm_requests\"") || !golden.contains("\"compare\": \"ordered\"") {
                continue;
            }
            // The recorded ids of the runtime lack their prefix.
            let golden: Value = serde_json::from_str(&golden.replace("<call-", "adk-<call-")).unwrap();
            let mut scenario = serde_json::from_str(&fs::read_to_string(format!("{name}.json")).unwrap()).unwrap();
            name_nodes(&mut scenario, "");
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            all.insert(name.clone(), Recording { name, scenario, trace: golden["trace"].clone() });
        }
    }
    all.into_values().collect()
}

/// Names each agent that has no name. The name is the key under which the agent is found.
fn name_nodes(node: &mut Value, key: &str) {
    match node {
        Value::Object(members) => {
            if members.get("kind").is_some_and(|kind| kind == "llm_agent") {
                members.entry("name").or_insert_with(|| key.into());
            }
            members.iter_mut().for_each(|(key, member)| name_nodes(member, key));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| name_nodes(item, key)),
        _ => {}
    }
}

/// All agents of a scenario, each with its parent.
fn agents<'s>(node: &'s Value, parent: Option<&'s Value>, found: &mut Vec<(&'s Value, Option<&'s Value>)>) {
    if node["kind"] == "llm_agent" {
        found.push((node, parent));
    }
    let below = |node: &'s Value| -> Vec<&'s Value> {
        match node {
            Value::Object(members) => members.values().collect(),
            Value::Array(items) => items.iter().collect(),
            _ => Vec::new(),
        }
    };
    let subs: Vec<&Value> = node["sub_agents"].as_array().into_iter().flatten().collect();
    for member in below(node) {
        if !subs.is_empty() && member == &node["sub_agents"] {
            subs.iter().for_each(|sub| agents(sub, Some(node), found));
        } else {
            agents(member, None, found);
        }
    }
}

/// Rewrites JSON in quotations and texts as Python prints it, so that the comparison ignores its formatting.
fn normal(mut contents: Value) -> Value {
    for content in contents.as_array_mut().into_iter().flatten() {
        for part in content["parts"].as_array_mut().into_iter().flatten() {
            if let Some(text) = part.get("text").and_then(Value::as_str) {
                part["text"] = normal_text(text).into();
            }
            if let Some(call) = part.get_mut("functionCall").and_then(Value::as_object_mut) {
                call.retain(|key, value| key != "args" || *value != json!({}));
            }
        }
    }
    contents
}

fn normal_text(text: &str) -> String {
    let printed = |text: &str| match serde_json::from_str::<Value>(text) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => python::repr(&value),
        _ => text.to_owned(),
    };
    let (begin, end) = ("<<<BEGIN_QUOTED_AGENT_CONTENT>>>\n", "\n<<<END_QUOTED_AGENT_CONTENT>>>");
    match text.split_once(begin).and_then(|(before, rest)| Some((before, rest.strip_suffix(end)?))) {
        Some((before, body)) => format!("{before}{begin}{}{end}", printed(body)),
        None => printed(text),
    }
}

/// The place of an agent when it calls its model, taken from the next event that the agent writes.
struct Place<'a> {
    path: NodePath,
    branch: Option<Branch>,
    scope: Option<String>,
    agent: &'a Value,
    /// The input of an agent that answers once. The agent sees it, but it is never stored.
    input: Option<(usize, Content)>,
    /// The first content of the recorded request, used as the message of the invocation. The contents of an agent
    /// with a scope begin with it if no call has delegated a task to the agent.
    given: Content,
}

impl<'a> Place<'a> {
    fn of(agent: &'a Value, has_parent: bool, events: &[Arc<Event>], from: usize, request: &Value) -> Self {
        let name = agent["name"].as_str().unwrap_or_default();
        let next = events[from..].iter().find(|event| event.author() == name);
        let path = next.map(|event| event.path().clone()).unwrap_or_default();
        let is_chat = has_parent || agent["sub_agents"].is_array() || path.as_str() == format!("{name}@1");
        let is_single = match agent["mode"].as_str() {
            Some(mode) => mode == "single_turn",
            None => !is_chat,
        };
        let first = events.iter().position(|event| event.path() == &path).filter(|_| !path.is_root());
        let given: Content = serde_json::from_value(request["contents"][0].clone()).unwrap_or_default();
        let input = first.filter(|_| is_single).map(|first| (first.min(from), given.clone()));
        let scope = next.and_then(|event| event.isolation_scope()).map(str::to_owned);
        Self { path, branch: next.and_then(|event| event.branch().cloned()), scope, agent, input, given }
    }

    fn contents(&self, events: &[Arc<Event>]) -> Value {
        let name = self.agent["name"].as_str().unwrap_or_default();
        let mut events = events.to_vec();
        if let Some((at, content)) = self.input.as_ref().filter(|(at, _)| *at <= events.len()) {
            let mut event = Event::from_author("user").with_message(content.clone());
            event.set_path(self.path.clone());
            event.set_branch(self.branch.clone());
            event.set_isolation_scope(self.scope.as_deref().map(Into::into));
            event.set_invocation_id(events.last().map(|event| event.invocation_id().clone()).unwrap_or_default());
            events.insert(*at, Arc::new(event));
        }
        let view = ConversationView {
            agent: name,
            branch: self.branch.as_ref(),
            scope: self.scope.as_deref(),
            path: &self.path,
            is_single_turn: self.input.is_some(),
            part: &[],
            task: None,
            user_content: Some(&self.given),
            thoughts_of_others: false,
            pairs_calls_by_id: false,
        };
        let is_none = self.agent["include_contents"] == "none" || self.input.is_some();
        let contents = if is_none { current_turn(&events, &view) } else { conversation(&events, &view) };
        normal(to_camel(&contents).expect("contents have JSON"))
    }
}

/// The scenarios whose requests depend on more than the stored events.
const OTHERWISE: &[(&str, &str)] = &[
    ("agent_static_with_template", "the instruction is one of the contents"),
    ("llm_static_instruction", "the instruction is one of the contents"),
    ("once_below_sequence_in_graph", "even within a shell agent, an agent that answers once sees only its own path"),
    ("shell_sequence_long_running", "the recorded call has no arguments, but its quotation shows them as `{}`"),
];

#[test]
fn l40_l55_recorded_requests_have_the_contents_that_google_adk_sent() {
    let (mut compared, mut failures) = (0, Vec::new());
    for Recording { name, scenario, trace } in recordings() {
        // An agent that is called as a tool runs in a session of its own.
        let has_agent_tool = scenario.to_string().contains("\"agent_tool\":");
        if has_agent_tool || OTHERWISE.iter().any(|(other, _)| name == format!("{other}.golden.json")) {
            continue;
        }
        let mut found = Vec::new();
        agents(&scenario, None, &mut found);
        for session in trace["sessions"].as_object().unwrap().values() {
            let events: Vec<Arc<Event>> = serde_json::from_value::<Vec<Event>>(session["events"].clone())
                .unwrap_or_else(|error| panic!("{name}: {error}"))
                .into_iter()
                .map(Arc::new)
                .collect();
            let only = trace["sessions"].as_object().unwrap().len() == 1;
            let mut from = 1;
            for turn in trace["turns"].as_array().unwrap() {
                for request in turn["llm_requests"].as_array().into_iter().flatten() {
                    let (agent, parent) = found
                        .iter()
                        .find(|(agent, _)| agent["name"] == request["agent"])
                        .unwrap_or_else(|| panic!("{name}: no agent {}", request["agent"]));
                    let expected = normal(request["contents"].clone());
                    let matches = |end: &usize| {
                        let place = Place::of(agent, parent.is_some(), &events, *end, request);
                        place.contents(&events[..*end]) == expected
                    };
                    match (from..=events.len()).find(matches) {
                        Some(end) => {
                            from = end;
                            compared += 1;
                        }
                        None if only => failures.push(format!("{name}: {expected}")),
                        None => {}
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{compared} requests are equal, not these:\n{}", failures.join("\n"));
    assert!(compared > 80, "only {compared} requests were compared");
}

fn profile(agent: &Value) -> AgentProfile<'_> {
    AgentProfile {
        name: agent["name"].as_str().unwrap_or_default(),
        description: agent["description"].as_str().unwrap_or_default(),
        is_delegated: matches!(agent["mode"].as_str(), Some("task" | "single_turn")),
    }
}

fn surroundings<'s>(agent: &'s Value, parent: Option<&'s Value>) -> Surroundings<'s> {
    let subs = |agent: &'s Value| -> Vec<AgentProfile<'s>> {
        agent["sub_agents"].as_array().into_iter().flatten().map(profile).collect()
    };
    let parent = parent.filter(|parent| parent["kind"] == "llm_agent");
    Surroundings {
        sub_agents: subs(agent),
        parent: parent.map(profile),
        siblings: parent.map(subs).unwrap_or_default(),
        disallow_transfer_to_parent: agent["disallow_transfer_to_parent"] == true,
        disallow_transfer_to_peers: agent["disallow_transfer_to_peers"] == true,
    }
}

/// Returns the end of an agent's system instruction: its identity and the guidance that its tools need.
fn expected_end(agent: &Value, parent: Option<&Value>, tools: &[&str]) -> String {
    let own = profile(agent);
    let mut pieces = vec![guidance::identity(own.name, own.description)];
    if tools.contains(&guidance::SET_MODEL_RESPONSE) {
        pieces.push(guidance::SET_MODEL_RESPONSE_GUIDANCE.to_owned());
    }
    if tools.contains(&guidance::TRANSFER_TO_AGENT) && !own.is_delegated {
        let around = surroundings(agent, parent);
        let targets = guidance::transfer_targets(own.name, &around);
        // The text names the parent even if it has no model.
        let parent = parent.filter(|_| !around.disallow_transfer_to_parent).map(profile);
        pieces.push(guidance::transfer(&targets, parent.map(|parent| parent.name)));
    }
    if tools.contains(&guidance::FINISH_TASK) {
        pieces.push(guidance::FINISH_TASK_GUIDANCE.to_owned());
    }
    pieces.join("\n\n")
}

#[test]
fn l30_l32_l60_l66_l192_recorded_instructions_end_in_identity_and_guidance() {
    let mut compared = BTreeMap::new();
    for Recording { name, scenario, trace } in recordings() {
        let mut found = Vec::new();
        agents(&scenario, None, &mut found);
        let turns = trace["turns"].as_array().unwrap().iter();
        for request in turns.flat_map(|turn| turn["llm_requests"].as_array().into_iter().flatten()) {
            let (agent, parent) = found.iter().find(|(agent, _)| agent["name"] == request["agent"]).unwrap();
            let instruction = request["system_instruction"].as_str().unwrap_or_default();
            let tools: Vec<&str> =
                request["tools"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            if !instruction.contains("Your internal name is") {
                continue;
            }
            let end = expected_end(agent, *parent, &tools);
            assert!(instruction.ends_with(&end), "{name}: {instruction}\n--- does not end in\n{end}");
            for tool in tools.into_iter().chain([""]) {
                *compared.entry(tool.to_owned()).or_insert(0) += 1;
            }
        }
    }
    for tool in ["", guidance::TRANSFER_TO_AGENT, guidance::SET_MODEL_RESPONSE, guidance::FINISH_TASK] {
        assert!(compared.get(tool).is_some_and(|count| *count > 0), "{tool}: {compared:?}");
    }
}

#[test]
fn l33_a_recorded_dynamic_instruction_is_between_markers() {
    let all = recordings();
    let recording = all.iter().find(|recording| recording.name == "llm_static_instruction.golden.json").unwrap();
    let instruction = to_camel(&guidance::dynamic_instruction("Name is Ann.")).unwrap();
    for turn in recording.trace["turns"].as_array().unwrap() {
        for request in turn["llm_requests"].as_array().unwrap() {
            assert!(request["contents"].as_array().unwrap().contains(&instruction), "{request}");
        }
    }
}
