//! Opens, keeps, closes and renews the connections with a server.

mod child;
mod faults;
mod http;
mod incoming;
mod introduction;
mod kept_list;
mod ledger;
mod lines;
mod link;
mod notices;
mod open;
mod output;
mod pages;
mod pool;
mod request;
mod scan;
mod session;
mod stderr;
mod target;
mod wire;

pub(crate) use incoming::Report;
pub(crate) use pages::Reading;
pub(crate) use pool::Pool;
pub(crate) use session::Session;
pub use target::McpServer;
