//! [`Peer`]: the address at the other end of a connection.

use std::net::SocketAddr;

/// The address at the other end of a request's connection, which no header can forge. It is in the extensions of
/// requests to a [`BoundServer`](crate::BoundServer).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) SocketAddr);
