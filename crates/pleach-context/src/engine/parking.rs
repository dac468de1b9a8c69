//! Waiting for the outside world without an error: a call that cannot continue parks, and the engine drops the body.
//!
//! A question without an answer and a child that waits for one never resolve. They count themselves as calls under way
//! and as parked; when every call of a pending body is parked, nothing in this process can move it on.

use std::future::poll_fn;
use std::task::{Poll, Waker};

use super::{LaneWork, RunHandle, RunState};
use crate::{Context, NodeError};

/// A call of the body that is under way; leaving the scope ends it.
#[derive(Debug)]
pub(crate) struct InFlightCall {
    ctx: Context,
    parked: bool,
}

impl InFlightCall {
    pub(crate) fn enter(ctx: &Context) -> Self {
        let mut cell = ctx.cell();
        cell.parking.in_flight += 1;
        cell.change_lane(|work| work.in_flight += 1);
        drop(cell);
        Self { ctx: ctx.clone(), parked: false }
    }

    /// Waits until the body is dropped; a call that outlives its body in a task of its own gets an error.
    pub(crate) async fn park(mut self) -> NodeError {
        self.parked = true;
        let ctx = self.ctx.clone();
        let body = {
            let mut cell = ctx.cell();
            cell.parking.parked += 1;
            cell.change_lane(|work| work.parked += 1);
            cell.body.take()
        };
        body.into_iter().for_each(Waker::wake);
        poll_fn(move |cx| {
            let mut cell = ctx.cell();
            if cell.parking.ended {
                return Poll::Ready(());
            }
            if !cell.parking.wakers.iter().any(|waker| waker.will_wake(cx.waker())) {
                cell.parking.wakers.push(cx.waker().clone());
            }
            Poll::Pending
        })
        .await;
        NodeError::new("RuntimeError", format!("the run {} paused while this call waited", self.ctx.node_path()))
    }
}

impl Drop for InFlightCall {
    fn drop(&mut self) {
        let mut cell = self.ctx.cell();
        cell.parking.in_flight -= 1;
        let parked = u32::from(self.parked);
        cell.parking.parked -= parked;
        cell.change_lane(|work| {
            work.in_flight -= 1;
            work.parked -= parked;
        });
        // The last call of a task of its own: the body's has to see that all others are parked.
        let body = if cell.is_parked() { cell.body.take() } else { None };
        drop(cell);
        body.into_iter().for_each(Waker::wake);
    }
}

impl RunState {
    /// Changes what the call of this lane has under way, and counts the call as parked or not in its run.
    fn change_lane(&mut self, change: impl FnOnce(&mut LaneWork)) {
        let Some(work) = &mut self.lane.work else { return };
        let before = work.is_parked();
        change(work);
        match (before, work.is_parked()) {
            (false, true) => self.parking.parked += 1,
            (true, false) => self.parking.parked -= 1,
            _ => {}
        }
    }

    fn is_parked(&self) -> bool {
        self.parking.parked > 0 && self.parking.parked == self.parking.in_flight
    }

    /// Marks the body as gone: nothing of it may send any more, and parked calls elsewhere, whose wakers these are,
    /// fail.
    pub(crate) fn end(&mut self) -> Vec<Waker> {
        self.parking.ended = true;
        std::mem::take(&mut self.parking.wakers)
    }
}

/// A lane that counts as a call of its run until this is dropped.
#[derive(Debug)]
pub struct WorkingLane(Context);

impl Drop for WorkingLane {
    fn drop(&mut self) {
        let mut cell = self.0.cell();
        if cell.lane.work.take().is_some_and(LaneWork::is_parked) {
            cell.parking.parked -= 1;
        }
        cell.parking.in_flight -= 1;
    }
}

/// What a pending body waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitReason {
    /// A replayed child, which may now deliver its result, or a background child: the body can be polled again.
    PollAgain,
    /// The outside world, with every call that is under way.
    Parked,
    /// Something else.
    Other,
}

impl RunHandle {
    /// Marks the body as being polled: [`wait_reason`](Self::wait_reason) sees what it begins to wait for from now on.
    pub fn resume_body(&self) {
        self.ctx.run_state().body = None;
    }

    /// Returns what a pending body waits for. `waker` is that of the task that polls the body.
    #[must_use]
    pub fn wait_reason(&self, waker: &Waker) -> WaitReason {
        let mut cell = self.ctx.run_state();
        if cell.workflow.as_ref().is_some_and(|part| !part.background.is_empty()) {
            // They came from another thread, while the body was polled.
            return WaitReason::PollAgain;
        }
        let pending = if cell.is_parked() { WaitReason::Parked } else { WaitReason::Other };
        match cell.replay_order.as_mut().and_then(|order| order.release_next()) {
            Some(child) => {
                drop(cell);
                child.wake();
                WaitReason::PollAgain
            }
            None => {
                cell.body = Some(waker.clone());
                pending
            }
        }
    }

    /// Counts this lane as a call of its run until the guard is dropped: what it awaits beside the run's own calls keeps the
    /// body alive.
    #[must_use]
    pub fn work(&self) -> WorkingLane {
        let mut cell = self.ctx.cell();
        cell.parking.in_flight += 1;
        cell.lane.work = Some(LaneWork::default());
        drop(cell);
        WorkingLane(self.ctx.clone())
    }

    /// Returns whether all that this lane has begun waits for the outside world.
    #[must_use]
    pub fn is_lane_parked(&self) -> bool {
        self.ctx.cell().lane.work.is_some_and(LaneWork::is_parked)
    }

    /// Whether every call of the body that is under way waits for the outside world.
    #[must_use]
    pub fn is_parked(&self) -> bool {
        self.ctx.cell().is_parked()
    }
}
