//! Finds the recorded result of an invocation by a replay of its root, without running a body or storing anything.

use std::pin::pin;
use std::sync::Arc;

use pleach_context::engine::{InvocationHandle, NodeEnd, NodeResult, RunHandle, RunRecord, is_reported};
use pleach_context::{History, NodeError};
use pleach_core::{Event, NodePath, Question};
use pleach_session::notes::{is_run_note, is_tried_again};
use pleach_session::{effective_events_of, open_questions};

use crate::RunError;
use crate::app::inner::RunnerInner;
use crate::opening::progress::is_aborted;
use crate::run::follow_options::is_checkpoint;
use crate::run::join::Difference;
use crate::run::outcome::Outcome;
use crate::run::root_driver::{RootDriver, must_stop};
use crate::run::steps::{Invocation, is_ended_by_plugin};
use crate::run::stop::StopSignal;
use crate::sessions::run_end_notes::is_noted_done;

/// Returns the outcome that history records.
///
/// The root node is replayed with the work gate closed: if a body would have to run, the invocation has not ended.
///
/// # Errors
/// The recorded failure; [`RunError::Unfinished`]; [`RunError::OtherMessage`] for an invocation that has not completed; a
/// workflow that no longer fits its history.
pub(crate) async fn replay_result(
    parts: &RunnerInner,
    begun: &Invocation,
    difference: Option<Difference>,
    stop: &StopSignal,
) -> Result<Outcome, RunError> {
    let ic = &begun.ic;
    let name = || (ic.session_key().clone(), ic.invocation_id().clone());
    let events = ic.events();
    let own = effective_events_of(&events, ic.invocation_id());
    let aborted = is_aborted(&own);
    let end = if aborted {
        None
    } else if is_ended_by_plugin(&own) {
        Some(NodeEnd::Done(NodeResult::default()))
    } else {
        let end = replay(parts, begun, stop).await?;
        end.or_else(|| is_noted_done(&own).then(|| NodeEnd::Done(NodeResult::default())))
    };
    if let Some(difference) = difference.filter(|_| !matches!(end, Some(NodeEnd::Done(_)))) {
        let (session, invocation) = name();
        return Err(difference.error(session, invocation));
    }
    match end {
        Some(end @ NodeEnd::Done(_)) => {
            if let Some(difference) = difference {
                // R1103: once the invocation is done, its id stands for the old message.
                tracing::warn!(invocation = %ic.invocation_id(), ?difference, "the invocation is done: the different request is ignored");
            }
            Ok(Outcome::of(ic, &*parts.root, end))
        }
        Some(end) => Ok(Outcome::of(ic, &*parts.root, end)),
        None if aborted => Ok(Outcome::Aborted),
        None if stop.is_requested() => Ok(Outcome::Cut(None)),
        None if must_stop(ic, stop) => Ok(Outcome::Aborted),
        None => {
            let (session, invocation) = name();
            if let Some(error) = failure(ic) {
                return Err(error);
            }
            let open = if only_asks(ic) || asked_last(ic) { open_questions_of(ic) } else { Vec::new() };
            if open.is_empty() {
                return Err(RunError::Unfinished { session, invocation });
            }
            Ok(Outcome::Waiting(open))
        }
    }
}

/// Replays the root node. Returns `None` when a body would have to run.
async fn replay(parts: &RunnerInner, begun: &Invocation, stop: &StopSignal) -> Result<Option<NodeEnd>, RunError> {
    let Invocation { ic, engine, entry, input, .. } = begun;
    ic.work_gate().close_for_replay();
    let root_ctx = RunHandle::root(ic.clone());
    let mut root = RootDriver::new(Box::pin(engine.run_root(&root_ctx, &*parts.root, entry, input.clone())));
    while !must_stop(ic, stop) && !ic.work_gate().is_wanted() {
        root.poll_until_work(ic, stop, None).await;
        // Events that a replay sends again are already stored.
        while let Some((ticket, event)) = ic.queue().take() {
            ic.queue().acknowledge(ticket, event);
        }
        if let Some(end) = root.take_end() {
            return end.map(Some).map_err(RunError::from);
        }
    }
    // Polls the other lanes as well, so that the gate knows all bodies that would run.
    root.poll_root_while(pin!(tokio::task::yield_now())).await;
    Ok(None)
}

/// Returns the failure of the invocation, if history proves that it ended with one.
///
/// Failed attempts and caught failures of children also leave error events. Only the error event of the root's last attempt proves the end.
// R404
fn failure(ic: &InvocationHandle) -> Option<RunError> {
    let events = ic.events();
    let (error, path) = last_failure(&effective_events_of(&events, ic.invocation_id()))?;
    (path.segments().count() == 1).then_some(RunError::Node { error, path })
}

/// Returns the failure that is the last event of an invocation, unless another attempt was to follow it.
pub(crate) fn last_failure(own: &[&Arc<Event>]) -> Option<(NodeError, NodePath)> {
    let last = last_of_runs(own).filter(|last| !is_tried_again(last) && !is_reported(last))?;
    let error = NodeError::new(last.error_code()?.to_owned(), last.error_message().unwrap_or_default().to_owned());
    Some((error, last.path().clone()))
}

/// Returns `true` if the replay of an invocation found no body that would do anything but ask. A body that has asked since its last
/// answer runs again on each resume.
pub(crate) fn only_asks(ic: &InvocationHandle) -> bool {
    let history = ic.history();
    let asks = |run: &NodePath| history.as_ref().and_then(|history| history.run(run)).is_some_and(RunRecord::asks_last);
    ic.work_gate().wanted().iter().all(|(run, _)| asks(run))
}

/// Returns `true` if the bodies that a resume would run may have completed before: their nodes have no output, so no event shows it, and
/// the app does not record completed runs.
pub(crate) fn may_be_done(ic: &InvocationHandle) -> bool {
    let history = ic.history();
    let history = history.as_deref();
    let is_over = |record: &RunRecord| !record.failed && !record.is_open();
    let may_be_over = |run: &NodePath| history.and_then(|history| history.run(run)).is_none_or(is_over);
    let wanted = ic.work_gate().wanted();
    let events = ic.events();
    let own = effective_events_of(&events, ic.invocation_id());
    // The next attempt would have left an event.
    let in_pause = last_of_runs(&own).is_some_and(|last| is_tried_again(last));
    let records_ends = ic.is_resumable() || history.is_some_and(History::records_ends);
    let is_rewound = events.last().is_some_and(|last| last.actions().rewind_before_invocation_id().is_some());
    !records_ends
        && !is_rewound
        && !in_pause
        && !wanted.is_empty()
        && wanted.iter().all(|(run, gives)| !gives && may_be_over(run))
}

/// Returns `true` if the last event of an invocation asks a question. A parallel lane may have been cut off.
fn asked_last(ic: &InvocationHandle) -> bool {
    let events = ic.events();
    let own = effective_events_of(&events, ic.invocation_id());
    // After a node's question its workflow may store a checkpoint.
    without_signals(&own).find(|event| !is_checkpoint(event)).is_some_and(|last| !last.questions().is_empty())
}

fn open_questions_of(ic: &InvocationHandle) -> Vec<Question> {
    let mut open = open_questions(&ic.events());
    open.retain(|question| question.invocation_id == *ic.invocation_id());
    open
}

/// Returns the last event of a run or its callers. A signal that a run has stored is included: it shows that the run was at work.
fn last_of_runs<'a>(own: &'a [&Arc<Event>]) -> Option<&'a Arc<Event>> {
    let is_of_run = |event: &Arc<Event>| event.kept_signal().is_none() || event.is_signal_stored_by_run();
    own.iter().rev().copied().find(|event| is_of_run(event) && !is_run_note(event))
}

/// Iterates over the events of runs and their callers, newest first, without kept signals and notes, which say nothing about the progress.
fn without_signals<'a>(own: &'a [&Arc<Event>]) -> impl Iterator<Item = &'a Arc<Event>> {
    own.iter().rev().copied().filter(|event| event.kept_signal().is_none() && !is_run_note(event))
}
