//! A server on the loopback interface that plays the replies of a case.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::case::Case;

/// The pause between two writes of a repeated text. It is much shorter than the idle time-out of the tests.
const PAUSE: Duration = Duration::from_millis(20);

pub(super) struct Server {
    /// The URL of the server, without a path.
    pub(super) url: String,
    requests: Arc<Mutex<Vec<Value>>>,
}

impl Server {
    /// Starts a server that plays the replies, one for each request. For any further request it closes the connection.
    pub(super) async fn start(case: &Case) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let recorded = requests.clone();
        let replies: Vec<_> = case.replies.iter().map(|reply| reply.bytes(case)).collect();
        tokio::spawn(async move {
            let mut replies = replies.into_iter();
            while let Ok((mut stream, _)) = listener.accept().await {
                let request = read(&mut stream).await;
                recorded.lock().unwrap().push(request);
                let Some((bytes, forever)) = replies.next() else { continue };
                tokio::spawn(write(stream, bytes, forever));
            }
        });
        Self { url, requests }
    }

    /// The bodies of all requests so far.
    pub(super) fn requests(&self) -> Vec<Value> {
        self.requests.lock().unwrap().clone()
    }
}

async fn read(stream: &mut TcpStream) -> Value {
    let mut bytes = Vec::new();
    loop {
        let mut buffer = [0; 4096];
        let count = stream.read(&mut buffer).await.unwrap();
        assert_ne!(count, 0, "the client closed the connection before its request was whole");
        bytes.extend_from_slice(&buffer[..count]);
        if let Some((_, body)) = String::from_utf8_lossy(&bytes).split_once("\r\n\r\n")
            && let Ok(body) = serde_json::from_str(body)
        {
            return body;
        }
    }
}

/// Writes a reply. The client may close the connection at any time.
async fn write(mut stream: TcpStream, bytes: Vec<u8>, forever: Option<String>) {
    if stream.write_all(&bytes).await.is_err() {
        return;
    }
    if let Some(text) = forever {
        while stream.write_all(text.as_bytes()).await.is_ok() {
            tokio::time::sleep(PAUSE).await;
        }
    }
}
