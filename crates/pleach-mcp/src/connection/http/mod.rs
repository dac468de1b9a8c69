//! The transport over streamable HTTP. A request is a POST whose response contains the answer. All other messages come
//! on a general stream.

mod events;
mod exchange;
mod fault;
mod listen;
mod reopening;
mod respond;
mod wire;

pub(super) use fault::HttpFault;
pub(super) use wire::HttpWire;
