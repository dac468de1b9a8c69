//! Runs a server as a child process, and ends it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use pleach_http::Secrets;
use process_wrap::tokio::ChildWrapper;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use super::incoming::Incoming;
use super::notices::Notices;
use super::output::Output;
use super::stderr;
use super::wire::{Outgoing, Wire};
use crate::McpCommand;
use crate::limits::Limits;

/// The time for a server to end after its input was closed.
const AFTER_INPUT: Duration = Duration::from_secs(2);
/// The time for a server to end after a signal asked it to.
const AFTER_SIGNAL: Duration = Duration::from_secs(1);
/// The time to wait for the last lines of its standard error.
const AFTER_END: Duration = Duration::from_millis(200);

/// The transport to a child. Dropping it ends the child.
pub(super) struct ChildWire {
    output: Output<ChildStdout>,
    /// The input of the child; `None` once it is closed.
    input: Arc<Mutex<Option<ChildStdin>>>,
    child: Child,
    limits: Limits,
}

/// A process. If it is dropped before it has ended, it is killed with all processes that it has started.
struct Child {
    process: Box<dyn ChildWrapper>,
    has_ended: bool,
    stderr: JoinHandle<()>,
}

impl ChildWire {
    /// Starts the server.
    pub(super) fn start(
        name: &Arc<str>,
        command: &McpCommand,
        secrets: &Arc<Secrets>,
        limits: &Limits,
        notices: &Arc<Notices>,
    ) -> Result<Self, String> {
        let mut process = command.command().spawn().map_err(|error| command.reason_of(&error))?;
        let pipes = (process.stdin().take(), process.stdout().take(), process.stderr().take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err("it has no pipes".to_owned());
        };
        let stderr = tokio::spawn(stderr::log(Arc::clone(name), Arc::clone(secrets), stderr));
        let output = Output::new(stdout, limits, notices);
        let child = Child { process, has_ended: false, stderr };
        Ok(Self { output, input: Arc::new(Mutex::new(Some(stdin))), child, limits: limits.clone() })
    }
}

impl Child {
    /// Waits for the end of the process. Returns false if `limit` is over first.
    async fn ends_within(&mut self, limits: &Limits, limit: Duration) -> bool {
        let ended = limits.within(limit, self.process.wait()).await;
        self.has_ended = matches!(ended, Some(Ok(_)));
        self.has_ended
    }

    /// Asks the process to end, on systems that have a signal for it.
    fn ask_to_end(&self) -> bool {
        #[cfg(unix)]
        {
            const SIGTERM: i32 = 15;
            self.process.signal(SIGTERM).is_ok()
        }
        #[cfg(not(unix))]
        false
    }

    /// Ends the process after its input was closed: waits for it, then sends a signal, then kills it.
    async fn end(&mut self, limits: &Limits) -> io::Result<()> {
        let has_ended = self.has_ended
            || self.ends_within(limits, AFTER_INPUT).await
            || (self.ask_to_end() && self.ends_within(limits, AFTER_SIGNAL).await);
        if !has_ended {
            self.process.start_kill()?;
            self.process.wait().await?;
            self.has_ended = true;
        }
        limits.within(AFTER_END, &mut self.stderr).await;
        Ok(())
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.has_ended {
            // The runtime reaps the process.
            let _ = self.process.start_kill();
        }
        self.stderr.abort();
    }
}

impl Wire for ChildWire {
    type Error = io::Error;

    fn send(&mut self, message: Outgoing) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let input = Arc::clone(&self.input);
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let mut input = input.lock().await;
            let input = input.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
            input.write_all(&line).await?;
            input.flush().await
        }
    }

    async fn receive(&mut self) -> Option<Incoming> {
        self.output.next().await
    }

    async fn close(&mut self) -> io::Result<()> {
        // If the server reads nothing, a pending write holds the lock, so the wait for it is limited.
        let closed = async { drop(self.input.lock().await.take()) };
        self.limits.within(AFTER_INPUT, closed).await;
        self.child.end(&self.limits).await
    }
}
