//! The models of random agents. A model's answer depends only on the request, so a resumed agent gets the same answers as
//! an agent that was not cut off.

use futures::StreamExt as _;
use pleach::model::{LlmRequest, LlmResponse, Model, ModelCall, ResponseStream};
use pleach::{Content, FunctionCall, Map};
use serde_json::{Value, json};

use crate::bodies::{label, stable};
use crate::world::World;

/// A target of a call in an answer.
#[derive(Clone, Debug)]
pub(crate) enum Callee {
    /// A tool, called with a key.
    Tool(String),
    /// A node or an agent, called with a request.
    Asked(String),
    Transfer(String),
    Exit,
}

/// The model of one agent.
pub(crate) struct Player {
    pub(crate) agent: String,
    pub(crate) callees: Vec<Callee>,
    pub(crate) steps: Vec<Vec<usize>>,
    pub(crate) has_ids: bool,
    pub(crate) is_task: bool,
    pub(crate) asks: bool,
    pub(crate) pauses: u8,
    pub(crate) world: World,
}

impl Model for Player {
    fn name(&self) -> &str {
        "player"
    }

    fn generate<'a>(&'a self, call: ModelCall<'a>) -> ResponseStream<'a> {
        self.world.ask(&self.agent, call.request);
        let answer = async move {
            for _ in 0..self.pauses {
                tokio::task::yield_now().await;
            }
            Ok(self.answer(call.request))
        };
        futures::stream::once(answer).boxed()
    }
}

impl Player {
    /// The earlier answers are in the request; their number is the number of the step.
    fn answer(&self, request: &LlmRequest) -> LlmResponse {
        let contents: Vec<&Content> = request.contents.iter().map(|content| &**content).collect();
        let count = contents.iter().filter(|content| content.role.as_deref() == Some("model")).count();
        let input = contents.first().map(|content| content.text()).unwrap_or_default();
        let key = format!("{}.{}.{count}", self.agent, label("", &stable(&input).into()));
        let steps: Vec<&Vec<usize>> = self.steps.iter().filter(|_| !self.callees.is_empty()).collect();
        let period = steps.len() + 1 + usize::from(self.is_task && self.asks);
        match steps.get(count % period) {
            Some(callees) => self.calls(callees, &key),
            None if !self.is_task => LlmResponse::text(self.text(count, &contents)),
            None if count % period == steps.len() && self.asks => LlmResponse::text(format!("ask {key}")),
            None => {
                let result = json!({"result": self.text(count, &contents)});
                LlmResponse::calls([self.call(&key, "finish_task", result)])
            }
        }
    }

    fn calls(&self, callees: &[usize], key: &str) -> LlmResponse {
        LlmResponse::calls(callees.iter().enumerate().map(|(place, callee)| {
            let key = format!("{key}.{place}");
            let (name, args) = match &self.callees[callee % self.callees.len()] {
                Callee::Tool(name) => (name.as_str(), json!({"key": key})),
                Callee::Asked(name) => (name.as_str(), json!({"request": key})),
                Callee::Transfer(agent) => ("transfer_to_agent", json!({"agent_name": agent})),
                Callee::Exit => ("exit_loop", json!({})),
            };
            self.call(&key, name, args)
        }))
    }

    fn call(&self, key: &str, name: &str, args: Value) -> FunctionCall {
        let id = if self.has_ids { format!("c-{key}") } else { String::new() };
        let Value::Object(args) = args else { return FunctionCall::new(id, name, Map::new()) };
        let mut call = FunctionCall::new(id, name, args);
        call.id = call.id.filter(|id| !id.is_empty());
        call
    }

    /// A text made from the agent's own actions, because others may act in any order.
    fn text(&self, count: usize, contents: &[&Content]) -> String {
        label(&format!("{}.{count}", self.agent), &own(contents).into())
    }
}

/// The agent's own actions: the calls, the responses and the texts of its contents.
pub(crate) fn own(contents: &[&Content]) -> String {
    let is_own =
        |content: &&&Content| content.role.as_deref() == Some("model") || content.function_responses().next().is_some();
    contents.iter().filter(is_own).map(|content| line(content)).collect()
}

/// A content as one line. The order of its parts depends on which responses were stored together.
pub(crate) fn line(content: &Content) -> String {
    let mut parts: Vec<String> =
        content.parts().iter().map(|part| stable(&serde_json::to_string(part).unwrap())).collect();
    parts.sort_unstable();
    format!("{}: {}\n", content.role.as_deref().unwrap_or_default(), parts.join(" "))
}
