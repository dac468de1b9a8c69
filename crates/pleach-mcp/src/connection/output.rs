//! [`Output`]: reads messages from the standard output of a child, within limits of bytes.

use std::collections::VecDeque;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use pleach_core::BoxFuture;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::incoming::{Fault, Incoming, Origin};
use super::lines::{Lines, Piece, begins_message, ends_with_message, recover};
use super::notices::{Limit, Notices};
use crate::limits::Limits;

/// The time to wait for the rest of a message over several lines. It is short, because a server writes a message at
/// once.
const REST: Duration = Duration::from_secs(1);

/// The maximum number of bytes that are read at once.
const CHUNK: usize = 64 << 10;

/// Reads messages from a child.
pub(super) struct Output<R> {
    reader: R,
    limits: Limits,
    notices: Arc<Notices>,
    chunk: Box<[u8]>,
    /// The line that has no end yet.
    line: Vec<u8>,
    lines: Lines,
    read: VecDeque<Incoming>,
    patience: Option<Patience>,
}

/// The time limits for an unfinished message.
struct Patience {
    /// Completes if nothing has come for a while.
    silence: BoxFuture<'static, ()>,
    /// Completes even if bytes come, so that lines of a log do not extend the wait.
    check: BoxFuture<'static, ()>,
    /// The size of the message at the last check.
    grown: usize,
}

/// The reason why a wait for bytes ended.
enum Woken {
    Read(io::Result<usize>),
    Silence,
    Check,
}

impl<R: AsyncRead + Unpin + Send> Output<R> {
    pub(super) fn new(reader: R, limits: &Limits, notices: &Arc<Notices>) -> Self {
        Self {
            reader,
            limits: limits.clone(),
            notices: Arc::clone(notices),
            chunk: vec![0; CHUNK].into(),
            line: Vec::new(),
            lines: Lines::default(),
            read: VecDeque::new(),
            patience: None,
        }
    }

    /// Returns the next message. Returns `None` at the end of the output, or if it exceeds a limit.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Option<Incoming> {
        loop {
            if let Some(incoming) = self.read.pop_front() {
                return Some(incoming);
            }
            match self.wake().await {
                Woken::Read(Ok(count)) if count > 0 => self.take(count)?,
                Woken::Read(_) => {
                    self.end_output();
                    if self.read.is_empty() {
                        return None;
                    }
                }
                Woken::Silence => self.end_message(),
                Woken::Check => self.check(),
            }
            self.notices.note_begun(self.lines.kept() > 0 || begins_message(&self.line));
        }
    }

    /// Waits for bytes, or for a time limit of the unfinished message.
    async fn wake(&mut self) -> Woken {
        let read = pin!(self.reader.read(&mut self.chunk));
        let Some(Patience { silence, check, .. }) = &mut self.patience else { return Woken::Read(read.await) };
        match select(read, select(silence, check)).await {
            Either::Left((count, _)) => Woken::Read(count),
            Either::Right((Either::Left(_), _)) => Woken::Silence,
            Either::Right((Either::Right(_), _)) => Woken::Check,
        }
    }

    /// Restarts the time limits if there is an unfinished message.
    fn note_progress(&mut self) {
        let is_open = self.lines.kept() + self.line.len() > 0;
        let sleep = || self.limits.clock.sleep(REST);
        self.patience = match self.patience.take() {
            _ if !is_open => None,
            Some(patience) if self.lines.kept() > 0 => Some(Patience { silence: sleep(), ..patience }),
            _ => Some(Patience { silence: sleep(), check: sleep(), grown: 0 }),
        };
    }

    /// Gives up an unfinished message if it has not grown, or is no longer the beginning of JSON.
    fn check(&mut self) {
        let Some(patience) = &mut self.patience else { return };
        let grown = self.lines.grown(&self.line);
        let has_grown = grown != std::mem::replace(&mut patience.grown, grown);
        patience.check = self.limits.clock.sleep(REST);
        if self.lines.kept() > 0 && !(has_grown && self.lines.is_json_so_far(&self.line)) {
            self.end_message();
        }
    }

    /// Takes the bytes in the chunk. Returns `None` if they exceed a limit.
    fn take(&mut self, count: usize) -> Option<()> {
        self.notices.count_bytes(count);
        let chunk = std::mem::take(&mut self.chunk);
        let mut pieces = chunk[..count].split_inclusive(|byte| *byte == b'\n');
        let fits = pieces.all(|piece| self.take_piece(piece));
        self.chunk = chunk;
        self.note_progress();
        if !fits {
            // If such a message were skipped, a request might wait for its answer in vain.
            self.notices.exceed(Limit::Message);
        }
        fits.then_some(())
    }

    /// Takes a piece of a line. Returns false if the message is too large.
    fn take_piece(&mut self, piece: &[u8]) -> bool {
        let (text, is_end) = match piece.strip_suffix(b"\n") {
            Some(text) => (text, true),
            None => (piece, false),
        };
        self.line.extend_from_slice(text);
        if self.lines.kept() + self.line.len() > self.limits.message_bytes {
            return false;
        }
        if is_end {
            let line = std::mem::take(&mut self.line);
            self.take_line(&line);
        }
        true
    }

    fn take_line(&mut self, line: &[u8]) {
        let mut lines = std::mem::take(&mut self.lines);
        lines.push(line, &mut |piece| self.take_message(piece));
        self.lines = lines;
    }

    fn take_message(&mut self, piece: Piece) {
        let read = match piece {
            Piece::Whole(text) => self.notices.read_json(&text, Origin::Channel).unwrap_or_else(|| {
                // A message that was cut off may seem to end with the next message on the same line.
                recover(&text, &mut |piece| self.take_message(piece));
                self.notices.read_broken(&text, Fault::Unreadable, Origin::Channel)
            }),
            Piece::Broken(text) => self.notices.read_broken(&text, Fault::Unreadable, Origin::Channel),
            Piece::Cut(text) => self.notices.read_broken(&text, Fault::Cut, Origin::Channel),
            Piece::InLog(text) => self.notices.read_logged(&text),
        };
        self.read.extend(read);
    }

    /// Takes the unfinished line and the unfinished message, because nothing more will come.
    fn end_output(&mut self) {
        let line = std::mem::take(&mut self.line);
        self.take_line(&line);
        self.end_message();
    }

    /// Ends a message whose rest does not come. An unfinished line is kept unless it ends with a message: the server
    /// may complete it only with its answer.
    fn end_message(&mut self) {
        self.patience = None;
        if ends_with_message(&self.line) {
            let line = std::mem::take(&mut self.line);
            self.take_line(&line);
        }
        let mut lines = std::mem::take(&mut self.lines);
        lines.give_up(&mut |piece| self.take_message(piece));
        self.lines = lines;
    }
}

#[cfg(test)]
mod tests {
    use pleach_contract::TestClock;
    use tokio::io::AsyncWriteExt as _;

    use super::*;
    use crate::connection::incoming::{Answer, Unusable};
    use crate::connection::ledger::Asked;

    /// Reads a text that comes in pieces of this size. Returns the number of its messages, and the limit that was
    /// exceeded.
    async fn read(text: &str, size: usize, limit: usize) -> (usize, Option<Limit>) {
        let mut limits = Limits::new(Arc::new(TestClock::new()));
        limits.message_bytes = limit;
        let notices = Arc::new(Notices::new(&limits));
        notices.ledger().ask(3, Asked::Other);
        let pieces = Pieces { bytes: text.into(), size };
        let mut output = Output::new(pieces, &limits, &notices);
        let mut count = 0;
        while output.next().await.is_some() {
            count += 1;
        }
        (count, notices.exceeded())
    }

    struct Pieces {
        bytes: Vec<u8>,
        size: usize,
    }

    impl AsyncRead for Pieces {
        fn poll_read(
            mut self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
            buffer: &mut tokio::io::ReadBuf<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            let count = self.size.min(self.bytes.len()).min(buffer.remaining());
            let piece: Vec<u8> = self.bytes.drain(..count).collect();
            buffer.put_slice(&piece);
            std::task::Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn a_message_may_be_as_long_as_the_limit_whatever_its_pieces_are() {
        let message = r#"{"id":3,"result":1}"#;
        let long = message.len();
        let spread = "{\"id\":3,\n\"result\":1}";
        for (text, limit, expected) in [
            (format!("log\n{message}\nlog\n"), long, (1, None)),
            (format!("{message}\n"), long - 1, (0, Some(Limit::Message))),
            (format!("{spread}\n"), long, (1, None)),
            (format!("{spread}\n"), long - 1, (0, Some(Limit::Message))),
            ("x".repeat(30), 29, (0, Some(Limit::Message))),
        ] {
            for size in 1..text.len() {
                assert_eq!(read(&text, size, limit).await, expected, "{text} {size}");
            }
        }
    }

    /// Plays a child that writes each text after its number of milliseconds, repeats the last text, and does not end.
    /// Returns the answer to request 3, and the milliseconds until it came.
    async fn answer(texts: &[(u64, &'static str)]) -> (Answer, u128) {
        let limits = Limits::new(Arc::new(TestClock::running()));
        let notices = Arc::new(Notices::new(&limits));
        notices.ledger().ask(3, Asked::Other);
        let (mut child, reader) = tokio::io::duplex(1 << 10);
        let texts = texts.to_vec();
        let writes = tokio::spawn(async move {
            let (last, all) = (texts[texts.len() - 1], texts.into_iter());
            for (wait, text) in all.chain(std::iter::repeat_n(last, 1_000)) {
                tokio::time::sleep(Duration::from_millis(wait)).await;
                if child.write_all(text.as_bytes()).await.is_err() {
                    return;
                }
            }
        });
        let began = tokio::time::Instant::now();
        let mut output = Output::new(reader, &limits, &notices);
        let answer = loop {
            match output.next().await {
                Some(Incoming::Answer { id: 3, answer }) => break answer,
                Some(_) => {}
                None => panic!("the output ended"),
            }
        };
        writes.abort();
        (answer, began.elapsed().as_millis())
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_that_has_begun_is_waited_for_while_it_grows_as_json() {
        const PIECES: [&str; 7] = ["{\n", "\"id\":", "3,\n", "\"result\"", ":\n[\n", "\"a\"\n]", "\n}\n"];
        for wait in [10, 400, 900] {
            let texts: Vec<(u64, &str)> = PIECES.iter().map(|piece| (wait, *piece)).collect();
            let (answer, after) = answer(&texts).await;
            assert_eq!(answer, Answer::Result(serde_json::json!(["a"])));
            assert!(after.abs_diff(u128::from(wait) * 7) < 50, "{wait}: {after}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_no_rest_of_a_message_extends_nothing() {
        let cut = "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\n";
        let in_text = "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"a\":\"x\n";
        for begun in [cut, in_text] {
            for log in ["INFO tick\n", "{\"level\":1}\n", "tick ", "\n", " "] {
                for wait in [50, 300, 900, 1_100, 5_000] {
                    let (answer, after) = answer(&[(0, begun), (wait, log)]).await;
                    assert!(
                        matches!(answer, Answer::Unusable(Unusable::Cut { .. })),
                        "{begun} {log} {wait}: {answer:?}"
                    );
                    assert!((1_000..=3_000).contains(&after), "{begun} {log} {wait}: {after}");
                }
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_line_that_ends_with_a_message_needs_no_end() {
        for line in [r#"{"id":3,"result":7}"#, r#"Loading... {"jsonrpc":"2.0","id":3,"result":7}"#] {
            let (answer, after) = answer(&[(0, line), (60_000, "")]).await;
            assert_eq!(answer, Answer::Result(7.into()), "{line}");
            assert!(after.abs_diff(1_000) < 50, "{line}: {after}");
        }
    }
}
