//! Tests of the development server's pages in a real Chromium. They include google-adk's UI, whose files come from its
//! wheel, with pleach's server.
//!
//! `cargo xtask test-all --only browser` finds the browser, its driver and the files and passes them in environment variables. If one of
//! them is missing, the tests print SKIPPED and pass.
#![expect(clippy::unwrap_used, reason = "test code: a panic is how a rule fails")]

mod adk_ui;
mod driver;
mod fixture;
mod inspector;
mod page;

#[path = "../../examples/server/demo.rs"]
mod demo;
#[path = "../../examples/server/python.rs"]
mod python;
#[path = "../../examples/server/scripted.rs"]
mod scripted;
#[path = "../../examples/server/wf.rs"]
mod wf;
