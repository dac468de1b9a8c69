//! The example as a program, and requests to it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::backend::Place;
use crate::client::Sent;
use crate::example;

/// A process of the service. It is killed when this value is dropped, unless it has already ended.
pub(crate) struct Program {
    child: Child,
    address: String,
}

impl Program {
    pub(crate) fn start(place: &Place, args: &[&str]) -> Self {
        let mut command = Command::new(example::program("expenses"));
        command.args(["--listen", "127.0.0.1:0", "--sessions", &place.url(), "--idle", "0"]).args(args);
        command.arg("--ledger").arg(place.ledger()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").expect("the program prints its URL").to_owned();
        Self { child, address }
    }

    fn open(&self, method: &str, path: &str, body: &str) -> TcpStream {
        let (address, length) = (&self.address, body.len());
        let mut stream = TcpStream::connect(address).unwrap();
        let head = format!("{method} {path} HTTP/1.0\r\nhost: {address}\r\ncontent-length: {length}");
        let head = format!("{head}\r\nidempotency-key: e1\r\ncontent-type: application/json\r\n\r\n");
        stream.write_all((head + body).as_bytes()).unwrap();
        stream
    }

    /// Sends a request, and returns the reply with its head.
    pub(crate) fn send(&self, method: &str, path: &str, body: &Value) -> String {
        let mut reply = String::new();
        self.open(method, path, &body.to_string()).read_to_string(&mut reply).unwrap();
        reply
    }

    /// Reads a stream of events until `found` or its end.
    pub(crate) fn read_events(&self, path: &str, found: impl Fn(&Sent) -> bool) -> BufReader<TcpStream> {
        let mut reader = BufReader::new(self.open("GET", path, ""));
        let mut block = String::new();
        loop {
            let start = block.len();
            assert_ne!(reader.read_line(&mut block).unwrap(), 0, "the stream has ended: {block}");
            if block[start..].trim().is_empty() {
                if Sent::of(&block).is_some_and(|sent| found(&sent)) {
                    return reader;
                }
                block.clear();
            }
        }
    }

    /// Kills the process like `kill -9`.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks the program to end.
    pub(crate) fn terminate(&self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    }

    /// Waits for the end of the process, which must be successful.
    pub(crate) fn finish(mut self) {
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
