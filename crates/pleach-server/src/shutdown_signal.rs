//! [`shutdown_signal`]: completes when the program is asked to end.

use std::future::{Future, poll_fn};
use std::io;
use std::task::Poll;

use crate::ServerError;

/// Listens for the signals that ask the program to end: Ctrl-C, and on Unix also SIGTERM, which service managers send.
/// The future completes on the first signal. Pass it to [`BoundServer::serve_until`](crate::BoundServer::serve_until).
///
/// Listening starts with the call, not with the first poll of the future. Call the function before the program reports
/// that it is ready, because a signal before the call ends the program at once. After the call, these signals no longer
/// end the program by themselves, even if the future has been dropped.
///
/// # Errors
/// [`ServerError::Signal`].
///
/// # Panics
/// Panics outside a Tokio runtime.
///
/// # Cancel safety
/// Dropping the future loses a signal that has arrived.
pub fn shutdown_signal() -> Result<impl Future<Output = ()> + Send + 'static, ServerError> {
    let mut signals = listen().map_err(|cause| ServerError::Signal { cause })?;
    Ok(poll_fn(move |context| {
        let has_come = signals.iter_mut().any(|signal| signal.poll_recv(context).is_ready());
        if has_come { Poll::Ready(()) } else { Poll::Pending }
    }))
}

#[cfg(unix)]
fn listen() -> io::Result<[tokio::signal::unix::Signal; 2]> {
    use tokio::signal::unix::{SignalKind, signal};
    Ok([signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?])
}

#[cfg(windows)]
fn listen() -> io::Result<[tokio::signal::windows::CtrlC; 1]> {
    Ok([tokio::signal::windows::ctrl_c()?])
}
