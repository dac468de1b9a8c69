//! The development server: what a browser UI needs besides the API.
//!
//! It hosts the files of a UI from a folder, and draws the agents of apps. Nothing of such a UI is part of this crate.

mod agent_graph;
mod consent;
mod empty;
mod graph;
mod options;
mod routes;
mod static_files;
mod telemetry;

pub(crate) use consent::Consent;
pub use options::DevUi;
pub(crate) use routes::router;
