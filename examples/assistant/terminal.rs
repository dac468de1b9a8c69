//! The terminal: reads lines, and writes text.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::PathBuf;

use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;

use crate::Result;

/// Reads lines from standard input, and writes text to standard output.
pub(crate) struct Terminal {
    /// The line editor. Without a terminal there is none, and lines are read unchanged.
    editor: Option<DefaultEditor>,
    history: Option<PathBuf>,
    /// Whether the last piece of text did not end its line.
    is_inside_line: bool,
}

/// The result of reading a line.
pub(crate) enum Line {
    Text(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D, or the end of the input.
    End,
}

impl Terminal {
    /// Opens the terminal, with the history of earlier runs if there is one.
    pub(crate) fn open(history: Option<PathBuf>) -> Result<Self> {
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            return Ok(Self::plain());
        }
        let mut editor = DefaultEditor::new()?;
        if let Some(file) = history.as_ref().filter(|file| file.exists()) {
            editor.load_history(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        }
        Ok(Self { editor: Some(editor), history, is_inside_line: false })
    }

    /// Returns a terminal without a line editor.
    pub(crate) fn plain() -> Self {
        Self { editor: None, history: None, is_inside_line: false }
    }

    /// Returns true if a person is typing, who can press Ctrl-C.
    pub(crate) fn is_interactive(&self) -> bool {
        self.editor.is_some()
    }

    /// Reads a message, and remembers it for the arrow keys.
    pub(crate) fn read(&mut self, prompt: &str) -> Result<Line> {
        let line = self.ask(prompt)?;
        if let (Some(editor), Line::Text(text)) = (&mut self.editor, &line)
            && editor.add_history_entry(text.as_str())?
            && let Some(file) = &self.history
        {
            editor.append_history(file).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        }
        Ok(line)
    }

    /// Reads an answer to a question. It is not remembered.
    pub(crate) fn ask(&mut self, prompt: &str) -> Result<Line> {
        let Some(editor) = &mut self.editor else { return read_plain() };
        match editor.readline(prompt) {
            Ok(text) => Ok(Line::Text(text)),
            Err(ReadlineError::Interrupted) => Ok(Line::Interrupted),
            Err(ReadlineError::Eof) => Ok(Line::End),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes a separate line.
    pub(crate) fn line(&mut self, text: &str) -> Result<()> {
        self.end_line()?;
        Ok(writeln!(io::stdout(), "{}", printable(text))?)
    }

    /// Writes a piece of a line, and flushes it.
    pub(crate) fn piece(&mut self, text: &str) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.is_inside_line = !text.ends_with('\n');
        let mut out = io::stdout();
        write!(out, "{}", printable(text))?;
        Ok(out.flush()?)
    }

    /// Ends a line that pieces have left open.
    pub(crate) fn end_line(&mut self) -> Result<()> {
        if std::mem::take(&mut self.is_inside_line) {
            writeln!(io::stdout())?;
        }
        Ok(())
    }
}

fn read_plain() -> Result<Line> {
    let mut line = String::new();
    match io::stdin().lock().read_line(&mut line)? {
        0 => Ok(Line::End),
        _ => Ok(Line::Text(line)),
    }
}

/// Removes characters that move the cursor or colour the screen. Texts come from models and tools, and may contain such
/// characters.
fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}
