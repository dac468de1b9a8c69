//! Streamable HTTP: a request is a POST whose response holds its answer, and a stream of its own brings the rest.

mod events;
mod exchange;
mod fault;
mod listen;
mod reopening;
mod respond;
mod wire;

pub(super) use fault::HttpFault;
pub(super) use wire::HttpWire;
