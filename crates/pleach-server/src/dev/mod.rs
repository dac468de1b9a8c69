//! The development server: the routes that a browser UI needs in addition to the API.
//!
//! It serves the files of a UI from a folder, describes and draws apps, and shows the spans of the latest runs. The UI
//! itself is not part of this crate. Routes that would change or execute something serve only clients on this machine.

mod absent;
mod agent_graph;
mod app_graph;
mod consent;
mod graph;
mod local;
mod options;
mod routes;
mod static_files;
mod telemetry;
mod traces;
mod upload;
mod workflow_picture;
mod workflow_theme;

pub(crate) use consent::Consent;
pub(crate) use local::are_open_to_others;
pub use options::DevUi;
pub(crate) use routes::{is_file, router};
pub(crate) use traces::TracePlugin;
pub use traces::Traces;
