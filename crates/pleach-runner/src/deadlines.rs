//! Answers the questions of an app at their deadlines: [`Runner::start_timers`], and the task that waits.
//!
//! A deadline is an argument of its question, so the log and the inbox hold all of them. A Runner keeps those of its own runs in
//! memory; those of other processes are read from the inbox.

use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::{Either, select};
use pleach_core::{Question, SessionKey};
use pleach_session::ListQuestions;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::firing::fire;
use crate::parts::RunnerParts;
use crate::timers::{Due, Shared};
use crate::{RunError, Runner};

/// How often the inbox is read for deadlines that are not in memory.
const SCAN: Duration = Duration::from_secs(30);

/// How many questions are read from the inbox at once.
const PAGE: usize = 500;

/// How many questions are answered at once: after a downtime many may be overdue.
const AT_ONCE: usize = 32;

impl Runner {
    /// Reads the deadlines of the app's questions and sleeps from the inbox, and answers each question when its time has come,
    /// those that came while no process was up at once. Returns without waiting for that.
    ///
    /// A server calls it once, when it has started. A Runner without it wakes only what its own runs have begun. All open questions
    /// of the app are read again every 30 seconds, so that what a process leaves behind is found by another one. It ends with the last
    /// clone of the Runner, or when it is closed or drained.
    ///
    /// Several processes may do so at once: each question is answered once. A deadline waits for a run of this Runner, and, with
    /// [heartbeats](crate::RunnerBuilder::heartbeat), for one of another process. Without them that run fails at its next event, as if the
    /// session had been resumed here: where a lane works beside a question with a deadline, set a heartbeat, or let one process start the
    /// timers.
    ///
    /// # Panics
    /// Without a tokio runtime.
    pub fn start_timers(&self) {
        self.parts.timers.shared.state().scans = true;
        self.parts.run_timers(&Handle::current());
    }
}

impl RunnerParts {
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

    /// Reads the deadlines that are near from the inbox.
    async fn scan(&self, now: f64) -> Result<(), RunError> {
        let mut request = ListQuestions::new(&self.app_name).with_limit(PAGE);
        loop {
            let page = self.services.sessions.list_questions(request.clone()).await?;
            let deadlines = page.items.iter().filter_map(|item| Due::of(&item.session, &item.question));
            self.timers.shared.keep_near(now, deadlines);
            match page.next {
                Some(next) => request = request.with_after(next),
                None => return Ok(()),
            }
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
    let (mut woken_for, mut next_scan) = (0.0_f64, 0.0);
    loop {
        let Some(runner) = parts.upgrade().filter(|_| !shared.state().closed) else { return };
        let clock = Arc::clone(&runner.services.clock);
        let scans = shared.state().scans;
        let before = clock.now();
        if scans && next_scan <= before {
            next_scan = before + SCAN.as_secs_f64();
            if let Err(error) = runner.scan(before).await {
                tracing::warn!(app = %runner.app_name, %error, "the deadlines of questions were not read");
            }
        }
        // A scan takes its time, and a timer may end a little early by the clock.
        let now = clock.now().max(std::mem::take(&mut woken_for));
        for due in shared.take_due(now) {
            let (parts, shared, at_once) = (Weak::clone(&parts), Arc::clone(&shared), Arc::clone(&at_once));
            tokio::spawn(async move {
                fire(parts, &due, &at_once).await;
                shared.fired(&due);
            });
        }
        drop(runner);
        let scan = scans.then_some(next_scan);
        let changed = pin!(shared.changed.notified());
        let Some(wake) = shared.next().into_iter().chain(scan).reduce(f64::min) else {
            changed.await;
            continue;
        };
        // Not for long: the clock may be set.
        let pause = Duration::try_from_secs_f64(wake - now).unwrap_or_default();
        if let (Either::Left(_), true) = (select(clock.sleep(pause.min(SCAN)), changed).await, pause <= SCAN) {
            woken_for = wake;
        }
    }
}
