//! The order in which children that are answered from history give their results: the one in which they completed.
//!
//! Such a child could answer at once, and then a body that takes the first of several would take another one than the
//! first time. So it waits for its turn: whenever the body can do nothing else, the engine lets the earliest one go on.
// R1020

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::task::{Poll, Waker};

use super::{RunCell, RunHandle};
use crate::Context;

/// The calls that wait for their turn, by the time at which the child completed.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    waiting: BTreeMap<(u32, u64), Waker>,
    /// Tells two calls for the same child apart.
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
            // Called in a task of its own, it has to tell the body's that it waits.
            let body = cell.body.take();
            drop(cell);
            body.into_iter().for_each(Waker::wake);
            Poll::Pending
        })
        .await;
    }
}

impl RunCell {
    /// Gives the turn to the earliest child that waits for it.
    pub(crate) fn give_turn(&mut self) -> Option<Waker> {
        let turns = self.turns.as_mut()?;
        let (key, waker) = turns.waiting.pop_first()?;
        turns.granted.insert(key);
        Some(waker)
    }
}
