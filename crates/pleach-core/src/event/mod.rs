//! The event: an immutable record in a session's history.
// R101–R109

mod builder;
mod data;
mod de;
mod model;
mod node_info;
mod output_for;
mod query;
mod quick_check;
mod replace_nul;
mod ser;
#[cfg(test)]
mod tests;

pub use data::Event;
pub use model::ModelInfo;
pub use node_info::NodeInfo;
pub use output_for::OutputFor;
