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
pub(crate) struct ReplayOrder {
    waiting: BTreeMap<(u32, u64), Waker>,
    /// Distinguishes two calls for the same child.
    calls: u64,
    /// The calls that have got their turn and not taken it yet.
    released: BTreeSet<(u32, u64)>,
}

/// A call that waits; dropping it gives its place up.
struct WaitingCall<'a> {
    ctx: &'a Context,
    key: (u32, u64),
}

impl Drop for WaitingCall<'_> {
    fn drop(&mut self) {
        let mut cell = self.ctx.cell();
        let order = cell.replay_order.get_or_insert_default();
        order.waiting.remove(&self.key);
        order.released.remove(&self.key);
    }
}

impl<'a> RunHandle<'a> {
    /// Waits until it is the turn of a child that completed at `time`.
    ///
    /// # Cancel safety
    /// Dropping the future gives the turn to the next one.
    pub async fn wait_in_replay_order(self, time: u32) {
        let key = {
            let mut cell = self.0.cell();
            let order = cell.replay_order.get_or_insert_default();
            order.calls += 1;
            (time, order.calls)
        };
        let call = WaitingCall { ctx: self.0, key };
        poll_fn(|cx| {
            let mut cell = call.ctx.cell();
            let order = cell.replay_order.get_or_insert_default();
            if order.released.contains(&key) {
                return Poll::Ready(());
            }
            order.waiting.insert(key, cx.waker().clone());
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
    pub(crate) fn release_next(&mut self) -> Option<Waker> {
        let order = self.replay_order.as_mut()?;
        let (key, waker) = order.waiting.pop_first()?;
        order.released.insert(key);
        Some(waker)
    }
}
