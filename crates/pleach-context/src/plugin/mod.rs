//! Plugins: the hooks that an app's plugins have, and their calls.

mod hooks;
mod manager;

pub use hooks::{Hook, Plugin};
pub use manager::PluginManager;
