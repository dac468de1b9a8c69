//! Answers the questions of an app at their deadlines: [`Runner::start_timers`], and the task that waits.
//!
//! A deadline is an argument of its question, so the log and the inbox hold all of them. A Runner keeps those of its own runs in
//! memory; those of other processes are [read](crate::new_deadlines).

use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::{Either, select};
use pleach_core::{Event, Question, SessionKey};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::Runner;
use crate::app::inner::RunnerParts;
use crate::deadlines::answer::fire;
use crate::deadlines::others::read_deadlines;
use crate::deadlines::schedule::{Due, Shared};

/// How long the task waits at most: the clock may be set.
const LONGEST: Duration = Duration::from_secs(30);

/// How many questions are answered at once: after a downtime many may be overdue.
const AT_ONCE: usize = 32;

impl Runner {
    /// Reads the deadlines of the app's questions and sleeps from the inbox, and answers each question when its time has come,
    /// those that came while no process was up at once. Returns without waiting for that.
    ///
    /// A server calls it once, when it has started. A Runner without it wakes only what its own runs have begun. It ends with the last
    /// clone of the Runner, or when it is closed or drained.
    ///
    /// What other processes ask is found within a second, so that a question is answered at most two seconds after its deadline as long as
    /// one of the processes lives. Each second costs one query, whose time depends on what was appended lately
    /// ([`SessionService::new_deadlines`](pleach_session::SessionService::new_deadlines)). All open questions are listed at the start and then
    /// every 30 seconds. With a service that only lists, that is also what happens each second, or less often, so that listing takes at most
    /// a twentieth of the time.
    ///
    /// Several processes may do so at once: each question is answered once. A deadline waits for a run of this Runner, and, with
    /// [heartbeats](crate::RunnerBuilder::heartbeat), for one of another process. Without them that run fails at its next event, as if the
    /// session had been resumed here: where a lane works beside a question with a deadline, set a heartbeat, or let one process start the
    /// timers.
    ///
    /// # Panics
    /// Without a tokio runtime.
    pub fn start_timers(&self) {
        let (runtime, shared) = (Handle::current(), &self.parts.timers.shared);
        let reads = std::mem::replace(&mut shared.state().reads, true);
        if !reads {
            drop(runtime.spawn(read_deadlines(Arc::downgrade(&self.parts), Arc::clone(shared))));
        }
        self.parts.run_timers(&runtime);
    }
}

impl RunnerParts {
    /// Keeps the deadlines of the questions that an event asks.
    pub(crate) fn keep_deadlines_of(self: &Arc<Self>, session: &SessionKey, event: &Event) {
        self.keep_deadlines(session, &event.questions_with_deadline());
    }

    /// Keeps the deadlines of the questions for which a run waits.
    pub(crate) fn keep_deadlines(self: &Arc<Self>, session: &SessionKey, questions: &[Question]) {
        if questions.iter().all(|question| question.deadline.is_none()) {
            return;
        }
        self.timers.shared.keep(questions.iter().filter_map(|question| Due::of(session, question)));
        match Handle::try_current() {
            Ok(runtime) => self.run_timers(&runtime),
            Err(_) => tracing::warn!(%session, "no tokio runtime: the deadlines of its questions are not kept"),
        }
    }

    /// Starts the task that waits for deadlines, or has it look again.
    fn run_timers(self: &Arc<Self>, runtime: &Handle) {
        let shared = &self.timers.shared;
        let has_task = std::mem::replace(&mut shared.state().has_task, true);
        match has_task {
            true => shared.changed.notify_one(),
            false => drop(runtime.spawn(wait(Arc::downgrade(self), Arc::clone(shared)))),
        }
    }
}

/// The task of a Runner's timers; another one can begin when its tokio runtime has ended it.
struct Task(Arc<Shared>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.state().has_task = false;
    }
}

/// Waits for deadlines and answers their questions, as long as the Runner lives.
async fn wait(parts: Weak<RunnerParts>, shared: Arc<Shared>) {
    let _task = Task(Arc::clone(&shared));
    let at_once = Arc::new(Semaphore::new(AT_ONCE));
    let mut woken_for = 0.0_f64;
    loop {
        let Some(runner) = parts.upgrade().filter(|_| !shared.state().closed) else { return };
        let clock = Arc::clone(&runner.services.clock);
        drop(runner);
        // A timer may end a little early by the clock.
        let now = clock.now().max(std::mem::take(&mut woken_for));
        for due in shared.take_due(now) {
            let (parts, shared, at_once) = (Weak::clone(&parts), Arc::clone(&shared), Arc::clone(&at_once));
            tokio::spawn(async move {
                fire(parts, &due, &at_once).await;
                shared.fired(&due);
            });
        }
        let changed = pin!(shared.changed.notified());
        let Some(wake) = shared.next() else {
            changed.await;
            continue;
        };
        let pause = Duration::try_from_secs_f64(wake - now).unwrap_or_default();
        if let (Either::Left(_), true) = (select(clock.sleep(pause.min(LONGEST)), changed).await, pause <= LONGEST) {
            woken_for = wake;
        }
    }
}
