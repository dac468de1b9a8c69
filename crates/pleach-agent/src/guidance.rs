//! Texts and declarations that agents add to a request.
//!
//! The texts are copied from recorded requests of google-adk 2.13.0, because models are used to them.

use std::fmt::Write as _;

use pleach_core::{Content, FunctionDeclaration};
use serde_json::{Value, json};

use crate::OutputWrapper;

/// The name of the function that a model calls to transfer to another agent.
pub const TRANSFER_TO_AGENT: &str = "transfer_to_agent";

/// The name of the function that a model calls to answer in the form of a schema, if it cannot combine a schema with
/// tools.
pub const SET_MODEL_RESPONSE: &str = "set_model_response";

/// The name of the function that an agent calls to end the task that was delegated to it.
pub const FINISH_TASK: &str = "finish_task";

const INSTRUCTION_BEGIN: &str = "<<<BEGIN_SYSTEM_INSTRUCTION>>>";
const INSTRUCTION_END: &str = "<<<END_SYSTEM_INSTRUCTION>>>";
const ELIDED: &str = "<<<ELIDED_MARKER>>>";

/// The text before a dynamic instruction if there is also a static one.
const INSTRUCTION_PREAMBLE: &str = "The text between <<<BEGIN_SYSTEM_INSTRUCTION>>> and <<<END_SYSTEM_INSTRUCTION>>> below is your own system \
     instruction for this turn and carries the current session state. It is addressed to you. Nothing between those two \
     markers was said by the user, so do not answer it or continue it as though it were their turn. Anything the user \
     actually said appears outside the markers, and a real user turn may follow immediately after the end marker.";

/// The text that tells a model when to call `set_model_response`.
///
/// It is part of the system instruction of an agent that has a schema and tools.
// L60
pub const SET_MODEL_RESPONSE_GUIDANCE: &str = "IMPORTANT: You have access to other tools, but you must provide your final response using the set_model_response tool \
     with the required structured format. After using any other tools needed to complete the task, always call \
     set_model_response with your final answer in the specified schema format.";

/// The text that tells a model when to call `finish_task`.
///
/// It is part of the system instruction of an agent that works on a delegated task.
// L192
pub const FINISH_TASK_GUIDANCE: &str = "Do NOT call `finish_task` prematurely. Use your available tools to
fully complete every aspect of the delegated task first. If the
task is unclear, ask the user for clarification before proceeding.
Once the task is fully complete, call `finish_task` by itself with
no accompanying text output.";

/// The name and description by which other agents know an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentProfile<'a> {
    /// The name of the agent.
    pub name: &'a str,
    /// The description of what the agent does; may be empty.
    pub description: &'a str,
    /// Whether the agent only works on tasks that are delegated to it, so that no other agent transfers to it.
    pub is_delegated: bool,
}

/// The agents around an agent, to which it may transfer.
#[derive(Clone, Debug, Default)]
pub struct Surroundings<'a> {
    /// The sub-agents of the agent, in order.
    pub sub_agents: Vec<AgentProfile<'a>>,
    /// The parent of the agent, if it has a parent that can transfer.
    pub parent: Option<AgentProfile<'a>>,
    /// The sub-agents of the parent, in order, with or without the agent itself.
    pub siblings: Vec<AgentProfile<'a>>,
    /// Whether the agent may not transfer to its parent.
    pub disallow_transfer_to_parent: bool,
    /// Whether the agent may not transfer to its siblings.
    pub disallow_transfer_to_peers: bool,
}

/// Returns the text that tells a model the name of its agent, and the description if there is one.
// L32
#[must_use]
pub fn identity(name: &str, description: &str) -> String {
    let mut text = format!("You are an agent. Your internal name is \"{name}\".");
    if !description.is_empty() {
        // Writing to a `String` cannot fail.
        let _ = write!(text, " The description about you is \"{description}\".");
    }
    text
}

/// Returns a dynamic instruction as a content of the user, for agents that also have a static instruction.
///
/// The content begins with an explanation of the markers that enclose the instruction. Markers inside the instruction
/// are replaced, so that no value of the state can end it.
// L33
#[must_use]
pub fn dynamic_instruction(text: &str) -> Content {
    let text = text.replace(INSTRUCTION_BEGIN, ELIDED).replace(INSTRUCTION_END, ELIDED);
    Content::user(format!("{INSTRUCTION_PREAMBLE}\n{INSTRUCTION_BEGIN}\n{text}\n{INSTRUCTION_END}"))
}

/// Returns the agents to which the agent `name` may transfer: its sub-agents, its parent and its siblings, in this
/// order. ADK: `_get_transfer_targets`
// L65
#[must_use]
pub fn transfer_targets<'a>(name: &str, around: &Surroundings<'a>) -> Vec<AgentProfile<'a>> {
    let mut targets: Vec<AgentProfile<'a>> =
        around.sub_agents.iter().copied().filter(|agent| !agent.is_delegated).collect();
    let Some(parent) = around.parent else { return targets };
    if !around.disallow_transfer_to_parent {
        targets.push(parent);
    }
    if !around.disallow_transfer_to_peers {
        targets.extend(around.siblings.iter().filter(|agent| agent.name != name && !agent.is_delegated));
    }
    targets
}

/// Returns the text that tells a model when to transfer, and to which agents.
///
/// `parent` is the agent to transfer to if no other agent fits.
// L66
#[must_use]
pub fn transfer(targets: &[AgentProfile<'_>], parent: Option<&str>) -> String {
    let profile =
        |agent: &AgentProfile<'_>| format!("\nAgent name: {}\nAgent description: {}\n", agent.name, agent.description);
    let profiles: Vec<String> = targets.iter().map(profile).collect();
    let mut names: Vec<&str> = targets.iter().map(|agent| agent.name).collect();
    names.sort_unstable();
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let (profiles, names) = (profiles.join("\n"), names.join(", "));
    let mut text = format!(
        "
You have a list of other agents to transfer to:

{profiles}

If you are the best to answer the question according to your description,
you can answer it.

If another agent is better for answering the question according to its
description, call `transfer_to_agent` function to transfer the question to that
agent. When transferring, do not generate any text other than the function
call.

**NOTE**: the only available agents for `transfer_to_agent` function are
{names}.
"
    );
    if let Some(parent) = parent {
        // Writing to a `String` cannot fail.
        let _ = write!(
            text,
            "\nIf neither you nor the other agents are best for the question, transfer to your parent agent {parent}.\n"
        );
    }
    text
}

/// Returns the declaration of the function that transfers to one of the targets.
// L66
#[must_use]
pub fn transfer_declaration(targets: &[AgentProfile<'_>]) -> FunctionDeclaration {
    let names: Vec<&str> = targets.iter().map(|agent| agent.name).collect();
    let description = "Hands the question over to another agent that fits it better, judged by its description.";
    let parameters = json!({
        "type": "object",
        "properties": {"agent_name": {"type": "string", "description": "The name of the agent.", "enum": names}},
        "required": ["agent_name"],
    });
    FunctionDeclaration::new(TRANSFER_TO_AGENT, description).with_parameters(parameters)
}

/// Returns the declaration of the function that takes the final answer in the form of a schema, and the wrapper of the
/// schema.
///
/// The arguments are the members of an object. A list of objects is the argument `items`, and any other value is
/// `response`.
// L60
#[must_use]
pub fn set_model_response(schema: &Value) -> (FunctionDeclaration, OutputWrapper) {
    let kind = |schema: &Value| schema.get("type").and_then(Value::as_str).map(str::to_ascii_lowercase);
    let is_list = kind(schema).as_deref() == Some("array");
    let items = schema.get("items").filter(|_| is_list);
    let of_objects = items.is_some_and(|items| kind(items).as_deref() == Some("object") || items.get("$ref").is_some());
    let wrapper = OutputWrapper::for_schema(schema, if of_objects { "items" } else { "response" });
    let description = "Gives the final answer in the required form. Call it instead of writing the answer as text.";
    (declaration(SET_MODEL_RESPONSE, description, &wrapper), wrapper)
}

/// Returns the declaration of the function that ends a delegated task with its result, and the wrapper of the schema.
///
/// The arguments are the members of an object; any other value is the argument `result`. Without a schema, the result
/// is a text.
// L192
#[must_use]
pub fn finish_task(schema: Option<&Value>) -> (FunctionDeclaration, OutputWrapper) {
    let text = json!({
        "type": "object",
        "properties": {"result": {"type": "string", "description": "What the task has resulted in."}},
        "required": ["result"],
    });
    let wrapper = OutputWrapper::for_schema(schema.unwrap_or(&text), "result");
    let description = "Ends the delegated task with its result. Call it once the task is done.";
    (declaration(FINISH_TASK, description, &wrapper), wrapper)
}

fn declaration(name: &str, description: &str, wrapper: &OutputWrapper) -> FunctionDeclaration {
    FunctionDeclaration::new(name, description).with_parameters(wrapper.parameters().clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(name: &str) -> AgentProfile<'_> {
        AgentProfile { name, description: "", is_delegated: false }
    }

    fn delegated(name: &str) -> AgentProfile<'_> {
        AgentProfile { is_delegated: true, ..agent(name) }
    }

    #[test]
    fn l32_an_agent_knows_its_name_and_description() {
        assert_eq!(identity("a", ""), "You are an agent. Your internal name is \"a\".");
        assert!(identity("a", "does a").ends_with(" The description about you is \"does a\"."));
    }

    #[test]
    fn l33_a_dynamic_instruction_cannot_be_ended_from_inside() {
        let text = dynamic_instruction(&format!("a {INSTRUCTION_END} b {INSTRUCTION_BEGIN}")).text();
        assert!(text.ends_with(&format!("{INSTRUCTION_BEGIN}\na {ELIDED} b {ELIDED}\n{INSTRUCTION_END}")), "{text}");
    }

    #[test]
    fn l65_targets_are_sub_agents_then_the_parent_then_siblings() {
        let around = Surroundings {
            sub_agents: vec![agent("child"), delegated("task")],
            parent: Some(agent("boss")),
            siblings: vec![agent("me"), agent("peer"), delegated("one"), agent("last")],
            ..Surroundings::default()
        };
        let names = |around: &Surroundings<'_>| -> Vec<String> {
            transfer_targets("me", around).iter().map(|agent| agent.name.to_owned()).collect()
        };
        assert_eq!(names(&around), ["child", "boss", "peer", "last"]);
        let quiet = Surroundings { disallow_transfer_to_parent: true, ..around.clone() };
        assert_eq!(names(&quiet), ["child", "peer", "last"]);
        let lonely = Surroundings { disallow_transfer_to_peers: true, ..around.clone() };
        assert_eq!(names(&lonely), ["child", "boss"]);
        assert_eq!(names(&Surroundings { parent: None, ..around }), ["child"]);
    }

    #[test]
    fn l66_the_function_takes_one_of_the_targets() {
        let declaration = transfer_declaration(&[agent("b"), agent("a")]);
        assert_eq!(declaration.required().collect::<Vec<_>>(), ["agent_name"]);
        let parameters = declaration.parameters_json_schema.unwrap();
        assert_eq!(parameters["properties"]["agent_name"]["enum"], json!(["b", "a"]));
    }

    #[test]
    fn l60_an_answer_is_given_by_a_function() {
        let keys = |schema: Value| {
            let (declaration, _) = set_model_response(&schema);
            declaration.parameters().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(keys(json!({"type": "object", "properties": {"a": {}, "b": {}}})), ["a", "b"]);
        assert_eq!(keys(json!({"type": "array", "items": {"type": "object"}})), ["items"]);
        assert_eq!(keys(json!({"type": "array", "items": {"$ref": "#/$defs/A"}, "$defs": {"A": {}}})), ["items"]);
        assert_eq!(keys(json!({"type": "array", "items": {"type": "string"}})), ["response"]);
        assert_eq!(keys(json!({"type": "integer"})), ["response"]);
        assert_eq!(keys(json!({})), ["response"]);
    }

    #[test]
    fn l192_a_task_ends_with_its_result() {
        let (declaration, wrapper) = finish_task(None);
        assert_eq!(declaration.required().collect::<Vec<_>>(), ["result"]);
        assert_eq!(wrapper.value(pleach_core::Map::new()), Some(json!({})));
        let (declaration, _) = finish_task(Some(&json!({"type": "string"})));
        assert_eq!(declaration.parameters().collect::<Vec<_>>(), ["result"]);
        let (declaration, _) = finish_task(Some(&json!({"type": "object", "properties": {"a": {}}})));
        assert_eq!(declaration.parameters().collect::<Vec<_>>(), ["a"]);
    }
}
