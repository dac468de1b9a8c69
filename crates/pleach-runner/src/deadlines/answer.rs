//! [`answer_at_deadline`]: answers a question at its deadline.

use std::sync::{Arc, Weak};
use std::time::Duration;

use pleach_context::RunConfig;
use pleach_core::{Event, Question};
use pleach_session::{SessionError, open_questions, report_fault};
use tokio::sync::Semaphore;

use crate::app::inner::RunnerInner;
use crate::deadlines::answer_id::event_id;
use crate::deadlines::schedule::PendingDeadline;
use crate::run::stream::Run;
use crate::sessions::resting_fork::resting_source;
use crate::{RunError, RunRequest};

/// The first and the longest pause before an answer is tried again.
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(30));

/// Answers a question with its default, and continues its invocation. Does nothing if the question has been answered in
/// the meantime.
pub(crate) async fn answer_at_deadline(parts: Weak<RunnerInner>, due: &PendingDeadline, at_once: &Semaphore) {
    let mut pause = PAUSES.0;
    let mut stored = false;
    loop {
        let Some(parts) = parts.upgrade().filter(|parts| !parts.timers.shared.state().closed) else { return };
        // If a run of this process is active, storing the answer would make it fail as stale, so wait for its end. The
        // Runner may be dropped in the meantime.
        if let Some(run) = parts.active.run_of_session(&due.session).filter(|run| !run.has_ended()) {
            drop(parts);
            run.ended().await;
            continue;
        }
        let tried = if stored { resume(&parts, due).await } else { answer(&parts, due, at_once, &mut stored).await };
        match tried {
            Ok(()) => return,
            Err(error) if is_transient(&error, stored) => {
                tracing::debug!(session = %due.session, question = due.question, %error, "a deadline is tried again");
            }
            Err(error) if !stored && is_refused(&error) => {
                tracing::warn!(session = %due.session, question = due.question, %error, "a deadline cannot be answered");
                return;
            }
            Err(RunError::Session(error)) if error.is_of_one_session() => {
                report_fault(&due.session, &error);
                return;
            }
            Err(error) => {
                // In the meantime the session was deleted, or the invocation was aborted, or it was continued and has
                // failed. The failure of a detached run is logged elsewhere.
                tracing::debug!(session = %due.session, question = due.question, %error, "a deadline is over");
                return;
            }
        }
        let clock = Arc::clone(&parts.services.clock);
        drop(parts);
        clock.sleep(pause).await;
        pause = (pause * 2).min(PAUSES.1);
    }
}

/// Returns `true` if another try may succeed, because the session was in use or the storage did not respond. If the
/// answer is stored, a stale error is final: the process that changed the session continues the run.
fn is_transient(error: &RunError, stored: bool) -> bool {
    match error {
        RunError::Busy { .. } => true,
        RunError::Session(error) if error.is_stale() => !stored,
        RunError::Session(error) => {
            matches!(
                error,
                SessionError::Locked { .. } | SessionError::Unavailable { .. } | SessionError::Storage { .. }
            )
        }
        _ => false,
    }
}

/// Returns `true` if the stored default was refused as an answer, for example because a new version of the program asks for another
/// type. The question stays open.
fn is_refused(error: &RunError) -> bool {
    matches!(error, RunError::Answer { .. } | RunError::Node { .. })
}

/// Stores the answer and continues the invocation. Sets `stored` once the answer is stored; the next try then resumes
/// the invocation.
async fn answer(
    parts: &Arc<RunnerInner>,
    due: &PendingDeadline,
    at_once: &Semaphore,
    stored: &mut bool,
) -> Result<(), RunError> {
    // The permit is held only until the answer is stored, because the rest of the run may take long.
    let permit = at_once.acquire().await;
    let session = parts.load_all(&due.session).await?;
    if parts.runs_elsewhere(&session).await? {
        return Err(RunError::Busy { session: due.session.clone(), invocation: Some(due.invocation.clone()) });
    }
    if resting_source(&session).is_some() {
        parts.timers.shared.postpone(due, parts.services.clock.now() + PAUSES.1.as_secs_f64());
        return Ok(());
    }
    let questions = open_questions(&session.events);
    let Some(question) =
        questions.iter().find(|question| PendingDeadline::of(&due.session, question).as_ref() == Some(due))
    else {
        return Ok(());
    };
    let request = request_at_deadline(due, question, &session.events)?;
    let mut run = Run::new(Arc::clone(parts), request).detach();
    // Awaiting the run returns its error.
    run.invocation_id().await.ok();
    drop(permit);
    let end = (&mut run).await;
    *stored = run.has_begun();
    match end {
        Err(RunError::Draining) => Ok(()),
        end => end,
    }
}

/// Returns the request that answers a question with its default, at its deadline.
///
/// # Errors
/// A default that cannot be written as JSON.
pub(crate) fn request_at_deadline(
    due: &PendingDeadline,
    question: &Question,
    events: &[Arc<Event>],
) -> Result<RunRequest, RunError> {
    let answer = question.default.clone().unwrap_or_default();
    let id = event_id(due, events);
    let request = RunRequest::answering_open(&due.session, question, answer, id, RunConfig::default())?;
    Ok(RunRequest { by_deadline: true, ..request })
}

/// Resumes the invocation whose answer is stored.
async fn resume(parts: &Arc<RunnerInner>, due: &PendingDeadline) -> Result<(), RunError> {
    let request = RunRequest::new(&due.session).invocation_id(due.invocation.clone());
    Run::new(Arc::clone(parts), request).detach().await
}
