//! [`LineLimit`]: a reader that fails when a line has too many bytes.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

use super::notices::Notices;

/// Reads from a child until a line, one message of the protocol, is longer than the limit. A client that skipped such a line would
/// wait for its answer in vain.
pub(super) struct LineLimit<R> {
    reader: R,
    limit: usize,
    /// The bytes of the line so far.
    length: usize,
    notices: Arc<Notices>,
}

impl<R> LineLimit<R> {
    /// Notes a line that is too long in `notices`.
    pub(super) fn new(reader: R, limit: usize, notices: Arc<Notices>) -> Self {
        Self { reader, limit, length: 0, notices }
    }

    /// Counts the bytes that were read; false if a line among them is too long.
    fn fits(&mut self, bytes: &[u8]) -> bool {
        let mut lines = bytes.split(|byte| *byte == b'\n');
        let first = lines.next().map_or(0, <[u8]>::len);
        self.length += first;
        let mut fits = self.length <= self.limit;
        for line in lines {
            self.length = line.len();
            fits &= self.length <= self.limit;
        }
        fits
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for LineLimit<R> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.reader).poll_read(cx, buffer))?;
        if self.fits(&buffer.filled()[before..]) {
            return Poll::Ready(Ok(()));
        }
        buffer.set_filled(before);
        self.notices.note_exceeded();
        Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, "a message is too large")))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[tokio::test]
    async fn a_line_may_be_as_long_as_the_limit() {
        for (text, fits) in [("abc\nabc\n", true), ("abc\nabcd\n", false), ("abcd", false), ("a\n\n\nabc", true)] {
            // Whatever the pieces are that the bytes come in.
            for size in 1..text.len() {
                let notices = Arc::new(Notices::default());
                let pieces = Pieces { bytes: text.as_bytes().to_vec(), size };
                let mut reader = LineLimit::new(pieces, 3, Arc::clone(&notices));
                let read = reader.read_to_end(&mut Vec::new()).await;
                assert_eq!((read.is_ok(), notices.is_exceeded()), (fits, !fits), "{text} {size}");
            }
        }
    }

    struct Pieces {
        bytes: Vec<u8>,
        size: usize,
    }

    impl AsyncRead for Pieces {
        fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            let count = self.size.min(self.bytes.len()).min(buffer.remaining());
            let piece: Vec<u8> = self.bytes.drain(..count).collect();
            buffer.put_slice(&piece);
            Poll::Ready(Ok(()))
        }
    }
}
