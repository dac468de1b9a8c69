//! [`AgentReply`]: the output of a run whose root is an agent, read from its last reply, because a root agent has no output as a node.

use std::sync::Arc;

use pleach_context::engine::InvocationHandle;
use pleach_context::{AgentSpec, Node, NodeError, NodeInput, Schema};
use pleach_core::Event;
use pleach_schema::json_in_text;
use serde::de::DeserializeOwned;
use smol_str::SmolStr;

use crate::RunError;

/// The last reply of an agent at the root, and the schema of its model's answers.
#[derive(Clone)]
pub(crate) struct AgentReply {
    agent: SmolStr,
    said: Option<Arc<Event>>,
    schema: Option<Schema>,
}

impl AgentReply {
    /// Returns the reply of an invocation, or `None` if its root is not an agent.
    pub(crate) fn of(ic: &InvocationHandle, root: &dyn Node) -> Option<Self> {
        let spec = root.agent()?;
        let is_reply = |event: &&Arc<Event>| {
            event.invocation_id() == ic.invocation_id()
                && !event.is_from_user()
                && event.is_final_response()
                && !event.text().is_empty()
        };
        let said = ic.with_events(|events| events.iter().rev().find(is_reply).cloned());
        // An agent that the root has transferred to answers in its place.
        let agent = said.as_ref().and_then(|said| named(root, spec, said.author())).unwrap_or(root).spec();
        Some(Self { agent: agent.name.clone(), said, schema: agent.output_schema.clone() })
    }

    /// Reads the reply as a `T`.
    ///
    /// # Errors
    /// [`RunError::NoReply`] if there is nothing to read, [`RunError::Output`] if the reply cannot be read as a `T`.
    pub(crate) fn parse<T: DeserializeOwned>(self) -> Result<T, RunError> {
        let no_output = |reason: String| RunError::NoReply { agent: self.agent.to_string(), reason };
        let Some(schema) = &self.schema else {
            let none = NodeInput::Null.parse();
            return none.map_err(|_| no_output("it has no output schema, so its answer is plain text".to_owned()));
        };
        let said = self.said.as_ref().map(|said| json_in_text(&said.text()));
        let value = match said {
            None | Some(Ok(None)) => return Err(no_output("it has not replied".to_owned())),
            Some(Err(error)) => return Err(no_output(format!("its answer is not JSON: {error}"))),
            Some(Ok(Some(value))) => schema.apply(&value).map_err(|misfit| no_output(misfit.to_string()))?,
        };
        NodeInput::json(value).parse().map_err(|error: NodeError| RunError::Output(error))
    }
}

/// Returns the agent with this name: the given agent or one below it.
fn named<'a>(node: &'a dyn Node, agent: &'a AgentSpec, name: &str) -> Option<&'a dyn Node> {
    if agent.name == name {
        return Some(node);
    }
    agent.sub_agents.iter().find_map(|sub| named(&**sub, sub.agent()?, name))
}
