//! Tools for testing your own workflows and agents through the public API: scripted people, faults of session services,
//! seeded interleavings, the resume property, and traces for snapshots.
//!
//! The facade exports the whole crate as `pleach::testkit`, with the feature `testkit`. The crate contains no part of
//! the runtime. The clock, the ids and the contract of session services are in `pleach-contract`, below the Runner.

mod effects;
mod fault_plan;
mod faulty_sessions;
mod gate;
mod held_time;
mod human;
mod interleave;
mod model_by_turn;
mod operation;
mod resume;
mod seed;
mod trace;
mod yields;

pub use effects::Effects;
pub use fault_plan::FaultPlan;
pub use faulty_sessions::FaultySessions;
pub use held_time::HeldTime;
pub use human::{HumanError, ScriptedHuman};
pub use interleave::interleave;
pub use model_by_turn::ModelByTurn;
pub use operation::Operation;
pub use pleach_contract::{CountedIds, TestClock};
pub use resume::{
    CrashPoint, CrashTime, Difference, ResumeFailure, ResumeFault, ResumeProperty, ResumeReport, resume_property,
};
pub use seed::{SEED_VARIABLE, Seed, each_seed};
pub use trace::{Trace, TraceEntry};
pub use yields::SeededYields;
