//! [`Runner::start_timers`] and the task that waits for deadlines.
//!
//! A deadline is an argument of its question, so all deadlines are in the log and in the inbox. A Runner keeps the
//! deadlines of its own runs in memory; `others.rs` reads the deadlines of other processes.

use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::{Either, select};
use pleach_core::{Event, Question, SessionKey};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::Runner;
use crate::app::inner::RunnerInner;
use crate::deadlines::answer::answer_at_deadline;
use crate::deadlines::others::read_deadlines;
use crate::deadlines::schedule::{DeadlineSchedule, PendingDeadline, TimerOwner};
use crate::sessions::recover::recover;

/// The longest wait of the task. It is limited because the system clock may be changed.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// The maximum number of questions answered at once. After a downtime many questions may be overdue.
const AT_ONCE: usize = 32;

impl Runner {
    /// Reads the deadlines of the app's questions and sleeps from the inbox, and answers each question when its deadline has passed.
    /// Questions whose deadlines passed while no process was running are answered at once. The call itself returns at once.
    ///
    /// A server calls it once, when it has started. Without this call, a Runner answers only the questions of its own
    /// runs. The timers end when the Runner is closed or drained, or when its last clone is dropped.
    ///
    /// Questions of other processes are found within a second, so a question is answered at most two seconds after its
    /// deadline if one of the processes is alive. This takes one query per second, whose duration depends on how much
    /// was appended recently ([`SessionService::new_deadlines`](pleach_session::SessionService::new_deadlines)). All
    /// open questions are listed at the start and then every 30 seconds. If the service can only list, they are listed
    /// each second, or less often, so that listing takes at most a twentieth of the time.
    ///
    /// Several processes may start timers: each question is answered once. If a run of this Runner is active in the
    /// session, the answer waits for its end; with [heartbeats](crate::RunnerBuilder::heartbeat) it also waits for runs
    /// of other processes. Without heartbeats, the answer makes a run of another process fail at its next event, as if
    /// the session had been resumed here. So if lanes may be at work while a question with a deadline is open, set a
    /// heartbeat, or let only one process start the timers.
    ///
    /// If the Runner [recovers](crate::RunnerBuilder::recover), this call also begins its recovery.
    ///
    /// A Runner with [external timers](crate::RunnerBuilder::external_timers) starts none.
    ///
    /// # Panics
    /// The call panics outside of a tokio runtime.
    pub fn start_timers(&self) {
        if self.parts.timers.owner == TimerOwner::Scheduler {
            return;
        }
        let (runtime, shared) = (Handle::current(), &self.parts.timers.shared);
        let reads = std::mem::replace(&mut shared.state().reads, true);
        if !reads {
            drop(runtime.spawn(read_deadlines(Arc::downgrade(&self.parts), Arc::clone(shared))));
            if let Some(every) = self.parts.recover_every {
                drop(runtime.spawn(recover(Arc::downgrade(&self.parts), every)));
            }
        }
        self.parts.run_timers(&runtime);
    }
}

impl RunnerInner {
    /// Keeps in memory the deadlines of the questions that an event asks.
    pub(crate) fn keep_deadlines_of(self: &Arc<Self>, session: &SessionKey, event: &Event) {
        self.keep_deadlines(session, &event.questions_with_deadline());
    }

    /// Keeps in memory the deadlines of the questions that a run waits for.
    pub(crate) fn keep_deadlines(self: &Arc<Self>, session: &SessionKey, questions: &[Question]) {
        let waits = self.timers.owner == TimerOwner::Runner;
        if !waits || questions.iter().all(|question| question.deadline.is_none()) {
            return;
        }
        self.timers.shared.keep(questions.iter().filter_map(|question| PendingDeadline::of(session, question)));
        match Handle::try_current() {
            Ok(runtime) => self.run_timers(&runtime),
            Err(_) => {
                tracing::warn!(%session, "there is no tokio runtime, so the deadlines of its questions are not watched")
            }
        }
    }

    /// Starts the task that waits for deadlines, or wakes it.
    fn run_timers(self: &Arc<Self>, runtime: &Handle) {
        let shared = &self.timers.shared;
        let has_task = std::mem::replace(&mut shared.state().has_task, true);
        if has_task {
            shared.changed.notify_one();
        } else {
            drop(runtime.spawn(wait(Arc::downgrade(self), Arc::clone(shared))));
        }
    }
}

/// Marks that a task waits for deadlines. If the tokio runtime drops the task, another task can be started.
struct WaitingGuard(Arc<DeadlineSchedule>);

impl Drop for WaitingGuard {
    fn drop(&mut self) {
        self.0.state().has_task = false;
    }
}

/// Waits for deadlines and answers their questions, as long as the Runner lives.
async fn wait(parts: Weak<RunnerInner>, shared: Arc<DeadlineSchedule>) {
    let _waiting = WaitingGuard(Arc::clone(&shared));
    let at_once = Arc::new(Semaphore::new(AT_ONCE));
    let mut woken_for = 0.0_f64;
    loop {
        let Some(runner) = parts.upgrade().filter(|_| !shared.state().closed) else { return };
        let clock = Arc::clone(&runner.services.clock);
        drop(runner);
        // By the Runner's clock, a timer may end a little early.
        let now = clock.now().max(std::mem::take(&mut woken_for));
        for due in shared.take_due(now) {
            let (parts, shared, at_once) = (Weak::clone(&parts), Arc::clone(&shared), Arc::clone(&at_once));
            tokio::spawn(async move {
                answer_at_deadline(parts, &due, &at_once).await;
                shared.fired(&due);
            });
        }
        let changed = pin!(shared.changed.notified());
        let Some(wake) = shared.next() else {
            changed.await;
            continue;
        };
        let pause = Duration::try_from_secs_f64(wake - now).unwrap_or_default();
        if let (Either::Left(_), true) = (select(clock.sleep(pause.min(MAX_WAIT)), changed).await, pause <= MAX_WAIT) {
            woken_for = wake;
        }
    }
}
