//! [`Detached`]: the children that nobody waits for, run beside the nodes of the workflow around them.
// R643

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll, ready};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use pleach_context::engine::{BackgroundChild, Engine as _, NodeEnd, asked_in_background};
use pleach_context::{ChildFailure, Context, NodeError};
use pleach_core::NodePath;

/// The detached children of one workflow run.
pub(crate) struct BackgroundChildren {
    owner: Context,
    /// Made with the first one.
    running: Option<Box<FuturesUnordered<Numbered>>>,
    started: u64,
    /// The children that ended badly, by the order of starts.
    failures: BTreeMap<u64, (NodePath, NodeError)>,
}

/// A child and its place in the order of starts.
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

/// The failure of a child that waits for an answer which history has not.
fn asked(child: &BackgroundChild) -> NodeError {
    let failure = ChildFailure { error: asked_in_background(), path: child.path.clone() };
    NodeError::child(child.path.name(), failure)
}

impl BackgroundChildren {
    /// Says that `owner`, the workflow's run, takes detached children.
    pub(crate) fn of(owner: Context) -> Self {
        owner.engine().accept_background();
        Self { owner, running: None, started: 0, failures: BTreeMap::new() }
    }

    /// Whether none is under way.
    pub(crate) fn is_empty(&self) -> bool {
        self.running.as_ref().is_none_or(|running| running.is_empty())
    }

    /// Takes what has come, and polls what can go on.
    pub(crate) fn poll(&mut self, cx: &mut TaskContext<'_>) {
        self.adopt();
        while let Some(running) = &mut self.running {
            match running.poll_next_unpin(cx) {
                Poll::Ready(Some((number, path, end))) => self.note(number, path, end),
                // What was polled may have started others.
                _ if self.adopt() => {}
                _ => return,
            }
        }
    }

    /// Takes the children that have come; says whether there were any.
    fn adopt(&mut self) -> bool {
        let new = self.owner.engine().take_background();
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
            // A caller that was tried again has started it anew.
            Ok(()) => self.failures.retain(|_, (failed, _)| *failed != path),
            Err(error) => {
                self.failures.insert(number, (path, error));
            }
        }
    }

    /// What the first child that ended badly failed with.
    pub(crate) fn take_failure(&mut self) -> Option<NodeError> {
        self.failures.pop_first().map(|(_, (_, error))| error)
    }
}

impl Drop for BackgroundChildren {
    fn drop(&mut self) {
        self.owner.engine().refuse_background();
    }
}
