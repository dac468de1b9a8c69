//! [`Connection`]: a client of the server that is measured.

use pleach::BoxError;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Returns the request body of a run in a session of user `ana`.
pub(crate) fn body(app: &str, session: &str, text: &str) -> String {
    let message = json!({"role": "user", "parts": [{"text": text}]});
    json!({"appName": app, "userId": "ana", "sessionId": session, "newMessage": message}).to_string()
}

/// A connection for requests one after the other. It does less work for each request than a client library.
pub(crate) struct Connection {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(port: u16) -> Result<Self, BoxError> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, read: Vec::new() })
    }

    /// Sends a request and returns the body of its answer.
    pub(crate) async fn post(&mut self, body: &str) -> Result<Vec<u8>, BoxError> {
        let length = body.len();
        let head = "POST /run HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
        let request = format!("{head}content-length: {length}\r\n\r\n{body}");
        self.stream.write_all(request.as_bytes()).await?;
        self.read.clear();
        loop {
            if self.stream.read_buf(&mut self.read).await? == 0 {
                return Err("the server has closed the connection".into());
            }
            let Some(end) = self.read.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
            let head = std::str::from_utf8(&self.read[..end])?.to_ascii_lowercase();
            if !head.starts_with("http/1.1 200") {
                return Err(format!("not answered: {head}").into());
            }
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.ok_or("an answer without a length")?.trim().parse()?;
            if self.read.len() >= end + 4 + length {
                return Ok(self.read[end + 4..end + 4 + length].to_vec());
            }
        }
    }
}
