//! `pleach sessions show`: shows a session.

use pleach::{Question, Session, hide_secrets_of, open_questions, to_camel};
use serde_json::json;

use crate::args::One;
use crate::fault::Fault;
use crate::screen::{Screen, printable, short, time};
use crate::store::{load, open_to_read};

/// The maximum number of characters of a value that are shown.
const VALUE: usize = 100;

pub(super) async fn run(one: One, screen: &mut Screen) -> Result<(), Fault> {
    let store = open_to_read(&one.store).await?;
    let session = load(&*store, &one).await?;
    let questions = open_questions(&session.events);
    if screen.is_json {
        let key = session.key();
        return screen.value(&json!({
            "appName": key.app_name, "userId": key.user_id, "id": key.session_id,
            "lastUpdateTime": session.last_update_time(), "state": session.state, "unreadableState": session.unreadable,
            "eventCount": session.events.len(), "openQuestions": to_camel(&questions).map_err(std::io::Error::from)?,
        }));
    }
    write(&session, &questions, screen)
}

fn write(session: &Session, questions: &[Question], screen: &mut Screen) -> Result<(), Fault> {
    screen.line(format_args!("session  {}", printable(&session.key().to_string())))?;
    screen.line(format_args!("updated  {}", time(session.last_update_time())))?;
    screen.line(format_args!("events   {}", session.events.len()))?;
    for (name, value) in &session.state {
        let mut value = value.clone();
        hide_secrets_of(name, &mut value);
        screen.line(format_args!("state    {} = {}", printable(name), short(&value.to_string(), VALUE)))?;
    }
    for (name, reason) in &session.unreadable {
        screen.line(format_args!("state    {} cannot be read: {}", printable(name), short(reason, VALUE)))?;
    }
    for question in questions {
        let message = short(&question.message, VALUE);
        screen.line(format_args!("asks     {}: {message}", printable(&question.id)))?;
    }
    Ok(())
}
