//! Tools for tests of your own workflows and agents.
//!
//! They include a clock that tests advance, ids that are counted up, scripted models and people, session services
//! that fail on request, seeded interleavings, the resume property, and traces for snapshots.
//! `docs/testing-your-workflow.md` shows how to use them. Turn the feature on only for tests:
//!
//! ```toml
//! [dev-dependencies]
//! pleach = { path = "../pleach/crates/pleach", features = ["testkit"] }
//! ```
//!
//! ```
//! use pleach::prelude::*;
//! use pleach::testkit::resume_property;
//!
//! async fn greet(Input(name): Input<String>) -> String {
//!     format!("Hello, {name}!")
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<()> {
//! let mut wf = Workflow::builder("hello");
//! let greet = wf.node("greet", greet);
//! wf.edge(START, greet);
//! resume_property(wf.build()?, ["Otter"]).await;
//! # Ok(())
//! # }
//! ```

pub use pleach_model::{RecordedCall, ScriptedModel, ScriptedReply};
pub use pleach_testing::{
    CountedIds, CrashPoint, CrashTime, Difference, Effects, FaultPlan, FaultySessions, HeldTime, HumanError,
    ModelByTurn, Operation, ResumeFailure, ResumeFault, ResumeProperty, ResumeReport, SEED_VARIABLE, ScriptedHuman,
    Seed, SeededYields, TestClock, Trace, TraceEntry, each_seed, interleave, resume_property,
};
