//! The common part of pleach's HTTP clients: `pleach-model-http`, `pleach-mcp` and `pleach-openapi`.
//!
//! This crate owns the rules that all of them follow. They decide which addresses belong to this machine, which values
//! are hidden in messages of servers and which headers a program may set. They also decide how connections are
//! encrypted and proxied, and how much of a body is read. It neither knows wire formats nor sends or retries requests.
//!
//! It is published only because those crates are. Its API is not for other crates, and may change with every version.

mod body;
mod client;
mod endpoint;
mod headers;
mod limits;
mod secrets;
mod tls;

#[doc(hidden)]
pub use body::{BodyFault, ERROR_BYTES, ERROR_WAIT, announces_more_than, read_error, read_whole};
#[doc(hidden)]
pub use client::{Clients, causes};
#[doc(hidden)]
pub use endpoint::{Endpoint, EndpointFault};
#[doc(hidden)]
pub use headers::{HeaderFault, Headers, is_of_connection, read_header};
#[doc(hidden)]
pub use limits::within;
#[doc(hidden)]
pub use secrets::Secrets;
