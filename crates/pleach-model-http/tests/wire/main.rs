//! Tests of the clients against a local server that sends scripted bytes.

#![expect(clippy::unwrap_used, reason = "test code: a panic is how a rule fails")]

mod anthropic;
mod edges;
mod ends;
mod failures;
mod finish;
mod gemini;
mod openai;
mod reach;
mod schemas;
mod server;
mod support;
mod tls;
mod variants;
