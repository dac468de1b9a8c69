//! The format of the files: a conversation with a provider's server.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

/// One file of the folder `files`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    #[serde(default)]
    pub(super) provider: Provider,
    #[serde(default = "is_streamed")]
    pub(super) streaming: bool,
    /// The user's messages, one for each run.
    #[serde(default = "greeting")]
    pub(super) messages: Vec<String>,
    /// The replies of the server, one for each request.
    pub(super) replies: Vec<Reply>,
    /// The result that every tool returns.
    #[serde(default)]
    pub(super) tool_result: Option<Value>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Provider {
    #[default]
    OpenAi,
    Anthropic,
    Gemini,
}

/// One reply of the server.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reply {
    /// The status line, 200 if there is none.
    status: Option<String>,
    /// The media type, if it is not the usual one for this kind of reply.
    ct: Option<String>,
    #[serde(flatten)]
    body: Body,
    /// The text that is written again and again while the connection stays open.
    then_forever: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Body {
    /// The data of events: JSON, or a string that is sent unchanged.
    Events(Vec<Value>),
    Json(Value),
    Raw(String),
}

fn is_streamed() -> bool {
    true
}

fn greeting() -> Vec<String> {
    vec!["Hello?".to_owned()]
}

impl Case {
    pub(super) fn read(name: &str) -> Self {
        let path = folder().join(format!("{name}.json"));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Whether some reply ends only by the idle time-out.
    pub(super) fn has_endless_reply(&self) -> bool {
        self.replies.iter().any(|reply| reply.then_forever.is_some())
    }
}

impl Reply {
    /// The head and the body as they are sent, and the text that is then repeated.
    pub(super) fn bytes(&self, case: &Case) -> (Vec<u8>, Option<String>) {
        let status = self.status.as_deref().unwrap_or("200 OK");
        let (kind, body) = match &self.body {
            Body::Events(events) => {
                ("text/event-stream", events.iter().map(|event| frame(case.provider, event)).collect())
            }
            Body::Json(body) => ("application/json", body.to_string()),
            Body::Raw(body) if case.streaming => ("text/event-stream", body.clone()),
            Body::Raw(body) => ("application/json", body.clone()),
        };
        let kind = self.ct.as_deref().unwrap_or(kind);
        let head = format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n");
        ((head + &body).into_bytes(), self.then_forever.clone())
    }
}

/// An event as it is written. Anthropic's events have names.
fn frame(provider: Provider, event: &Value) -> String {
    let data = event.as_str().map_or_else(|| event.to_string(), str::to_owned);
    match event.get("type").and_then(Value::as_str) {
        Some(name) if provider == Provider::Anthropic => format!("event: {name}\ndata: {data}\n\n"),
        _ => format!("data: {data}\n\n"),
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models/wire_cases/files")
}

/// The names of all files.
pub(super) fn names() -> Vec<String> {
    let files = std::fs::read_dir(folder()).unwrap();
    let mut names: Vec<String> =
        files.map(|file| file.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.sort_unstable();
    names
}
