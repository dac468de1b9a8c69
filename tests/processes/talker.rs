//! [`Talker`]: a process that exchanges lines with a test.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A process that reads and writes lines. Dropping the value kills the process if it has not ended.
pub(crate) struct Talker {
    child: Child,
    lines: BufReader<ChildStdout>,
    /// The input of the process, or `None` after its end.
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
        // The process may have ended.
        self.wishes.iter_mut().for_each(|wishes| drop(writeln!(wishes, "{line}")));
    }

    /// The next line. Panics if there is none.
    pub(crate) fn hear(&mut self) -> String {
        self.next().expect("a worker ended early")
    }

    /// Returns true if the process has not ended.
    pub(crate) fn is_alive(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Kills the process as `kill -9` does and returns the remaining lines.
    pub(crate) fn kill(mut self) -> Vec<String> {
        self.child.kill().unwrap();
        let rest = std::iter::from_fn(|| self.next()).collect();
        self.child.wait().unwrap();
        rest
    }

    /// Waits for the end of the process, which must be successful, and returns the remaining lines.
    pub(crate) fn finish(mut self) -> Vec<String> {
        self.wishes = None;
        let rest = std::iter::from_fn(|| self.next()).collect();
        assert!(self.child.wait().unwrap().success(), "a worker failed");
        rest
    }

    fn next(&mut self) -> Option<String> {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        // An incomplete line is dropped.
        Some(line.strip_suffix('\n')?.to_owned())
    }
}

impl Drop for Talker {
    fn drop(&mut self) {
        // If the process has already ended, there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
