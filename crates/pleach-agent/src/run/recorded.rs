//! [`Recorded`]: the state of a run, read from its stored events.
// L117–L120

use std::sync::Arc;

use pleach_context::engine::{InvocationHandle, RunHandle, is_reported};
use pleach_core::{Event, InvocationId, NodePath};
use pleach_session::notes::is_run_note;

use super::Closing;
use super::call_numbers::CallNumbers;
use super::next::Next;
use super::reader::{Reader, Run};

/// The state of a run, read from its stored events.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) next: Next,
    /// The text of the agent's answer so far.
    pub(crate) said: String,
    /// The number of session events before the first event of the run.
    pub(crate) began_at: usize,
    /// How much of the end of the run is recorded.
    pub(crate) closing: Closing,
    /// The ids of the long-running calls without a result.
    pub(crate) jobs: Vec<String>,
    /// The numbers of the calls that the run has made.
    pub(crate) numbers: CallNumbers,
    /// The number of consecutive failures of the model's code.
    pub(crate) code_failures: u32,
    /// The event with the output of the run.
    pub(crate) output: Option<Arc<Event>>,
    /// The agent that the run transfers to after its next action, and the index of the transfer's event in the session.
    pub(crate) transfer: Option<(String, usize)>,
}

/// The part of the session's events to read.
#[derive(Clone, Copy)]
struct Range {
    /// The index of the first event that may belong to the invocation.
    first: usize,
    /// The index of the first event that may belong to the run.
    since: usize,
}

impl Recorded {
    /// Reads the agent's events in the run of `handle`: the events at `path`, from the session's event `since` on.
    pub(crate) fn of(handle: &RunHandle, path: &NodePath, agent: &str, since: usize) -> Self {
        let ic = handle.invocation();
        let scope = handle.isolation_scope();
        ic.with_events(|events| {
            let range = Range { first: first_event(events, ic), since };
            Self::read(events, range, ic.invocation_id(), path, agent, scope.as_deref())
        })
    }

    /// Reads the events of the run at `path`, and the answers to its questions.
    fn read(
        events: &[Arc<Event>],
        Range { first, since }: Range,
        invocation: &InvocationId,
        path: &NodePath,
        agent: &str,
        scope: Option<&str>,
    ) -> Self {
        let run = Run { path, agent, scope };
        let mut reader = Reader::default();
        let mut began_at = events.len();
        let mut output = None;
        let of_invocation = events.iter().enumerate().skip(first);
        for (place, event) in of_invocation.filter(|(_, event)| event.invocation_id() == invocation) {
            let (is_own, is_now) = (run.has_given(event), place >= since);
            if is_own && is_now && is_failure(event) {
                // The attempt ended; the next one continues where it stopped.
                reader.has_failed = true;
            } else if is_own && event.is_partial() {
            } else if is_own && !is_now {
                reader.number_calls(event);
            } else if is_own && reader.has_transferred() {
                // After a transfer, only the end mark can still belong to this run. Any other event of this agent
                // belongs to another run of the agent.
                if event.actions().end_of_agent() == Some(true) {
                    reader.closing = Closing::Closed;
                }
                break;
            } else if is_own {
                began_at = began_at.min(place);
                reader.take_own(event, place);
                if event.output().is_some() || event.message_as_output() == Some(true) {
                    output = Some(event);
                }
            } else if is_now
                && event.author() == "user"
                && event.kept_signal().is_none()
                && !is_run_note(event)
                && (event.path().is_root() || event.path() == path)
            {
                reader.take_from_user(event, run);
            }
        }
        Self {
            next: reader.next(),
            jobs: reader.jobs().map(|call| call.id.to_owned()).collect(),
            said: reader.said,
            began_at,
            closing: reader.closing,
            numbers: reader.numbers,
            code_failures: reader.code_failures,
            output: output.cloned(),
            transfer: reader.transfer.map(|(target, place)| (target.to_owned(), place)),
        }
    }
}

/// Returns the index of the first event that can belong to the invocation.
///
/// A new invocation starts after the last event of any other invocation. Only summaries may lie in between. On a
/// resume the index is 0.
pub(crate) fn first_event(events: &[Arc<Event>], invocation: &InvocationHandle) -> usize {
    if invocation.history().is_some() {
        return 0;
    }
    let is_other = |event: &Arc<Event>| {
        event.invocation_id() != invocation.invocation_id() && event.actions().compaction().is_none()
    };
    events.iter().rposition(is_other).map_or(0, |last| last + 1)
}

/// Returns `true` if the event ends a failed attempt of the run.
pub(crate) fn is_failure(event: &Event) -> bool {
    event.error_code().is_some() && event.content().is_none() && !is_reported(event)
}
