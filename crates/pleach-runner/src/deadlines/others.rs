//! [`read_deadlines`]: finds the deadlines that other processes leave.
//!
//! Each second it reads what was asked since; far deadlines, and what this does not show, such as the copy of a fork, whose events have old times,
//! come with a listing of all questions.

use std::sync::{Arc, Weak};
use std::time::Duration;

use pleach_session::{ListQuestions, LogPlace, NewDeadlines};
use tokio::task::JoinHandle;

use crate::RunError;
use crate::app::inner::RunnerParts;
use crate::deadlines::schedule::Shared;

/// How often new questions are looked for.
const LOOK: Duration = Duration::from_secs(1);

/// How often all questions are listed.
const LIST: Duration = Duration::from_secs(30);

/// The listings of a service that only lists take at most one of so many parts of the time.
const PARTS: u32 = 20;

/// How far ahead new deadlines are kept in memory, in seconds; later ones are listed before. Most questions are answered early, and what is in
/// memory is looked at when its time comes.
const NEW: f64 = 90.0;

/// How far ahead listed deadlines are kept, in seconds.
const LISTED: f64 = 600.0;

/// How many questions are listed at once. Each page costs the backend a look at all sessions that have ever asked.
const PAGE: usize = 10_000;

/// Keeps near deadlines of the app's questions, as long as the Runner lives.
pub(crate) async fn read_deadlines(parts: Weak<RunnerParts>, shared: Arc<Shared>) {
    let _reading = Reading(Arc::clone(&shared));
    let mut reader = Reader { shared, place: None, next_listing: 0.0, listing: None, fails: false };
    loop {
        let Some(runner) = parts.upgrade().filter(|_| !reader.shared.state().closed) else { return };
        let clock = Arc::clone(&runner.services.clock);
        let before = clock.now();
        let looked = reader.look(&runner, before).await;
        let took = Duration::try_from_secs_f64(clock.now() - before).unwrap_or_default();
        // A service that only lists is asked less often, the longer that takes.
        let pause = if reader.place.is_some() || looked.is_err() { LOOK } else { (took * PARTS).clamp(LOOK, LIST) };
        reader.report(&runner, looked);
        drop(runner);
        clock.sleep(pause).await;
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
    listing: Option<JoinHandle<Result<(), RunError>>>,
    fails: bool,
}

impl Reader {
    /// Lists all questions when it is time, and looks for new ones meanwhile: a look that waits or fails does not keep the listing back.
    async fn look(&mut self, runner: &Arc<RunnerParts>, now: f64) -> Result<(), RunError> {
        let mut listed = Ok(());
        if let Some(listing) = self.listing.take_if(|listing| listing.is_finished()) {
            listed = listing.await.unwrap_or(Ok(()));
        }
        if listed.is_err() {
            self.next_listing = now;
        }
        if self.next_listing <= now && self.listing.is_none() {
            self.next_listing = now + LIST.as_secs_f64();
            let (runner, shared) = (Arc::clone(runner), Arc::clone(&self.shared));
            self.listing = Some(tokio::spawn(async move { list(&runner, &shared).await }));
        }
        match self.new_deadlines(runner, now).await? {
            Some(new) => {
                self.shared.keep_until(now, now + NEW, &new.items);
                self.place = Some(new.place);
                listed
            }
            // The service only lists: as often as the pause allows.
            None => {
                self.next_listing = now;
                match self.listing.take() {
                    Some(listing) => listing.await.unwrap_or(Ok(())),
                    None => listed,
                }
            }
        }
    }

    async fn new_deadlines(&mut self, runner: &RunnerParts, now: f64) -> Result<Option<NewDeadlines>, RunError> {
        let sessions = &runner.services.sessions;
        let new = sessions.new_deadlines(&runner.app_name, self.place.as_ref(), now).await?;
        if new.is_some() || self.place.take().is_none() {
            return Ok(new);
        }
        // What the service does not know any more is listed, behind the new place.
        self.next_listing = now;
        Ok(sessions.new_deadlines(&runner.app_name, None, now).await?)
    }

    /// Logs an error; of a storage that is down for long the first one.
    fn report(&mut self, runner: &RunnerParts, looked: Result<(), RunError>) {
        match looked {
            Ok(()) => self.fails = false,
            Err(error) if !std::mem::replace(&mut self.fails, true) => {
                tracing::warn!(app = %runner.app_name, %error, "the deadlines of questions are not read");
            }
            Err(error) => tracing::debug!(app = %runner.app_name, %error, "the deadlines of questions are not read"),
        }
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
