//! [`Connections`]: the open connections of a server, and the reserve for requests about its health.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse as _, Response};
use http::HeaderValue;
use http::header::RETRY_AFTER;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;

use crate::ServerLimits;
use crate::error::ApiError;
use crate::routes::service::HEALTH;

/// How long the server waits after a connection could not be accepted, for example because the process has too many
/// open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long connections may take to send their remaining data after all runs have ended.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// The number of connections that are accepted in addition to the limit.
const RESERVE: usize = 64;
/// How long a connection of the reserve may stay open.
const RESERVE_TIME: Duration = Duration::from_secs(5);

/// The open connections.
///
/// If the limit is reached, up to [`RESERVE`] further connections are accepted for a short time. Each of them answers
/// one request. A health check succeeds, so that a probe does not treat a busy server as dead; all other requests are
/// answered with 503.
pub(crate) struct Connections {
    router: Router,
    /// The routes of a connection of the reserve.
    reserved: Router,
    request_time: Duration,
    places: Arc<Semaphore>,
    reserve: Arc<Semaphore>,
    closed: watch::Receiver<bool>,
    open: JoinSet<()>,
}

/// The rights of a connection.
enum Admission {
    /// Any request, until the connection ends.
    Place(OwnedSemaphorePermit),
    /// One request for the health of the server.
    Reserve(OwnedSemaphorePermit),
}

impl Connections {
    /// Creates an empty set of connections; `closed` becomes true when they should end.
    pub(crate) fn new(router: Router, limits: &ServerLimits, closed: watch::Receiver<bool>) -> Self {
        Self {
            reserved: Router::new().fallback_service(router.clone()).layer(from_fn(only_health)),
            router,
            request_time: limits.request_time,
            places: Arc::new(Semaphore::new(limits.connections.min(Semaphore::MAX_PERMITS))),
            reserve: Arc::new(Semaphore::new(RESERVE)),
            closed,
            open: JoinSet::new(),
        }
    }

    /// Accepts one connection as soon as there is room for it within the limit or in the reserve.
    ///
    /// # Cancel safety
    /// Dropping the future loses no connection.
    pub(crate) async fn accept(&mut self, listener: &TcpListener) {
        let admission = self.admission().await;
        match listener.accept().await {
            Ok((stream, peer)) => self.open(stream, peer, self.improved(admission)),
            Err(error) => {
                tracing::warn!(%error, "no connection could be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
        while self.open.try_join_next().is_some() {}
    }

    async fn admission(&self) -> Admission {
        const NEVER_CLOSED: &str = "the semaphores of connections are never closed";
        tokio::select! {
            biased;
            place = Arc::clone(&self.places).acquire_owned() => Admission::Place(place.expect(NEVER_CLOSED)),
            room = Arc::clone(&self.reserve).acquire_owned() => Admission::Reserve(room.expect(NEVER_CLOSED)),
        }
    }

    /// Moves a connection from the reserve to a place within the limit, if one has become free.
    fn improved(&self, admission: Admission) -> Admission {
        match (admission, Arc::clone(&self.places).try_acquire_owned()) {
            (Admission::Reserve(_), Ok(place)) => Admission::Place(place),
            (admission, _) => admission,
        }
    }

    #[cfg_attr(
        not(feature = "dev"),
        expect(unused_variables, reason = "only routes of the development server ask for the peer")
    )]
    fn open(&mut self, stream: TcpStream, peer: SocketAddr, admission: Admission) {
        // Each event is sent at once, even if it is small.
        stream.set_nodelay(true).ok();
        let router = match admission {
            Admission::Place(_) => self.router.clone(),
            Admission::Reserve(_) => self.reserved.clone(),
        };
        #[cfg(feature = "dev")]
        let router = tower::Layer::layer(&axum::Extension(crate::peer::Peer(peer)), router);
        let service = TowerToHyperService::new(router);
        let closed = self.closed.clone();
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new());
        match admission {
            Admission::Place(place) => {
                http.header_read_timeout(self.request_time);
                let connection = http.serve_connection(TokioIo::new(stream), service);
                self.open.spawn(async move {
                    serve(connection, closed).await;
                    drop(place);
                });
            }
            Admission::Reserve(room) => {
                http.header_read_timeout(self.request_time.min(RESERVE_TIME)).keep_alive(false);
                let connection = http.serve_connection(TokioIo::new(stream), service);
                self.open.spawn(async move {
                    if tokio::time::timeout(RESERVE_TIME, serve(connection, closed)).await.is_err() {
                        tracing::debug!("a connection of the reserve took too long");
                    }
                    drop(room);
                });
            }
        }
    }

    /// Waits for the connections to end, and cuts off connections that take too long.
    pub(crate) async fn finish(mut self) {
        let ended = async { while self.open.join_next().await.is_some() {} };
        if tokio::time::timeout(LAST_WORDS, ended).await.is_err() {
            self.open.shutdown().await;
        }
    }
}

/// Serves one connection until it ends. When the server closes, the connection still sends its remaining data.
async fn serve<S>(connection: http1::Connection<TokioIo<TcpStream>, S>, mut closed: watch::Receiver<bool>)
where
    S: hyper::service::HttpService<hyper::body::Incoming, ResBody = axum::body::Body>,
    S::Error: Into<pleach_core::BoxError>,
{
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
}

/// Waits until the connections should end.
async fn until(closed: &mut watch::Receiver<bool>) {
    // An error means that the server was dropped.
    closed.wait_for(|closed| *closed).await.ok();
}

/// Answers a request for the health of the server, and refuses all others.
async fn only_health(request: Request, next: Next) -> Response {
    if request.uri().path() == HEALTH {
        return next.run(request).await;
    }
    let refused = "The server has as many connections open as it allows: try again.";
    let mut response = ApiError::unavailable(refused).into_response();
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}
