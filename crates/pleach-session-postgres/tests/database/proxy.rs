//! A wire between a service and its server that can be cut at any answer, and a server that can be away for a while.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::Database;

/// Passes bytes between any number of clients and one server.
pub(crate) struct Proxy {
    url: String,
    wire: Arc<Wire>,
    listening: JoinHandle<()>,
}

struct Wire {
    server: String,
    /// The number of server answers that still get through before one is lost together with its connection; negative
    /// for all.
    answers: AtomicI64,
    /// The number of request bytes that still get through before the connection is cut; negative for all.
    requests: AtomicI64,
    /// The number of answers that were lost.
    lost: AtomicUsize,
    /// Whether the server goes away with the answer that is lost.
    goes_down: AtomicBool,
    /// Whether answers are held back while their connections stay open.
    is_silent: AtomicBool,
    /// The number of clients that were turned away.
    refused: AtomicUsize,
    /// Whether the server is there. Connections end whenever it goes away.
    is_up: watch::Sender<bool>,
}

impl Proxy {
    /// Listens in front of the server of a database.
    pub(crate) async fn of(database: &Database) -> Self {
        let url = database.url();
        let (before, rest) = url.rsplit_once('@').unwrap();
        let (server, behind) = rest.split_once('/').unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address: SocketAddr = listener.local_addr().unwrap();
        let wire = Arc::new(Wire {
            server: server.to_owned(),
            answers: AtomicI64::new(-1),
            requests: AtomicI64::new(-1),
            lost: AtomicUsize::new(0),
            goes_down: AtomicBool::new(false),
            is_silent: AtomicBool::new(false),
            refused: AtomicUsize::new(0),
            is_up: watch::Sender::new(true),
        });
        let listening = tokio::spawn(listen(listener, Arc::clone(&wire)));
        Self { url: format!("{before}@{address}/{behind}"), wire, listening }
    }

    /// Returns the URL that leads through the proxy.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Lets this many answers through and loses the next one.
    pub(crate) fn lose_answer_after(&self, count: i64) {
        self.wire.answers.store(count, Ordering::SeqCst);
    }

    /// Lets this many bytes of requests through and then cuts the connection.
    pub(crate) fn cut_requests_after(&self, bytes: i64) {
        self.wire.requests.store(bytes, Ordering::SeqCst);
    }

    pub(crate) fn cut_no_request(&self) {
        self.cut_requests_after(-1);
    }

    /// Returns `true` if the requested cut has happened.
    pub(crate) fn has_cut(&self) -> bool {
        self.wire.requests.load(Ordering::SeqCst) == i64::MIN
    }

    pub(crate) fn lose_no_answer(&self) {
        self.lose_answer_after(-1);
    }

    /// From now on, takes the server down together with an answer that is lost.
    pub(crate) fn go_down_with_answers(&self) {
        self.wire.goes_down.store(true, Ordering::SeqCst);
    }

    /// Holds answers back for ever. Connections are accepted and stay open.
    pub(crate) fn fall_silent(&self) {
        self.wire.is_silent.store(true, Ordering::SeqCst);
    }

    /// Lets the answers on new connections through again.
    pub(crate) fn speak(&self) {
        self.wire.is_silent.store(false, Ordering::SeqCst);
    }

    pub(crate) fn lost(&self) -> usize {
        self.wire.lost.load(Ordering::SeqCst)
    }

    /// Cuts every connection and turns new ones away.
    pub(crate) fn take_down(&self) {
        self.wire.is_up.send_replace(false);
    }

    pub(crate) fn bring_up(&self) {
        self.wire.is_up.send_replace(true);
    }

    /// Cuts every connection; new ones get through.
    pub(crate) fn hang_up(&self) {
        self.take_down();
        self.bring_up();
    }

    /// Waits until this many more clients have been turned away.
    pub(crate) async fn until_refused(&self, count: usize) {
        let wanted = self.wire.refused.load(Ordering::SeqCst) + count;
        while self.wire.refused.load(Ordering::SeqCst) < wanted {
            tokio::task::yield_now().await;
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

async fn listen(listener: TcpListener, wire: Arc<Wire>) {
    while let Ok((client, _)) = listener.accept().await {
        if *wire.is_up.borrow() {
            tokio::spawn(pass(client, Arc::clone(&wire)));
        } else {
            wire.refused.fetch_add(1, Ordering::SeqCst);
        }
    }
}

async fn pass(client: TcpStream, wire: Arc<Wire>) {
    let server = TcpStream::connect(&wire.server).await.unwrap();
    let mut is_up = wire.is_up.subscribe();
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let asking = async {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let Ok(length @ 1..) = from_client.read(&mut buffer).await else { return };
            let left = wire.requests.load(Ordering::SeqCst);
            let passed = usize::try_from(left).map_or(length, |left| left.min(length));
            if to_server.write_all(&buffer[..passed]).await.is_err() {
                return;
            }
            if passed < length {
                // The cut happens only once: a repeated request gets through.
                wire.requests.store(i64::MIN, Ordering::SeqCst);
                return;
            }
            if left >= 0 {
                wire.requests.fetch_sub(passed as i64, Ordering::SeqCst);
            }
        }
    };
    let answering = async {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let Ok(length @ 1..) = from_server.read(&mut buffer).await else { return };
            if wire.is_silent.load(Ordering::SeqCst) {
                std::future::pending::<()>().await;
            }
            if wire.answers.fetch_sub(1, Ordering::SeqCst) == 0 {
                wire.lost.fetch_add(1, Ordering::SeqCst);
                if wire.goes_down.load(Ordering::SeqCst) {
                    wire.is_up.send_replace(false);
                }
                return;
            }
            if to_client.write_all(&buffer[..length]).await.is_err() {
                return;
            }
        }
    };
    // The side that ends first ends the connection.
    tokio::select! {
        () = asking => {}
        () = answering => {}
        // This also happens if the server is already back.
        _ = is_up.changed() => {}
    }
}
