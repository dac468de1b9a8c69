//! [`Events`]: reads server-sent events from bytes, up to a limit.
//!
//! The readers of other crates end a stream at the first byte that is not UTF-8. This one accepts such bytes, and the
//! message is repaired later.

use std::mem;

/// The fields of an event that are used.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Event {
    pub(super) data: Option<Vec<u8>>,
    /// The id from which a stream is resumed.
    pub(super) id: Option<String>,
    /// The milliseconds after which a stream is opened again.
    pub(super) retry: Option<u64>,
}

/// An event is larger than the limit.
#[derive(Debug, PartialEq)]
pub(super) struct TooLarge;

/// A reader of events.
pub(super) struct Events {
    limit: usize,
    /// The line that has no end yet.
    line: Vec<u8>,
    event: Event,
    /// Whether the last line ended with a CR, so that a following LF does not end a line.
    after_cr: bool,
    is_first_line: bool,
}

impl Events {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, line: Vec::new(), event: Event::default(), after_cr: false, is_first_line: true }
    }

    /// Takes bytes, and returns the events that they complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, TooLarge> {
        let mut events = Vec::new();
        let mut rest = bytes;
        while let Some((first, after)) = rest.split_first() {
            if mem::take(&mut self.after_cr) && *first == b'\n' {
                rest = after;
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let text = &rest[..end.unwrap_or(rest.len())];
            self.line.extend_from_slice(text);
            let kept = self.event.data.as_ref().map_or(0, Vec::len);
            if self.line.len() + kept > self.limit {
                return Err(TooLarge);
            }
            rest = match end {
                Some(end) => {
                    self.after_cr = rest[end] == b'\r';
                    events.extend(self.end_line());
                    &rest[end + 1..]
                }
                None => &[],
            };
        }
        Ok(events)
    }

    /// Returns the last event, if the server has not ended it.
    pub(super) fn end(&mut self) -> Option<Event> {
        self.end_line().or_else(|| self.end_event())
    }

    fn end_event(&mut self) -> Option<Event> {
        Some(mem::take(&mut self.event)).filter(|event| *event != Event::default())
    }

    fn end_line(&mut self) -> Option<Event> {
        let line = mem::take(&mut self.line);
        let text = if mem::take(&mut self.is_first_line) {
            line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line)
        } else {
            &line
        };
        if text.is_empty() {
            return self.end_event();
        }
        let colon = text.iter().position(|byte| *byte == b':').unwrap_or(text.len());
        let (name, value) = (&text[..colon], text.get(colon + 1..).unwrap_or_default());
        self.take_field(name, value.strip_prefix(b" ").unwrap_or(value));
        None
    }

    fn take_field(&mut self, name: &[u8], value: &[u8]) {
        match name {
            b"data" => match &mut self.event.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                data => *data = Some(value.to_vec()),
            },
            b"id" => {
                // The id is sent back in a header.
                self.event.id = std::str::from_utf8(value).ok().filter(|id| !id.contains('\0')).map(str::to_owned);
            }
            b"retry" => {
                self.event.retry = std::str::from_utf8(value).ok().and_then(|text| text.trim().parse().ok());
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(data: &str, id: Option<&str>, retry: Option<u64>) -> Event {
        Event { data: (data != "-").then(|| data.into()), id: id.map(str::to_owned), retry }
    }

    fn check(text: &str, expected: &[Event]) {
        for size in 1..=text.len() {
            let mut events = Events::new(100);
            let read = text.as_bytes().chunks(size).flat_map(|chunk| events.push(chunk).unwrap());
            let mut read: Vec<Event> = read.collect();
            read.extend(events.end());
            assert_eq!(read, expected, "{text:?} in pieces of {size}");
        }
    }

    #[test]
    fn events_are_read_whatever_ends_their_lines() {
        for end in ["\n", "\r\n", "\r"] {
            let lines =
                ["event: message", "id: 7", "data: a", "data:b", ":comment", "retry: 50", "", "", "data", "", ": ping"];
            let text: String = lines.iter().map(|line| format!("{line}{end}")).collect();
            check(&text, &[event("a\nb", Some("7"), Some(50)), event("", None, None)]);
        }
        check("\u{feff}data: a", &[event("a", None, None)]);
        check("id: 1\n\nretry: soon\n\n", &[event("-", Some("1"), None)]);
    }

    #[test]
    fn an_event_is_as_large_as_the_limit_at_most_and_comments_do_not_count() {
        let mut events = Events::new(8);
        assert_eq!(events.push(b": ping\n\n: ping\n\n: ping\ndata: a\ndata: b\n\n").unwrap().len(), 1);
        assert_eq!(events.push(b"data: abc"), Err(TooLarge));
        assert_eq!(Events::new(8).push(b"data: a\ndata: b\ndata: c\n"), Err(TooLarge));
    }

    #[test]
    fn bytes_that_are_no_utf8_are_kept() {
        let read = Events::new(100).push(b"data: \xff\n\n").unwrap();
        assert_eq!(read[0].data.as_deref(), Some(&b"\xff"[..]));
    }
}
