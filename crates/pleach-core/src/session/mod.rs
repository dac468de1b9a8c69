//! A session in memory, as a session service returns it.

mod data;
mod head;

pub use data::{Session, UnreadableKeys};
pub use head::{Revision, SessionHead};
