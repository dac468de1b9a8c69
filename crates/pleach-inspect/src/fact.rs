//! [`Fact`]: one statement or action of an event.

use pleach_auth::{hide_secrets, hide_secrets_of, hide_secrets_of_call};
use pleach_core::{Event, FunctionCall, Part};
use pleach_session::notes::notes_completed_runs;
use pleach_session::partly_rewound;
use serde::Serialize;
use serde_json::{Value, json};

/// One statement or action of an event. Its JSON names the kind: `{"kind": "sets", "key": "count", "value": 2}`.
///
/// Values are copied from the event unchanged, so they may contain anything that a client or a model has sent.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Fact {
    /// Text in the message.
    Says {
        /// The text.
        text: String,
    },
    /// A thought of the model.
    Thinks {
        /// The text.
        text: String,
    },
    /// A call of a tool. If the call asks an outside person or program, a [`Fact::Asks`] follows.
    Calls {
        /// The id of the call.
        id: String,
        /// The name of the tool.
        name: String,
        /// The arguments of the call.
        args: Value,
    },
    /// The result of a call, or the answer to a question.
    Answers {
        /// The id of the call.
        id: String,
        /// The name of the tool.
        name: String,
        /// The result of the call.
        response: Value,
    },
    /// A question to an outside person or program.
    Asks {
        /// The id of the question. Its answer has the same id.
        id: String,
        /// The text of the question.
        message: String,
    },
    /// A file or another part of a message that is not text.
    Shows {
        /// The media type of the part, the URI of the file, or a name for the kind of the part.
        what: String,
        /// The size in bytes, if the event contains the bytes.
        bytes: Option<usize>,
    },
    /// The output of a node.
    Gives {
        /// The output.
        output: Value,
    },
    /// The route of a node.
    Takes {
        /// One route key, or several.
        route: Value,
    },
    /// A change of the state.
    Sets {
        /// The key, with the prefix of its scope.
        key: String,
        /// The new value.
        value: Value,
    },
    /// A new version of a file.
    Saves {
        /// The name of the file.
        file: String,
        /// The number of the version.
        version: i64,
    },
    /// A transfer to another agent, which continues the conversation.
    Transfers {
        /// The name of that agent.
        agent: String,
    },
    /// An escalation: a loop ends, or the parent agent is asked to decide.
    Escalates,
    /// An error.
    Fails {
        /// The code of the error.
        code: String,
        /// The text of the error.
        message: String,
    },
    /// A rewind: the events from this invocation on, or from an event in the middle of it on, are ignored.
    Rewinds {
        /// The invocation.
        invocation: String,
        /// The id of the first ignored event, if earlier events of the invocation stay effective.
        #[serde(skip_serializing_if = "Option::is_none")]
        first: Option<String>,
    },
    /// A summary replaces earlier events in prompts.
    Summarises,
    /// An agent or a workflow has ended.
    Ends,
    /// A record of progress, such as a checkpoint.
    Notes,
}

impl Fact {
    /// Returns the facts of an event: its message first, then its actions.
    #[must_use]
    pub fn of(event: &Event) -> Vec<Self> {
        let mut facts: Vec<Self> =
            event.content().into_iter().flat_map(|content| content.parts()).flat_map(part_fact).collect();
        let asked = event.questions().into_iter().map(|asked| Self::Asks { id: asked.id, message: asked.message });
        facts.extend(asked);
        facts.extend(event.output().map(|output| Self::Gives { output: output.clone() }));
        facts.extend(action_facts(event));
        if let Some(code) = event.error_code() {
            let message = event.error_message().unwrap_or_default().to_owned();
            facts.push(Self::Fails { code: code.to_owned(), message });
        }
        let actions = event.actions();
        if actions.end_of_agent() == Some(true) {
            facts.push(Self::Ends);
        } else if actions.agent_state().is_some() || (facts.is_empty() && notes_completed_runs(event)) {
            facts.push(Self::Notes);
        }
        facts
    }

    /// Removes the secrets of credentials.
    pub fn hide_secrets(&mut self) {
        match self {
            Self::Calls { name, args, .. } => hide_secrets_of_call(name, args),
            Self::Answers { name, response, .. } => hide_secrets_of_call(name, response),
            Self::Gives { output } => hide_secrets(output),
            Self::Sets { key, value } => hide_secrets_of(key, value),
            _ => {}
        }
    }
}

/// Returns the fact of a message part.
fn part_fact(part: &Part) -> Option<Fact> {
    if let Some(text) = part.text.as_ref().filter(|text| !text.is_empty()) {
        let text = text.clone();
        return Some(if part.thought == Some(true) { Fact::Thinks { text } } else { Fact::Says { text } });
    }
    if let Some(call) = &part.function_call {
        return Some(call_fact(call));
    }
    if let Some(given) = &part.function_response {
        let (id, name) = (given.id.clone().unwrap_or_default(), given.name.clone().unwrap_or_default());
        return Some(Fact::Answers { id, name, response: given.response.clone().map_or(Value::Null, Value::Object) });
    }
    media_fact(part)
}

fn call_fact(call: &FunctionCall) -> Fact {
    let (id, name) = (call.id.clone().unwrap_or_default(), call.name.clone().unwrap_or_default());
    Fact::Calls { id, name, args: call.args.clone().map_or_else(|| json!({}), Value::Object) }
}

fn media_fact(part: &Part) -> Option<Fact> {
    if let Some(blob) = &part.inline_data {
        let what = blob.mime_type.clone().unwrap_or_else(|| "data".to_owned());
        return Some(Fact::Shows { what, bytes: blob.data.as_ref().map(|data| data.len()) });
    }
    if let Some(file) = &part.file_data {
        let what = file.file_uri.clone().or_else(|| file.mime_type.clone()).unwrap_or_else(|| "file".to_owned());
        return Some(Fact::Shows { what, bytes: None });
    }
    let what = match part {
        Part { executable_code: Some(_), .. } => "code",
        Part { code_execution_result: Some(_), .. } => "result of code",
        Part { tool_call: Some(_), .. } => "call of a tool of the model's provider",
        Part { tool_response: Some(_), .. } => "result of a tool of the model's provider",
        _ => return None,
    };
    Some(Fact::Shows { what: what.to_owned(), bytes: None })
}

/// Returns the facts of an event's actions.
fn action_facts(event: &Event) -> Vec<Fact> {
    let actions = event.actions();
    let mut facts = Vec::new();
    facts.extend(actions.route().and_then(|route| serde_json::to_value(route).ok()).map(|route| Fact::Takes { route }));
    let set = actions.state_delta().iter();
    facts.extend(set.map(|(key, value)| Fact::Sets { key: key.clone(), value: value.clone() }));
    let saved = actions.artifact_delta().iter();
    facts.extend(saved.map(|(file, version)| Fact::Saves { file: file.clone(), version: *version }));
    facts.extend(actions.transfer_to_agent().map(|agent| Fact::Transfers { agent: agent.to_owned() }));
    facts.extend((actions.escalate() == Some(true)).then_some(Fact::Escalates));
    let rewound = actions.rewind_before_invocation_id().filter(|invocation| !invocation.is_empty());
    let first = partly_rewound(event).map(|(_, first)| first.to_string());
    facts.extend(rewound.map(|invocation| Fact::Rewinds { invocation: invocation.to_owned(), first }));
    facts.extend(actions.compaction().is_some().then_some(Fact::Summarises));
    facts
}

#[cfg(test)]
mod tests {
    use pleach_core::{Blob, Content, RequestInput};

    use super::*;

    fn kinds(event: &Event) -> Vec<String> {
        let kind = |fact: &Fact| serde_json::to_value(fact).unwrap()["kind"].as_str().unwrap().to_owned();
        Fact::of(event).iter().map(kind).collect()
    }

    #[test]
    fn an_event_is_read_as_what_it_says_and_does() {
        let blob = Blob { data: Some(vec![1, 2, 3].into()), mime_type: Some("image/png".into()), ..Blob::default() };
        let image = Part { inline_data: Some(Box::new(blob)), ..Part::default() };
        let thought = Part { thought: Some(true), ..Part::text("hm") };
        let event = Event::from_author("a")
            .with_content(Content::new("model", [thought, Part::text("hello"), image]))
            .with_output(1)
            .with_state("k", 2)
            .with_route("left")
            .with_error("Oops", "it broke");
        assert_eq!(kinds(&event), ["thinks", "says", "shows", "gives", "takes", "sets", "fails"]);
        assert_eq!(Fact::of(&event)[2], Fact::Shows { what: "image/png".into(), bytes: Some(3) });
        assert_eq!(Fact::of(&event)[4], Fact::Takes { route: json!("left") });
    }

    #[test]
    fn a_question_is_a_call_that_asks() {
        let event = RequestInput::<bool>::ask("q", "Fine?").into_event("q");
        assert_eq!(kinds(&event), ["calls", "asks"]);
        assert_eq!(Fact::of(&event)[1], Fact::Asks { id: "q".into(), message: "Fine?".into() });
    }

    #[test]
    fn ends_and_checkpoints_are_named_and_an_empty_event_says_nothing() {
        let mut event = Event::from_author("a");
        assert_eq!(kinds(&event), [""; 0]);
        event.actions_mut().set_agent_state(Some(pleach_core::Map::new()));
        assert_eq!(kinds(&event), ["notes"]);
        event.actions_mut().set_end_of_agent(Some(true));
        assert_eq!(kinds(&event), ["ends"]);
    }
}
