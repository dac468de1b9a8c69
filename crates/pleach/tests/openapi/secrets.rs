//! Logs, spans, errors, results and events contain no secret.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use pleach::AuthCredential;
use pleach::openapi::OpenApiToolset;
use pleach::prelude::*;
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event as LogEvent, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context as LayerContext, SubscriberExt as _};

use crate::server::{Answer, Server};
use crate::support::{call, document, drain, runner};

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
async fn no_secret_is_shown_anywhere() {
    let log = Log::default();
    let _guard = pleach_contract::own_tests::subscribe(tracing_subscriber::registry().with(log.clone()));
    // The server repeats the request in a success, repeats it in an error, or does not answer.
    let server = Server::start(|request| {
        let echo = format!("{} {:?} {:?}", request.line, request.header("x-tenant"), request.header("x-user"));
        match request.line.as_bytes()[5] {
            b'a' => Answer::json(&json!({ "echo": echo }).to_string()),
            b'b' => Answer::of("403 Forbidden", "text/plain", echo.as_bytes()),
            _ => Answer::Bytes(Vec::new()),
        }
    });
    let server = server.await;
    let mut document = document(json!({
        "/a": {"get": {"operationId": "a"}}, "/b": {"get": {"operationId": "b"}}, "/c": {"get": {"operationId": "c"}},
    }));
    document["security"] = json!([{"key": []}]);
    document["components"] = json!({"securitySchemes": {"key": {"type": "apiKey", "in": "query", "name": "api_key"}}});
    let builder = OpenApiToolset::builder(document)
        .base_url(server.url())
        .credential(AuthCredential::api_key("hush/key 1"))
        .header("x-tenant", "hush-tenant-2")
        .header_provider(|_| async { Ok([("x-user", "hush-user-3")]) });
    let of_builder = format!("{builder:?}");
    let toolset = builder.build().unwrap();
    let model = ScriptedModel::calling("a", json!({})).then_call("b", json!({})).then_call("c", json!({}));
    let runner = runner(&model.then_text("Done."), &toolset);
    let (responses, _, all) = drain(runner.run("ana", "s1", "go")).await;
    assert_eq!(responses[0], json!({"echo": "GET /a?api_key=… Some(\"…\") Some(\"…\")"}));
    assert_eq!(responses[1]["body"], "GET /b?api_key=… Some(\"…\") Some(\"…\")");
    assert!(responses[2]["error"].as_str().unwrap().contains("the connection broke"), "{}", responses[2]);
    assert_eq!(server.requests()[0].line, "GET /a?api_key=hush%2Fkey%201");
    let shown = format!("{of_builder}{toolset:?}{:?}{all}{responses:?}{}", toolset.list_tools(), log.0.lock().unwrap());
    let line = shown.lines().find(|line| line.contains("hush"));
    assert_eq!(line, None);
}

/// Returns the body of an error that repeats `said`, from a server with this header and a bearer token.
async fn repeated(said: &'static str, name: &str, value: &str) -> String {
    let server = Server::start(move |_| Answer::of("403 Forbidden", "text/plain", said.as_bytes())).await;
    let mut document = document(json!({"/a": {"get": {"operationId": "f", "security": [{"k": []}]}}}));
    document["components"] = json!({"securitySchemes": {"k": {"type": "apiKey", "in": "query", "name": "k"}}});
    let toolset = OpenApiToolset::builder(document)
        .base_url(server.url())
        .credential(AuthCredential::api_key(" k/ey+1 = x "))
        .header(name, value)
        .build()
        .unwrap();
    call(&toolset, "f", json!({})).await["body"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn short_keys_and_their_forms_in_urls_are_hidden() {
    for (said, name, value) in [
        ("<ab12>", "x-pass", "ab12"),
        ("<abc>", "x-auth-key", "abc "),
        ("<k/ey+1 = x>", "x-a", "a"),
        ("<k%2Fey%2B1%20%3D%20x>", "x-a", "a"),
        ("<k%2fey%2b1%20%3d%20x>", "x-a", "a"),
        ("<k%2Fey%2B1+%3D+x>", "x-a", "a"),
        ("<k/ey+1%20=%20x>", "x-a", "a"),
        ("<us%2Fer%2012>", "x-user", "us/er 12"),
    ] {
        let expected = if value == "abc " { "<abc>" } else { "<…>" };
        assert_eq!(repeated(said, name, value).await, expected, "{said}");
    }
}

// The names of this machine lead to this machine, even if the system's resolver has other addresses for them.
#[tokio::test]
async fn all_names_of_this_machine_lead_to_it() {
    let server = Server::start(|_| Answer::json("{}")).await;
    let url = server.url();
    let port = url.rsplit(':').next().unwrap();
    for host in ["localhost", "localhost.", "api.localhost", "127.1"] {
        let toolset = OpenApiToolset::builder(document(json!({"/a": {"get": {"operationId": "f"}}})))
            .base_url(format!("http://{host}:{port}"))
            .header("x-key", "hush-1")
            .build()
            .unwrap();
        assert_eq!(call(&toolset, "f", json!({})).await, json!({}), "{host}");
    }
}
