//! Plays a case: a Runner with an agent and tools, whose model is at the server.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use pleach::RunEvent;
use pleach::model::HttpRetryOptions;
use pleach::models::{HttpModel, anthropic, gemini, openai};
use pleach::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::case::{Case, Provider};
use super::expected::Expected;
use super::history;
use super::server::Server;

/// The idle time-out of replies that do not end.
const IDLE: Duration = Duration::from_millis(300);

/// The outcome of a case.
#[derive(Debug, Default)]
pub(super) struct Played {
    /// The text that the agent has said, without partial events.
    pub(super) said: String,
    /// The thoughts of the agent.
    pub(super) thought: String,
    /// The text that the agent has said in partial events.
    pub(super) shown: String,
    /// The calls in the event log.
    pub(super) calls: Vec<(String, Value)>,
    /// The tools that ran, with the arguments that they got.
    pub(super) ran: Vec<(String, Value)>,
    /// The code and the text of the last error.
    pub(super) error: Option<(String, String)>,
    /// The requests that the server received.
    pub(super) requests: Vec<Value>,
}

/// Plays the case of this name and compares the outcome.
pub(super) async fn check(name: &str, expected: Expected) {
    let case = Case::read(name);
    let played = tokio::time::timeout(Duration::from_secs(60), play(&case)).await;
    let played = played.unwrap_or_else(|_| panic!("{name} does not end"));
    expected.compare(name, &case, &played);
    if let Some(request) = played.requests.last() {
        assert_eq!(history::calls(case.provider, request), played.calls, "{name}: the calls of the history");
    }
}

async fn play(case: &Case) -> Played {
    let server = Server::start(case).await;
    let ran =
        RecordingTool { calls: Arc::default(), result: case.tool_result.clone().unwrap_or_else(|| json!("done")) };
    let agent = LlmAgent::builder("helper").model(model(case, &server.url)).tools(ran.tools()).build().unwrap();
    let runner = Runner::builder("demo").root(agent).build().unwrap();
    let mut played = Played::default();
    for message in &case.messages {
        let run = runner.run("ana", "s1", message.as_str());
        let mut run = if case.streaming { run.streaming() } else { run };
        while let Some(event) = run.next().await {
            match event {
                Ok(event) => played.take(&event),
                Err(error) => {
                    // The event of the error came before.
                    played.error.get_or_insert_with(|| (String::new(), error.to_string()));
                }
            }
        }
    }
    played.ran = std::mem::take(&mut ran.calls.lock().unwrap());
    played.requests = server.requests();
    played
}

fn model(case: &Case, url: &str) -> HttpModel {
    let builder = match case.provider {
        Provider::OpenAi => openai("m").base_url(format!("{url}/v1")),
        Provider::Anthropic => anthropic("m").base_url(url),
        Provider::Gemini => gemini("m").base_url(url),
    };
    let idle = if case.has_endless_reply() { IDLE } else { Duration::from_secs(30) };
    let once = HttpRetryOptions { attempts: Some(1), ..HttpRetryOptions::default() };
    builder.key("sk-hush").idle_timeout(idle).retry(once).build().unwrap()
}

impl Played {
    fn take(&mut self, event: &RunEvent) {
        if let Some(code) = event.error_code() {
            self.error = Some((code.to_owned(), event.error_message().unwrap_or_default().to_owned()));
        }
        if event.is_partial() {
            self.shown.push_str(&event.fragment());
            return;
        }
        for part in event.content().into_iter().flat_map(|content| content.parts()) {
            let text = part.text.as_deref().unwrap_or_default();
            if part.is_thought() { self.thought.push_str(text) } else { self.said.push_str(text) }
        }
        for call in event.function_calls() {
            let arguments = Value::Object(call.args.clone().unwrap_or_default());
            self.calls.push((call.name.clone().unwrap_or_default(), arguments));
        }
    }
}

/// A tool that records its calls. All tools return the same result.
#[derive(Clone)]
struct RecordingTool {
    calls: Arc<Mutex<Vec<(String, Value)>>>,
    result: Value,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct City {
    city: String,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Terms {
    a: i64,
    b: i64,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Note {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tags: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl RecordingTool {
    fn tools(&self) -> Vec<FunctionTool> {
        let ran = |name: &'static str| {
            let this = self.clone();
            move |arguments: Value| {
                this.calls.lock().unwrap().push((name.to_owned(), arguments));
                let result = this.result.clone();
                async move { result }
            }
        };
        let (weather, add, now, save) = (ran("weather"), ran("add"), ran("now"), ran("save"));
        vec![
            tool("weather", "The weather in a city.", move |Args(city): Args<City>| weather(json!(city))),
            tool("add", "Adds two numbers.", move |Args(terms): Args<Terms>| add(json!(terms))),
            tool("now", "The time.", move || now(json!({}))),
            tool("save", "Saves a note.", move |Args(note): Args<Note>| save(json!(note))),
        ]
    }
}
