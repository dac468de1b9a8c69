//! [`Detached`]: the children that nobody waits for, run beside the nodes of the workflow around them. Rule R643.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll, ready};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use pleach_context::{ChildEnd, ChildFailure, Context, DetachedChild, NodeError};

/// The detached children of one workflow run.
pub(crate) struct Detached {
    owner: Context,
    /// Made with the first one.
    running: Option<Box<FuturesUnordered<Numbered>>>,
    started: u64,
    /// The first child that ended badly, by the order of starts.
    failure: Option<(u64, NodeError)>,
}

/// A child and its place in the order of starts.
struct Numbered {
    number: u64,
    child: DetachedChild,
}

impl Future for Numbered {
    type Output = (u64, Result<(), NodeError>);

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let end = ready!(self.child.run.as_mut().poll(cx));
        let end = end.and_then(|end| match end {
            ChildEnd::Interrupted(_) => Err(asked(&self.child)),
            ChildEnd::Done(_) | ChildEnd::Waiting => Ok(()),
        });
        Poll::Ready((self.number, end))
    }
}

/// The failure of a child that asked a question.
fn asked(child: &DetachedChild) -> NodeError {
    let message = "A dynamic node started with `run_detached` asked for input, but a detached node cannot be resumed. Wait for it with `Context::run`.";
    let failure = ChildFailure { error: NodeError::new("RuntimeError", message), path: child.path.clone() };
    NodeError::child(child.path.name(), failure)
}

impl Detached {
    /// Says that `owner`, the workflow's run, takes detached children.
    pub(crate) fn of(owner: Context) -> Self {
        owner.accept_detached();
        Self { owner, running: None, started: 0, failure: None }
    }

    /// Whether none is under way.
    pub(crate) fn is_empty(&self) -> bool {
        self.running.as_ref().is_none_or(|running| running.is_empty())
    }

    /// Takes what has come, and polls what can go on.
    pub(crate) fn poll(&mut self, cx: &mut TaskContext<'_>) {
        loop {
            let new = self.owner.take_detached();
            let came = !new.is_empty();
            for child in new {
                let number = self.started;
                self.started += 1;
                self.running.get_or_insert_default().push(Numbered { number, child });
            }
            let Some(running) = &mut self.running else { return };
            match running.poll_next_unpin(cx) {
                Poll::Ready(Some((number, Err(error)))) => self.note(number, error),
                Poll::Ready(Some((_, Ok(())))) => {}
                // What was polled may have started others.
                _ if came => {}
                _ => return,
            }
        }
    }

    fn note(&mut self, number: u64, error: NodeError) {
        if self.failure.as_ref().is_none_or(|(first, _)| number < *first) {
            self.failure = Some((number, error));
        }
    }

    /// What the first child that ended badly failed with.
    pub(crate) fn take_failure(&mut self) -> Option<NodeError> {
        self.failure.take().map(|(_, error)| error)
    }
}

impl Drop for Detached {
    fn drop(&mut self) {
        self.owner.refuse_detached();
    }
}
