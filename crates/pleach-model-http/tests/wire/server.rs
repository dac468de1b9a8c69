//! A raw TCP server that plays replies byte by byte, and records its requests.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// The server's reaction to one request.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pieces: Vec<Vec<u8>>,
    then: Then,
    /// The bytes that are sent again and again, after the pieces.
    flood: Vec<u8>,
}

/// The server's next step after a reply.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Then {
    /// It serves the next request on the same connection.
    Serve,
    /// It closes the connection.
    Close,
    /// The connection stays open until the client closes it.
    Hold,
    /// The flood is sent until the client closes the connection.
    Flood,
}

impl Reply {
    /// Sends these bytes and closes the connection.
    pub(crate) fn raw(bytes: impl AsRef<[u8]>) -> Self {
        Self { pieces: vec![bytes.as_ref().to_vec()], then: Then::Close, flood: Vec::new() }
    }

    /// Sends a body of this length.
    pub(crate) fn new(status: &str, headers: &str, body: &[u8]) -> Self {
        let mut bytes = format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n", body.len()).into_bytes();
        bytes.extend_from_slice(body);
        Self { then: Then::Serve, ..Self::raw(bytes) }
    }

    pub(crate) fn json(status: &str, body: &Value) -> Self {
        Self::new(status, "content-type: application/json\r\n", body.to_string().as_bytes())
    }

    pub(crate) fn sse(body: impl AsRef<[u8]>) -> Self {
        Self::new("200 OK", "content-type: text/event-stream\r\n", body.as_ref())
    }

    /// Begins a stream of events that lasts as long as the connection.
    pub(crate) fn open(events: &str) -> Self {
        Self::raw(format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n{events}"))
    }

    /// Sends these bytes again and again, until the client closes the connection.
    pub(crate) fn then_forever(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.flood = bytes.into();
        self.then = Then::Flood;
        self
    }

    /// Sends the bytes in two pieces.
    pub(crate) fn split_at(mut self, at: usize) -> Self {
        let rest = self.pieces[0].split_off(at);
        self.pieces.push(rest);
        self
    }

    /// After the reply, sends a text, each byte in a piece of its own.
    pub(crate) fn then_pieces(self, text: &str) -> Self {
        self.then_pieces_of(text.as_bytes())
    }

    /// After the reply, sends each of these bytes in a piece of its own.
    pub(crate) fn then_pieces_of(mut self, bytes: &[u8]) -> Self {
        self.pieces.extend(bytes.iter().map(|byte| vec![*byte]));
        self
    }

    /// After the reply, sends a text in a piece of its own.
    pub(crate) fn then_piece(mut self, text: &str) -> Self {
        self.pieces.push(text.as_bytes().to_vec());
        self
    }

    /// Sends only the first bytes and closes the connection.
    pub(crate) fn cut_at(mut self, at: usize) -> Self {
        self.pieces[0].truncate(at);
        self.then = Then::Close;
        self
    }

    /// Keeps the connection open until the client closes it.
    pub(crate) fn hold(mut self) -> Self {
        self.then = Then::Hold;
        self
    }

    pub(crate) fn len(&self) -> usize {
        self.pieces.iter().map(Vec::len).sum()
    }
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) head: String,
    pub(crate) body: Value,
}

impl Request {
    pub(crate) fn line(&self) -> &str {
        self.head.lines().next().unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

pub(crate) struct Server {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<Request>>>,
    sent: Arc<AtomicUsize>,
    connections: Arc<AtomicUsize>,
    closed: tokio::sync::Mutex<mpsc::UnboundedReceiver<()>>,
}

impl Server {
    /// Plays the replies, one for each request.
    pub(crate) async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let replies: Arc<Mutex<Vec<Reply>>> = Arc::new(Mutex::new(replies.into_iter().collect()));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (closed, seen) = mpsc::unbounded_channel();
        let recorded = requests.clone();
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = connections.clone();
        let sent = Arc::new(AtomicUsize::new(0));
        let sending = sent.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counted.fetch_add(1, Relaxed);
                tokio::spawn(serve(stream, replies.clone(), recorded.clone(), sending.clone(), closed.clone()));
            }
        });
        Self { url, requests, sent, connections, closed: tokio::sync::Mutex::new(seen) }
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// Returns true if a reply was sent to its end.
    pub(crate) fn has_sent(&self) -> bool {
        self.sent.load(Relaxed) > 0
    }

    /// Returns the number of connections.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Relaxed)
    }

    /// Waits until a client has closed a connection that was held open.
    pub(crate) async fn closed(&self) {
        let waited = tokio::time::timeout(Duration::from_secs(10), async { self.closed.lock().await.recv().await });
        waited.await.expect("the client closes the connection").unwrap();
    }
}

async fn serve(
    mut stream: TcpStream,
    replies: Arc<Mutex<Vec<Reply>>>,
    requests: Arc<Mutex<Vec<Request>>>,
    sent: Arc<AtomicUsize>,
    closed: mpsc::UnboundedSender<()>,
) {
    stream.set_nodelay(true).unwrap();
    while let Some(request) = read(&mut stream).await {
        requests.lock().unwrap().push(request);
        let reply = {
            let mut replies = replies.lock().unwrap();
            if replies.is_empty() {
                return;
            }
            replies.remove(0)
        };
        for piece in &reply.pieces {
            if stream.write_all(piece).await.is_err() {
                return;
            }
            // The client reads this piece before the next one comes.
            for _ in 0..4 {
                tokio::task::yield_now().await;
            }
        }
        sent.fetch_add(1, Relaxed);
        match reply.then {
            Then::Serve => continue,
            Then::Close => return,
            Then::Hold => drop(stream.read(&mut [0]).await),
            Then::Flood => {
                while stream.write_all(&reply.flood).await.is_ok() {
                    tokio::task::yield_now().await;
                }
            }
        }
        let _ = closed.send(());
        return;
    }
}

async fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
            let length =
                head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            let length: usize = length.unwrap_or(0);
            if bytes.len() >= end + 4 + length {
                let body = serde_json::from_slice(&bytes[end + 4..end + 4 + length]).unwrap();
                return Some(Request { head, body });
            }
        }
        let mut buffer = [0; 4096];
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
        }
    }
}
