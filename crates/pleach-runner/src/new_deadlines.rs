//! [`read_deadlines`]: finds the deadlines that other processes leave.
//!
//! Each second it reads what was asked since; far deadlines, and what this does not show, such as the copy of a fork, whose events have old times,
//! come with a listing of all questions.

use std::sync::{Arc, Weak};
use std::time::Duration;

use pleach_session::{ListQuestions, LogPlace};
use tokio::task::JoinHandle;

use crate::RunError;
use crate::parts::RunnerParts;
use crate::timers::Shared;

/// How often new questions are looked for.
const LOOK: Duration = Duration::from_secs(1);

/// How often all questions are listed.
const LIST: Duration = Duration::from_secs(30);

/// Looks take at most one of so many parts of the time.
const PARTS: u32 = 20;

/// How far ahead new deadlines are kept in memory, in seconds; later ones are listed before. Most questions are answered early, and what is in
/// memory is looked at when its time comes.
const NEW: f64 = 90.0;

/// How far ahead listed deadlines are kept, in seconds.
const LISTED: f64 = 600.0;

/// How many questions are listed at once.
const PAGE: usize = 500;

/// Keeps near deadlines of the app's questions, as long as the Runner lives.
pub(crate) async fn read_deadlines(parts: Weak<RunnerParts>, shared: Arc<Shared>) {
    let _reading = Reading(Arc::clone(&shared));
    let mut reader = Reader { shared, place: None, next_listing: 0.0, listing: None, fails: false };
    loop {
        let Some(runner) = parts.upgrade().filter(|_| !reader.shared.state().closed) else { return };
        let clock = Arc::clone(&runner.services.clock);
        let before = clock.now();
        let looked = reader.look(&runner, before).await;
        match &looked {
            Ok(()) => reader.fails = false,
            // A storage that is down for long is logged once.
            Err(error) if !std::mem::replace(&mut reader.fails, true) => {
                tracing::warn!(app = %runner.app_name, %error, "the deadlines of questions are not read");
            }
            Err(error) => tracing::debug!(app = %runner.app_name, %error, "the deadlines of questions are not read"),
        }
        drop(runner);
        let took = Duration::try_from_secs_f64(clock.now() - before).unwrap_or_default();
        clock.sleep((took * PARTS).clamp(LOOK, LIST)).await;
    }
}

/// The task that reads; another one can begin when its tokio runtime has ended it.
struct Reading(Arc<Shared>);

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.state().reads = false;
    }
}

struct Reader {
    shared: Arc<Shared>,
    /// Up to where the log was looked at; `None` while the service does not say.
    place: Option<LogPlace>,
    /// When all questions are listed again, in seconds since the epoch.
    next_listing: f64,
    listing: Option<JoinHandle<()>>,
    fails: bool,
}

impl Reader {
    async fn look(&mut self, runner: &Arc<RunnerParts>, now: f64) -> Result<(), RunError> {
        let sessions = &runner.services.sessions;
        let mut new = sessions.new_deadlines(&runner.app_name, self.place.as_ref(), now).await?;
        if new.is_none() && self.place.take().is_some() {
            // What the service does not know any more is listed, behind the new place.
            new = sessions.new_deadlines(&runner.app_name, None, now).await?;
            self.next_listing = now;
        }
        let Some(new) = new else {
            self.next_listing = now + LIST.as_secs_f64();
            return list(runner, &self.shared).await;
        };
        self.place = Some(new.place);
        self.shared.keep_until(now, now + NEW, &new.items);
        if self.next_listing <= now && self.listing.as_ref().is_none_or(JoinHandle::is_finished) {
            self.next_listing = now + LIST.as_secs_f64();
            // New questions are looked for meanwhile.
            let (runner, shared) = (Arc::clone(runner), Arc::clone(&self.shared));
            self.listing = Some(tokio::spawn(async move {
                if let Err(error) = list(&runner, &shared).await {
                    tracing::warn!(app = %runner.app_name, %error, "the deadlines of questions were not listed");
                }
            }));
        }
        Ok(())
    }
}

/// Keeps the near deadlines of all open questions.
async fn list(runner: &RunnerParts, shared: &Shared) -> Result<(), RunError> {
    let mut request = ListQuestions::new(&runner.app_name).with_limit(PAGE);
    loop {
        let now = runner.services.clock.now();
        let page = runner.services.sessions.list_questions(request.clone()).await?;
        shared.keep_until(now, now + LISTED, &page.items);
        match page.next {
            Some(next) => request = request.with_after(next),
            None => return Ok(()),
        }
    }
}
