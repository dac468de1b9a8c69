//! Delivers replayed children's results in their original completion order.
//!
//! A replayed child could answer at once. But then a body that takes the first of several children could take a
//! different one than in the first run. So each child waits, and when the body cannot progress otherwise, the engine
//! releases the child that completed first.
// R1020

use std::future::poll_fn;
use std::task::{Poll, Waker};

use super::RunHandle;
use super::replay_order::CallKey;
use crate::Context;

/// A waiting call. Dropping it gives up its place.
struct WaitingCall<'a> {
    ctx: &'a Context,
    key: CallKey,
}

impl Drop for WaitingCall<'_> {
    fn drop(&mut self) {
        self.ctx.cell().replay_order.get_or_insert_default().remove(self.key);
    }
}

impl RunHandle {
    /// Waits until the results of all replayed children that completed before `time` are delivered.
    ///
    /// # Cancel safety
    /// Dropping the future releases the next child in its place.
    pub async fn wait_in_replay_order(&self, time: u32) {
        let key = self.ctx.cell().replay_order.get_or_insert_default().add(time);
        let call = WaitingCall { ctx: &self.ctx, key };
        poll_fn(|cx| {
            let mut cell = call.ctx.cell();
            if cell.replay_order.get_or_insert_default().poll_released(key, cx.waker()) {
                return Poll::Ready(());
            }
            // A call in another task wakes the body's task, which must see that the call waits.
            let body = cell.body.take();
            drop(cell);
            body.into_iter().for_each(Waker::wake);
            Poll::Pending
        })
        .await;
    }
}
