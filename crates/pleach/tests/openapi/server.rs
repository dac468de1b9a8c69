//! A server on the loopback interface that sends chosen answers and records its requests.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A server that runs until its value is dropped.
pub(crate) struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    task: JoinHandle<()>,
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// Method and target, for example `GET /pets?limit=1`.
    pub(crate) line: String,
    head: String,
    pub(crate) body: String,
}

impl Request {
    /// Returns the value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.head.lines().filter_map(|line| line.split_once(": "));
        headers.find(|(header, _)| header.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// The server's reaction to a request.
#[derive(Clone)]
pub(crate) enum Answer {
    /// Sends these bytes, and closes the connection.
    Bytes(Vec<u8>),
    /// Sends these bytes, and keeps the connection open.
    Held(Vec<u8>),
    /// Sends nothing and keeps the connection open.
    Silence,
}

impl Answer {
    pub(crate) fn json(body: &str) -> Self {
        Self::of("200 OK", "application/json", body.as_bytes())
    }

    pub(crate) fn of(status: &str, content_type: &str, body: &[u8]) -> Self {
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
        );
        Self::Bytes([head.as_bytes(), body].concat())
    }
}

impl Server {
    /// Starts a server at a free port.
    pub(crate) async fn start(answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let (noted, answer) = (Arc::clone(&requests), Arc::new(answer));
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(serve(stream, Arc::clone(&noted), Arc::clone(&answer)));
            }
        });
        Self { address, requests, task }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// Returns the only request.
    pub(crate) fn request(&self) -> Request {
        let requests = self.requests();
        assert_eq!(requests.len(), 1, "{requests:?}");
        requests[0].clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream, noted: Arc<Mutex<Vec<Request>>>, answer: Arc<impl Fn(&Request) -> Answer>) {
    let Some(request) = read(&mut stream).await else { return };
    noted.lock().unwrap().push(request.clone());
    match answer(&request) {
        Answer::Bytes(bytes) => {
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
        }
        Answer::Held(bytes) => {
            let _ = stream.write_all(&bytes).await;
            std::future::pending().await
        }
        Answer::Silence => std::future::pending().await,
    }
}

async fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let (line, head) = head.split_once("\r\n").unwrap();
            let line = line.strip_suffix(" HTTP/1.1").unwrap().to_owned();
            let request = Request { line, head: head.to_owned(), body: body.to_owned() };
            let length = request.header("content-length").map_or(0, |length| length.parse().unwrap());
            if body.len() >= length {
                return Some(request);
            }
        }
        let mut chunk = [0; 4096];
        match stream.read(&mut chunk).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&chunk[..count]),
        }
    }
}
