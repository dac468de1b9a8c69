//! Plugins: the hooks that an app's plugins have, and their calls.

mod change;
mod hooks;
mod manager;

pub(crate) use change::apply_plugin_change;
pub use hooks::{Hook, Plugin};
pub use manager::PluginManager;
