//! [`Peer`]: the other end of a connection.

use std::net::SocketAddr;

/// The other end of the connection of a request: what no header can pretend. Part of the extensions of requests to a
/// [`BoundServer`](crate::BoundServer).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) SocketAddr);
