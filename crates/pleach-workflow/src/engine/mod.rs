//! The engine: single node runs, concurrent runs, dynamic children and replay decisions.

mod background;
mod child_run;
mod dynamic;
mod hooks;
mod input;
mod node_run;
mod panic;
mod replay;
mod replay_gate;
mod run_set;
mod run_setup;
mod single_flight;
mod span;
mod stack;
mod transfer;
mod waiting;

pub use dynamic::Engine;
pub use transfer::{TransferStep, transfer_step};

pub(crate) use input::conform;
pub(crate) use node_run::NodeRun;
pub(crate) use panic::panic_error;
pub(crate) use replay::{Decision, ReplayRules, decide};
pub(crate) use replay_gate::ReplayGate;
#[cfg(test)]
pub(crate) use run_set::CompletionOrder;
pub(crate) use run_set::{Executed, Finished, RunSet};
pub(crate) use run_setup::RunSetup;
