//! [`Screen`]: writes to standard output, for people or as JSON.

use std::fmt::{Display, Write as _};
use std::io::{self, IsTerminal as _, Write as _};

use indicatif::{ProgressBar, ProgressStyle};
use pleach::to_camel;
use serde::Serialize;

use crate::fault::Fault;

/// Writes the output of a command.
pub(crate) struct Screen {
    pub(crate) is_json: bool,
    out: io::Stdout,
}

impl Screen {
    pub(crate) fn new(is_json: bool) -> Self {
        Self { is_json, out: io::stdout() }
    }

    /// Writes a line for people.
    pub(crate) fn line(&mut self, line: impl Display) -> Result<(), Fault> {
        Ok(writeln!(self.out, "{line}")?)
    }

    /// Writes a document unchanged.
    pub(crate) fn document(&mut self, document: &str) -> Result<(), Fault> {
        Ok(self.out.write_all(document.as_bytes())?)
    }

    /// Writes a value as JSON, in the casing of the HTTP API.
    pub(crate) fn value(&mut self, value: &impl Serialize) -> Result<(), Fault> {
        let value = to_camel(value).map_err(io::Error::from)?;
        Ok(writeln!(self.out, "{value}")?)
    }

    /// Writes an error to standard error.
    pub(crate) fn complain(&self, fault: &Fault) {
        let mut text = printable(&fault.to_string());
        let mut cause = std::error::Error::source(fault);
        while let Some(error) = cause {
            let _ = write!(text, ": {}", printable(&error.to_string()));
            cause = error.source();
        }
        if self.is_json {
            let value = serde_json::json!({ "error": text, "exitCode": fault.exit_code() });
            let _ = writeln!(io::stderr(), "{value}");
            return;
        }
        let _ = writeln!(io::stderr(), "pleach: {text}");
    }

    /// Returns a progress bar. Nothing is drawn if standard error is not a terminal.
    pub(crate) fn bar(&self, what: &'static str) -> ProgressBar {
        if self.is_json || !io::stderr().is_terminal() {
            return ProgressBar::hidden();
        }
        let style = ProgressStyle::with_template("{spinner} {msg}: {pos} sessions, {per_sec}, {elapsed}");
        let bar = ProgressBar::new_spinner().with_message(what);
        if let Ok(style) = style { bar.with_style(style) } else { bar }
    }
}

/// Replaces characters in stored text that a terminal would interpret: control characters, line and paragraph
/// separators, and marks that change the direction of the surrounding text.
pub(crate) fn printable(text: &str) -> String {
    let is_obeyed = |char: char| {
        char.is_control()
            || matches!(char, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|char| if is_obeyed(char) { '\u{fffd}' } else { char }).collect()
}

/// Returns text on one line, of at most `limit` characters.
pub(crate) fn short(text: &str, limit: usize) -> String {
    let one_line = printable(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    match one_line.char_indices().nth(limit) {
        None => one_line,
        Some((end, _)) => format!("{}…", &one_line[..end]),
    }
}

/// Returns seconds since the epoch as a date and time in UTC.
pub(crate) fn time(seconds: f64) -> String {
    let micros = (seconds * 1e6).round();
    let known = (micros.abs() < 9e15).then_some(micros as i64).and_then(chrono::DateTime::from_timestamp_micros);
    known.map_or_else(|| seconds.to_string(), |time| time.format("%Y-%m-%d %H:%M:%S%.3f").to_string())
}
