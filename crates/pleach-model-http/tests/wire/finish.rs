//! Tests that finish reasons have the same meaning for all providers, streamed or not.

use pleach_model::{LlmRequest, LlmResponse, ModelErrorKind};
use pleach_model_http::{HttpModel, anthropic, gemini, openai};
use serde_json::{Value, json};

use crate::edges::{clock_of_waits, waits};
use crate::server::{Reply, Server};
use crate::support::{all, all_by, ask, at, with_config};

#[derive(Clone, Copy, Debug)]
enum Provider {
    OpenAi,
    Anthropic,
    Gemini,
}

const PROVIDERS: [Provider; 3] = [Provider::OpenAi, Provider::Anthropic, Provider::Gemini];

fn sse(events: &[Value]) -> Reply {
    Reply::sse(events.iter().map(|event| format!("data: {event}\n\n")).collect::<String>())
}

/// Returns an answer with an optional text and an optional call of `f` that ends with the reason.
fn reply(provider: Provider, streaming: bool, said: &str, calls: bool, word: &str) -> Reply {
    match provider {
        Provider::OpenAi => {
            let call = json!({"index": 0, "id": "c1", "function": {"name": "f", "arguments": "{\"a\": 1}"}});
            let mut message = json!({"role": "assistant", "content": said});
            if calls {
                message["tool_calls"] = json!([call]);
            }
            let choice = |key: &str| json!({"choices": [{"index": 0, key: message, "finish_reason": word}]});
            if streaming { sse(&[choice("delta")]) } else { Reply::json("200 OK", &choice("message")) }
        }
        Provider::Anthropic => {
            let call = json!({"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}});
            let text = json!({"type": "text", "text": said});
            let blocks: Vec<Value> =
                (!said.is_empty()).then_some(text).into_iter().chain(calls.then_some(call)).collect();
            if !streaming {
                return Reply::json("200 OK", &json!({"content": blocks, "stop_reason": word}));
            }
            let mut events: Vec<Value> = blocks
                .into_iter()
                .enumerate()
                .map(|(index, block)| json!({"type": "content_block_start", "index": index, "content_block": block}))
                .collect();
            events.push(json!({"type": "message_delta", "delta": {"stop_reason": word}}));
            events.push(json!({"type": "message_stop"}));
            sse(&events)
        }
        Provider::Gemini => {
            let text = json!({"text": said});
            let call = json!({"functionCall": {"id": "c1", "name": "f", "args": {"a": 1}}});
            let parts: Vec<Value> =
                (!said.is_empty()).then_some(text).into_iter().chain(calls.then_some(call)).collect();
            let answer = json!({"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": word}]});
            if streaming { sse(&[answer]) } else { Reply::json("200 OK", &answer) }
        }
    }
}

fn model(provider: Provider, server: &Server) -> HttpModel {
    match provider {
        Provider::OpenAi => at(server, openai("m"), "/v1"),
        Provider::Anthropic => at(server, anthropic("m"), ""),
        Provider::Gemini => at(server, gemini("m"), ""),
    }
}

fn once() -> LlmRequest {
    with_config(json!({"httpOptions": {"retryOptions": {"attempts": 1}}}))
}

/// Checks the answer of every client, streamed or not.
async fn check(said: &str, calls: bool, word: &str, check: impl Fn(&LlmResponse)) {
    for provider in PROVIDERS {
        for streaming in [false, true] {
            let server = Server::start([reply(provider, streaming, said, calls, word)]).await;
            let responses = all(&model(provider, &server), &once(), streaming).await;
            let responses = responses.unwrap_or_else(|(_, error)| panic!("{provider:?} {streaming} {word}: {error}"));
            let last = responses.last().unwrap();
            assert!(!last.is_partial());
            check(last);
        }
    }
}

#[tokio::test]
async fn l235_an_unknown_word_after_calls_or_a_text_is_an_end() {
    for word in ["what", "NEW_REASON", "tool-call-end", "OTHER"] {
        for (said, calls) in [("Su", false), ("", true), ("Su", true)] {
            check(said, calls, word, |response| {
                assert_eq!((&response.error_code, response.info.finish_reason.as_deref()), (&None, Some("STOP")));
                assert_eq!(response.function_calls().count(), usize::from(calls));
                assert_eq!(response.content.as_ref().unwrap().text(), said);
            })
            .await;
        }
    }
}

#[tokio::test]
async fn an_unknown_word_without_an_answer_is_an_error_that_names_it() {
    check("", false, "new_reason", |response| {
        let (code, text) = (response.error_code.as_deref().unwrap(), response.error_message.as_deref());
        assert!(code == "new_reason" || text.unwrap().contains("`new_reason`"), "{response:?}");
        assert_eq!(response.function_calls().count(), 0);
    })
    .await;
}

#[tokio::test]
async fn l235_a_limit_or_a_filter_runs_no_call() {
    for (word, code) in [
        ("MAX_TOKENS", "MAX_TOKENS"),
        ("max_tokens", "MAX_TOKENS"),
        ("max-tokens", "MAX_TOKENS"),
        ("model_length", "MAX_TOKENS"),
        ("SAFETY", "SAFETY"),
        ("content_filter", "SAFETY"),
        ("PROHIBITED_CONTENT", "PROHIBITED_CONTENT"),
    ] {
        for said in ["", "Su"] {
            check(said, true, word, |response| {
                assert_eq!(response.function_calls().count(), 0);
                let reason = response.info.finish_reason.as_deref();
                assert_eq!((response.error_code.as_deref(), reason), (Some(code), Some(code)));
                assert!(response.error_message.is_some());
            })
            .await;
        }
    }
}

#[tokio::test]
async fn known_words_count_in_any_spelling() {
    for word in ["stop", "STOP", "Tool_Calls", "tool-calls", "END_TURN", "tool_use", "complete"] {
        check("", true, word, |response| {
            assert_eq!((response.function_calls().count(), &response.error_code), (1, &None));
            assert_eq!(response.info.finish_reason.as_deref(), Some("STOP"));
        })
        .await;
    }
}

#[tokio::test]
async fn a_word_of_failure_is_an_error_that_runs_nothing() {
    for provider in PROVIDERS {
        for streaming in [false, true] {
            for word in ["error", "ERROR", "abort", "network-error", "insufficient_system_resource"] {
                let server = Server::start([reply(provider, streaming, "Su", true, word)]).await;
                let (responses, error) = all(&model(provider, &server), &once(), streaming).await.unwrap_err();
                assert!(responses.iter().all(LlmResponse::is_partial));
                assert_eq!(
                    (error.kind(), error.code()),
                    (ModelErrorKind::Unavailable, word),
                    "{provider:?} {streaming}"
                );
                assert!(error.is_transient());
            }
        }
    }
}

#[tokio::test]
async fn a_word_of_failure_before_the_first_fragment_is_tried_again() {
    let request = with_config(json!({"httpOptions": {"retryOptions": {"initialDelay": 4, "jitter": 0}}}));
    for provider in PROVIDERS {
        for streaming in [false, true] {
            // Gemini's chunks are all fragments.
            if matches!((provider, streaming), (Provider::Gemini, true)) {
                continue;
            }
            let server = Server::start([
                reply(provider, streaming, "", false, "error"),
                reply(provider, streaming, "Sunny.", false, "stop"),
            ])
            .await;
            let clock = clock_of_waits();
            let responses = all_by(&model(provider, &server), &request, streaming, &clock).await.unwrap();
            assert_eq!(waits(&clock), [4]);
            assert_eq!(
                responses.last().unwrap().content.as_ref().unwrap().text(),
                "Sunny.",
                "{provider:?} {streaming}"
            );
            assert_eq!(server.requests().len(), 2);
        }
    }
}

#[tokio::test]
async fn the_word_of_a_provider_after_a_server_counts_when_it_is_worse() {
    for (native, code) in [("MAX_TOKENS", Some("MAX_TOKENS")), ("completed", None), ("whatever", None)] {
        let choice = json!({
            "index": 0, "message": {"content": "Su"}, "finish_reason": "stop", "native_finish_reason": native,
        });
        let server = Server::start([Reply::json("200 OK", &json!({"choices": [choice]}))]).await;
        let responses = all(&at(&server, openai("m"), "/v1"), &ask("hi"), false).await.unwrap();
        assert_eq!(responses[0].error_code.as_deref(), code, "{native}");
    }
}
