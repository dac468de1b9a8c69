//! The agent of W7 and W9, whose model answers at once.

use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use pleach::model::{LlmResponse, Model, ModelCall, ResponseStream};
use pleach::prelude::*;
use pleach::{BoxError, FunctionCall, SessionId};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::measure::now;
use crate::runs::read;

/// The text with which the model ends each turn.
const REPLY: &str = "It is sunny in Oslo today, with a light breeze from the fjord.";

/// The content of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// One text.
    Text,
    /// A tool call, followed by a text.
    Tool,
}

impl Turn {
    pub(crate) const ALL: [Self; 2] = [Self::Text, Self::Tool];

    /// The name of the turn in parameters.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Tool => "tool",
        }
    }

    /// The number of events that a turn yields.
    fn events(self) -> usize {
        match self {
            Self::Text => 1,
            Self::Tool => 3,
        }
    }
}

/// Makes an agent whose turns have this content.
///
/// # Errors
/// The agent cannot be built.
pub(crate) fn agent(turn: Turn) -> Result<LlmAgent, BoxError> {
    let builder = LlmAgent::builder("helper").model(Instant(turn)).instruction("Answer questions about the weather.");
    Ok(match turn {
        Turn::Text => builder.build()?,
        Turn::Tool => builder.tool(tool("weather", "The weather in a city.", weather)).build()?,
    })
}

/// Takes a turn in the session of user `ana`. Returns the time from the call to the end of the stream.
///
/// # Errors
/// An invocation that fails or yields other events than the turn.
pub(crate) async fn turn_in(runner: &Runner, turn: Turn, session: &SessionId) -> Result<Duration, BoxError> {
    let start = now();
    let (events, last) = read(runner.run("ana", session.clone(), "How is the weather in Oslo?")).await?;
    let time = start.elapsed();
    let said = last.map(|event| event.text());
    if events != turn.events() || said.as_deref() != Some(REPLY) {
        return Err(format!("{events} events, at last {said:?}, instead of a turn with {turn:?}").into());
    }
    Ok(time)
}

#[derive(Deserialize, JsonSchema)]
struct City {
    city: String,
}

async fn weather(Args(City { city }): Args<City>) -> String {
    format!("sun in {city}")
}

struct Instant(Turn);

impl Model for Instant {
    fn name(&self) -> &str {
        "instant"
    }

    fn generate<'a>(&'a self, call: ModelCall<'a>) -> ResponseStream<'a> {
        let last = call.request.contents.last();
        let has_result = || last.is_some_and(|content| content.function_responses().next().is_some());
        let response = match self.0 {
            Turn::Tool if !has_result() => {
                let args = json!({"city": "Oslo"}).as_object().cloned().unwrap_or_default();
                LlmResponse::calls([FunctionCall::new("", "weather", args)])
            }
            Turn::Text | Turn::Tool => LlmResponse::text(REPLY),
        };
        stream::iter([Ok(response)]).boxed()
    }
}
