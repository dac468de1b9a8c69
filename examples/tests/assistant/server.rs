//! A server on loopback with the parts of OpenAI's chat completions that the tests need.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// The maximum time that a test waits for something.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// One answer of the server.
pub(crate) enum Answer {
    /// Fragments of a text. Each one except the first waits for the test's permission.
    Text(Vec<&'static str>),
    /// A text that ends at the token limit.
    TooLong(&'static str),
    /// A call of a tool, in two pieces.
    Call(&'static str, &'static str),
    /// A fragment, and then nothing until the client disconnects.
    Unfinished(&'static str),
    /// A failure with a status and a message.
    Refusal(u16, &'static str),
}

/// The server. It sends the next answer to each request, and ends after the last one.
pub(crate) struct Server {
    pub(crate) base_url: String,
    requests: Receiver<Value>,
    next_fragment: Sender<()>,
    gone: Receiver<()>,
}

impl Server {
    pub(crate) fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (seen, requests) = channel();
        let (next_fragment, may_continue) = channel();
        let (leaves, gone) = channel();
        thread::spawn(move || {
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                seen.send(request(&stream)).unwrap();
                play(&mut stream, answer, &may_continue, &leaves);
            }
        });
        Self { base_url, requests, next_fragment, gone }
    }

    /// Returns the body of the next request.
    pub(crate) fn request(&self) -> Value {
        self.requests.recv_timeout(PATIENCE).expect("a request comes")
    }

    /// Sends the next fragment of a text.
    pub(crate) fn send_fragment(&self) {
        self.next_fragment.send(()).unwrap();
    }

    /// Waits until the client has closed the connection of an unfinished answer.
    pub(crate) fn wait_until_gone(&self) {
        self.gone.recv_timeout(PATIENCE).expect("the client goes");
    }
}

fn request(stream: &TcpStream) -> Value {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let line = line.trim().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    serde_json::from_slice(&body).unwrap()
}

fn play(stream: &mut TcpStream, answer: Answer, may_continue: &Receiver<()>, leaves: &Sender<()>) {
    match answer {
        Answer::Text(fragments) => {
            start_stream(stream);
            for (place, text) in fragments.into_iter().enumerate() {
                if place > 0 {
                    may_continue.recv_timeout(PATIENCE).expect("the test lets the answer continue");
                }
                chunk(stream, json!({"content": text}), None);
            }
            end_stream(stream, "stop");
        }
        Answer::TooLong(text) => {
            start_stream(stream);
            chunk(stream, json!({"content": text}), None);
            end_stream(stream, "length");
        }
        Answer::Call(name, arguments) => {
            start_stream(stream);
            let (one, two) = arguments.split_at(arguments.len() / 2);
            let piece = |function| json!({"tool_calls": [{"index": 0, "function": function}]});
            let first =
                json!({"index": 0, "id": "call-1", "type": "function", "function": {"name": name, "arguments": ""}});
            chunk(stream, json!({"tool_calls": [first]}), None);
            chunk(stream, piece(json!({"arguments": one})), None);
            chunk(stream, piece(json!({"arguments": two})), None);
            end_stream(stream, "tool_calls");
        }
        Answer::Unfinished(text) => {
            start_stream(stream);
            chunk(stream, json!({"content": text}), None);
            // This returns when the connection ends.
            let _ = stream.read_to_end(&mut Vec::new());
            leaves.send(()).unwrap();
        }
        Answer::Refusal(status, message) => {
            let body = json!({"error": {"message": message, "type": "invalid_request_error", "code": "refused"}});
            let body = body.to_string();
            let head = format!("HTTP/1.1 {status} No\r\ncontent-type: application/json\r\nconnection: close\r\n");
            write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len()).unwrap();
        }
    }
}

/// Starts a response without a length. Its body ends with the connection.
fn start_stream(stream: &mut TcpStream) {
    write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n").unwrap();
}

fn chunk(stream: &mut TcpStream, delta: Value, reason: Option<&str>) {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
    let chunk = json!({"id": "c", "object": "chat.completion.chunk", "model": "tiny", "choices": [choice]});
    write!(stream, "data: {chunk}\n\n").unwrap();
    stream.flush().unwrap();
}

fn end_stream(stream: &mut TcpStream, reason: &str) {
    chunk(stream, json!({}), Some(reason));
    write!(stream, "data: [DONE]\n\n").unwrap();
}
