//! [`fire`]: answers a question at its deadline.

use std::sync::{Arc, Weak};
use std::time::Duration;

use pleach_context::engine::stable_uuid;
use pleach_core::{EventId, Question, SessionKey};
use pleach_session::SessionError;

use crate::answer::response_part;
use crate::message::of_parts;
use crate::parts::RunnerParts;
use crate::question_ref::{AnswerChecks, AnswerOptions, QuestionRef};
use crate::run::Run;
use crate::timers::Due;
use crate::{RunError, RunRequest, Runner};

/// The first pause before an answer is tried again, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(30));

/// Answers a question with its default, and runs what follows. A question that has been answered meanwhile stays as it is.
pub(crate) async fn fire(parts: Weak<RunnerParts>, due: Due) {
    let mut pause = PAUSES.0;
    loop {
        let Some(parts) = parts.upgrade() else { return };
        match try_fire(&parts, &due).await {
            Ok(()) => return,
            Err(error) if is_passing(&error) => {
                tracing::debug!(session = %due.session, question = due.question, %error, "a deadline is tried again");
            }
            Err(error) => {
                // Closed meanwhile, or the run behind it has failed, which its session records.
                let (session, question) = (&due.session, &due.question);
                tracing::warn!(%session, question, %error, "the run behind a deadline has ended with an error");
                return;
            }
        }
        let clock = Arc::clone(&parts.services.clock);
        drop(parts);
        clock.sleep(pause).await;
        pause = (pause * 2).min(PAUSES.1);
    }
}

/// Whether the answer may succeed later: the session was in use, or the storage did not respond.
fn is_passing(error: &RunError) -> bool {
    match error {
        RunError::Busy { .. } => true,
        RunError::Session(error) => {
            error.is_stale()
                || matches!(
                    error,
                    SessionError::Locked { .. } | SessionError::Unavailable { .. } | SessionError::Storage { .. }
                )
        }
        _ => false,
    }
}

async fn try_fire(parts: &Arc<RunnerParts>, due: &Due) -> Result<(), RunError> {
    // A run of this process would be overtaken by the answer.
    while let Some(run) = parts.active.of(&due.session).filter(|run| run.end().is_none()) {
        run.ended().await;
    }
    let runner = Runner { parts: Arc::clone(parts) };
    let questions = runner.questions(&due.session).await?;
    let is_due = |question: &&Question| question.id == due.question && question.invocation_id == due.invocation;
    let Some(question) = questions.iter().find(is_due) else { return Ok(()) };
    let answer = response_part(&question.id, question.default.clone().unwrap_or_default())?;
    let mut request = RunRequest::new(&due.session).message(of_parts(vec![answer]));
    request.message_id = Some(event_id(due));
    let options = AnswerOptions::new().only_if_open(true).queue(true);
    request.answer_checks = Some(AnswerChecks { questions: vec![QuestionRef::from(question)], options });
    match Run::new(Arc::clone(parts), request).detach().await {
        Err(RunError::Draining) => Ok(()),
        end => end,
    }
}

/// Returns the id of the event that answers: the same in every process, so that no session holds two.
fn event_id(due: &Due) -> EventId {
    let SessionKey { app_name, user_id, session_id } = &due.session;
    let session = [app_name.as_str(), user_id.as_str(), session_id.as_str()];
    EventId::from(stable_uuid(session.into_iter().chain([due.invocation.as_str(), &due.question])))
}
