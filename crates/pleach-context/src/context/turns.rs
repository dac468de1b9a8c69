//! The order in which children that are answered from history give their results: the one in which they completed (R1020).
//!
//! Such a child could answer at once, and then a body that takes the first of several would take another one than the
//! first time. So it waits for its turn: whenever the body can do nothing else, the engine lets the earliest one go on.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::task::{Poll, Waker};

use super::Context;

/// The calls that wait for their turn, by the time at which the child completed.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    waiting: BTreeMap<(u64, u64), Waker>,
    /// Tells two calls for the same child apart.
    calls: u64,
    /// The call whose turn it is.
    current: Option<(u64, u64)>,
}

/// A call that waits; dropping it gives its place up.
struct Turn<'a> {
    ctx: &'a Context,
    key: (u64, u64),
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut cell = self.ctx.cell();
        let turns = cell.turns.get_or_insert_default();
        turns.waiting.remove(&self.key);
        turns.current.take_if(|current| *current == self.key);
    }
}

impl Context {
    /// Waits until it is the turn of a child that completed at `time`. For engines.
    ///
    /// # Cancel safety
    /// Dropping the future gives the turn to the next one.
    pub async fn turn(&self, time: u64) {
        let key = {
            let mut cell = self.cell();
            let turns = cell.turns.get_or_insert_default();
            turns.calls += 1;
            (time, turns.calls)
        };
        let turn = Turn { ctx: self, key };
        poll_fn(|cx| {
            let mut cell = turn.ctx.cell();
            let turns = cell.turns.get_or_insert_default();
            if turns.current == Some(key) {
                return Poll::Ready(());
            }
            turns.waiting.insert(key, cx.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Lets the earliest child go on that waits for its turn; false when none does. For engines, when a body is pending.
    #[must_use]
    pub fn give_turn(&self) -> bool {
        let mut cell = self.cell();
        let Some(turns) = &mut cell.turns else { return false };
        let Some((key, waker)) = turns.waiting.pop_first() else { return false };
        turns.current = Some(key);
        drop(cell);
        waker.wake();
        true
    }
}
