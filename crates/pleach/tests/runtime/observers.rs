//! Plugins that only observe see the decisions of the other plugins.

use std::sync::{Arc, Mutex};

use pleach::model::{LlmRequest, LlmResponse};
use pleach::prelude::*;
use pleach::{CallbackContext, Hook, InvocationContext, Map, Plugin, Tool, ToolContext};
use serde_json::{Value, json};

/// A plugin that changes everything that it can.
#[derive(Debug)]
struct Changing;

fn say<T: Send + 'static>(value: T) -> Hook<'static, Option<T>> {
    Some(Box::pin(async { Ok(Some(value)) }))
}

impl Plugin for Changing {
    fn name(&self) -> &str {
        "changing"
    }

    fn on_user_message<'a>(&'a self, _: &'a InvocationContext, _: &'a Content) -> Hook<'a, Option<Content>> {
        say(Content::user("changed message"))
    }

    fn on_event<'a>(&'a self, _: &'a InvocationContext, _: &'a Event) -> Hook<'a, Option<Event>> {
        say(Event::new().with_state("changed", true))
    }

    fn before_tool<'a>(&'a self, _: &'a dyn Tool, args: &'a mut Map, _: &'a ToolContext) -> Hook<'a, Option<Value>> {
        args.insert("city".into(), "Oslo".into());
        say(json!("answered"))
    }

    fn after_tool<'a>(
        &'a self,
        _: &'a dyn Tool,
        _: &'a Map,
        _: &'a ToolContext,
        _: &'a Value,
    ) -> Hook<'a, Option<Value>> {
        say(json!("changed result"))
    }

    fn after_model<'a>(&'a self, _: &'a CallbackContext, response: &'a LlmResponse) -> Hook<'a, Option<LlmResponse>> {
        let has_text = response.content.as_ref()?.parts().iter().any(|part| part.text.is_some());
        if has_text { say(LlmResponse::text("changed answer")) } else { None }
    }
}

/// An observer that records what it sees, tries to change it and fails.
#[derive(Debug)]
struct Watching(Arc<Mutex<Vec<String>>>);

impl Watching {
    fn sees<T>(&self, hook: &str, what: impl ToString) -> Hook<'static, T> {
        self.0.lock().unwrap().push(format!("{hook}: {}", what.to_string()));
        Some(Box::pin(async { Err("watching failed".into()) }))
    }
}

fn text(content: Option<&Content>) -> String {
    content.into_iter().flat_map(|content| content.parts()).filter_map(|part| part.text.clone()).collect()
}

impl Plugin for Watching {
    fn name(&self) -> &str {
        "watching"
    }

    fn observes(&self) -> bool {
        true
    }

    fn on_user_message<'a>(&'a self, _: &'a InvocationContext, message: &'a Content) -> Hook<'a, Option<Content>> {
        self.sees("message", text(Some(message)))
    }

    fn before_run<'a>(&'a self, _: &'a InvocationContext) -> Hook<'a, Option<Content>> {
        self.sees("run", "begins")
    }

    fn on_event<'a>(&'a self, _: &'a InvocationContext, event: &'a Event) -> Hook<'a, Option<Event>> {
        self.sees("event", event.actions().state_delta().contains_key("changed"))
    }

    fn before_tool<'a>(&'a self, _: &'a dyn Tool, args: &'a mut Map, _: &'a ToolContext) -> Hook<'a, Option<Value>> {
        let city = args.insert("city".into(), "Rome".into());
        self.sees("call", city.unwrap_or_default())
    }

    fn after_tool<'a>(
        &'a self,
        _: &'a dyn Tool,
        args: &'a Map,
        _: &'a ToolContext,
        result: &'a Value,
    ) -> Hook<'a, Option<Value>> {
        self.sees("result", format!("{} {result}", args["city"]))
    }

    fn before_model<'a>(
        &'a self,
        _: &'a CallbackContext,
        request: &'a mut LlmRequest,
    ) -> Hook<'a, Option<LlmResponse>> {
        self.sees("request", std::mem::take(&mut request.contents).len())
    }

    fn after_model<'a>(&'a self, _: &'a CallbackContext, response: &'a LlmResponse) -> Hook<'a, Option<LlmResponse>> {
        self.sees("response", text(response.content.as_ref()))
    }

    fn after_run<'a>(&'a self, _: &'a InvocationContext) -> Hook<'a, ()> {
        self.sees("run", "ends")
    }
}

#[tokio::test]
async fn r1111_an_observer_sees_the_decisions_of_the_plugins_and_changes_nothing() {
    let model = ScriptedModel::calling("weather", json!({"city": "Paris"})).then_text("Sunny.");
    let agent = LlmAgent::builder("helper").model(model.clone()).tool(tool("weather", "Looks.", async || "sunny"));
    let seen = Arc::default();
    // The observer is registered first and still called last.
    let runner = Runner::builder("t").root(agent.build().unwrap()).plugin(Watching(Arc::clone(&seen)));
    let runner = runner.plugin(Changing).build().unwrap();
    assert_eq!(runner.run("ana", "s1", "go").reply().await.unwrap(), "changed answer");
    assert_eq!(
        *seen.lock().unwrap(),
        [
            "message: changed message",
            "run: begins",
            "request: 1",
            "response: ",
            "event: true",
            "call: \"Oslo\"",
            "result: \"Oslo\" \"changed result\"",
            "event: true",
            "request: 3",
            "response: changed answer",
            "event: true",
            "run: ends",
        ]
    );
    assert_eq!(model.requests()[1].contents.len(), 3);
}
