//! Logs, spans, errors and events contain no secret.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use pleach::mcp::{McpEndpoint, McpToolset};
use pleach::model::ScriptedModel;
use pleach::prelude::*;
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event as LogEvent, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context as LayerContext, SubscriberExt as _};

use crate::{command, server};

/// All fields of all spans and events, one line each.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<String>>);

impl Visit for Log {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        writeln!(self.0.lock().unwrap(), "{field}: {value:?}").unwrap();
    }
}

impl<S: Subscriber> Layer<S> for Log {
    fn on_new_span(&self, span: &Attributes<'_>, _: &Id, _: LayerContext<'_, S>) {
        span.record(&mut self.clone());
    }

    fn on_record(&self, _: &Id, values: &Record<'_>, _: LayerContext<'_, S>) {
        values.record(&mut self.clone());
    }

    fn on_event(&self, event: &LogEvent<'_>, _: LayerContext<'_, S>) {
        event.record(&mut self.clone());
    }
}

// With one thread, the subscriber of this test sees everything that its tasks log, at every level.
#[tokio::test(flavor = "current_thread")]
async fn logs_have_the_servers_words_and_no_secret() {
    let log = Log::default();
    let _guard = pleach_contract::own_tests::subscribe(tracing_subscriber::registry().with(log.clone()));

    let child = McpToolset::builder(command().env("API_KEY", "hush-child-1")).build().unwrap();
    let running = server::http::serve().await;
    let url = format!("{}?key=hush-query-2", running.url());
    let endpoint = McpEndpoint::new(url).header("authorization", "Bearer hush-header-3");
    let http = McpToolset::builder(endpoint).build().unwrap();
    let model = ScriptedModel::calling("echo", json!({"text": "hi"})).then_call("h_echo", json!({"text": "hi"}));
    let model = model.then_call("h_die", json!({})).then_text("Done.");
    let agent = LlmAgent::builder("helper").model(model).toolset(child.clone());
    let agent = agent.toolset(pleach::SharedToolset::new(http.clone()).prefix("h")).build().unwrap();
    let runner = Runner::builder("demo").root(agent).build().unwrap();
    let mut stored = String::new();
    let mut run = runner.run("ana", "s1", "go");
    while let Some(event) = run.next().await {
        let event = event.unwrap();
        if event.function_calls().any(|call| call.name.as_deref() == Some("h_die")) {
            break;
        }
        stored.push_str(&serde_json::to_string(&*event).unwrap());
    }
    drop(run);
    running.kill().await;
    let error = http.list_resources(None).await.unwrap_err();
    runner.close().await.unwrap();
    let all = format!("{}{stored}{error}{error:?}{http:?}{child:?}", log.0.lock().unwrap());
    assert!(all.contains("the server is up"), "the standard error of the child is logged");
    for secret in ["hush-child-1", "hush-query-2", "hush-header-3"] {
        let line = all.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "{secret}");
    }
}
