//! The types and traits of this crate that refer to each other: definitions only, what they do is elsewhere.
//!
//! A context holds its invocation, the invocation holds the services and the scheduler, the services hold plugins, and
//! plugins, tools, nodes and credential services are called with a context. Such types cannot be in files that import each
//! other in one direction only. So the files of this folder are one module in several parts, and hold no `impl`: whatever imports
//! them, they never import it back.

mod agent;
mod context;
mod credential;
mod invocation;
mod node;
mod plugin;
mod tool;

pub use agent::{AgentMode, AgentSpec, Instruction, ShellKind};
pub(crate) use context::ContextInner;
pub use context::{CallbackContext, Context, ReadonlyContext, ToolContext};
pub use credential::CredentialService;
pub(crate) use invocation::HistoryCache;
pub use invocation::{InvocationContext, InvocationSetup, Services};
pub use node::{Node, NodeScheduler};
pub use plugin::{Hook, Plugin, PluginManager};
pub(crate) use tool::{Choice, Listed, Source};
pub use tool::{ModelDemand, Need, SharedToolset, Tool, Toolset};
