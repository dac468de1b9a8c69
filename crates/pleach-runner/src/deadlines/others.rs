//! [`read_deadlines`]: finds the deadlines of questions that other processes have asked.
//!
//! Each second it reads the questions that were asked since the last read. It also lists all questions from time to
//! time. The listing finds far deadlines, and questions whose events have old times, such as those in a fork.

use std::sync::{Arc, Weak};
use std::time::Duration;

use pleach_session::{ListQuestions, LogPlace, NewDeadlines};
use tokio::task::JoinHandle;

use crate::RunError;
use crate::app::inner::RunnerInner;
use crate::deadlines::schedule::DeadlineSchedule;

/// The interval at which new questions are read.
const READ_INTERVAL: Duration = Duration::from_secs(1);

/// The interval at which all questions are listed.
const LIST_INTERVAL: Duration = Duration::from_secs(30);

/// If a service can only list, listings take at most one part in this many of the time: the pause is this many times as
/// long as a listing.
const LISTING_SHARE: u32 = 20;

/// New deadlines are kept in memory if they come within this time, in seconds. A listing finds later ones in time. Most
/// questions are answered early, and a deadline that stays in memory costs a read of its session when it passes.
const NEW_WINDOW: f64 = 90.0;

/// Listed deadlines are kept in memory if they come within this time, in seconds.
const LISTED_WINDOW: f64 = 600.0;

/// The number of questions of a page. Large pages save work, because for each page the backend searches all sessions
/// that have ever asked a question.
const PAGE: usize = 10_000;

/// Keeps the near deadlines of the app's questions in memory, as long as the Runner lives.
pub(crate) async fn read_deadlines(parts: Weak<RunnerInner>, shared: Arc<DeadlineSchedule>) {
    let _reading = ReadingGuard(Arc::clone(&shared));
    let mut reader = DeadlineReader { shared, place: None, next_listing: 0.0, listing: None, fails: false };
    loop {
        let Some(runner) = parts.upgrade().filter(|_| !reader.shared.state().closed) else { return };
        let clock = Arc::clone(&runner.services.clock);
        let before = clock.now();
        let outcome = reader.read_new(&runner, before).await;
        let took = Duration::try_from_secs_f64(clock.now() - before).unwrap_or_default();
        // If a service can only list, the pause grows with the duration of a listing.
        let pause = if reader.place.is_some() || outcome.is_err() {
            READ_INTERVAL
        } else {
            (took * LISTING_SHARE).clamp(READ_INTERVAL, LIST_INTERVAL)
        };
        reader.report(&runner, outcome);
        drop(runner);
        clock.sleep(pause).await;
    }
}

/// Marks that a task reads deadlines. If the tokio runtime drops the task, another task can be started.
struct ReadingGuard(Arc<DeadlineSchedule>);

impl Drop for ReadingGuard {
    fn drop(&mut self) {
        self.0.state().reads = false;
    }
}

struct DeadlineReader {
    shared: Arc<DeadlineSchedule>,
    /// The place up to which the log has been read; `None` while the service does not report one.
    place: Option<LogPlace>,
    /// The time of the next listing of all questions, in seconds since the epoch.
    next_listing: f64,
    listing: Option<JoinHandle<Result<(), RunError>>>,
    fails: bool,
}

impl DeadlineReader {
    /// Lists all questions when it is time, and reads new ones. The two are independent, so a slow or failing read does
    /// not delay the listing.
    async fn read_new(&mut self, runner: &Arc<RunnerInner>, now: f64) -> Result<(), RunError> {
        let mut listed = Ok(());
        if let Some(listing) = self.listing.take_if(|listing| listing.is_finished()) {
            listed = listing.await.unwrap_or(Ok(()));
        }
        if listed.is_err() {
            self.next_listing = now;
        }
        if self.next_listing <= now && self.listing.is_none() {
            self.next_listing = now + LIST_INTERVAL.as_secs_f64();
            let (runner, shared) = (Arc::clone(runner), Arc::clone(&self.shared));
            self.listing = Some(tokio::spawn(async move { list(&runner, &shared).await }));
        }
        match self.new_deadlines(runner, now).await? {
            Some(new) => {
                self.shared.keep_until(now, now + NEW_WINDOW, &new.items);
                self.place = Some(new.place);
                listed
            }
            // The service can only list, so list after each pause.
            None => {
                self.next_listing = now;
                match self.listing.take() {
                    Some(listing) => listing.await.unwrap_or(Ok(())),
                    None => listed,
                }
            }
        }
    }

    async fn new_deadlines(&mut self, runner: &RunnerInner, now: f64) -> Result<Option<NewDeadlines>, RunError> {
        let sessions = &runner.services.sessions;
        let new = sessions.new_deadlines(&runner.app_name, self.place.as_ref(), now).await?;
        if new.is_some() || self.place.take().is_none() {
            return Ok(new);
        }
        // The service no longer knows the place: a listing finds what is missing, and reading continues from a new place.
        self.next_listing = now;
        Ok(sessions.new_deadlines(&runner.app_name, None, now).await?)
    }

    /// Logs an error. If a storage is down for long, only the first error is a warning.
    fn report(&mut self, runner: &RunnerInner, outcome: Result<(), RunError>) {
        match outcome {
            Ok(()) => self.fails = false,
            Err(error) if !std::mem::replace(&mut self.fails, true) => {
                tracing::warn!(app = %runner.app_name, %error, "the deadlines of questions could not be read");
            }
            Err(error) => {
                tracing::debug!(app = %runner.app_name, %error, "the deadlines of questions could not be read")
            }
        }
    }
}

/// Lists all open questions and keeps their near deadlines in memory.
async fn list(runner: &RunnerInner, shared: &DeadlineSchedule) -> Result<(), RunError> {
    let mut request = ListQuestions::new(&runner.app_name).with_limit(PAGE);
    loop {
        let now = runner.services.clock.now();
        let page = runner.services.sessions.list_questions(request.clone()).await?;
        shared.keep_until(now, now + LISTED_WINDOW, &page.items);
        match page.next {
            Some(next) => request = request.with_after(next),
            None => return Ok(()),
        }
    }
}
