//! An HTTP server that replies as a test script says, correctly or not.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// An HTTP request.
#[derive(Clone, Debug)]
pub(crate) struct HttpRequest {
    /// `GET`, `POST` or `DELETE`.
    pub(crate) verb: String,
    headers: Vec<(String, String)>,
    /// The message of a POST.
    pub(crate) message: Value,
}

impl HttpRequest {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// Returns the method of the message, or an empty string if it has none.
    pub(crate) fn method(&self) -> &str {
        self.message["method"].as_str().unwrap_or_default()
    }

    pub(crate) fn id(&self) -> &Value {
        &self.message["id"]
    }

    /// Returns the message that answers this one.
    pub(crate) fn answer(&self, result: Value) -> Value {
        json!({"jsonrpc": "2.0", "id": self.id(), "result": result})
    }
}

/// The server's reaction to a request.
pub(crate) enum Reply {
    /// Sends a whole response.
    Whole(String),
    /// Sends the beginning of a response, and keeps the connection open.
    Held(String),
    /// Sends the beginning of a response, and then the text again and again until the client leaves.
    Endless(String, String),
}

impl Reply {
    pub(crate) fn new(status: &str, kind: &str, body: &str) -> Self {
        Self::Whole(format!(
            "{}{body}",
            head(status, &format!("content-type: {kind}\r\ncontent-length: {}", body.len()))
        ))
    }

    pub(crate) fn json(body: &Value) -> Self {
        Self::new("200 OK", "application/json", &body.to_string())
    }

    pub(crate) fn error(status: &str, body: &Value) -> Self {
        Self::new(status, "application/json", &body.to_string())
    }

    pub(crate) fn events(body: &str) -> Self {
        Self::new("200 OK", "text/event-stream", body)
    }

    /// A stream that stays open.
    pub(crate) fn open_stream(body: &str) -> Self {
        Self::Held(format!("{}{body}", head("200 OK", "content-type: text/event-stream")))
    }

    pub(crate) fn flood(begin: &str, text: &str) -> Self {
        Self::Endless(format!("{}{begin}", head("200 OK", "content-type: text/event-stream")), text.to_owned())
    }

    pub(crate) fn accepted() -> Self {
        Self::Whole(head("202 Accepted", "content-length: 0"))
    }

    /// Adds a header to a whole response.
    pub(crate) fn with(self, header: &str) -> Self {
        match self {
            Self::Whole(text) => Self::Whole(text.replacen("\r\n", &format!("\r\n{header}\r\n"), 1)),
            other => other,
        }
    }
}

fn head(status: &str, headers: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}\r\n\r\n")
}

type Script = Arc<dyn Fn(&HttpRequest) -> Option<Reply> + Send + Sync>;

/// A server that is stopped when this value is dropped.
pub(crate) struct Scripted {
    pub(crate) url: String,
    log: Arc<Mutex<Vec<HttpRequest>>>,
    /// The bytes that floods have sent.
    pub(crate) flooded: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Scripted {
    /// Returns the number of requests with this verb or method.
    pub(crate) fn count(&self, what: &str) -> usize {
        self.log.lock().unwrap().iter().filter(|asked| asked.verb == what || asked.method() == what).count()
    }

    /// Returns the requests of a method.
    pub(crate) fn asked(&self, method: &str) -> Vec<HttpRequest> {
        self.log.lock().unwrap().iter().filter(|asked| asked.method() == method).cloned().collect()
    }
}

/// Starts a server. If the script has no reply to a request, the server answers correctly. It supports sessions, but
/// has no general stream.
pub(crate) async fn serve(script: impl Fn(&HttpRequest) -> Option<Reply> + Send + Sync + 'static) -> Scripted {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let (log, flooded) = (Arc::<Mutex<Vec<HttpRequest>>>::default(), Arc::<AtomicUsize>::default());
    let (kept, sent) = (Arc::clone(&log), Arc::clone(&flooded));
    let script: Script = Arc::new(script);
    let task = tokio::spawn(async move {
        let mut connections = tokio::task::JoinSet::new();
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            connections.spawn(talk(stream, Arc::clone(&script), Arc::clone(&kept), Arc::clone(&sent)));
        }
    });
    Scripted { url, log, flooded, task }
}

async fn talk(
    stream: TcpStream,
    script: Script,
    log: Arc<Mutex<Vec<HttpRequest>>>,
    flooded: Arc<AtomicUsize>,
) -> Option<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let asked = read(&mut stream).await?;
        let reply = script(&asked).unwrap_or_else(|| good(&asked));
        log.lock().unwrap().push(asked);
        match reply {
            Reply::Whole(text) => stream.write_all(text.as_bytes()).await.ok()?,
            Reply::Held(text) => {
                stream.write_all(text.as_bytes()).await.ok()?;
                stream.read_to_end(&mut Vec::new()).await.ok()?;
                return None;
            }
            Reply::Endless(begin, text) => {
                stream.write_all(begin.as_bytes()).await.ok()?;
                loop {
                    stream.write_all(text.as_bytes()).await.ok()?;
                    flooded.fetch_add(text.len(), Ordering::Relaxed);
                }
            }
        }
    }
}

async fn read(stream: &mut BufReader<TcpStream>) -> Option<HttpRequest> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok()?;
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let verb = lines.first()?.split(' ').next()?.to_owned();
    let headers: Vec<(String, String)> = lines[1..]
        .iter()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length =
        headers.iter().find(|(name, _)| name == "content-length").map_or(0, |(_, value)| value.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    let message = serde_json::from_slice(&body).unwrap_or_default();
    Some(HttpRequest { verb, headers, message })
}

/// Returns the reply of a correct server.
pub(crate) fn good(asked: &HttpRequest) -> Reply {
    match (asked.verb.as_str(), asked.method()) {
        ("POST", "initialize") => Reply::json(&asked.answer(introduction())).with("mcp-session-id: s-1"),
        ("POST", _) if asked.id().is_null() || asked.method().is_empty() => Reply::accepted(),
        ("POST", "tools/list") => Reply::json(&asked.answer(json!({"tools": [{"name": "a", "inputSchema": {}}]}))),
        ("POST", "resources/read") => Reply::json(&asked.answer(contents())),
        ("POST", _) => Reply::json(&asked.answer(json!({}))),
        ("DELETE", _) => Reply::new("200 OK", "text/plain", ""),
        _ => Reply::new("405 Method Not Allowed", "text/plain", ""),
    }
}

/// The result of the first exchange.
pub(crate) fn introduction() -> Value {
    let capabilities = json!({"tools": {}, "prompts": {}, "resources": {}});
    json!({"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": {"name": "s", "version": "1"}})
}

/// The result of reading a resource.
pub(crate) fn contents() -> Value {
    json!({"contents": [{"uri": "x:1", "text": "hello"}]})
}

/// An event with a message.
pub(crate) fn event(message: &Value) -> String {
    format!("data: {message}\n\n")
}
