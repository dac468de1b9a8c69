//! [`Client`]: requests to the routes of a service, without a connection.

use std::pin::Pin;

use axum::body::{Body, BodyDataStream, to_bytes};
use axum::http::{Request, StatusCode};
use axum::{Router, response::Response};
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::service::{Service, router};

pub(crate) const ANA: &str = "/employees/ana/expenses";

pub(crate) struct Client {
    pub(crate) service: Service,
    router: Router,
}

impl Client {
    pub(crate) fn new(service: Service) -> Self {
        Self { router: router(service.clone()), service }
    }

    async fn send(&self, request: Request<Body>) -> Response {
        self.router.clone().oneshot(request).await.unwrap()
    }

    async fn reply(&self, request: Request<Body>) -> (StatusCode, Value) {
        let response = self.send(request).await;
        let status = response.status();
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        (status, serde_json::from_slice(&body).unwrap_or_default())
    }

    pub(crate) async fn get(&self, path: &str) -> (StatusCode, Value) {
        self.reply(Request::get(path).body(Body::empty()).unwrap()).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> (StatusCode, Value) {
        let request = Request::post(path).header("content-type", "application/json");
        self.reply(request.body(Body::from(body.to_string())).unwrap()).await
    }

    /// Files a report under a key.
    pub(crate) async fn submit(&self, key: &str, cents: u32) -> StatusCode {
        let request = Request::post(ANA).header("content-type", "application/json").header("idempotency-key", key);
        let body = json!({"cents": cents, "purpose": "a desk"}).to_string();
        self.reply(request.body(Body::from(body)).unwrap()).await.0
    }

    /// Answers the question about an expense, as the manager mia.
    pub(crate) async fn answer(&self, id: &str, answer: Value) -> (StatusCode, Value) {
        self.answer_as(&["mia", "managers"], id, "approval", answer).await
    }

    /// Answers a question as a person with roles. The first entry of `who` is the person, and the others are the roles.
    pub(crate) async fn answer_as(&self, who: &[&str], id: &str, question: &str, answer: Value) -> (StatusCode, Value) {
        let request =
            Request::post(format!("{ANA}/{id}/answers/{question}")).header("content-type", "application/json");
        let request = match who {
            [] => request,
            [user, roles @ ..] => request.header("x-user", *user).header("x-roles", roles.join(", ")),
        };
        self.reply(request.body(Body::from(answer.to_string())).unwrap()).await
    }

    /// Returns the status of an expense.
    pub(crate) async fn status(&self, id: &str) -> Value {
        let (status, body) = self.get(&format!("{ANA}/{id}")).await;
        assert_eq!(status, StatusCode::OK, "{body}");
        body
    }

    /// Follows an expense, from the event `last` on if it is set.
    pub(crate) async fn events(&self, id: &str, last: Option<&str>) -> Events {
        let request = Request::get(format!("{ANA}/{id}/events"));
        let request = last.into_iter().fold(request, |request, last| request.header("last-event-id", last));
        let response = self.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(response.status(), StatusCode::OK);
        Events { body: Box::pin(response.into_body().into_data_stream()), text: String::new() }
    }

    /// Waits until an expense has an outcome, and returns it.
    pub(crate) async fn outcome(&self, id: &str) -> Value {
        let mut events = self.events(id, None).await;
        while let Some(event) = events.next().await {
            if let Some(outcome) = event.data.get("outcome") {
                return outcome.clone();
            }
        }
        panic!("the stream of {id} ended without an outcome")
    }

    /// Waits until an expense has this progress. The wait is needed because the run ends shortly after its last event.
    pub(crate) async fn comes_to(&self, id: &str, progress: &str) {
        while self.status(id).await["progress"] != progress {
            tokio::task::yield_now().await;
        }
    }

    /// Waits until an expense asks a question.
    pub(crate) async fn asks(&self, id: &str) {
        let mut events = self.events(id, None).await;
        while let Some(event) = events.next().await {
            if event.data.get("question").is_some() {
                return self.comes_to(id, "waiting").await;
            }
        }
        panic!("the stream of {id} ended without a question")
    }
}

/// An open stream of server-sent events.
pub(crate) struct Events {
    body: Pin<Box<BodyDataStream>>,
    text: String,
}

/// A server-sent event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sent {
    pub(crate) id: String,
    pub(crate) data: Value,
}

impl Events {
    pub(crate) async fn next(&mut self) -> Option<Sent> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                if let Some(sent) = Sent::of(&block) {
                    return Some(sent);
                }
                continue;
            }
            let piece = self.body.next().await?.unwrap();
            self.text.push_str(std::str::from_utf8(&piece).unwrap());
        }
    }

    /// Returns all remaining events.
    pub(crate) async fn rest(mut self) -> Vec<Sent> {
        let mut all = Vec::new();
        while let Some(sent) = self.next().await {
            all.push(sent);
        }
        all
    }
}

impl Sent {
    /// Reads a block; `None` for a comment.
    pub(crate) fn of(block: &str) -> Option<Self> {
        let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let data = serde_json::from_str(field("data:")?).unwrap();
        Some(Self { id: field("id:")?.to_owned(), data })
    }

    pub(crate) fn node(&self) -> &str {
        self.data["node"].as_str().unwrap_or_default()
    }
}
