//! Clients that read a kilobyte per second.

use std::net::SocketAddr;
use std::time::Duration;

use pleach::prelude::*;
use pleach::{BoxError, Context, Node};
use socket2::{Domain, Socket, Type};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::connection::body;

/// The number of bytes that a link carries in a second.
const BYTES: usize = 1024;

/// The number of events of a run, of about a kilobyte each. It is more than a client reads and the system buffers
/// during the measurement.
const EVENTS: usize = 400;

/// The size of a TCP segment. The default within one machine would be 64 KB, and the system would buffer megabytes for each client.
const SEGMENT: u32 = 536;

/// The root of the app that slow clients use. It yields numbered events.
pub(super) fn tell() -> impl Node {
    FunctionNode::new("tell", async |ctx: Context| {
        for number in 0..EVENTS {
            ctx.emit(Event::message(format!("#{number} {}", "x".repeat(700)))).await?;
        }
        Ok::<_, NodeError>(())
    })
}

/// The running clients.
pub(super) struct Clients {
    stop: watch::Sender<bool>,
    reading: JoinSet<Result<usize, BoxError>>,
}

impl Clients {
    pub(super) fn open(port: u16, count: usize) -> Self {
        let (stop, stopped) = watch::channel(false);
        let mut reading = JoinSet::new();
        for number in 0..count {
            reading.spawn(read(port, number, stopped.clone()));
        }
        Self { stop, reading }
    }

    /// Ends the streams and returns the number of events that have arrived.
    ///
    /// # Errors
    /// An event out of order, or a stream that has ended or was refused.
    pub(super) async fn close(self) -> Result<usize, BoxError> {
        self.stop.send_replace(true);
        self.reading.join_all().await.into_iter().sum()
    }
}

/// Reads a stream until it is stopped. Returns the number of events that have arrived.
async fn read(port: u16, number: usize, mut stopped: watch::Receiver<bool>) -> Result<usize, BoxError> {
    // The clients do not all start at the same moment.
    tokio::time::sleep(Duration::from_millis(number as u64 * 2)).await;
    let mut stream = connect(port).await?;
    let body = body("tell", &format!("slow-{number}"), "Begin.");
    let head = "POST /run_sse HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    stream.write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes()).await?;
    let (mut text, mut seen) = (String::new(), 0);
    let mut seconds = tokio::time::interval(Duration::from_secs(1));
    loop {
        tokio::select! {
            _ = seconds.tick() => {}
            _ = stopped.wait_for(|stopped| *stopped) => return Ok(seen),
        }
        let mut bytes = [0; BYTES];
        let count = stream.read(&mut bytes).await?;
        if count == 0 {
            return Err(format!("the stream of client {number} has ended behind {seen} events").into());
        }
        text.push_str(std::str::from_utf8(&bytes[..count])?);
        seen = events(&mut text, seen)?;
    }
}

/// Removes whole events from the received text. Returns the number of the next event.
fn events(text: &mut String, mut next: usize) -> Result<usize, BoxError> {
    while let Some(end) = text.find("\n\n") {
        let block: String = text.drain(..end + 2).collect();
        let told = block.split_once("\"#").and_then(|(_, rest)| rest.split(' ').next());
        if told != Some(&next.to_string()) {
            return Err(format!("event {told:?} in place of {next}").into());
        }
        next += 1;
    }
    Ok(next)
}

async fn connect(port: u16) -> Result<TcpStream, BoxError> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    socket.set_tcp_mss(SEGMENT)?;
    socket.set_recv_buffer_size(BYTES)?;
    Ok(TcpSocket::from_std_stream(socket.into()).connect(SocketAddr::from(([127, 0, 0, 1], port))).await?)
}
