//! From what a node yields to an event that can be stored.
// R411

use crate::engine::{Engine as _, RunHandle};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use pleach_core::{Event, OutputFor};
use serde_json::Value;

use super::Context;
use super::cell::{Output, RunCell, output_twice};
use super::checks::check_question_id;
use super::detached::asked_detached;
use super::park::LiveCall;
use crate::history::{mark_pending_route, mark_reported};
use crate::queue::Ticket;
use crate::{NodeError, NodeInput, NodeKind, Yield};

/// An event that is complete but for its id and time, which the Runner gives it when it is stored.
#[derive(Debug)]
pub struct Staged {
    /// The event.
    pub event: Arc<Event>,
    /// What it means for its run.
    pub carries: Carries,
}

/// Which part of a stored event is its run's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carries {
    /// None.
    Nothing,
    /// The output.
    Output,
    /// The message.
    Content,
}

impl Context {
    /// Sends an event, a value or a question, and waits until it is stored and handed to the caller of the run.
    ///
    /// Events before a node's result are sent so; the result itself is returned. Streaming fragments
    /// (`partial`) are handed out without waiting and never stored.
    ///
    /// # Errors
    /// A second output, an output or state change that a schema refuses, or a run that has ended already. Nothing is
    /// sent then.
    ///
    /// # Cancel safety
    /// Once polled, the event is stored also when the future is dropped.
    pub async fn emit(&self, item: impl Into<Yield>) -> Result<(), NodeError> {
        let _live = LiveCall::enter(self);
        let Some(staged) = self.engine().stage(item.into())? else { return Ok(()) };
        if staged.event.is_partial() {
            self.invocation().engine().queue().push_unwaited(staged.event);
            if self.invocation().engine().queue().is_crowded() {
                tokio::task::yield_now().await;
            }
            return Ok(());
        }
        let carries = staged.carries;
        let stored = Sending { ctx: self, event: Some(staged.event), ticket: None, carries }.await;
        self.engine().settle(carries, stored);
        Ok(())
    }

    /// An output that no reader could parse again is refused before anything copies it.
    pub(super) fn bounded(&self, output: Value) -> Result<Value, NodeError> {
        pleach_core::bounded(output).ok_or_else(|| {
            NodeError::validation(format!(
                "the output of node '{}' nests more than 127 levels deep: flatten it, or give it as a text or a file",
                self.node_name()
            ))
        })
    }

    pub(crate) fn bounded_event(&self, event: Event) -> Result<Event, NodeError> {
        pleach_core::bounded_event(event).map_err(|fault| {
            let node = self.node_name();
            NodeError::validation(format!(
                "an event of node '{node}': {fault}; flatten the value, or keep it as a text or a file"
            ))
        })
    }

    /// A typed output schema is enforced on every output that is yielded.
    // R302
    fn conform_output(&self, event: &mut Event) -> Result<(), NodeError> {
        let Some(schema) = self.output_schema().filter(|schema| schema.is_enforced()) else { return Ok(()) };
        if let Some(output) = event.output() {
            let converted = schema.apply(output)?;
            event.set_output(Some(converted));
        }
        Ok(())
    }

    /// What the event means for the run: its output, its questions, its route.
    fn track(&self, cell: &mut RunCell, event: &mut Event) -> Result<Carries, NodeError> {
        if event.output().is_some_and(Value::is_null) {
            event.take_output();
        }
        let as_message = event.node_info().message_as_output() == Some(true);
        let mut carries = Carries::Nothing;
        if event.output().is_some() {
            if cell.output.is_set() {
                return Err(output_twice());
            }
            carries = Carries::Output;
            cell.output = if as_message || event.is_partial() {
                // The stored event will not carry it: the message stands for it, or nothing is stored at all.
                carries = Carries::Nothing;
                cell.told_by_message = as_message && !event.is_partial();
                Output::Stored(NodeInput::json(event.output().cloned().unwrap_or_default()))
            } else {
                Output::Sending
            };
        } else if as_message && event.content().is_some() {
            if cell.output.is_set() {
                return Err(output_twice());
            }
            carries = Carries::Content;
            cell.output = Output::Sending;
        }
        if let Some(ids) = event.long_running_tool_ids() {
            for id in ids {
                cell.add_interrupt(id);
            }
        }
        let own = event.author().is_empty() || event.author() == self.node_name();
        if let Some(route) = event.actions().route().filter(|_| own) {
            cell.route = Some(route.clone());
            cell.route_pending = false;
        }
        Ok(carries)
    }

    /// Stamps what the run knows: author, invocation, path, branch, whose output it is, isolation scope.
    fn enrich(&self, cell: &mut RunCell, event: &mut Event) {
        event.set_author(self.author_in(cell));
        event.set_invocation_id(self.invocation().invocation_id().clone());
        event.set_path(self.node_path().clone());
        match event.branch() {
            None => event.set_branch(cell.branch.clone()),
            Some(branch) if branch.as_str().is_empty() => {
                cell.branch = None;
                event.set_branch(None);
            }
            Some(branch) => cell.branch = Some(branch.clone()),
        }
        if event.output().is_some() {
            self.address_output(cell, event);
        }
        if event.isolation_scope().is_none() && cell.isolation_scope.is_some() {
            event.set_isolation_scope(cell.isolation_scope.clone());
        }
    }

    fn address_output(&self, cell: &RunCell, event: &mut Event) {
        let Some(ancestors) = &self.inner.output_for else {
            event.set_output_for(OutputFor::Own);
            return;
        };
        let own = std::iter::once(self.node_path());
        event.set_output_for(OutputFor::Paths(own.chain(ancestors.iter()).cloned().collect()));
        if self.inner.claimed
            && event.function_responses().next().is_none()
            && let Some(branch) = self.claimer_branch(cell.branch.as_ref())
        {
            event.set_branch(branch);
        }
    }

    /// The branch of the furthest run that explicitly claimed this run's output; a fan-out lane ends the search.
    fn claimer_branch(&self, own: Option<&pleach_core::Branch>) -> Option<Option<pleach_core::Branch>> {
        let mut branch = own.cloned();
        let mut claimer = None;
        let mut ctx = self;
        while let (Some(_), Some(parent)) = (&ctx.inner.output_for, ctx.engine().parent()) {
            let above = parent.branch();
            if parent.inner.kind == NodeKind::Workflow {
                if branch != above {
                    break;
                }
            } else {
                claimer = Some(above.clone());
            }
            branch = above;
            ctx = parent;
        }
        claimer
    }

    fn stage_rest(&self, cell: &mut RunCell) -> Option<Staged> {
        let deferred = matches!(cell.output, Output::Pending(_)) && !cell.delegated;
        let has_deltas = has_changes(cell);
        if !deferred && !has_deltas && !cell.route_pending {
            return None;
        }
        let mut event = Event::new();
        let mut carries = Carries::Nothing;
        if deferred && let Output::Pending(value) = std::mem::replace(&mut cell.output, Output::Sending) {
            event.set_output(Some(value));
            carries = Carries::Output;
        }
        if cell.route_pending {
            event.actions_mut().set_route(cell.route.clone());
            cell.route_pending = false;
        }
        self.enrich(cell, &mut event);
        take_deltas(self, cell, &mut event);
        cell.sent = true;
        Some(Staged { event: Arc::new(event), carries })
    }

    /// A failed attempt is tried again, now or by a resume: its operations would count twice. What it has set stays.
    // R415
    fn drop_operations(&self, cell: &mut RunCell) {
        let delta = cell.actions.state_writes();
        if delta != 0 && !cell.actions.state_delta().is_empty() {
            self.invocation().session_state().drop_ops(cell.actions.state_delta_mut(), delta);
        }
    }
}

impl<'a> RunHandle<'a> {
    /// Completes what the body yields and records what it means for the run; `None` when nothing is to be sent.
    ///
    /// # Errors
    /// As [`Context::emit`].
    pub fn stage(self, item: Yield) -> Result<Option<Staged>, NodeError> {
        let checked = !matches!(item, Yield::Unchecked(_));
        let mut event = match item {
            Yield::Output(Value::Null) => return Ok(None),
            Yield::Output(value) => Event::new().with_output(value),
            Yield::Event(event) | Yield::Unchecked(event) => *event,
            Yield::Ask(ask) => {
                let id = ask
                    .interrupt_id
                    .clone()
                    .unwrap_or_else(|| self.0.invocation().engine().services().ids.uuid().to_string());
                check_question_id(&id)?;
                ask.into_event(id)
            }
            Yield::Delegated(output) => {
                let mut cell = self.0.cell();
                if cell.output.is_set() {
                    return Err(output_twice());
                }
                cell.delegated = true;
                if !output.is_null() {
                    cell.output = Output::Stored(output);
                }
                return Ok(None);
            }
        };
        if let Some(output) = event.take_output() {
            event.set_output(Some(self.0.bounded(output)?));
        }
        event = self.0.bounded_event(event)?;
        if checked {
            self.0.conform_output(&mut event)?;
        }
        for (key, value) in event.actions().state_delta() {
            self.0.check_state_entry(key, value)?;
        }
        for (key, ops) in event.actions().state_ops() {
            self.0.state().check_ops(key, ops)?;
        }
        if self.0.inner.detached && event.is_interrupt() {
            // Stored, it would stay open, and an answer could not lead anywhere (R643).
            return Err(asked_detached());
        }
        let mut cell = self.0.cell();
        if cell.parking.ended {
            return Err(self.0.has_ended());
        }
        self.0.pass_failures(&mut cell);
        if cell.passes && event.error_code().is_some() {
            // The body continues, unlike behind the error event of its end.
            mark_reported(&mut event);
        }
        let mut carries = self.0.track(&mut cell, &mut event)?;
        if cell.delegated && event.output().is_some() {
            // Successors get this output although history shows the delegate's (R706).
            cell.output = Output::Stored(NodeInput::json(event.take_output().unwrap_or_default()));
            carries = Carries::Nothing;
            if !event.actions().has_effects() {
                return Ok(None);
            }
        }
        self.0.enrich(&mut cell, &mut event);
        if let (true, Some(route)) =
            (cell.route_pending && (carries != Carries::Nothing || cell.has_delegate), &cell.route)
        {
            // The output completes the run, and the route comes with the next event (R412).
            mark_pending_route(&mut event, route);
        }
        cell.sent = true;
        if !event.is_partial() {
            take_deltas(self.0, &mut cell, &mut event);
        }
        if event.node_info().message_as_output() == Some(true) {
            cell.delegated = true;
        }
        Ok(Some(Staged { event: Arc::new(event), carries }))
    }

    /// Records that a staged event is stored: its output is shared with the event from now on.
    pub fn settle(self, carries: Carries, stored: Arc<Event>) {
        match carries {
            Carries::Nothing => {}
            Carries::Output => self.0.cell().output = Output::Stored(NodeInput::Output(stored)),
            Carries::Content => self.0.cell().output = Output::Stored(NodeInput::Content(stored)),
        }
    }

    /// Ends the body, and makes the event for what it left on the context, if anything.
    // R412
    #[must_use]
    pub fn finish(self) -> Option<Staged> {
        let mut cell = self.0.cell();
        let wakers = cell.end();
        self.0.settle_delegation(&mut cell);
        let rest = self.0.stage_rest(&mut cell);
        drop(cell);
        wakers.into_iter().for_each(std::task::Waker::wake);
        rest
    }

    /// Ends the body of a failed attempt and makes its error event.
    // R415
    #[must_use]
    pub fn fail(self, error: &NodeError) -> Staged {
        let mut event = Event::new().with_error(error.code(), error.message());
        let mut cell = self.0.cell();
        let wakers = cell.end();
        cell.passes = false;
        self.0.enrich(&mut cell, &mut event);
        self.0.drop_operations(&mut cell);
        take_deltas(self.0, &mut cell, &mut event);
        drop(cell);
        wakers.into_iter().for_each(std::task::Waker::wake);
        Staged { event: Arc::new(event), carries: Carries::Nothing }
    }

    /// Sends an event as it is and waits until it is stored.
    pub fn deliver(self, event: Event) -> impl Future<Output = Arc<Event>> + Unpin + 'a {
        Sending { ctx: self.0, event: Some(Arc::new(event)), ticket: None, carries: Carries::Nothing }
    }

    /// The output event whose emit was dropped before it was stored, if there is one.
    #[must_use]
    pub fn take_abandoned(self) -> Option<(Ticket, Carries)> {
        self.0.cell().abandoned.take()
    }

    /// Whether the body has sent anything yet.
    #[must_use]
    pub fn has_sent(self) -> bool {
        self.0.cell().sent
    }

    /// Whether the body changed state or saved files that stand on no event yet.
    #[must_use]
    pub fn has_pending_changes(self) -> bool {
        has_changes(&self.0.cell())
    }
}

fn has_changes(cell: &RunCell) -> bool {
    if cell.sends_requests() { cell.actions.has_effects() } else { cell.actions.has_effects_beside_requests() }
}

impl RunCell {
    pub(crate) fn add_interrupt(&mut self, id: &str) {
        if !self.interrupts.iter().any(|known| known == id) {
            self.interrupts.push(id.to_owned());
        }
    }
}

/// The same for the state alone. An event that changes none takes no lock.
fn take_state(ctx: &Context, cell: &mut RunCell, event: &mut Event) {
    let pending = cell.actions.state_writes();
    let keys = cell.actions.take_state_delta();
    if keys.is_none() && event.actions().state_delta().is_empty() && event.actions().state_ops().is_empty() {
        return;
    }
    let mut state = ctx.invocation().session_state();
    let delta = if keys.is_some() { pending } else { state.next_delta() };
    let mut keys = keys.unwrap_or_default();
    let ops = event.actions_mut().take_state_ops();
    let own = std::mem::take(event.actions_mut().state_delta_mut());
    for (key, value) in own.into_iter().filter(|(key, _)| !ops.contains_key(key)) {
        if !keys.contains_key(&key) {
            state.set(&key, value, delta);
            keys.insert(key, Value::Null);
        }
    }
    for (key, ops) in ops {
        // They were checked before; what has become of the value since then is for the store to refuse.
        ops.into_iter().for_each(|op| drop(state.apply(&key, op, delta)));
        keys.insert(key, Value::Null);
    }
    state.fill(&mut keys, delta);
    drop(state);
    let actions = event.actions_mut();
    actions.set_state_delta(keys);
    actions.set_state_writes(delta);
}

/// Moves pending changes onto the event; they win over the event's own, which become visible now.
// R411
fn take_deltas(ctx: &Context, cell: &mut RunCell, event: &mut Event) {
    take_state(ctx, cell, event);
    if cell.actions.is_empty() {
        return;
    }
    // Files, widgets, credentials, confirmations and control, which few runs ask for.
    let mut pending = std::mem::take(&mut cell.actions);
    if !cell.sends_requests() {
        cell.actions.take_requests(&mut pending);
    }
    event.actions_mut().merge(pending);
}

/// An event under way to the store.
struct Sending<'a> {
    ctx: &'a Context,
    event: Option<Arc<Event>>,
    ticket: Option<Ticket>,
    carries: Carries,
}

impl Future for Sending<'_> {
    type Output = Arc<Event>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Arc<Event>> {
        let queue = self.ctx.invocation().engine().queue();
        if let Some(event) = self.event.take() {
            let ticket = queue.push(event, cx.waker().clone());
            self.ctx.engine().note_event(ticket);
            self.ticket = Some(ticket);
            return Poll::Pending;
        }
        let Some(ticket) = self.ticket else { return Poll::Pending };
        let stored = queue.poll_stored(ticket, cx);
        if stored.is_ready() {
            self.ticket = None;
        }
        stored
    }
}

impl Drop for Sending<'_> {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket else { return };
        if self.carries == Carries::Nothing {
            self.ctx.invocation().engine().queue().forget(ticket);
        } else {
            // The event is stored all the same, and the run's output stands on it: the end of the run waits for it.
            self.ctx.cell().abandoned = Some((ticket, self.carries));
        }
    }
}
