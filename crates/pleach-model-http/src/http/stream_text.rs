//! [`StreamText`]: repairs text of an event stream that its parser would refuse or drop.

use bytes::Bytes;

/// Repairs the bytes of an event stream, piece by piece.
///
/// Bytes that are not UTF-8 become U+FFFD. Some servers send errors or answers as a JSON document on lines of its own;
/// it becomes the data of an event. Everything else stays unchanged.
#[derive(Default)]
pub(super) struct StreamText {
    /// The beginning of a character whose other bytes have not come.
    cut: Vec<u8>,
    place: Place,
    /// The number of bytes of the byte order mark that have come. It is the mark's length if the mark can no longer
    /// come.
    mark: usize,
}

/// The byte order mark.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// The place of the next byte in the stream.
#[derive(Clone, Copy, Default)]
enum Place {
    #[default]
    LineBegin,
    Line,
    Document {
        depth: usize,
        string: Quoted,
    },
}

/// Whether the next byte of a document is in a string.
#[derive(Clone, Copy, PartialEq)]
enum Quoted {
    No,
    Yes,
    /// The next byte is in a string, after a backslash.
    Escaped,
}

impl StreamText {
    /// Takes a piece, and returns the text that can be parsed.
    pub(super) fn push(&mut self, piece: Bytes) -> Bytes {
        let piece = self.without_mark(piece);
        let piece = self.decoded(piece);
        if self.has_document(&piece) {
            return self.with_documents(&piece).into();
        }
        if let Some(last) = piece.last() {
            self.place = if is_line_end(*last) { Place::LineBegin } else { Place::Line };
        }
        piece
    }

    /// Removes the byte order mark at the beginning of a stream.
    fn without_mark(&mut self, mut piece: Bytes) -> Bytes {
        while self.mark < MARK.len() && !piece.is_empty() {
            if piece[0] == MARK[self.mark] {
                self.mark += 1;
                piece = piece.slice(1..);
            } else {
                // Only a part of the mark came, so these bytes are something else.
                let begin = MARK[..self.mark].to_vec();
                self.mark = MARK.len();
                return [begin.as_slice(), &piece].concat().into();
            }
        }
        piece
    }

    fn decoded(&mut self, piece: Bytes) -> Bytes {
        if self.cut.is_empty() && std::str::from_utf8(&piece).is_ok() {
            return piece;
        }
        self.cut.extend_from_slice(&piece);
        let bytes = std::mem::take(&mut self.cut);
        let mut text = String::with_capacity(bytes.len());
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            let is_cut = chunks.peek().is_none()
                && std::str::from_utf8(chunk.invalid()).is_err_and(|error| error.error_len().is_none());
            if is_cut {
                self.cut = chunk.invalid().to_vec();
            } else if !chunk.invalid().is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        text.into()
    }

    /// Returns true if a document is open or begins in the piece.
    fn has_document(&self, piece: &[u8]) -> bool {
        match self.place {
            Place::Document { .. } => return true,
            Place::LineBegin if piece.first().is_some_and(|first| begins_document(*first)) => return true,
            Place::LineBegin | Place::Line => {}
        }
        piece.windows(2).any(|pair| is_line_end(pair[0]) && begins_document(pair[1]))
    }

    fn with_documents(&mut self, piece: &[u8]) -> Vec<u8> {
        let mut text = Vec::with_capacity(piece.len() + 16);
        for byte in piece {
            match self.place {
                Place::LineBegin if begins_document(*byte) => {
                    text.extend_from_slice(b"data: ");
                    text.push(*byte);
                    self.place = Place::Document { depth: 1, string: Quoted::No };
                }
                Place::LineBegin | Place::Line => {
                    text.push(*byte);
                    self.place = if is_line_end(*byte) { Place::LineBegin } else { Place::Line };
                }
                Place::Document { depth, string } => {
                    // Each line becomes a line of one event, so that the parser joins them.
                    match byte {
                        b'\r' => {}
                        b'\n' => text.extend_from_slice(b"\ndata: "),
                        byte => text.push(*byte),
                    }
                    let (depth, string) = step(depth, string, *byte);
                    self.place = Place::Document { depth, string };
                    if depth == 0 {
                        text.extend_from_slice(b"\n\n");
                        self.place = Place::Line;
                    }
                }
            }
        }
        text
    }
}

/// The first bytes of a document's line. No line of an event stream begins with them.
fn begins_document(byte: u8) -> bool {
    matches!(byte, b'{' | b'[')
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

fn step(depth: usize, string: Quoted, byte: u8) -> (usize, Quoted) {
    match (string, byte) {
        (Quoted::Escaped, _) => (depth, Quoted::Yes),
        (Quoted::Yes, b'\\') => (depth, Quoted::Escaped),
        (Quoted::Yes, b'"') => (depth, Quoted::No),
        (Quoted::No, b'"') => (depth, Quoted::Yes),
        (Quoted::No, b'{' | b'[') => (depth + 1, Quoted::No),
        (Quoted::No, b'}' | b']') => (depth.saturating_sub(1), Quoted::No),
        (string, _) => (depth, string),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks a stream in pieces of every size.
    fn check(stream: &[u8], expected: &str) {
        for size in 1..=stream.len() {
            let mut text = StreamText::default();
            let repaired: Vec<u8> =
                stream.chunks(size).flat_map(|piece| text.push(Bytes::copy_from_slice(piece)).to_vec()).collect();
            assert_eq!(String::from_utf8(repaired).unwrap(), expected, "{size}");
        }
    }

    #[test]
    fn events_stay_as_they_are() {
        let events = "event: x\r\ndata: {\"a\": \"ü😀\"}\r\n\r\n: {comment}\n\ndata: [DONE]\n\n";
        check(events.as_bytes(), events);
    }

    #[test]
    fn a_mark_of_the_byte_order_is_left_out() {
        check("\u{feff}data: \u{feff}1\n\n".as_bytes(), "data: \u{feff}1\n\n");
        check("\u{feff}{\"a\": 1}".as_bytes(), "data: {\"a\": 1}\n\n");
        check(b"\xef\xbbdata", "\u{fffd}data");
    }

    #[test]
    fn bytes_that_are_no_utf8_are_replaced() {
        check(b"data: \xff \xf0\x9f x\n\n\xc3", "data: \u{fffd} \u{fffd} x\n\n");
    }

    #[test]
    fn a_document_in_lines_of_its_own_is_the_data_of_an_event() {
        check(
            b"data: 1\n\n{\r\n  \"error\": {\"m\": \"}\\\"{\"},\n  \"x\": [1]\n}\n",
            "data: 1\n\ndata: {\ndata:   \"error\": {\"m\": \"}\\\"{\"},\ndata:   \"x\": [1]\ndata: }\n\n\n",
        );
        check(b"[{\"a\": 1},\n{}]\n", "data: [{\"a\": 1},\ndata: {}]\n\n\n");
        check(b"{\"a\": 1}\n{\"b\": 2}\n", "data: {\"a\": 1}\n\n\ndata: {\"b\": 2}\n\n\n");
    }
}
