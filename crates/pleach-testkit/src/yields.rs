//! [`SeededYields`]: a plugin that varies the order of a run's lanes.

use std::sync::{Mutex, PoisonError};

use pleach_context::{Context, Hook, NodeInput, NodeSpec, Plugin, Tool, ToolContext};
use pleach_core::{BoxError, Map};
use serde_json::Value;

use crate::Seed;

/// A plugin that lets nodes and tools yield before and after their work, as a seed chooses. Parallel lanes then end in
/// different orders with different seeds, and in the same order with the same seed.
///
/// ```
/// use pleach_testkit::{SeededYields, each_seed};
///
/// # async fn example(builder: impl Fn() -> pleach_runner::RunnerBuilder) {
/// each_seed(100, async |seed| {
///     let runner = builder().plugin(SeededYields::new(seed, 5)).build().unwrap();
///     // … what must hold in every order
/// #   drop(runner);
/// })
/// .await;
/// # }
/// ```
#[derive(Debug)]
pub struct SeededYields {
    seed: Mutex<Seed>,
    most: usize,
}

impl SeededYields {
    /// Creates a plugin that yields up to `most` times at each place.
    #[must_use]
    pub fn new(seed: u64, most: usize) -> Self {
        Self { seed: Mutex::new(Seed::new(seed)), most }
    }

    /// Returns a hook that yields and decides nothing.
    fn hook<'a, T: Default + Send + 'a>(&self) -> Hook<'a, T> {
        let times = self.seed.lock().unwrap_or_else(PoisonError::into_inner).below(self.most + 1);
        Some(Box::pin(async move {
            for _ in 0..times {
                tokio::task::yield_now().await;
            }
            Ok::<T, BoxError>(T::default())
        }))
    }
}

impl Plugin for SeededYields {
    fn name(&self) -> &str {
        "seeded_yields"
    }

    fn before_node<'a>(&'a self, _: &'a NodeSpec, _: &'a Context, _: &'a NodeInput) -> Hook<'a, Option<Value>> {
        self.hook()
    }

    fn after_node<'a>(&'a self, _: &'a NodeSpec, _: &'a Context, _: Option<&'a Value>) -> Hook<'a, ()> {
        self.hook()
    }

    fn before_tool<'a>(&'a self, _: &'a dyn Tool, _: &'a mut Map, _: &'a ToolContext) -> Hook<'a, Option<Value>> {
        self.hook()
    }

    fn after_tool<'a>(
        &'a self,
        _: &'a dyn Tool,
        _: &'a Map,
        _: &'a ToolContext,
        _: &'a Value,
    ) -> Hook<'a, Option<Value>> {
        self.hook()
    }
}
