//! The engine: one node run, many runs side by side, dynamic children, and what a resume may skip.

mod detached;
mod dynamic;
mod gate;
mod input;
mod node_run;
mod once;
mod replay;
mod run_set;
mod span;
mod stack;

pub use dynamic::Engine;

pub(crate) use gate::ReplayGate;
pub(crate) use input::conform;
pub(crate) use node_run::{NodeRun, RunSetup, panic_error};
pub(crate) use replay::{Decision, ReplayRules, Standing, decide};
pub(crate) use run_set::{CompletionOrder, Finished, RunSet};
