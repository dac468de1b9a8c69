//! [`HttpModel`]: a provider's model.

use std::fmt;
use std::sync::Arc;

use async_stream::try_stream;
use futures_util::StreamExt as _;
use pleach_model::{LlmResponse, Model, ModelCall, ModelCapabilities, ModelError, ModelWait, ResponseStream};
use serde_json::Value;

use crate::http::{Events, Http, Interruption, Outgoing};
use crate::retry::RetryPolicy;
use crate::schema::{Warned, fit};
use crate::wire::{Decoder, Reading, WRONG_ADDRESS, Wire};

/// A model of a provider, reached over HTTP. Its clones share a pool of connections.
///
/// A request that names another model in [`LlmRequest::model`](pleach_model::LlmRequest::model) is sent to that model.
/// The HTTP options of a request apply to that request.
///
/// Debug output shows the name and no key.
#[derive(Clone)]
pub struct HttpModel(Arc<Inner>);

struct Inner {
    name: String,
    wire: Arc<dyn Wire>,
    http: Http,
    retry: RetryPolicy,
    warned: Warned,
}

impl HttpModel {
    pub(crate) fn new(name: String, wire: Arc<dyn Wire>, http: Http, retry: RetryPolicy) -> Self {
        Self(Arc::new(Inner { name, wire, http, retry, warned: Warned::default() }))
    }
}

impl Model for HttpModel {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn provider(&self) -> Option<&str> {
        Some(self.0.wire.provider().telemetry_name)
    }

    fn capabilities(&self) -> ModelCapabilities {
        self.0.wire.capabilities(self.0.http.is_at(self.0.wire.provider().base_url))
    }

    fn check_output_schema(&self, schema: &Value) -> Result<(), ModelError> {
        self.0.wire.check_output_schema(&self.0.name, schema)
    }

    fn generate<'a>(&'a self, call: ModelCall<'a>) -> ResponseStream<'a> {
        Box::pin(try_stream! {
            let fitted = fit(self.0.model(call), call.request, self.0.wire.dialect(), &self.0.warned);
            let mut call: ModelCall<'_> = call;
            call.request = &fitted.request;
            let request = self.0.outgoing(call)?;
            let mut made = 0;
            let mut answers = loop {
                let mut answers = self.0.attempt(call, request.clone());
                made += 1;
                match answers.next().await {
                    None => return,
                    Some(Ok(first)) => {
                        if let Some(first) = fitted.restore(first) {
                            yield first;
                        }
                        break answers;
                    }
                    Some(Err(error)) => {
                        drop(answers);
                        match self.0.policy(call).wait(&error, made, call.ids) {
                            Some(wait) => {
                                let model = self.0.model(call);
                                let waits = ModelWait { model, error: &error, wait, attempts: made };
                                report_wait(&waits);
                                call.waits(&waits);
                                call.clock.sleep(wait).await;
                            }
                            None => Err(error)?,
                        }
                    }
                }
            };
            while let Some(answer) = answers.next().await {
                match answer {
                    Ok(answer) => {
                        if let Some(answer) = fitted.restore(answer) {
                            yield answer;
                        }
                    }
                    Err(error) => {
                        // The connection is closed before the caller gets the error.
                        drop(answers);
                        Err(error)?;
                        return;
                    }
                }
            }
        })
    }
}

/// Reports a wait before a retry, during which the model is silent.
fn report_wait(waits: &ModelWait<'_>) {
    let ModelWait { model, error, wait, attempts } = waits;
    let (status, kind, seconds) = (error.status(), error.kind(), wait.as_secs_f64());
    // Metrics find the event by this name.
    tracing::warn!(name: "pleach.model.retry", model, status, ?kind, seconds, attempt = attempts, "the model is asked again after a wait");
}

impl Inner {
    fn model<'a>(&'a self, call: ModelCall<'a>) -> &'a str {
        call.request.model.as_deref().filter(|name| !name.is_empty()).unwrap_or(&self.name)
    }

    fn policy(&self, call: ModelCall<'_>) -> RetryPolicy {
        let options = call.request.config.http_options.as_ref().and_then(|options| options.retry_options.as_ref());
        options.map_or_else(|| self.retry.clone(), RetryPolicy::of)
    }

    fn outgoing(&self, call: ModelCall<'_>) -> Result<Outgoing, ModelError> {
        let model = self.model(call);
        let prepared = self.wire.prepare(model, &call)?;
        self.http.outgoing(model, prepared, call.request.config.http_options.as_ref())
    }

    /// Passes an event to the decoder, and returns the fragments if the call is streamed.
    fn take(
        &self,
        reading: &Reading<'_>,
        decoder: &mut (dyn Decoder + '_),
        event: Value,
    ) -> Result<Vec<LlmResponse>, ModelError> {
        let fragments = decoder.event(event)?;
        reading.check_amount(decoder.amount(), self.http.limits())?;
        Ok(if reading.call.streaming { fragments } else { Vec::new() })
    }

    /// Sends the request once and reads the answer.
    fn attempt<'a>(&'a self, call: ModelCall<'a>, request: Outgoing) -> ResponseStream<'a> {
        let reading = Reading { model: self.model(call), call };
        Box::pin(try_stream! {
            let body = self.http.send(request, reading).await?;
            if body.is_page() {
                Err(reading.foreign("it is a page of HTML"))?;
            }
            let mut decoder = self.wire.decoder(reading);
            if body.is_json() || !(call.streaming || body.is_stream()) {
                let events = match body.json().await? {
                    // Some servers send a stream as one list.
                    Value::Array(events) => events,
                    answer => {
                        let is_foreign = !is_model_answer(&answer);
                        let whole = self.wire.read(&reading, answer).map_err(|error| match is_foreign {
                            true => error.with_advice(WRONG_ADDRESS),
                            false => error,
                        })?;
                        reading.check_whole(&whole, self.http.limits())?;
                        yield whole;
                        return;
                    }
                };
                for event in events {
                    for fragment in self.take(&reading, &mut *decoder, event)? {
                        yield fragment;
                    }
                }
            } else {
                let mut events = Events::of(body, reading);
                while !decoder.is_over() && let Some(event) = events.next().await {
                    let event = match event {
                        Ok(event) => event,
                        // The answer is complete; only parts that are not needed are missing.
                        Err(Interruption::Break(_)) if decoder.is_whole() => break,
                        Err(interruption) => Err(interruption.into_error())?,
                    };
                    let before = decoder.amount().events;
                    for fragment in self.take(&reading, &mut *decoder, event)? {
                        yield fragment;
                    }
                    if decoder.amount().events > before {
                        events.note_content();
                    }
                }
                events.read_end();
            }
            if let Some(whole) = decoder.finish()? {
                reading.check_whole(&whole, self.http.limits())?;
                yield whole;
            }
        })
    }
}

/// Returns true if a document has a member of a model's answer.
fn is_model_answer(answer: &Value) -> bool {
    let members = ["choices", "candidates", "content", "promptFeedback", "usage", "usageMetadata"];
    members.iter().any(|member| answer.get(*member).is_some())
}

impl fmt::Debug for HttpModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpModel").field("name", &self.0.name).finish_non_exhaustive()
    }
}
