//! Streamable HTTP. A request is a POST whose response contains the answer. A general stream brings all other messages.

mod events;
mod exchange;
mod fault;
mod listen;
mod reopening;
mod respond;
mod wire;

pub(super) use fault::HttpFault;
pub(super) use wire::HttpWire;
