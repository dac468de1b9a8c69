//! Summaries that a model writes, and summaries that are made before a prompt. The expected values come from google-adk 2.13.0.
// R1150

use std::sync::Arc;

use pleach::model::LlmRequest;
use pleach::prelude::*;
use pleach::{
    BoxFuture, Content, EventsCompactionConfig, EventsSummarizer, FunctionCall, FunctionResponse,
    InMemorySessionService, LlmSummarizer, Part, RunRequest, Summary,
};
use pleach_contract::{CountedIds, TestClock};
use serde_json::{Map, Value, json};

use crate::support::{key, trace};

/// A summarizer that the test keeps as well, to read the requests of its model.
#[derive(Clone, Debug)]
struct Shared(Arc<LlmSummarizer>);

impl EventsSummarizer for Shared {
    fn maybe_summarize_events<'a>(&'a self, events: &'a [Arc<Event>]) -> BoxFuture<'a, Summary> {
        self.0.maybe_summarize_events(events)
    }
}

/// The contents of a request, as `role: texts, calls and responses`.
fn shown(request: &LlmRequest) -> Vec<String> {
    let part = |part: &Part| match (&part.text, &part.function_call) {
        (Some(text), _) => text.clone(),
        (None, Some(call)) => format!("calls {}", call.name.as_deref().unwrap()),
        (None, None) => "response".to_owned(),
    };
    let content = |content: &Content| {
        let parts: Vec<String> = content.parts().iter().map(part).collect();
        format!("{}: {}", content.role().unwrap(), parts.join(", "))
    };
    request.contents.iter().map(|shared| content(shared)).collect()
}

struct App {
    runner: Runner,
    sessions: Arc<InMemorySessionService>,
    agent: Arc<ScriptedModel>,
    summarizer: Arc<ScriptedModel>,
}

/// An agent whose tool returns a long result, in an app that keeps one event when a prompt has 50 tokens.
fn app() -> App {
    let agent = Arc::new(ScriptedModel::calling("look", json!({})).then_text("Done.").then_text("Bye."));
    let summarizer = Arc::new(ScriptedModel::saying("sum 0").then_text("sum 1").then_text("sum 2"));
    let root = LlmAgent::builder("helper")
        .model(Arc::clone(&agent))
        .tool(tool("look", "Looks.", async || "x".repeat(400)))
        .build()
        .unwrap();
    let summaries = LlmSummarizer::new(Arc::clone(&summarizer)).with_prompt("[{conversation_history}]").unwrap();
    let config = EventsCompactionConfig::new(Shared(Arc::new(summaries))).with_token_threshold(50, 1);
    let sessions = Arc::new(InMemorySessionService::new());
    let builder = Runner::builder("t").root(root).sessions(Arc::clone(&sessions)).events_compaction_config(config);
    let runner = builder.clock(TestClock::skipping()).ids(CountedIds::new()).build().unwrap();
    App { runner, sessions, agent, summarizer }
}

/// The stored events: for each the summary, or the author and the text.
async fn log(app: &App) -> Vec<String> {
    let session = app.sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    let line = |event: &Event| match event.actions().compaction() {
        Some(compaction) => compaction.compacted_content.text(),
        None => format!("{}: {}", event.author(), event.text()),
    };
    session.events.iter().map(|event| line(event)).collect()
}

#[tokio::test]
async fn r1150_a_prompt_that_has_become_too_long_is_made_from_a_summary() {
    let app = app();
    let lines = trace(app.runner.run("ana", "s1", "look")).await;
    assert_eq!(lines.len(), 3, "the run does not yield the summary: {lines:?}");
    trace(app.runner.run("ana", "s1", "bye")).await;
    let requests: Vec<Vec<String>> = app.agent.requests().iter().map(shown).collect();
    assert_eq!(
        requests,
        [
            vec!["user: look"],
            vec!["model: sum 0", "model: calls look", "user: response"],
            vec!["model: sum 1", "model: Done.", "user: bye"],
        ]
    );
    let asked: Vec<Vec<String>> = app.summarizer.requests().iter().map(shown).collect();
    let long = "x".repeat(400);
    assert_eq!(
        asked,
        [
            vec!["user: [user: look]".to_owned()],
            vec![format!(
                "user: [model: sum 0\nhelper called tool: look({{}})\nTool response from look: {{'result': '{long}'}}]"
            )],
        ]
    );
    assert_eq!(
        log(&app).await,
        ["user: look", "helper: ", "helper: ", "sum 0", "helper: Done.", "sum 1", "user: bye", "helper: Bye."]
    );
}

#[tokio::test]
async fn r1150_an_agent_that_was_cut_off_after_a_summary_continues_with_it() {
    let whole = app();
    trace(whole.runner.run("ana", "s1", "look")).await;
    let session = whole.sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    let id = session.events[0].invocation_id().clone();
    let cut = app();
    let create = pleach::CreateSession::new("t", "ana").with_session_id("s1").with_create_time(0.0);
    let mut head = cut.sessions.create_session(create).await.unwrap().head;
    for event in &session.events[..4] {
        cut.sessions.append(&mut head, Arc::clone(event)).await.unwrap();
    }
    let agent = Arc::new(ScriptedModel::saying("Done."));
    let root = LlmAgent::builder("helper")
        .model(Arc::clone(&agent))
        .tool(tool("look", "Looks.", async || -> Result<String> { Err(Fail::msg("called twice")) }))
        .build()
        .unwrap();
    let runner = Runner::builder("t").root(root).sessions(Arc::clone(&cut.sessions)).build().unwrap();
    trace(runner.start(RunRequest::new(key()).invocation_id(id))).await;
    assert_eq!(shown(&agent.requests()[0]), ["model: sum 0", "model: calls look", "user: response"]);
    assert_eq!(log(&cut).await.last().unwrap(), "helper: Done.");
}

/// Runs only the summarizer.
async fn summarised(model: &Arc<ScriptedModel>, events: Vec<Event>) -> Option<Event> {
    let events: Vec<Arc<Event>> = events.into_iter().map(Arc::new).collect();
    LlmSummarizer::new(Arc::clone(model)).maybe_summarize_events(&events).await.unwrap()
}

fn said(author: &str, parts: impl IntoIterator<Item = Part>) -> Event {
    Event::from_author(author).with_content(Content::new("model", parts))
}

fn args(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

#[tokio::test]
async fn r1150_the_prompt_of_a_summary_equals_that_of_google_adk() {
    let model = Arc::new(ScriptedModel::saying("sum"));
    let thought = Part { thought: Some(true), ..Part::text("let me think") };
    let call = FunctionCall::new("1", "weather", args(json!({"city": "Oslo", "days": 2, "fast": true, "note": null})));
    let response = FunctionResponse::new("1", "weather", args(json!({"long": "x".repeat(2_100), "sky": "it's clear"})));
    let secret = FunctionCall::new("2", "adk_request_credential", args(json!({"secret": "s"})));
    let bare = FunctionCall { args: None, ..FunctionCall::new("3", "now", Map::new()) };
    let mut last = said("helper", [Part::text("Clear.")]);
    last.set_timestamp(9.0);
    let events = vec![
        said("user", [Part::text("Oslo?")]),
        said("helper", [thought, Part::text(""), Part::function_call(call)]),
        said("helper", [Part::function_response(response)]),
        said("helper", [Part::function_call(secret)]),
        said("helper", [Part::function_call(bare)]),
        Event::from_author("helper"),
        last,
    ];
    let summary = summarised(&model, events).await.unwrap();
    let compaction = summary.actions().compaction().unwrap();
    assert_eq!((compaction.compacted_content.text(), compaction.end_timestamp), ("sum".to_owned(), 9.0));
    assert_eq!((summary.author(), compaction.compacted_content.role()), ("user", Some("model")));
    let request = &model.requests()[0];
    let prompt = request.contents[0].text();
    let (head, history) = prompt.split_once("\n\n").unwrap();
    assert!(head.starts_with(
        "The following is a conversation history between a user and an AI agent. It may or may not start"
    ));
    assert!(head.ends_with("The rest of the summary should be concise and capture the essence of the interaction."));
    assert_eq!(head.len(), 655);
    let shortened = format!("{{'long': '{}... [truncated 133 chars]", "x".repeat(1_990));
    assert_eq!(
        history.lines().collect::<Vec<_>>(),
        [
            "user: Oslo?",
            "helper (thought): let me think",
            "helper called tool: weather({'city': 'Oslo', 'days': 2, 'fast': True, 'note': None})",
            &format!("Tool response from weather: {shortened}"),
            "helper called tool: now(None)",
            "helper: Clear.",
        ]
    );
}

#[tokio::test]
async fn r1150_a_model_without_an_answer_makes_no_summary() {
    use pleach::model::LlmResponse;
    let model = Arc::new(ScriptedModel::new().then(LlmResponse::error("SAFETY", "blocked")));
    assert!(summarised(&model, vec![said("user", [Part::text("hello")])]).await.is_none());
    assert!(summarised(&model, Vec::new()).await.is_none());
    assert_eq!(model.requests().len(), 1);
    let error = LlmSummarizer::new(ScriptedModel::new()).with_prompt("Sum up.").unwrap_err();
    let text = "the prompt of a summarizer has no place for the events: `{conversation_history}`";
    assert!(error.to_string().starts_with(text), "{error}");
}
