//! The desk, which has a session for each ticket. The history of a session shows the status of its ticket.

use std::path::Path;
use std::time::Duration;

use pleach::prelude::*;
use pleach::{
    GetSessionConfig, InboxItem, InvocationId, ListSessions, Question, Run, Session, SessionError, SessionKey,
    SqliteOptions, SqliteSessionService, open_questions,
};

use crate::args::Args;
use crate::fault::Fault;
use crate::flow::{Approval, REPLY, Reply, flow};
use crate::screen::Screen;
use crate::shop::Shop;
use crate::tickets::Ticket;

const APP: &str = "support_desk";

/// How long to wait for another process that has locked the database, before this is reported.
const PATIENCE: Duration = Duration::from_secs(3);

/// Runs the workflow and keeps its sessions.
#[derive(Debug)]
pub(crate) struct Desk {
    runner: Runner,
}

/// The status of a ticket before it is worked on.
#[derive(Debug)]
pub(crate) enum Standing {
    /// Nothing is stored.
    New,
    /// The process that worked on the ticket has died.
    CutOff(InvocationId),
    /// The ticket is done, or waits for a person.
    Ended(Outcome),
}

/// The end of a run.
#[derive(Debug)]
pub(crate) enum Outcome {
    Closed(Reply),
    Waiting(Case),
}

/// An open question of a ticket, and its session.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) session: SessionKey,
    pub(crate) question: Box<Question>,
}

impl From<InboxItem> for Case {
    fn from(InboxItem { session, question }: InboxItem) -> Self {
        Self { session, question: Box::new(question) }
    }
}

impl Case {
    /// Returns the customer's text, which is part of the question, for the person who answers.
    pub(crate) fn ticket_text(&self) -> &str {
        self.question.payload.as_ref().and_then(|payload| payload.as_str()).unwrap_or_default()
    }
}

impl Desk {
    /// Opens the database, and creates it if it does not exist.
    pub(crate) async fn open(args: &Args) -> Result<Self, Fault> {
        Self::open_file(&args.db).await
    }

    /// Opens a database that an earlier run has created.
    pub(crate) async fn open_existing(args: &Args) -> Result<Self, Fault> {
        match args.db.try_exists() {
            Ok(true) => Self::open_file(&args.db).await,
            Ok(false) => Err(Fault::NoDatabase(args.db.clone())),
            Err(source) => Err(Fault::Unreadable { name: args.db.display().to_string(), source }),
        }
    }

    async fn open_file(db: &Path) -> Result<Self, Fault> {
        let sessions = SqliteSessionService::open_with(db, SqliteOptions::new().with_busy_timeout(PATIENCE)).await?;
        let runner = Runner::builder(APP).root(flow()?).sessions(sessions).provide(Shop::open()).build()?;
        Ok(Self { runner })
    }

    pub(crate) async fn close(self) -> Result<(), Fault> {
        self.runner.close().await.map_err(|error| Fault::run("closing the database", error))
    }

    /// Checks that no ticket has the same id as a ticket of another user. Questions are named after tickets, so an
    /// answer must find exactly one.
    pub(crate) async fn check_owners(&self, tickets: &[Ticket]) -> Result<(), Fault> {
        for ticket in tickets {
            let known = self.runner.sessions().find_sessions(&APP.into(), &ticket.id.as_str().into()).await?;
            if let Some(other) = known.iter().find(|key| key.user_id.as_str() != ticket.user) {
                return Err(Fault::OtherOwner { ticket: ticket.id.clone(), owner: other.user_id.to_string() });
            }
        }
        Ok(())
    }

    /// Starts work on a ticket.
    pub(crate) async fn begin(&self, ticket: &Ticket, screen: &mut Screen) -> Result<Outcome, Fault> {
        let run = self.runner.run(ticket.user.as_str(), ticket.id.as_str(), Message::data(ticket));
        follow(run, &key_of(ticket), screen).await
    }

    /// Continues a ticket where a process has stopped. Completed nodes do not run again.
    pub(crate) async fn resume(
        &self,
        ticket: &Ticket,
        invocation: &InvocationId,
        screen: &mut Screen,
    ) -> Result<Outcome, Fault> {
        let run = self.runner.resume(ticket.user.as_str(), ticket.id.as_str(), invocation);
        follow(run, &key_of(ticket), screen).await
    }

    /// Continues a ticket that waited.
    pub(crate) async fn answer(&self, case: &Case, approval: Approval, screen: &mut Screen) -> Result<Outcome, Fault> {
        let session = (&case.session.user_id, &case.session.session_id);
        let run = self.runner.answer(session, &case.question.id, approval);
        let run = run.map_err(|error| Fault::run(&case.session.session_id, error))?;
        follow(run, &case.session, screen).await
    }

    /// Reads the status of a ticket.
    pub(crate) async fn standing(&self, ticket: &Ticket) -> Result<Standing, Fault> {
        let session = self.runner.sessions().get_session(&key_of(ticket), GetSessionConfig::all()).await?;
        session.as_ref().map_or(Ok(Standing::New), standing)
    }

    /// Finds an open question in any session.
    pub(crate) async fn open_question(&self, id: &str) -> Result<Case, Fault> {
        let inbox = self.runner.inbox_of_all_users().await;
        let mut inbox = inbox.map_err(|error| Fault::run("reading the open questions", error))?;
        match inbox.iter().position(|item| item.question.id == id) {
            Some(place) => Ok(Case::from(inbox.swap_remove(place))),
            None => {
                let open = inbox.into_iter().map(|item| item.question.id).collect();
                Err(Fault::NotOpen { id: id.to_owned(), open })
            }
        }
    }

    /// Returns all sessions with their events, by ticket.
    pub(crate) async fn sessions(&self) -> Result<Vec<Session>, Fault> {
        let service = self.runner.sessions();
        let mut heads = service.list_sessions(ListSessions::new(APP)).await?.sessions;
        heads.sort_by(|a, b| (a.id(), a.user_id()).cmp(&(b.id(), b.user_id())));
        let mut sessions = Vec::new();
        for head in heads {
            sessions.extend(service.get_session(head.key(), GetSessionConfig::all()).await?);
        }
        Ok(sessions)
    }
}

fn key_of(ticket: &Ticket) -> SessionKey {
    SessionKey::new(APP, ticket.user.as_str(), ticket.id.as_str())
}

/// Shows the messages of a run until it ends or waits.
async fn follow(mut run: Run, session: &SessionKey, screen: &mut Screen) -> Result<Outcome, Fault> {
    let fault = |error| Fault::run(&session.session_id, error);
    while let Some(event) = run.next().await {
        let text = event.map_err(fault)?.text();
        if !text.is_empty() {
            screen.step(&text)?;
        }
    }
    match run.output::<Reply>().await {
        Ok(reply) => Ok(Outcome::Closed(reply)),
        Err(RunError::Waiting(mut questions)) if !questions.is_empty() => {
            // The workflow asks one question at a time.
            Ok(Outcome::Waiting(Case { session: session.clone(), question: Box::new(questions.remove(0)) }))
        }
        Err(error) => Err(fault(error)),
    }
}

/// Returns the status of a session's ticket. Only the history of the session determines it.
pub(crate) fn standing(session: &Session) -> Result<Standing, Fault> {
    if let Some(reply) = session.state.get(REPLY.name()) {
        let reply = serde_json::from_value(reply.clone());
        let reply = reply.map_err(|source| Fault::Foreign { session: session.key().clone(), source })?;
        return Ok(Standing::Ended(Outcome::Closed(reply)));
    }
    if let Some(question) = open_questions(&session.events).into_iter().next() {
        return Ok(Standing::Ended(Outcome::Waiting(Case::from(InboxItem {
            session: session.key().clone(),
            question,
        }))));
    }
    let last = session.events.last();
    Ok(last.map_or(Standing::New, |event| Standing::CutOff(event.invocation_id().clone())))
}

/// Returns true if a run failed because another process is working on the same session.
pub(crate) fn is_elsewhere(error: &RunError) -> bool {
    matches!(error, RunError::Session(SessionError::Stale { .. } | SessionError::AlreadyExists(_)))
}
