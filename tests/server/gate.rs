//! The app `gate`: it sends `before`, waits until the test lets it continue, and returns `after`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pleach::prelude::*;
use pleach::{App, Context};
use tokio::sync::{Notify, Semaphore};

#[derive(Clone)]
pub(crate) struct Gate {
    open: Arc<Semaphore>,
    reached: Arc<Notify>,
    runs: Arc<AtomicUsize>,
}

impl Gate {
    pub(crate) fn new() -> Self {
        Self { open: Arc::new(Semaphore::new(0)), reached: Arc::default(), runs: Arc::default() }
    }

    pub(crate) fn app(&self) -> App {
        let gate = self.clone();
        let node = FunctionNode::new("gate", move |ctx: Context| {
            let gate = gate.clone();
            async move {
                gate.runs.fetch_add(1, Ordering::SeqCst);
                ctx.emit(Event::message("before")).await?;
                gate.reached.notify_one();
                gate.open.acquire().await.expect("the gate is never closed").forget();
                Ok::<_, NodeError>("after")
            }
        });
        App::new("gate", node).unwrap()
    }

    /// Lets one run continue.
    pub(crate) fn open(&self) {
        self.open.add_permits(1);
    }

    /// Waits until a run is at the gate.
    pub(crate) async fn reached(&self) {
        self.reached.notified().await;
    }

    /// Returns how many runs have begun.
    pub(crate) fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }
}
