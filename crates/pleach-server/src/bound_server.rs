//! [`BoundServer`]: a server that listens.

use std::fmt;
use std::future::{Future, pending};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use pleach_runner::{DrainOptions, Runner};
use tokio::net::{TcpListener, TcpStream, ToSocketAddrs};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;

use crate::{ApiServer, ServerError};

/// How long the server waits when the system gives it no connection, for want of files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long connections may take to send what they have, once all runs have ended.
const LAST_WORDS: Duration = Duration::from_secs(5);

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

    /// Serves until `stop` completes, and then ends in order: no connection is accepted, new runs are refused, active ones are drained,
    /// and connections send what they have. Closing the server is left to its owner, see [`ApiServer::close`].
    ///
    /// # Cancel safety
    /// Dropping the future cuts all connections off. Detached runs continue.
    pub async fn serve_until(self, stop: impl Future<Output = ()>, drain: impl Into<DrainOptions>) {
        let Self { server, listener, address } = self;
        if !address.ip().to_canonical().is_loopback() {
            tracing::warn!(%address, "the server is reachable from the network, and does not authenticate its callers by itself");
        }
        if server.api().timers {
            server.api().runners.values().for_each(Runner::start_timers);
        }
        let (closing, closed) = watch::channel(false);
        let mut connections = Connections {
            router: server.router_at(address),
            request_time: server.api().limits.request_time,
            places: Arc::new(Semaphore::new(server.api().limits.connections.min(Semaphore::MAX_PERMITS))),
            closed,
            open: JoinSet::new(),
        };
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
    /// Listens at an address. At a loopback address, requests to other hosts are refused; any other address is reached by everybody in
    /// its network, and the log says so unless callers are authenticated.
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

/// Waits until the connections are to end.
async fn until(closed: &mut watch::Receiver<bool>) {
    // An error means that the server was dropped.
    closed.wait_for(|closed| *closed).await.ok();
}

/// The open connections.
struct Connections {
    router: Router,
    request_time: Duration,
    places: Arc<Semaphore>,
    closed: watch::Receiver<bool>,
    open: JoinSet<()>,
}

impl Connections {
    /// Accepts one connection, as soon as there is a place for it.
    ///
    /// # Cancel safety
    /// Dropping the future loses no connection.
    async fn accept(&mut self, listener: &TcpListener) {
        // The semaphore is never closed.
        let Ok(place) = Arc::clone(&self.places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, peer)) => self.open(stream, peer, place),
            Err(error) => {
                tracing::warn!(%error, "no connection could be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
        while self.open.try_join_next().is_some() {}
    }

    #[cfg_attr(
        not(feature = "dev"),
        expect(unused_variables, reason = "only routes of the development server ask for the peer")
    )]
    fn open(&mut self, stream: TcpStream, peer: SocketAddr, place: OwnedSemaphorePermit) {
        // An event is sent when it comes, however small it is.
        stream.set_nodelay(true).ok();
        let router = self.router.clone();
        #[cfg(feature = "dev")]
        let router = tower::Layer::layer(&axum::Extension(crate::peer::Peer(peer)), router);
        let service = TowerToHyperService::new(router);
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.request_time)
            .serve_connection(TokioIo::new(stream), service);
        let mut closed = self.closed.clone();
        self.open.spawn(async move {
            let mut connection = pin!(connection);
            let ended = tokio::select! {
                ended = connection.as_mut() => ended,
                () = until(&mut closed) => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            if let Err(error) = ended {
                tracing::debug!(%error, "a connection has ended with an error");
            }
            drop(place);
        });
    }

    /// Waits for the connections to end, and cuts off those that take too long.
    async fn finish(mut self) {
        let ended = async { while self.open.join_next().await.is_some() {} };
        if tokio::time::timeout(LAST_WORDS, ended).await.is_err() {
            self.open.shutdown().await;
        }
    }
}
