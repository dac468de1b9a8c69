//! A session, as its caller holds it.

mod data;
mod head;

pub use data::{Session, UnreadableKeys};
pub use head::{Revision, SessionHead};
