//! Delivers replayed children's results in their original completion order.
//!
//! Such a child could answer at once. A body that takes the first of several would then take a different one than the
//! first time. So it waits: whenever the body cannot progress otherwise, the engine releases the earliest child.
// R1020

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::task::{Poll, Waker};

use super::{RunHandle, RunState};
use crate::Context;

/// The calls that wait for their turn, by the time at which the child completed.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    waiting: BTreeMap<(u32, u64), Waker>,
    /// Distinguishes two calls for the same child.
    calls: u64,
    /// The calls that have got their turn and not taken it yet.
    granted: BTreeSet<(u32, u64)>,
}

/// A call that waits; dropping it gives its place up.
struct Turn<'a> {
    ctx: &'a Context,
    key: (u32, u64),
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut cell = self.ctx.cell();
        let turns = cell.turns.get_or_insert_default();
        turns.waiting.remove(&self.key);
        turns.granted.remove(&self.key);
    }
}

impl<'a> RunHandle<'a> {
    /// Waits until it is the turn of a child that completed at `time`.
    ///
    /// # Cancel safety
    /// Dropping the future gives the turn to the next one.
    pub async fn turn(self, time: u32) {
        let key = {
            let mut cell = self.0.cell();
            let turns = cell.turns.get_or_insert_default();
            turns.calls += 1;
            (time, turns.calls)
        };
        let turn = Turn { ctx: self.0, key };
        poll_fn(|cx| {
            let mut cell = turn.ctx.cell();
            let turns = cell.turns.get_or_insert_default();
            if turns.granted.contains(&key) {
                return Poll::Ready(());
            }
            turns.waiting.insert(key, cx.waker().clone());
            // In a task of its own, it wakes the body's task, which has to see that it waits.
            let body = cell.body.take();
            drop(cell);
            body.into_iter().for_each(Waker::wake);
            Poll::Pending
        })
        .await;
    }
}

impl RunState {
    /// Gives the turn to the earliest child that waits for it.
    pub(crate) fn give_turn(&mut self) -> Option<Waker> {
        let turns = self.turns.as_mut()?;
        let (key, waker) = turns.waiting.pop_first()?;
        turns.granted.insert(key);
        Some(waker)
    }
}
