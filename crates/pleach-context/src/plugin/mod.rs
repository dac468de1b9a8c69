//! How the hooks of an app's plugins are called, and what they change.

mod change;
mod manager;

pub(crate) use change::apply_plugin_change;
