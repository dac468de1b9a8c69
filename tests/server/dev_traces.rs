//! The traces of the development server.

use pleach::model::LlmResponse;
use pleach::prelude::*;
use pleach::server::{Caller, Traces};
use pleach::{App, CallbackContext, Hook, InvocationContext, Plugin};
use serde_json::{Value, json};
use tracing::subscriber::DefaultGuard;
use tracing::{Instrument as _, info_span};
use tracing_subscriber::layer::SubscriberExt as _;

use crate::client::Ask;
use crate::served::{Served, apps, message, serve};

/// Records the spans of this thread, on which the server of a test runs.
fn record(traces: &Traces) -> DefaultGuard {
    pleach_contract::own_tests::subscribe(tracing_subscriber::registry().with(traces.layer()))
}

async fn recorded() -> (Served, DefaultGuard) {
    let traces = Traces::new();
    let guard = record(&traces);
    (serve(apps().dev(true).traces(traces)).await, guard)
}

async fn spans(served: &Served, app: &str, session: &str) -> Vec<Value> {
    let reply = served.get(&format!("/dev/apps/{app}/debug/trace/session/{session}")).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.json().as_array().unwrap().clone()
}

fn names(spans: &[Value]) -> Vec<&str> {
    spans.iter().map(|span| span["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn h111_h112_the_spans_of_a_session_are_a_tree_with_what_models_were_asked() {
    let (served, _guard) = recorded().await;
    served.session("demo", "s").await;
    assert!(spans(&served, "demo", "s").await.is_empty());
    let events = served.post("/run", message("demo", "s", "weather")).await.json();
    let spans = spans(&served, "demo", "s").await;
    let expected = [
        "generate_content scripted",
        "execute_tool get_weather",
        "generate_content scripted",
        "invoke_agent demo_agent",
        "invoke_node demo_agent",
        "invoke_workflow demo_agent",
    ];
    assert_eq!(names(&spans), expected);
    let (root, call, tool) = (&spans[5], &spans[0], &spans[1]);
    assert_eq!(root["parent_span_id"], json!(null));
    assert!(spans.iter().all(|span| span["trace_id"] == root["trace_id"] && span["logs"] == json!([])));
    assert!(spans.iter().all(|span| span["start_time"].as_u64() <= span["end_time"].as_u64()));
    // The scripts of pages can read these numbers without rounding.
    assert!(spans.iter().all(|span| span["trace_id"].as_u64().unwrap() < 1 << 53 && span["span_id"].is_u64()));
    let call = &call["attributes"];
    assert_eq!(call["gen_ai.response.finish_reasons"], json!(["stop"]));
    assert_eq!((&call["gen_ai.usage.input_tokens"], &call["gen_ai.usage.output_tokens"]), (&json!(11), &json!(7)));
    let parsed = |name: &str| serde_json::from_str::<Value>(call[name].as_str().unwrap()).unwrap();
    assert_eq!(parsed("gcp.vertex.agent.llm_request")["contents"][0]["parts"][0]["text"], "weather");
    let answer = parsed("gcp.vertex.agent.llm_response");
    assert_eq!(answer["content"]["parts"][0]["function_call"]["name"], "get_weather");
    assert!(answer.get("actions").is_none() && answer.get("id").is_none(), "{answer}");
    assert_eq!(tool["attributes"]["gcp.vertex.agent.event_id"], events[1]["id"]);
}

#[tokio::test]
async fn h110_the_span_of_an_event_is_found_by_its_id() {
    let (served, _guard) = recorded().await;
    served.session("demo", "s").await;
    let events = served.post("/run", message("demo", "s", "weather")).await.json();
    let of = async |event: &Value| {
        served.get(&format!("/dev/apps/demo/debug/trace/{}", event["id"].as_str().unwrap())).await.json()
    };
    for (event, operation) in [(0, "generate_content"), (1, "execute_tool"), (2, "generate_content")] {
        let span = of(&events[event]).await;
        assert_eq!(span["gen_ai.operation.name"], operation, "{event}");
        assert!(span["trace_id"].is_u64() && span["span_id"].is_u64());
    }
    let missing = served.get("/dev/apps/demo/debug/trace/nope").await;
    assert_eq!((missing.status, missing.detail().as_str()), (404, "Trace not found"));
    assert_eq!(served.get("/dev/apps/nope/debug/trace/nope").await.status, 404);
}

/// A plugin that removes the texts of models and changes every event.
#[derive(Debug)]
struct Redactor;

impl Plugin for Redactor {
    fn name(&self) -> &str {
        "redactor"
    }

    fn on_event<'a>(&'a self, _: &'a InvocationContext, _: &'a Event) -> Hook<'a, Option<Event>> {
        Some(Box::pin(async { Ok(Some(Event::new().with_state("seen", true))) }))
    }

    fn after_model<'a>(&'a self, _: &'a CallbackContext, response: &'a LlmResponse) -> Hook<'a, Option<LlmResponse>> {
        let has_text = response.content.as_ref()?.parts().iter().any(|part| part.text.is_some());
        has_text.then(|| Box::pin(async { Ok(Some(LlmResponse::text("[redacted]"))) }) as _)
    }
}

#[tokio::test]
async fn h110_h112_traces_have_what_the_plugins_of_an_app_have_left() {
    let traces = Traces::new();
    let _guard = record(&traces);
    let app = App::new("shop", crate::demo::agent().unwrap()).unwrap().plugin(Redactor);
    let served = serve(apps().app(app).dev(true).traces(traces)).await;
    served.session("shop", "s").await;
    let events = served.post("/run", message("shop", "s", "weather")).await.json();
    assert_eq!(events[1]["actions"]["stateDelta"]["seen"], true);
    let of = async |place: usize| {
        let id = events[place]["id"].as_str().unwrap();
        served.get(&format!("/dev/apps/shop/debug/trace/{id}")).await.json()
    };
    assert_eq!(of(1).await["gen_ai.operation.name"], "execute_tool");
    let said = of(2).await["gcp.vertex.agent.llm_response"].to_string();
    assert!(said.contains("[redacted]") && !said.contains("tool said"), "{said}");
}

#[tokio::test]
async fn h110_a_model_that_fails_has_a_span() {
    let (served, _guard) = recorded().await;
    served.session("demo", "s").await;
    assert_eq!(served.post("/run", message("demo", "s", "boom")).await.status, 500);
    let spans = spans(&served, "demo", "s").await;
    let call = spans.iter().find(|span| span["name"] == "generate_content scripted").unwrap();
    assert_eq!(call["attributes"]["error.type"], "RuntimeError");
    assert!(!call["attributes"].to_string().contains("exploded"), "{call}");
}

#[tokio::test]
async fn h111_a_trace_continues_with_the_answer_and_has_what_is_around_its_runs() {
    let (served, _guard) = recorded().await;
    served.session("wf", "s").await;
    served.post("/run", message("wf", "s", "go")).await;
    let answer = json!({"functionResponse": {"id": "ask1", "name": "adk_request_input", "response": {"name": "Ana"}}});
    let body = json!({"appName": "wf", "userId": "u", "sessionId": "s", "newMessage": {"parts": [answer]}});
    assert_eq!(served.post("/run", body).await.status, 200);
    let found = spans(&served, "wf", "s").await;
    let roots: Vec<&Value> = found.iter().filter(|span| span["name"] == "invoke_workflow wf").collect();
    assert_eq!((roots.len(), &roots[0]["trace_id"]), (2, &roots[1]["trace_id"]));
    assert!(names(&found).contains(&"invoke_node finish"), "{found:?}");
    // A span of the program around a run.
    served.session("wf", "t").await;
    let runner = served.server.runner("wf").unwrap().clone();
    let mut run = runner.run("u", "t", "go");
    let run = async { while run.next().await.is_some() {} };
    run.instrument(info_span!("request", shop = 1)).await;
    let found = spans(&served, "wf", "t").await;
    let request = found.iter().find(|span| span["name"] == "request").unwrap();
    assert_eq!((&request["attributes"], &request["parent_span_id"]), (&json!({"shop": 1}), &json!(null)));
    let root = found.iter().find(|span| span["name"] == "invoke_workflow wf").unwrap();
    assert_eq!(root["parent_span_id"], request["span_id"]);
}

#[tokio::test]
async fn h111_the_spans_of_one_user_are_not_anothers() {
    let traces = Traces::new();
    let _guard = record(&traces);
    let server = apps().dev(true).traces(traces).caller(|request| match request.headers.get("x-user") {
        Some(user) => Caller::User(user.to_str().unwrap().into()),
        None => Caller::Anyone,
    });
    let served = serve(server).await;
    served.session("demo", "s").await;
    let event = served.post("/run", message("demo", "s", "weather")).await.json()[0]["id"].as_str().unwrap().to_owned();
    let (of_event, of_session) =
        (format!("/dev/apps/demo/debug/trace/{event}"), "/dev/apps/demo/debug/trace/session/s");
    let of = async |path: &str, user: &str| served.send(Ask::get(path).header("x-user", user)).await;
    assert_eq!((of(&of_event, "u").await.status, of(&of_event, "eve").await.status), (200, 404));
    assert_eq!(of(of_session, "u").await.json().as_array().unwrap().len(), 6);
    assert_eq!(of(of_session, "eve").await.json(), json!([]));
    // A session with the same id in another app is another session.
    assert!(spans(&served, "wf", "s").await.is_empty());
}

#[tokio::test]
async fn h110_the_oldest_spans_are_dropped() {
    let traces = Traces::new().limits(6, 1 << 20);
    let _guard = record(&traces);
    let served = serve(apps().dev(true).traces(traces)).await;
    for session in ["a", "b"] {
        served.session("demo", session).await;
        served.post("/run", message("demo", session, "weather")).await;
    }
    assert!(spans(&served, "demo", "a").await.is_empty());
    assert_eq!(spans(&served, "demo", "b").await.len(), 6);
}

#[tokio::test]
async fn h112_media_and_credentials_are_not_recorded() {
    let (served, _guard) = recorded().await;
    served.session("demo", "s").await;
    let media = json!({"inlineData": {"mimeType": "image/png", "data": "U0VDUkVUMTIzNDU2"}});
    let body =
        json!({"appName": "demo", "userId": "u", "sessionId": "s", "newMessage": {"parts": [media, {"text": "hi"}]}});
    assert_eq!(served.post("/run", body).await.status, 200);
    let text = serde_json::to_string(&spans(&served, "demo", "s").await).unwrap();
    assert!(text.contains("image/png") && !text.contains("U0VDUkVUMTIzNDU2"), "{text}");
}

#[test]
fn traces_without_a_development_server_are_refused() {
    let error = apps().traces(Traces::new()).build().unwrap_err();
    assert_eq!(error.to_string(), "the server has traces, which only the development server shows: call `.dev(true)`");
}
