//! Executes a job.

use anyhow::{Context as _, ensure};
use futures_util::future::try_join_all;
use pleach::{
    GetSessionConfig, ListQuestions, Session, SessionError, SessionKey, SessionService, SessionServiceExt as _,
};

use super::{COUNT, Job, OnStale, Report, Step, new_session, place, replay};

/// The number of its events in a session after which a worker lists the open questions.
const INBOX_EVERY: usize = 3;

/// The process that started a worker.
pub trait Parent: Sync {
    /// Receives a report. Returns only when it is certain that the parent gets the report, even if the worker dies.
    ///
    /// # Errors
    /// The parent has ended, so there is no reason to continue.
    fn report(&self, report: &Report) -> std::io::Result<()>;

    /// Blocks until the parent wants the next append of a paced job.
    ///
    /// # Errors
    /// The same as for [`report`](Self::report).
    fn wait(&self) -> std::io::Result<()>;
}

/// Does a job: opens its sessions one by one, creating those that are missing, and then appends to all of them at once.
///
/// # Errors
/// Any failure of the service, except stale sessions if the job handles them.
pub async fn work(service: &dyn SessionService, job: &Job, parent: &dyn Parent) -> anyhow::Result<()> {
    parent.report(&Report::Opened)?;
    let mut sessions = Vec::new();
    for number in 0..job.sessions {
        let key = SessionKey::new(job.app.as_str(), job.user.as_str(), format!("{}{number}", job.prefix));
        sessions.push(open(service, &key).await?);
    }
    parent.report(&Report::Ready)?;
    try_join_all(sessions.into_iter().map(|session| append_all(service, job, parent, session))).await?;
    Ok(())
}

async fn open(service: &dyn SessionService, key: &SessionKey) -> anyhow::Result<Session> {
    match service.create_session(new_session(key)).await {
        Ok(session) => Ok(session),
        Err(SessionError::AlreadyExists(_)) => load(service, key).await,
        Err(error) => Err(error).with_context(|| format!("cannot create {key}")),
    }
}

/// Loads a session and checks that its events, time and state belong to one moment.
async fn load(service: &dyn SessionService, key: &SessionKey) -> anyhow::Result<Session> {
    let session = service.get_session(key, GetSessionConfig::all()).await?;
    let session = session.with_context(|| format!("{key} is missing"))?;
    let events = place(session.last_update_time());
    ensure!(session.events.len() == events, "{} events in {key} when there were {events}", session.events.len());
    for (name, value) in replay(key.session_id.as_str(), session.events.iter().map(AsRef::as_ref)) {
        if name == COUNT {
            // Other sessions also add to this key.
            continue;
        }
        let found = session.state.get(&name);
        ensure!(found == Some(&value), "{name} of {key} is {found:?} after {events} events, but should be {value}");
    }
    Ok(session)
}

async fn append_all(
    service: &dyn SessionService,
    job: &Job,
    parent: &dyn Parent,
    mut session: Session,
) -> anyhow::Result<()> {
    let mut number = 0;
    while job.appends.is_none_or(|appends| number < appends) {
        if job.paced {
            parent.wait()?;
        }
        let step = Step { writer: job.writer.clone(), session: session.id().to_string(), number };
        let event = step.event(job.keys, place(session.last_update_time()));
        match service.append_event(&mut session, event).await {
            Ok(_) => {
                parent.report(&Report::Stored(step))?;
                number += 1;
                // If a worker is killed while it updates the inbox, the next worker repairs the inbox.
                if number % INBOX_EVERY == 0 {
                    let request = ListQuestions::new(job.app.as_str());
                    service.list_questions(request).await.context("cannot list questions")?;
                }
            }
            Err(error) if error.is_stale() && job.on_stale != OnStale::Fail => {
                parent.report(&Report::Stale(step))?;
                session = load(service, session.key()).await?;
                number += usize::from(job.on_stale == OnStale::Skip);
            }
            Err(error) => return Err(error).with_context(|| format!("cannot append {step}")),
        }
    }
    Ok(())
}
