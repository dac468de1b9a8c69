//! Makes an event that can be stored from what a node yields.
// R411

use std::sync::Arc;

use pleach_core::{
    Branch, Event, OutputFor, RequestInput, SIGNAL, TIMER, drop_reserved_metadata, is_reserved_metadata_key,
    is_reserved_state_key, nests_within,
};
use pleach_schema::validate_answer;
use pleach_session::notes::TRIED_AGAIN;
use serde_json::Value;

use super::deltas::{has_changes, take_deltas};
use crate::context::check_open;
use crate::engine::{Output, OutputSource, RunHandle, RunState, Transfer, asked_in_background, output_twice};
use crate::history::{mark, mark_pending_route, mark_reported, mark_rounds};
use crate::{Context, NodeError, NodeInput, NodeKind, Yield};

/// An output with at most this many levels cannot make an event too deep.
const SHALLOW: usize = 32;

/// Decides whether an event that is sent keeps reserved metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotePolicy {
    /// Node code sends the event, so an engine's note in it would be forged.
    Dropped,
    /// The runtime sends the event.
    Kept,
}

/// An event that is complete except for its id and time, which the Runner assigns when it stores the event.
#[derive(Debug)]
pub(crate) struct Staged {
    /// The event.
    pub(crate) event: Arc<Event>,
    /// The part of the event that is the run's output.
    pub(crate) output_source: OutputSource,
}

impl RunHandle {
    /// Ends the body, and makes the event for its pending output, route and changes, if there are any.
    // R412
    pub(super) fn stage_rest_at_end(&self) -> Option<Staged> {
        let mut cell = self.ctx.cell();
        let wakers = cell.end();
        self.ctx.record_delegation(&mut cell);
        let rest = self.ctx.stage_rest(&mut cell);
        drop(cell);
        wakers.into_iter().for_each(std::task::Waker::wake);
        rest
    }

    /// Ends the body of a failed attempt and makes its error event. `retries` says that another attempt follows.
    // R415
    pub(super) fn stage_failure(&self, error: &NodeError, retries: bool) -> Staged {
        let mut event = Event::new().with_error(error.code(), error.message());
        let mut cell = self.ctx.cell();
        let wakers = cell.end();
        cell.has_caught = false;
        self.ctx.enrich(&mut cell, &mut event);
        self.ctx.drop_operations(&mut cell);
        take_deltas(&self.ctx, &mut cell, &mut event);
        drop(cell);
        wakers.into_iter().for_each(std::task::Waker::wake);
        if retries || self.is_tried_again_above(error) {
            mark(&mut event, TRIED_AGAIN, Value::Bool(true));
        }
        Staged { event: Arc::new(event), output_source: OutputSource::None }
    }

    /// Ends the body of a failed attempt that gets no error event. Returns the event for the counts of plugins, if
    /// there are any.
    pub(super) fn stage_counts(&self) -> Option<Staged> {
        let mut cell = self.ctx.cell();
        let wakers = cell.end();
        self.ctx.record_delegation(&mut cell);
        self.ctx.discard(&mut cell);
        let counted = has_changes(&cell).then(|| {
            let mut event = Event::new();
            self.ctx.enrich(&mut cell, &mut event);
            take_deltas(&self.ctx, &mut cell, &mut event);
            Staged { event: Arc::new(event), output_source: OutputSource::None }
        });
        drop(cell);
        wakers.into_iter().for_each(std::task::Waker::wake);
        counted
    }

    /// Drops the changes that no event carries yet. Reserved keys stay, because the calls that plugins have counted
    /// were made. Values that were set stay visible in this process.
    pub fn discard_changes(&self) {
        self.ctx.discard(&mut self.ctx.cell());
    }

    /// Returns `true` if the body has sent anything yet.
    #[must_use]
    pub fn has_sent(&self) -> bool {
        self.ctx.cell().sent
    }

    /// Returns `true` if the body has state changes or saved files that no event carries yet.
    #[must_use]
    pub fn has_pending_changes(&self) -> bool {
        has_changes(&self.ctx.cell())
    }
}

impl Context {
    /// Completes what the body yields to an event, and records what it means for the run. Returns `None` if nothing is
    /// to be sent.
    ///
    /// # Errors
    /// As [`Context::emit`].
    pub(crate) fn stage(&self, item: Yield, notes: NotePolicy) -> Result<Option<Staged>, NodeError> {
        let checked = !matches!(item, Yield::Unchecked(_));
        let is_shallow = matches!(&item, Yield::Output(output) if nests_within(output, SHALLOW));
        let mut event = Event::new();
        if !self.fill(&mut event, item)? {
            return Ok(None);
        }
        if !is_shallow {
            self.bound_output(&mut event)?;
            self.bound_event(&mut event)?;
        }
        if self.speaks_for_others() {
            event.replace_nul();
        }
        self.check_event(&mut event, checked)?;
        if notes == NotePolicy::Dropped {
            drop_notes(&mut event);
        }
        let mut cell = self.cell();
        if cell.has_ended() {
            return Err(self.has_ended());
        }
        self.record_caught_failures(&mut cell);
        if cell.has_caught && event.error_code().is_some() {
            // The body continues, unlike after the error event that ends an attempt.
            mark_reported(&mut event);
        }
        let mut output_source = self.track(&mut cell, &mut event)?;
        if cell.delegated && event.output().is_some() {
            // Successors get this output, although history shows the delegate's output (R706).
            cell.output = Output::Stored(NodeInput::json(event.take_output().unwrap_or_default()));
            output_source = OutputSource::None;
            if !event.actions().has_effects() {
                return Ok(None);
            }
        }
        self.enrich(&mut cell, &mut event);
        if let (true, Some(route)) =
            (cell.route_pending && (output_source != OutputSource::None || cell.delegate.is_some()), &cell.route)
        {
            // The output completes the run, and the route comes with the next event (R412).
            mark_pending_route(&mut event, route);
        }
        cell.sent = true;
        if !event.is_partial() {
            take_deltas(self, &mut cell, &mut event);
            if let Some(rounds) = cell.lane.agent.as_mut().and_then(|part| part.rounds.take()) {
                mark_rounds(&mut event, &rounds);
            }
            cell.lane.escalated |= event.actions().escalate() == Some(true);
            if let Some(target) = event.actions().transfer_to_agent() {
                cell.lane.agent_part().transfer = Some(Transfer { agent: target.into(), since: None });
            }
        }
        if event.node_info().message_as_output() == Some(true) {
            cell.delegated = true;
        }
        Ok(Some(Staged { event: Arc::new(event), output_source }))
    }

    /// Fills a new event with what the body yields. Returns false if nothing is to be sent. The event is filled in
    /// place, because events are large and returning one would copy it.
    #[inline]
    fn fill(&self, event: &mut Event, item: Yield) -> Result<bool, NodeError> {
        match item {
            Yield::Output(Value::Null) => return Ok(false),
            Yield::Output(value) => event.set_output(Some(value)),
            Yield::Event(given) | Yield::Unchecked(given) => *event = *given,
            Yield::Ask(ask) => {
                let new_id = || self.inner.invocation.services().ids.uuid().to_string();
                let id = ask.interrupt_id.clone().unwrap_or_else(new_id);
                check_reserved(&id)?;
                *event = question_event(id, *ask)?;
            }
            Yield::Delegated(output) => {
                let mut cell = self.cell();
                if cell.output.is_set() {
                    return Err(output_twice());
                }
                cell.delegated = true;
                if !output.is_null() {
                    cell.output = Output::Stored(output);
                }
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Checks the content of an event before it changes anything. If `checked` is false, the output already conforms to
    /// its schema.
    #[inline]
    fn check_event(&self, event: &mut Event, checked: bool) -> Result<(), NodeError> {
        if checked {
            self.conform_output(event)?;
        }
        for (key, value) in event.actions().state_delta() {
            check_open(key)?;
            self.check_state_entry(key, value)?;
        }
        for (key, ops) in event.actions().state_ops() {
            check_open(key)?;
            self.state().check_ops(key, ops)?;
        }
        if self.inner.background && event.is_interrupt() {
            // If it were stored, the question would stay open, and no answer could resume the child (R643).
            return Err(asked_in_background());
        }
        Ok(())
    }

    fn discard(&self, cell: &mut RunState) {
        self.drop_operations(cell);
        let mut dropped = std::mem::take(&mut cell.lane.actions);
        let writes = dropped.state_writes();
        let mut keys = dropped.take_state_delta().unwrap_or_default();
        keys.retain(|key, _| is_reserved_state_key(key));
        if !keys.is_empty() {
            cell.lane.actions.set_state_delta(keys);
            cell.lane.actions.set_state_writes(writes);
        }
    }

    /// Enforces a typed output schema on every output that is yielded.
    // R302
    fn conform_output(&self, event: &mut Event) -> Result<(), NodeError> {
        let Some(schema) = self.output_schema().filter(|schema| schema.is_enforced()) else { return Ok(()) };
        if let Some(output) = event.output() {
            let converted = schema.apply(output)?;
            event.set_output(Some(converted));
        }
        Ok(())
    }

    /// Records what the event means for the run: its output, its questions and its route.
    fn track(&self, cell: &mut RunState, event: &mut Event) -> Result<OutputSource, NodeError> {
        if event.output().is_some_and(Value::is_null) {
            event.take_output();
        }
        let as_message = event.node_info().message_as_output() == Some(true);
        let mut output_source = OutputSource::None;
        if event.output().is_some() {
            if cell.output.is_set() {
                return Err(output_twice());
            }
            output_source = OutputSource::Output;
            cell.output = if as_message || event.is_partial() {
                // The stored event will not carry the output: the message replaces it, or nothing is stored at all.
                output_source = OutputSource::None;
                cell.output_in_message = as_message && !event.is_partial();
                Output::Stored(NodeInput::json(event.output().cloned().unwrap_or_default()))
            } else {
                Output::Sending
            };
        } else if as_message && event.content().is_some() {
            if cell.output.is_set() {
                return Err(output_twice());
            }
            output_source = OutputSource::Content;
            cell.output = Output::Sending;
        }
        if let Some(ids) = event.long_running_tool_ids().filter(|_| !event.is_partial()) {
            for id in ids {
                cell.lane.waits = true;
                cell.interrupts.get_or_insert_default().insert(id.to_owned());
            }
        }
        let own = event.author().is_empty() || event.author() == self.node_name();
        if let Some(route) = event.actions().route().filter(|_| own) {
            cell.route = Some(Box::new(route.clone()));
            cell.route_pending = false;
        }
        Ok(output_source)
    }

    /// Sets the fields that come from the run: author, invocation, path, branch, isolation scope, and the runs whose
    /// output the event carries.
    fn enrich(&self, cell: &mut RunState, event: &mut Event) {
        event.set_author(self.author_in(cell));
        event.set_invocation_id(self.invocation().invocation_id().clone());
        event.set_path(cell.lane.event_path().unwrap_or_else(|| self.node_path()).clone());
        match event.branch() {
            None => event.set_branch(cell.lane.branch.clone()),
            Some(branch) if branch.as_str().is_empty() => {
                cell.lane.branch = None;
                event.set_branch(None);
            }
            Some(branch) => cell.lane.branch = Some(branch.clone()),
        }
        if event.output().is_some() {
            self.address_output(cell, event);
        }
        if event.isolation_scope().is_none() && cell.lane.isolation_scope.is_some() {
            event.set_isolation_scope(cell.lane.isolation_scope.clone());
        }
    }

    fn address_output(&self, cell: &RunState, event: &mut Event) {
        let Some(ancestors) = &self.inner.output_for else {
            event.set_output_for(OutputFor::Own);
            return;
        };
        let own = std::iter::once(self.node_path());
        event.set_output_for(OutputFor::Paths(own.chain(ancestors.iter()).cloned().collect()));
        if self.inner.is_delegate
            && event.function_responses().next().is_none()
            && let Some(branch) = self.delegator_branch(cell.lane.branch.as_ref())
        {
            event.set_branch(branch);
        }
    }

    /// Returns the branch of the furthest run above that explicitly took over this run's output. A fan-out lane ends
    /// the search.
    fn delegator_branch(&self, own: Option<&Branch>) -> Option<Option<Branch>> {
        let mut branch = own.cloned();
        let mut delegator = None;
        let mut ctx = self;
        while let (Some(_), Some(parent)) = (&ctx.inner.output_for, ctx.inner.parent.as_deref()) {
            let above = parent.branch();
            if parent.inner.kind == NodeKind::Workflow {
                if branch != above {
                    break;
                }
            } else {
                delegator = Some(above.clone());
            }
            branch = above;
            ctx = parent;
        }
        delegator
    }

    fn stage_rest(&self, cell: &mut RunState) -> Option<Staged> {
        let deferred = matches!(cell.output, Output::Pending(_)) && !cell.delegated;
        let has_deltas = has_changes(cell);
        if !deferred && !has_deltas && !cell.route_pending {
            return None;
        }
        let mut event = Event::new();
        let mut output_source = OutputSource::None;
        if deferred && let Output::Pending(value) = std::mem::replace(&mut cell.output, Output::Sending) {
            event.set_output(Some(value));
            output_source = OutputSource::Output;
        }
        if cell.route_pending {
            event.actions_mut().set_route(cell.route.as_deref().cloned());
            cell.route_pending = false;
        }
        self.enrich(cell, &mut event);
        take_deltas(self, cell, &mut event);
        cell.sent = true;
        Some(Staged { event: Arc::new(event), output_source })
    }
}

fn drop_notes(event: &mut Event) {
    let Some(metadata) = event.custom_metadata().filter(|given| given.keys().any(|key| is_reserved_metadata_key(key)))
    else {
        return;
    };
    let mut metadata = metadata.clone();
    drop_reserved_metadata(&mut metadata);
    event.set_custom_metadata(Some(metadata).filter(|metadata| !metadata.is_empty()));
}

/// Makes the event that asks a question.
///
/// # Errors
/// An error for an id or payload that cannot be stored, or a default that cannot be used.
pub(crate) fn question_event(id: String, ask: RequestInput) -> Result<Event, NodeError> {
    check_question_id(&id)?;
    if let Some(fault) = ask.payload_fault() {
        return Err(NodeError::validation(format!("the payload of question '{id}' has no JSON form: {fault}")));
    }
    check_default(&id, &ask)?;
    Ok(ask.into_event(id))
}

/// Refuses the ids of pleach's own questions, which are not for people.
pub(crate) fn check_reserved(id: &str) -> Result<(), NodeError> {
    match [TIMER, SIGNAL].into_iter().find(|prefix| id.starts_with(prefix)) {
        None => Ok(()),
        Some(prefix) => Err(NodeError::value(format!(
            "the id of question '{id}' begins with '{prefix}', which is reserved for pleach's own questions: use another id"
        ))),
    }
}

/// Refuses a blank id, which no inbox would show, and U+0000, which no store can hold.
fn check_question_id(id: &str) -> Result<(), NodeError> {
    if id.trim().is_empty() {
        return Err(NodeError::value("the id of a question must not be blank: set one with `RequestInput::ask`"));
    }
    if id.contains('\0') {
        return Err(NodeError::value("the id of a question contains U+0000, which cannot be stored: use another id"));
    }
    Ok(())
}

/// Refuses a default without a deadline, because it would never be used. Also refuses a default that does not fit the
/// schema, because it would fail the run at the deadline.
fn check_default(id: &str, ask: &RequestInput) -> Result<(), NodeError> {
    if ask.deadline.is_none() {
        return match &ask.default {
            None => Ok(()),
            Some(_) => Err(NodeError::value(format!(
                "question '{id}' has a default and no deadline: set one with `RequestInput::with_deadline`"
            ))),
        };
    }
    if ask.deadline.is_some_and(|deadline| !deadline.is_finite()) {
        return Err(NodeError::value(format!("the deadline of question '{id}' is not a number")));
    }
    let Some(schema) = &ask.response_schema else { return Ok(()) };
    validate_answer(schema, ask.default.as_ref().unwrap_or(&Value::Null)).map_err(|fault| {
        NodeError::value(format!(
            "the answer to question '{id}' at its deadline does not fit its schema: {fault}; set a default that fits with `RequestInput::with_default`"
        ))
    })
}
