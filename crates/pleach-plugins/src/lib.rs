//! Plugins for apps: logging, a global instruction, a context filter, saved files, retries of tools, budgets.
//!
//! Each plugin implements [`Plugin`](pleach_context::Plugin), with the same hooks that plugins of applications have.
//! This crate does not call the hooks; the Runner, the engine and the agents do.

mod budget;
mod context_filter;
mod global_instruction;
mod logging;
mod per_invocation;
mod reflect_retry;
mod save_files;

pub use budget::{
    BUDGET_EXCEEDED, BudgetPlugin, BudgetPluginBuilder, BudgetScope, BudgetSetupError, BudgetUsage, Limits, Price,
    PriceTable,
};
pub use context_filter::ContextFilterPlugin;
pub use global_instruction::GlobalInstructionPlugin;
pub use logging::LoggingPlugin;
pub use reflect_retry::{ReflectAndRetryToolPlugin, TrackingScope};
pub use save_files::SaveFilesAsArtifactsPlugin;

use pleach_context::Hook;
use pleach_core::BoxError;

/// Returns the result of a hook that has nothing to await.
fn decided<'a, T: Send + 'a>(decision: Result<T, BoxError>) -> Hook<'a, T> {
    Some(Box::pin(std::future::ready(decision)))
}
