//! Runs the test server over HTTP on this machine, and kills it.

use std::net::SocketAddr;
use std::sync::Arc;

use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

use super::Server;

/// A server that ends when this value is dropped.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) server: Server,
    task: JoinHandle<()>,
}

impl Running {
    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Ends the server and all its connections. Returns when the port is free.
    pub(crate) async fn kill(self) -> SocketAddr {
        let address = self.address;
        self.task.abort();
        drop(self);
        while tokio::net::TcpStream::connect(address).await.is_ok() {
            tokio::task::yield_now().await;
        }
        address
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Serves at a free port.
pub(crate) async fn serve() -> Running {
    serve_at(([127, 0, 0, 1], 0).into()).await
}

/// Serves at an address.
pub(crate) async fn serve_at(address: SocketAddr) -> Running {
    let listener = TcpListener::bind(address).await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = Server::default();
    let shared = server.clone();
    let sessions = Arc::new(LocalSessionManager::default());
    let service =
        StreamableHttpService::new(move || Ok(shared.clone()), sessions, StreamableHttpServerConfig::default());
    let service = TowerToHyperService::new(service);
    let task = tokio::spawn(async move {
        let mut connections = JoinSet::new();
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let service = service.clone();
            connections.spawn(async move {
                let _ =
                    hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
    Running { address, server, task }
}
