//! [`shutdown_signal`]: completes when the program is asked to end.

use std::future::{Future, poll_fn};
use std::io;
use std::task::Poll;

use crate::ServerError;

/// Listens for the signals that ask the program to end: Ctrl-C, and on Unix also SIGTERM, as service managers send it.
/// The future completes at the first signal. Pass it to [`BoundServer::serve_until`](crate::BoundServer::serve_until).
///
/// The function listens from its call on, not from the first poll of the future. Call it before the program reports
/// that it is ready: an earlier signal ends the program as if there were no handler. From the call on, these signals no
/// longer end the program by themselves, even after the future has been dropped.
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
