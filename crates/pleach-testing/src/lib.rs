//! Tools for testing your own workflows and agents through the public API: a clock that tests advance, counted ids,
//! scripted people, faults of session services, seeded interleavings, the resume property, and traces for snapshots.
//!
//! The facade exports the whole crate as `pleach::testkit`, with the feature `testkit`. The crate contains no part of
//! the runtime, and none of the test doubles of pleach's own tests, which are in `pleach-testkit`.

mod clock;
mod effects;
mod fault_plan;
mod faulty_sessions;
mod gate;
mod held_time;
mod human;
mod ids;
mod interleave;
mod model_by_turn;
mod operation;
mod resume;
mod seed;
mod trace;
mod yields;

pub use clock::TestClock;
pub use effects::Effects;
pub use fault_plan::FaultPlan;
pub use faulty_sessions::FaultySessions;
pub use held_time::HeldTime;
pub use human::{HumanError, ScriptedHuman};
pub use ids::CountedIds;
pub use interleave::interleave;
pub use model_by_turn::ModelByTurn;
pub use operation::Operation;
pub use resume::{
    CrashPoint, CrashTime, Difference, ResumeFailure, ResumeFault, ResumeProperty, ResumeReport, resume_property,
};
pub use seed::{SEED_VARIABLE, Seed, each_seed};
pub use trace::{Trace, TraceEntry};
pub use yields::SeededYields;
