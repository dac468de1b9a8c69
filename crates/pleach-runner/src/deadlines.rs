//! Answers the questions of an app at their deadlines: [`Runner::start_timers`], and the task that waits.
//!
//! A deadline is an argument of its question, so the log and the inbox hold all of them. A Runner keeps those in memory that are near;
//! later ones, and those of other processes, are read from the inbox.

use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::{Either, select};
use pleach_core::{Question, SessionKey};
use pleach_session::ListQuestions;
use tokio::runtime::Handle;

use crate::firing::fire;
use crate::parts::RunnerParts;
use crate::timers::{Due, Shared};
use crate::{RunError, Runner};

/// How often the inbox is read for deadlines that are not in memory.
const SCAN: Duration = Duration::from_secs(30);

/// How many questions are read from the inbox at once.
const PAGE: usize = 500;

impl Runner {
    /// Reads the deadlines of the app's questions and sleeps from the inbox, and answers each question when its time has come,
    /// those that came while no process was up at once. Returns without waiting for that.
    ///
    /// A server calls it once, when it has started. A Runner without it wakes what its own runs have begun. The inbox is read
    /// again every 30 seconds, so that what a process leaves behind is found by another one; several processes may do so at once:
    /// each question is answered once. It ends with the last clone of the Runner, or when it is closed or drained.
    ///
    /// # Panics
    /// Without a tokio runtime.
    pub fn start_timers(&self) {
        {
            let mut state = self.parts.timers.shared.state();
            (state.started, state.scans) = (true, true);
        }
        self.parts.run_timers(&Handle::current());
    }
}

impl RunnerParts {
    /// Keeps the deadlines of the questions for which a run waits.
    pub(crate) fn keep_deadlines(self: &Arc<Self>, session: &SessionKey, questions: &[Question]) {
        if questions.iter().all(|question| question.deadline.is_none()) {
            return;
        }
        let now = self.services.clock.now();
        let deadlines = questions.iter().filter_map(|question| Due::of(session, question));
        if self.timers.shared.keep(now, deadlines) {
            self.timers.shared.state().scans = true;
        }
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

    /// Reads the deadlines that are near from the inbox. Returns whether there are later ones.
    async fn scan(&self, now: f64) -> Result<bool, RunError> {
        let mut request = ListQuestions::new(&self.app_name).with_limit(PAGE);
        let mut has_later = false;
        loop {
            let page = self.services.sessions.list_questions(request.clone()).await?;
            let deadlines = page.items.iter().filter_map(|item| Due::of(&item.session, &item.question));
            has_later |= self.timers.shared.keep(now, deadlines);
            match page.next {
                Some(next) => request = request.with_after(next),
                None => return Ok(has_later),
            }
        }
    }
}

/// Waits for deadlines and answers their questions, as long as the Runner lives.
async fn wait(parts: Weak<RunnerParts>, shared: Arc<Shared>) {
    let (mut now, mut next_scan) = (0.0_f64, 0.0);
    loop {
        let Some(runner) = parts.upgrade().filter(|_| !shared.state().closed) else { return };
        let clock = Arc::clone(&runner.services.clock);
        now = now.max(clock.now());
        if next_scan <= now && shared.state().scans {
            next_scan = now + SCAN.as_secs_f64();
            look(&runner, now).await;
        }
        for due in shared.take_due(now) {
            tokio::spawn(fire(Weak::clone(&parts), due));
        }
        drop(runner);
        let scan = shared.state().scans.then_some(next_scan);
        let changed = pin!(shared.changed.notified());
        let Some(wake) = shared.next().into_iter().chain(scan).reduce(f64::min) else {
            changed.await;
            continue;
        };
        let pause = Duration::try_from_secs_f64(wake - now).unwrap_or_default();
        if let Either::Left(_) = select(clock.sleep(pause), changed).await {
            // A timer may end a little early by the clock.
            now = now.max(wake);
        }
    }
}

/// Reads the inbox, and notes whether it is read again.
async fn look(runner: &RunnerParts, now: f64) {
    match runner.scan(now).await {
        Ok(has_later) => {
            let mut state = runner.timers.shared.state();
            state.scans = has_later || state.started;
        }
        Err(error) => tracing::warn!(app = %runner.app_name, %error, "the deadlines of questions were not read"),
    }
}
