//! Connections with a server: how one is made, kept, lost and made again.

mod child;
mod faults;
mod http;
mod line_limit;
mod link;
mod notices;
mod open;
mod pool;
mod request;
mod session;
mod stderr;
mod target;

pub(crate) use pool::Pool;
pub(crate) use session::{Report, Session};
pub use target::McpServer;
