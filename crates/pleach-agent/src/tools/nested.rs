//! [`Nested`]: an invocation inside a tool call, which no session service sees.
// L196

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use pleach_context::engine::{InvocationHandle, InvocationSetup, RunHandle, RunResult};
use pleach_context::{Node, NodeError, NodeInput, StreamingMode, ToolContext};
use pleach_core::{Content, Event, EventId, InvocationId, Map};
use pleach_workflow::Engine;

/// The outcome of an invocation that runs inside a tool call.
pub(super) struct Nested {
    /// The events of the invocation, without the message.
    pub(super) events: Vec<Arc<Event>>,
    /// The ids of the calls whose results are missing.
    pub(super) open: Vec<String>,
}

impl Nested {
    /// Runs `agent` with a message, on a copy of the session's state, and moves its changes to the call.
    ///
    /// # Errors
    /// The agent or a plugin failed.
    pub(super) async fn run(agent: &dyn Node, message: Content, ctx: &ToolContext) -> Result<Self, NodeError> {
        let engine = Arc::new(Engine::new());
        let ic = open(agent, ctx, &engine);
        let plugins = &ic.services().plugins;
        let message = match plugins.on_user_message(&ic, &message).await? {
            Some(replaced) => Content { role: Some("user".into()), ..replaced },
            None => message,
        };
        let user_event = add_message(&ic, message);
        let mut events = Vec::new();
        if let Some(content) = plugins.before_run(&ic).await? {
            events.push(Arc::new(Event::from_author("model").with_content(content)));
            plugins.after_run(&ic).await?;
            return Ok(Self { events, open: Vec::new() });
        }
        let root_ctx = RunHandle::root(ic.clone());
        let mut root = Box::pin(engine.run_root(&root_ctx, agent, &[], NodeInput::Content(user_event)));
        let end = loop {
            let next = poll_fn(|cx| match root.as_mut().poll(cx) {
                Poll::Ready(end) => Poll::Ready(Next::End(end)),
                Poll::Pending => {
                    // Other tasks may also send events.
                    ic.queue().wake_on_event(cx.waker());
                    match ic.queue().take() {
                        Some((ticket, event)) => Poll::Ready(Next::Event(ticket, event)),
                        None => Poll::Pending,
                    }
                }
            });
            match next.await {
                Next::End(end) => break end,
                Next::Event(ticket, mut event) => {
                    stamp(&ic, Arc::make_mut(&mut event));
                    let original = ic.apply_event_hooks(&mut event).await?;
                    if !event.is_partial() {
                        adopt(&ic, &event, ctx)?;
                        record(&ic, &event);
                        events.push(Arc::clone(&event));
                    }
                    ic.queue().acknowledge(ticket, original.unwrap_or(event));
                }
            }
        };
        if let Err(failure) = end {
            plugins.on_run_error(&ic, &failure.error).await;
            return Err(failure.error);
        }
        plugins.after_run(&ic).await?;
        let open = unanswered(&events);
        Ok(Self { events, open })
    }
}

/// Returns the sorted ids of the long-running calls without a response. A status with which the agent has continued is
/// a response as well.
// L197
fn unanswered(events: &[Arc<Event>]) -> Vec<String> {
    let mut ids = BTreeSet::new();
    for event in events {
        ids.extend(event.long_running_tool_ids().into_iter().flatten().cloned());
        for response in event.function_responses() {
            ids.remove(response.id.as_deref().unwrap_or_default());
        }
    }
    ids.into_iter().collect()
}

enum Next {
    Event(pleach_context::engine::Ticket, Arc<Event>),
    End(RunResult),
}

/// Opens the invocation. The user, the files and the plugins are the caller's; the conversation is new.
fn open(agent: &dyn Node, ctx: &ToolContext, engine: &Arc<Engine>) -> InvocationHandle {
    let run = RunHandle::of(ctx.clone());
    let outer = run.invocation();
    let services = outer.services();
    let invocation_id = InvocationId::of_uuid(services.ids.uuid());
    let mut config = outer.run_config().clone();
    config.streaming_mode = StreamingMode::None;
    let state: Map = ctx.state().to_map().into_iter().filter(|(key, _)| !key.starts_with("_adk")).collect();
    let setup = InvocationSetup {
        session_key: Arc::new(outer.session_key().clone()),
        invocation_id,
        agent_name: agent.spec().name.clone(),
        agent: agent.agent().cloned(),
        run_config: Arc::new(config),
        resumable: false,
        services: Arc::clone(services),
        compaction: None,
        scheduler: Arc::clone(engine) as _,
        caller: Some(Arc::clone(ctx.invocation())),
        abort: outer.abort_signal().clone(),
        state,
        unreadable: outer.unreadable_keys().clone(),
        events: Vec::new(),
        last_update_time: services.clock.now(),
    };
    setup.open()
}

/// Records the message as the first event of the conversation.
fn add_message(ic: &InvocationHandle, message: Content) -> Arc<Event> {
    let mut event = Event::from_author("user").with_content(message);
    event.set_invocation_id(ic.invocation_id().clone());
    stamp(ic, &mut event);
    let event = Arc::new(event);
    record(ic, &event);
    ic.set_user_event(Arc::clone(&event));
    event
}

/// Sets the time of an event, and its id if it has none.
fn stamp(ic: &InvocationHandle, event: &mut Event) {
    let services = ic.services();
    if event.id().is_empty() {
        event.set_id(EventId::from(services.ids.uuid()));
    }
    event.set_timestamp(services.clock.now());
}

/// Records an event in the nested conversation.
fn record(ic: &InvocationHandle, event: &Arc<Event>) {
    ic.record(event, None, event.actions().state_writes(), ic.services().clock.now());
}

/// Moves the changes of an event to the call. Operations stay operations, which the session's store applies. Therefore
/// no change of a parallel agent or of another session is lost.
fn adopt(ic: &InvocationHandle, event: &Arc<Event>, ctx: &ToolContext) -> Result<(), NodeError> {
    let mut changes = Arc::clone(event);
    ic.resolve_delta(&mut changes);
    let ops = changes.actions().state_ops();
    let mut delta = changes.actions().state_delta().clone();
    delta.retain(|key, _| !ops.contains_key(key));
    if !delta.is_empty() {
        ctx.reserved_state().update(delta)?;
    }
    for (key, op) in ops.iter().flat_map(|(key, ops)| ops.iter().map(move |op| (key, op))) {
        ctx.reserved_state().apply(key, op.clone())?;
    }
    let files = event.actions().artifact_delta();
    if !files.is_empty() {
        ctx.with_actions(|actions| actions.artifact_delta_mut().extend(files.clone()))?;
    }
    Ok(())
}
