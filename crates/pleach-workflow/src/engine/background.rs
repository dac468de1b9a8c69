//! [`BackgroundChildren`]: polls the background children of a workflow together with its nodes.
// R643

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll, ready};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use pleach_context::engine::{BackgroundChild, NodeEnd, RunHandle, asked_in_background};
use pleach_context::{ChildFailure, NodeError};
use pleach_core::NodePath;

/// The background children of one workflow run.
pub(crate) struct BackgroundChildren {
    owner: RunHandle,
    /// The running children; `None` until the first child arrives.
    running: Option<Box<FuturesUnordered<Numbered>>>,
    started: u64,
    /// The failed children, in the order in which they started.
    failures: BTreeMap<u64, (NodePath, NodeError)>,
}

/// A child with its start number.
struct Numbered {
    number: u64,
    child: BackgroundChild,
}

impl Future for Numbered {
    type Output = (u64, NodePath, Result<(), NodeError>);

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let end = ready!(self.child.run.as_mut().poll(cx));
        let end = end.and_then(|end| match end {
            NodeEnd::Interrupted(_) => Err(asked(&self.child)),
            NodeEnd::Done(_) | NodeEnd::Waiting => Ok(()),
        });
        Poll::Ready((self.number, self.child.path.clone(), end))
    }
}

/// Returns the failure of a child that waits for an answer: nothing could resume it.
fn asked(child: &BackgroundChild) -> NodeError {
    let failure = ChildFailure { error: asked_in_background(), path: child.path.clone() };
    NodeError::child(child.path.name(), failure)
}

impl BackgroundChildren {
    /// Makes `owner`, the workflow's run, accept background children.
    pub(crate) fn of(owner: RunHandle) -> Self {
        owner.accept_background();
        Self { owner, running: None, started: 0, failures: BTreeMap::new() }
    }

    /// Returns `true` if no child is running.
    pub(crate) fn is_empty(&self) -> bool {
        self.running.as_ref().is_none_or(|running| running.is_empty())
    }

    /// Takes the children that have arrived and polls those that were woken.
    pub(crate) fn poll(&mut self, cx: &mut TaskContext<'_>) {
        if !self.owner.may_have_background() {
            return;
        }
        self.adopt();
        while let Some(running) = &mut self.running {
            match running.poll_next_unpin(cx) {
                Poll::Ready(Some((number, path, end))) => self.note(number, path, end),
                // A polled child may have started others.
                _ if self.adopt() => {}
                _ => return,
            }
        }
    }

    /// Takes the children that have arrived; returns `true` if there were any.
    fn adopt(&mut self) -> bool {
        let new = self.owner.take_background();
        let came = !new.is_empty();
        for child in new {
            let number = self.started;
            self.started += 1;
            self.running.get_or_insert_default().push(Numbered { number, child });
        }
        came
    }

    fn note(&mut self, number: u64, path: NodePath, end: Result<(), NodeError>) {
        match end {
            // The caller was retried and has started the child again.
            Ok(()) => self.failures.retain(|_, (failed, _)| *failed != path),
            Err(error) => {
                self.failures.insert(number, (path, error));
            }
        }
    }

    /// Takes the error of the first failed child.
    pub(crate) fn take_failure(&mut self) -> Option<NodeError> {
        self.failures.pop_first().map(|(_, (_, error))| error)
    }
}

impl Drop for BackgroundChildren {
    fn drop(&mut self) {
        self.owner.refuse_background();
    }
}
