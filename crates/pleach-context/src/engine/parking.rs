//! Waiting for external answers without an error: a call that cannot continue parks, and the engine drops the body.
//!
//! A question without an answer never resolves, and neither does a child that waits for one. Such a call is counted
//! both as in flight and as parked. When every call of a pending body is parked, nothing in this process can continue
//! the body.

use std::future::poll_fn;
use std::task::{Poll, Waker};

use super::{LaneWork, RunHandle, RunState};
use crate::{Context, NodeError};

/// A call of the body that is in flight. Dropping the guard ends the call.
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

    /// Waits until the body is dropped. A call that outlives its body in a separate task gets an error.
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
        // If this was the last unparked call of a separate task, the body's task must see that all other calls are
        // parked.
        let body = if cell.is_parked() { cell.body.take() } else { None };
        drop(cell);
        body.into_iter().for_each(Waker::wake);
    }
}

impl RunState {
    /// Changes the counters of this lane's call, and updates in its run whether the call is parked.
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

    /// Marks the body as gone, so that nothing in it may send any more. Returns the wakers of parked calls in other
    /// tasks: these calls now fail.
    pub(crate) fn end(&mut self) -> Vec<Waker> {
        self.parking.ended = true;
        std::mem::take(&mut self.parking.wakers)
    }
}

/// A guard: until it is dropped, the lane is counted as a call of its run.
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
    /// A replayed child, which may now deliver its result, or a background child. The body can be polled again.
    PollAgain,
    /// An external answer: every call in progress is parked.
    Parked,
    /// Something else.
    Other,
}

impl RunHandle {
    /// Marks the body as being polled. From now on, [`wait_reason`](Self::wait_reason) sees what the body begins to
    /// wait for.
    pub fn resume_body(&self) {
        self.ctx.run_state().body = None;
    }

    /// Returns what a pending body waits for. `waker` is the waker of the task that polls the body.
    #[must_use]
    pub fn wait_reason(&self, waker: &Waker) -> WaitReason {
        let mut cell = self.ctx.run_state();
        if cell.workflow.as_ref().is_some_and(|part| !part.background.is_empty()) {
            // The children came from another thread while the body was polled.
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

    /// Counts this lane as a call of its run until the guard is dropped. While the lane awaits anything other than
    /// the run's own calls, the body then stays alive.
    #[must_use]
    pub fn work(&self) -> WorkingLane {
        let mut cell = self.ctx.cell();
        cell.parking.in_flight += 1;
        cell.lane.work = Some(LaneWork::default());
        drop(cell);
        WorkingLane(self.ctx.clone())
    }

    /// Returns `true` if everything that this lane has begun waits for an external answer.
    #[must_use]
    pub fn is_lane_parked(&self) -> bool {
        self.ctx.cell().lane.work.is_some_and(LaneWork::is_parked)
    }

    /// Returns `true` if every call of the body that is in flight waits for an external answer.
    #[must_use]
    pub fn is_parked(&self) -> bool {
        self.ctx.cell().is_parked()
    }
}
