//! The clients against a server on loopback that plays wire bytes.

mod edges;
mod gemini;
mod openai;
mod server;
mod support;
