//! [`BoundServer`]: a server with its listener.

use std::fmt;
use std::future::{Future, pending};
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use pleach_runner::{DrainOptions, Runner};
use tokio::net::{TcpListener, ToSocketAddrs};
use tokio::sync::watch;

use crate::connections::Connections;
use crate::{ApiServer, ServerError};

/// A server that listens at an address. It speaks HTTP/1.1; a proxy in front adds TLS.
pub struct BoundServer {
    server: ApiServer,
    listener: TcpListener,
    address: SocketAddr,
}

impl BoundServer {
    /// Returns the address that the server listens at, with the port that the system chose for port 0.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Returns the server.
    #[must_use]
    pub fn server(&self) -> &ApiServer {
        &self.server
    }

    /// Serves until the program ends.
    ///
    /// # Cancel safety
    /// Dropping the future cuts all connections off. Detached runs continue.
    pub async fn serve(self) {
        self.serve_until(pending(), Duration::ZERO).await;
    }

    /// Serves until `stop` completes, and then shuts down in this order: it stops accepting connections, refuses new
    /// runs, drains active runs, and lets the connections send their remaining data. It does not close the server: call
    /// [`ApiServer::close`] for that.
    ///
    /// # Cancel safety
    /// Dropping the future cuts all connections off. Detached runs continue.
    pub async fn serve_until(self, stop: impl Future<Output = ()>, drain: impl Into<DrainOptions>) {
        let Self { server, listener, address } = self;
        if !address.ip().to_canonical().is_loopback() {
            tracing::warn!(%address, "the server is reachable from the network and does not authenticate its callers");
        }
        if server.api().timers {
            server.api().runners.values().for_each(Runner::start_timers);
        }
        let (closing, closed) = watch::channel(false);
        let mut connections = Connections::new(server.router_at(address), &server.api().limits, closed);
        let mut stop = pin!(stop);
        loop {
            tokio::select! {
                biased;
                () = stop.as_mut() => break,
                () = connections.accept(&listener) => {}
            }
        }
        drop(listener);
        server.drain(drain).await;
        closing.send_replace(true);
        connections.finish().await;
    }
}

impl fmt::Debug for BoundServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundServer")
            .field("address", &self.address)
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

impl ApiServer {
    /// Listens on an address. On a loopback address, requests to other hosts are refused. A server on any other address
    /// can be reached by everybody in the network; a warning is logged unless callers are authenticated.
    ///
    /// # Errors
    /// [`ServerError::Bind`].
    ///
    /// # Cancel safety
    /// Dropping the future closes the socket.
    // H90, H96
    pub async fn bind(self, address: impl ToSocketAddrs + fmt::Debug) -> Result<BoundServer, ServerError> {
        let shown = format!("{address:?}");
        let failed = |cause| ServerError::Bind { address: shown.clone(), cause };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let local = listener.local_addr().map_err(failed)?;
        Ok(BoundServer { server: self, listener, address: local })
    }
}
