//! A client that sends requests exactly as a test writes them, including paths and repeated headers that no library allows.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

/// A request.
#[derive(Clone)]
pub(crate) struct Ask {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// The reply to a request.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) text: String,
}

impl Ask {
    pub(crate) fn new(method: &str, path: &str) -> Self {
        Self { method: method.into(), path: path.into(), headers: Vec::new(), body: Vec::new() }
    }

    pub(crate) fn get(path: &str) -> Self {
        Self::new("GET", path)
    }

    pub(crate) fn post(path: &str, body: &Value) -> Self {
        Self::new("POST", path).json(body)
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.raw(body.to_string(), "application/json")
    }

    pub(crate) fn raw(mut self, body: impl Into<Vec<u8>>, content_type: &str) -> Self {
        self.body = body.into();
        self.header("content-type", content_type)
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn bytes(&self, host: &str) -> Vec<u8> {
        let has = |wanted: &str| self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
        let mut head = format!("{} {} HTTP/1.1\r\nconnection: close\r\n", self.method, self.path);
        if !has("host") {
            head += &format!("host: {host}\r\n");
        }
        if !has("content-length") && (!self.body.is_empty() || self.method == "POST") {
            head += &format!("content-length: {}\r\n", self.body.len());
        }
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        [head.as_bytes(), b"\r\n", &self.body].concat()
    }

    /// Sends the request and reads the whole reply.
    pub(crate) async fn to(&self, address: SocketAddr) -> Reply {
        let stream = TcpStream::connect(address).await.unwrap();
        self.over(stream, &address.to_string()).await
    }

    /// Sends the request over a connection and reads the whole reply.
    pub(crate) async fn over(&self, mut stream: impl AsyncRead + AsyncWrite + Unpin, host: &str) -> Reply {
        // A server may answer and close before it has read a large body.
        stream.write_all(&self.bytes(host)).await.ok();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.ok();
        Reply::of(&bytes)
    }

    /// Sends the request and reads the head of the reply.
    pub(crate) async fn open(&self, address: SocketAddr) -> Blocks {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(&self.bytes(&address.to_string())).await.unwrap();
        let mut lines = BufReader::new(stream);
        let mut head = String::new();
        while lines.read_line(&mut head).await.unwrap() > 2 {}
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        Blocks { lines }
    }
}

impl Reply {
    fn of(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").expect("a head");
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers: Vec<_> = lines
            .map(|line| line.split_once(": ").unwrap_or((line.trim_end_matches(':'), "")))
            .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
            .collect();
        let body = &bytes[end + 4..];
        let is_chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
        let body = if is_chunked { whole(body) } else { body.to_vec() };
        Self { status, headers, text: String::from_utf8(body).unwrap() }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns the JSON of each block of a stream.
    pub(crate) fn events(&self) -> Vec<Value> {
        let blocks = self.text.strip_suffix("\n\n").unwrap_or_default().split("\n\n").filter(|block| !block.is_empty());
        blocks.map(|block| serde_json::from_str(block.strip_prefix("data: ").expect(block)).unwrap()).collect()
    }

    pub(crate) fn detail(&self) -> String {
        self.json()["detail"].as_str().unwrap_or_default().to_owned()
    }
}

/// Joins the chunks of a body.
fn whole(mut chunks: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = chunks.windows(2).position(|window| window == b"\r\n") {
        let length = usize::from_str_radix(std::str::from_utf8(&chunks[..end]).unwrap(), 16).unwrap();
        if length == 0 {
            break;
        }
        body.extend_from_slice(&chunks[end + 2..end + 2 + length]);
        chunks = &chunks[end + 2 + length + 2..];
    }
    body
}

/// A stream that is read block by block. Dropping it closes the connection.
pub(crate) struct Blocks {
    lines: BufReader<TcpStream>,
}

/// One block: its id, if it has one, and its JSON.
pub(crate) struct Block {
    pub(crate) id: Option<String>,
    pub(crate) data: Value,
}

impl Blocks {
    /// Returns the next comment, or `None` at the end.
    pub(crate) async fn comment(&mut self) -> Option<String> {
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).await.ok()? == 0 {
                return None;
            }
            if let Some(comment) = line.strip_prefix(": ") {
                return Some(comment.trim_end().to_owned());
            }
        }
    }

    /// Returns the next block, or `None` at the end. Lines between blocks are the lengths of chunks.
    pub(crate) async fn next(&mut self) -> Option<Block> {
        let mut id = None;
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).await.ok()? == 0 {
                return None;
            }
            let line = line.trim_end();
            if let Some(value) = line.strip_prefix("id: ") {
                id = Some(value.to_owned());
            } else if let Some(json) = line.strip_prefix("data: ") {
                return Some(Block { id, data: serde_json::from_str(json).unwrap() });
            }
        }
    }

    /// Returns the remaining blocks.
    pub(crate) async fn rest(mut self) -> Vec<Block> {
        let mut blocks = Vec::new();
        while let Some(block) = self.next().await {
            blocks.push(block);
        }
        blocks
    }
}
