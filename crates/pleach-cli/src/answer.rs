//! `pleach answer`: stores the answer to an open question.
//!
//! This command does not run the app, because the program that asked is elsewhere. It only stores the event that the
//! program's Runner would store first.

use std::collections::BTreeSet;

use pleach::{
    EventId, IdGen as _, InvocationId, Question, RandomIds, Session, SessionError, SessionServiceExt as _,
    answer_event, effective_events, open_questions,
};
use serde_json::{Value, json};

use crate::args::Answer;
use crate::fault::Fault;
use crate::screen::{Screen, printable};
use crate::store::{load, open};

pub(crate) async fn run(args: Answer, screen: &mut Screen) -> Result<(), Fault> {
    let store = open(&args.one.store).await?;
    let mut session = load(&*store, &args.one).await?;
    let question = question(&session, &args)?;
    if let Some(invocation) = running_invocation(&session, &question).filter(|_| !args.force) {
        return Err(Fault::MayRun { invocation: invocation.to_string() });
    }
    let mut event = answer_event(&session.events, &question, value(&args))?;
    event.set_id(EventId::from(RandomIds.uuid()));
    // The append refuses the answer if another process has appended since the session was loaded.
    let stored = store.append_event(&mut session, event).await.map_err(|error| match error {
        error @ SessionError::Stale { .. } => Fault::Changed(error),
        error => Fault::Session(error),
    })?;
    store.flush().await?;
    let (session, invocation) = (session.key(), &question.invocation_id);
    if screen.is_json {
        return screen.value(&json!({
            "answered": {
                "appName": session.app_name, "userId": session.user_id, "id": session.session_id,
                "invocationId": invocation, "questionId": question.id, "eventId": stored.id(),
            },
        }));
    }
    let (session, invocation) = (printable(&session.to_string()), printable(invocation.as_str()));
    screen.line(format_args!(
        "the answer is stored in session {session}; its program continues when it resumes invocation {invocation}"
    ))
}

fn value(args: &Answer) -> Value {
    let text = || Value::from(args.value.as_str());
    if args.text { text() } else { serde_json::from_str(&args.value).unwrap_or_else(|_| text()) }
}

/// Finds the open question.
fn question(session: &Session, args: &Answer) -> Result<Question, Fault> {
    let is_wanted = |question: &Question| {
        question.id == args.question
            && args.invocation.as_deref().is_none_or(|wanted| question.invocation_id.as_str() == wanted)
    };
    let mut found = open_questions(&session.events);
    found.retain(is_wanted);
    let invocations: BTreeSet<String> = found.iter().map(|question| question.invocation_id.to_string()).collect();
    if invocations.len() > 1 {
        let invocations = invocations.into_iter().collect();
        return Err(Fault::AmbiguousQuestion { id: args.question.clone(), invocations });
    }
    let missing =
        || Fault::Missing { session: session.key().clone(), what: format!("open question {:?}", args.question) };
    found.pop().ok_or_else(missing)
}

/// Returns an invocation that may be running, judged by its events. This is the question's own invocation if it has not
/// stopped to wait. Another invocation may be running if its last event is neither a question nor final. Checkpoints
/// are skipped.
fn running_invocation<'s>(session: &'s Session, question: &Question) -> Option<&'s InvocationId> {
    let mut seen = BTreeSet::new();
    let live = effective_events(&session.events);
    let mut last = live.into_iter().rev().filter(|event| !event.is_checkpoint() && seen.insert(event.invocation_id()));
    let found = last.find(|event| {
        let is_own = *event.invocation_id() == question.invocation_id;
        let has_stopped =
            if is_own { event.is_from_user() } else { event.is_final_response() && !event.is_from_user() };
        !has_stopped && event.questions().is_empty()
    });
    found.map(|event| event.invocation_id())
}
