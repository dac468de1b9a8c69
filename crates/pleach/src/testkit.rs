//! Tools for tests of your own workflows and agents.
//!
//! They are a clock that tests advance, counted ids, scripted models and people, faults of session services, seeded interleavings,
//! the resume property, traces for snapshots, and the contract of session services for everyone who writes one.
//! `docs/testing-your-workflow.md` shows how to use them, and `docs/sessions.md` the contract. Turn the feature on only
//! for tests:
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

pub use pleach_contract::sessions::Opened;
pub use pleach_contract::{StrictSessionService, session_contract, shared_session_contract};
pub use pleach_model::{RecordedCall, ScriptedModel, ScriptedReply};
pub use pleach_testkit::{
    CountedIds, CrashPoint, CrashTime, Difference, Effects, FaultPlan, FaultySessions, HeldTime, HumanError,
    ModelByTurn, Operation, ResumeFailure, ResumeFault, ResumeProperty, ResumeReport, SEED_VARIABLE, ScriptedHuman,
    Seed, SeededYields, TestClock, Trace, TraceEntry, each_seed, interleave, resume_property,
};
