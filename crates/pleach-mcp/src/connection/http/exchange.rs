//! [`Exchange`]: one request, and its answer. The response of a POST may be a stream that breaks and is resumed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pleach_core::Map;
use reqwest::{Response, StatusCode};
use serde_json::Value;

use super::events::Event;
use super::fault::{HttpFault, is_of_session};
use super::reopening::{Ended, Reopening};
use super::respond::{Body, Responses, body_kind};
use crate::connection::incoming::Origin;

/// The time to read the rest of a response after the answer, so that the connection can be used again.
const AFTER_ANSWER: Duration = Duration::from_millis(50);

/// One request.
pub(super) struct Exchange {
    pub(super) responses: Arc<Responses>,
    pub(super) id: i64,
    /// Whether the request begins the session.
    pub(super) is_introduction: bool,
    /// Whether the general stream is open. The answer may come there.
    pub(super) listens: Arc<AtomicBool>,
}

/// The state of the stream of an answer.
#[derive(Default)]
struct Place {
    last_event: Option<String>,
    asked_for: Option<Duration>,
    /// Whether the last stream brought messages before it ended.
    has_brought: bool,
}

impl Exchange {
    /// Sends the request, and passes its answer to the session.
    ///
    /// # Errors
    /// The request gets no answer.
    pub(super) async fn run(&self, message: Vec<u8>) -> Result<(), HttpFault> {
        let mut response = self.responses.post(message).await?;
        let status = response.status();
        if status == StatusCode::ACCEPTED || status == StatusCode::NO_CONTENT {
            return self.accepted();
        }
        if !status.is_success() {
            return self.refused(&mut response).await;
        }
        if self.is_introduction {
            self.responses.note_session(&response);
        }
        if self.responses.announces_too_much(&response) {
            return Err(HttpFault::TooLarge);
        }
        let beginning = self.responses.chunk(&mut response).await?.unwrap_or_default();
        match body_kind(&response, &beginning) {
            Body::Events => self.follow(response, &beginning).await,
            Body::Message => {
                let body = self.responses.rest(&mut response, beginning).await?;
                self.take_body(&body)
            }
        }
    }

    /// Handles an accepted request, whose answer will come on the general stream.
    fn accepted(&self) -> Result<(), HttpFault> {
        if self.listens.load(Ordering::Acquire) {
            Ok(())
        } else {
            Err(HttpFault::NoAnswer("accepted the request, and has no stream to answer it on"))
        }
    }

    async fn refused(&self, response: &mut Response) -> Result<(), HttpFault> {
        if is_of_session(response.status().as_u16()) {
            self.responses.notices.note_forgotten();
        }
        let (body, fault) = self.responses.refusal(response).await;
        let is_said =
            serde_json::from_slice::<Map>(&body).is_ok_and(|said| said.get("error").is_some_and(Value::is_object));
        if is_said && self.responses.take(&body, Origin::Body(self.id)) {
            return Ok(());
        }
        Err(fault)
    }

    fn take_body(&self, body: &[u8]) -> Result<(), HttpFault> {
        if body.trim_ascii().is_empty() {
            return Err(HttpFault::NoAnswer("answered with an empty response"));
        }
        if self.responses.take(body, Origin::Body(self.id)) {
            Ok(())
        } else {
            Err(HttpFault::NoAnswer("answered with a response that holds no answer"))
        }
    }

    /// Reads a stream up to the answer. A stream that breaks is resumed after the last event with an id.
    async fn follow(&self, response: Response, beginning: &[u8]) -> Result<(), HttpFault> {
        let mut place = Place::default();
        let mut reopening = Reopening::of_answer();
        let mut read = self.read_events(response, beginning, &mut place).await;
        loop {
            let fault = match read {
                Ok(true) => return Ok(()),
                Ok(false) => HttpFault::Broken("the stream of the answer ended before the answer".to_owned()),
                Err(HttpFault::TooLarge) => return Err(HttpFault::TooLarge),
                Err(fault) => fault,
            };
            let Some(last_event) = place.last_event.clone() else { return Err(fault) };
            let ended = if std::mem::take(&mut place.has_brought) { Ended::Soon } else { Ended::Empty };
            let mut wait = reopening.after(ended, place.asked_for);
            let response = loop {
                let Some(pause) = wait else { return Err(fault) };
                self.responses.limits.clock.sleep(pause).await;
                match self.responses.open(Some(&last_event)).await {
                    Ok(response) => break response,
                    // The server does not support resuming streams.
                    Err(HttpFault::Status { status: 405, .. }) => return Err(fault),
                    Err(refused @ HttpFault::Status { status: 400..=428 | 430..=499, .. }) => return Err(refused),
                    Err(_) => wait = reopening.after_failure(),
                }
            };
            read = self.read_events(response, &[], &mut place).await;
        }
    }

    /// Reads events up to the answer. Returns false if the stream ends without it.
    async fn read_events(
        &self,
        mut response: Response,
        beginning: &[u8],
        place: &mut Place,
    ) -> Result<bool, HttpFault> {
        let mut events = self.responses.events();
        let mut chunk = Some(beginning.to_vec());
        while let Some(bytes) = chunk {
            for event in events.push(&bytes).map_err(|_| HttpFault::TooLarge)? {
                if self.take_event(&event, place) {
                    self.drain(response).await;
                    return Ok(true);
                }
            }
            chunk = self.responses.chunk(&mut response).await?;
        }
        Ok(events.end().is_some_and(|event| self.take_event(&event, place)))
    }

    fn take_event(&self, event: &Event, place: &mut Place) -> bool {
        place.last_event = event.id.clone().or(place.last_event.take());
        place.asked_for = event.retry.map(Duration::from_millis).or(place.asked_for);
        place.has_brought |= event.data.as_ref().is_some_and(|data| !data.trim_ascii().is_empty());
        self.responses.take_event(event, Origin::Stream(self.id))
    }

    async fn drain(&self, mut response: Response) {
        let read = async { while let Ok(Some(_)) = self.responses.chunk(&mut response).await {} };
        self.responses.limits.within(AFTER_ANSWER, read).await;
    }
}
