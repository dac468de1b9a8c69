//! Connections in memory, which carry as many bytes per second as a test says.

use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::time::sleep;

use crate::client::{Ask, Reply};

/// The number of unread bytes that a connection buffers.
const HELD: usize = 4096;

/// A server that is reached through connections in memory.
#[derive(Clone)]
pub(crate) struct Network {
    routes: Router,
}

impl Network {
    pub(crate) fn of(routes: Router) -> Self {
        Self { routes }
    }

    fn connect(&self) -> DuplexStream {
        let (client, server) = tokio::io::duplex(HELD);
        let service = TowerToHyperService::new(self.routes.clone());
        tokio::spawn(async move {
            // The client may close the connection.
            http1::Builder::new().serve_connection(TokioIo::new(server), service).await.ok();
        });
        client
    }

    /// Sends a request and reads the reply at full speed.
    pub(crate) async fn send(&self, ask: &Ask) -> Reply {
        ask.over(self.connect(), "server").await
    }

    /// Sends a request and reads the head of the reply.
    pub(crate) async fn open(&self, ask: &Ask, bytes_per_second: usize) -> Link {
        let mut stream = self.connect();
        stream.write_all(&ask.bytes("server")).await.unwrap();
        let mut link = Link { stream, bytes_per_second, unread: Vec::new() };
        let head = link.line().await.unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        while !link.line().await.unwrap().is_empty() {}
        link
    }
}

/// A stream that arrives slowly. Dropping it closes the connection.
pub(crate) struct Link {
    stream: DuplexStream,
    bytes_per_second: usize,
    unread: Vec<u8>,
}

impl Link {
    /// Returns the JSON of the next block, or `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            // Lines between blocks are the lengths of chunks.
            if let Some(json) = self.line().await?.strip_prefix("data: ") {
                return Some(serde_json::from_str(json).unwrap());
            }
        }
    }

    async fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                return Some(String::from_utf8(line).unwrap().trim_end().to_owned());
            }
            let mut bytes = vec![0; self.bytes_per_second];
            let count = self.stream.read(&mut bytes).await.unwrap();
            if count == 0 {
                return None;
            }
            self.unread.extend_from_slice(&bytes[..count]);
            sleep(Duration::from_secs(1)).await;
        }
    }
}
