//! [`Listener`]: reads the general stream, which brings notices and requests of the server.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Response;

use super::events::Event;
use super::fault::HttpFault;
use super::reopening::{Ended, Reopening};
use super::respond::Responses;
use crate::connection::incoming::Origin;

/// The number of seconds after which the end of a stream is normal, because proxies close quiet connections.
const LATE: f64 = 10.0;

/// Listens to a server until it no longer offers a stream.
pub(super) struct Listener {
    pub(super) responses: Arc<Responses>,
    last_event: Option<String>,
    asked_for: Option<Duration>,
    has_brought: bool,
}

impl Listener {
    pub(super) fn new(responses: &Arc<Responses>) -> Self {
        Self { responses: Arc::clone(responses), last_event: None, asked_for: None, has_brought: false }
    }

    /// Listens. If the server has no stream, it does not report changes of lists, but it answers requests as usual.
    pub(super) async fn run(mut self) {
        let mut reopening = Reopening::of_listening();
        let mut has_been_open = false;
        loop {
            let wait = match self.responses.open(self.last_event.as_deref()).await {
                Ok(response) => {
                    has_been_open = true;
                    let ended = self.listen(response).await;
                    reopening.after(ended, self.asked_for)
                }
                // Many servers have no such stream.
                Err(HttpFault::Status { status, .. }) if status < 500 && status != 429 => {
                    tracing::debug!(status, "the MCP server opens no stream of notices");
                    return;
                }
                Err(fault) if !has_been_open && !matches!(fault, HttpFault::NoConnection(_) | HttpFault::Broken(_)) => {
                    return;
                }
                Err(fault) => match reopening.after_failure() {
                    Some(wait) => Some(wait),
                    None => return self.give_up(&fault),
                },
            };
            let Some(wait) = wait else {
                tracing::warn!("the MCP server keeps ending its stream of notices: it is no longer opened");
                return;
            };
            self.responses.limits.clock.sleep(wait).await;
        }
    }

    /// Stops listening. If the connection failed, calls would get no answers, so the next call needs a new session.
    fn give_up(&self, fault: &HttpFault) {
        if matches!(fault, HttpFault::NoConnection(_) | HttpFault::Broken(_)) {
            self.responses.notices.note_broken();
        }
    }

    /// Reads a stream to its end.
    async fn listen(&mut self, mut response: Response) -> Ended {
        let opened_at = self.responses.limits.clock.now();
        let mut events = self.responses.events();
        self.has_brought = false;
        while let Ok(Some(bytes)) = self.responses.chunk(&mut response).await {
            let Ok(read) = events.push(&bytes) else {
                // The rest of the stream cannot be trusted.
                self.responses.notices.note_broken();
                break;
            };
            read.iter().for_each(|event| self.take(event));
        }
        if let Some(event) = events.end() {
            self.take(&event);
        }
        let lasted = self.responses.limits.clock.now() - opened_at;
        match (lasted >= LATE, self.has_brought) {
            (true, _) => Ended::Late,
            (false, true) => Ended::Soon,
            (false, false) => Ended::Empty,
        }
    }

    fn take(&mut self, event: &Event) {
        self.last_event = event.id.clone().or(self.last_event.take());
        self.asked_for = event.retry.map(Duration::from_millis).or(self.asked_for);
        self.has_brought |= event.data.as_ref().is_some_and(|data| !data.trim_ascii().is_empty());
        self.responses.take_event(event, Origin::Channel);
    }
}
