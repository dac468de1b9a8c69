//! Worker processes: starting, reading and ending them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use pleach_tests::worker::{Job, Report};

/// A worker process. Dropping the value kills the process if it has not ended.
pub(crate) struct Worker {
    child: Child,
    wishes: ChildStdin,
    lines: BufReader<ChildStdout>,
    reports: Vec<Report>,
}

impl Worker {
    /// Starts a process. It does nothing before [`go`](Self::go).
    pub(crate) fn start(job: &Job) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_session-worker"))
            .args(job.arguments())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (wishes, lines) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, wishes, lines, reports: Vec::new() }
    }

    /// Lets the process begin, or append once more if its job is paced.
    pub(crate) fn go(&mut self) {
        self.wishes.write_all(b"\n").unwrap();
    }

    /// The next report. Panics if there is none.
    pub(crate) fn hear(&mut self) -> &Report {
        match self.next() {
            Some(report) => self.reports.push(report),
            None => panic!("a worker ended early: {}", self.last_words()),
        }
        self.reports.last().unwrap()
    }

    fn next(&mut self) -> Option<Report> {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        // A process that is killed while it writes may leave half a line, so a line without its end is dropped.
        line.strip_suffix('\n').map(|line| line.parse().unwrap())
    }

    /// Waits for the end of the process, which must be successful, and returns all reports.
    pub(crate) fn finish(mut self) -> Vec<Report> {
        let status = self.end();
        assert!(status.success(), "a worker failed: {}", self.last_words());
        std::mem::take(&mut self.reports)
    }

    /// Kills the process as `kill -9` does and returns all reports, including those that were still in the pipe.
    pub(crate) fn kill(mut self) -> Vec<Report> {
        self.child.kill().unwrap();
        let status = self.end();
        let was_killed = status.code().is_none() || cfg!(windows);
        assert!(was_killed, "a worker ended before it was killed: {}", self.last_words());
        std::mem::take(&mut self.reports)
    }

    fn end(&mut self) -> ExitStatus {
        while let Some(report) = self.next() {
            self.reports.push(report);
        }
        self.child.wait().unwrap()
    }

    fn last_words(&mut self) -> String {
        let mut words = String::new();
        // The process writes little to standard error, so it never waits for a reader.
        self.child.stderr.take().unwrap().read_to_string(&mut words).unwrap();
        words
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // If the process has already ended, there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs all jobs at the same time and returns the reports of each worker.
pub(crate) fn all_at_once(jobs: &[Job]) -> Vec<Vec<Report>> {
    let mut workers: Vec<_> = jobs.iter().map(Worker::start).collect();
    workers.iter_mut().for_each(Worker::go);
    workers.into_iter().map(Worker::finish).collect()
}
