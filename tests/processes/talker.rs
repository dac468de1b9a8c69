//! Processes that a test reads from and writes to, line by line.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A process that is killed with this value, if it has not ended before.
pub(crate) struct Talker {
    child: Child,
    lines: BufReader<ChildStdout>,
    /// `None` once nothing more is said.
    wishes: Option<ChildStdin>,
}

impl Talker {
    /// Starts a program.
    pub(crate) fn start(program: &str, arguments: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let mut command = Command::new(program);
        command.args(arguments.into_iter().map(Into::into)).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (wishes, lines) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, lines, wishes }
    }

    pub(crate) fn send(&mut self, line: &str) {
        // It may have come to its end.
        self.wishes.iter_mut().for_each(|wishes| drop(writeln!(wishes, "{line}")));
    }

    /// The next line; it must say something.
    pub(crate) fn hear(&mut self) -> String {
        self.next().expect("a worker ended early")
    }

    /// Whether it has not ended.
    pub(crate) fn is_alive(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Kills it as `kill -9` does, and returns what it has said since.
    pub(crate) fn kill(mut self) -> Vec<String> {
        self.child.kill().unwrap();
        let rest = std::iter::from_fn(|| self.next()).collect();
        self.child.wait().unwrap();
        rest
    }

    /// Waits for its end, which must be a good one, and returns what it has said since.
    pub(crate) fn finish(mut self) -> Vec<String> {
        self.wishes = None;
        let rest = std::iter::from_fn(|| self.next()).collect();
        assert!(self.child.wait().unwrap().success(), "a worker failed");
        rest
    }

    fn next(&mut self) -> Option<String> {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        // Half a line is no line.
        Some(line.strip_suffix('\n')?.to_owned())
    }
}

impl Drop for Talker {
    fn drop(&mut self) {
        // It may have ended before; then there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
