//! Plugins: logging, a global instruction, a context filter, saved files, retries of tools, budgets.
//!
//! `docs/plugins.md` describes what each plugin does, and how to write your own.
//!
//! ```
//! use pleach::plugins::{BudgetPlugin, Limits, LoggingPlugin};
//! use pleach::prelude::*;
//!
//! # fn main() -> Result<()> {
//! let helper = LlmAgent::builder("helper").model(pleach::model::ScriptedModel::saying("Sunny.")).build()?;
//! let budget = BudgetPlugin::builder().per_run(Limits::new().model_calls(20)).build()?;
//! let runner = Runner::builder("demo").root(helper).plugin(budget).plugin(LoggingPlugin::new()).build()?;
//! # drop(runner);
//! # Ok(())
//! # }
//! ```

pub use pleach_plugins::{
    BUDGET_EXCEEDED, BudgetPlugin, BudgetPluginBuilder, BudgetScope, BudgetSetupError, BudgetUsage,
    ContextFilterPlugin, GlobalInstructionPlugin, Limits, LoggingPlugin, Price, PriceTable, ReflectAndRetryToolPlugin,
    SaveFilesAsArtifactsPlugin, TrackingScope,
};
