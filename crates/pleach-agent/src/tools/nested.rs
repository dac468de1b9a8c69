//! [`Nested`]: an invocation within a tool call, which no session service sees.
// L196

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use pleach_context::engine::{Engine as _, InvocationSetup, NodeEnd, RunResult, root_context};
use pleach_context::{InvocationContext, Node, NodeError, NodeInput, StreamingMode, ToolContext};
use pleach_core::{Content, Event, EventId, InvocationId, Map};
use pleach_workflow::Engine;

/// What an invocation within a tool call has come to.
pub(super) struct Nested {
    /// Its events, without the message.
    pub(super) events: Vec<Arc<Event>>,
    /// The ids of the calls whose results are missing.
    pub(super) open: Vec<String>,
}

impl Nested {
    /// Runs `agent` with a message, on a copy of the session's state, and moves what it changes to the call.
    ///
    /// # Errors
    /// The failure of the agent, or of a plugin.
    pub(super) async fn run(agent: &dyn Node, message: Content, ctx: &ToolContext) -> Result<Self, NodeError> {
        let engine = Arc::new(Engine::new());
        let (ic, user_event) = open(agent, message, ctx, &engine);
        let plugins = &ic.engine().services().plugins;
        let mut events = Vec::new();
        if let Some(content) = plugins.before_run(&ic).await? {
            events.push(Arc::new(Event::from_author("model").with_content(content)));
            plugins.after_run(&ic).await?;
            return Ok(Self { events, open: Vec::new() });
        }
        let root_ctx = root_context(Arc::clone(&ic));
        let mut root = Box::pin(engine.run_root(&root_ctx, agent, &[], NodeInput::Content(user_event)));
        let end = loop {
            let next = poll_fn(|cx| match root.as_mut().poll(cx) {
                Poll::Ready(end) => Poll::Ready(Next::End(end)),
                Poll::Pending => {
                    // Tasks of their own send events, too.
                    ic.engine().queue().wake_on_event(cx.waker());
                    match ic.engine().queue().take() {
                        Some((ticket, event)) => Poll::Ready(Next::Event(ticket, event)),
                        None => Poll::Pending,
                    }
                }
            });
            match next.await {
                Next::End(end) => break end,
                Next::Event(ticket, mut event) => {
                    stamp(&ic, Arc::make_mut(&mut event));
                    let original = ic.engine().apply_event_hooks(&mut event).await?;
                    if !event.is_partial() {
                        record(&ic, &event);
                        adopt(&event, ctx)?;
                        events.push(Arc::clone(&event));
                    }
                    ic.engine().queue().acknowledge(ticket, original.unwrap_or(event));
                }
            }
        };
        let open = match end.map_err(|failure| failure.error)? {
            NodeEnd::Interrupted(ids) => unanswered(ids, &events),
            NodeEnd::Done(_) | NodeEnd::Waiting => Vec::new(),
        };
        plugins.after_run(&ic).await?;
        Ok(Self { events, open })
    }
}

/// Leaves out the calls that have a response, if only a status: the agent has continued with it.
// L197
fn unanswered(mut ids: Vec<String>, events: &[Arc<Event>]) -> Vec<String> {
    let has_response = |id: &str| {
        events.iter().flat_map(|event| event.function_responses()).any(|response| response.id.as_deref() == Some(id))
    };
    ids.retain(|id| !has_response(id));
    ids
}

enum Next {
    Event(pleach_context::engine::Ticket, Arc<Event>),
    End(RunResult),
}

/// Opens the invocation: the user, the files and the plugins are the caller's, the conversation is new.
fn open(
    agent: &dyn Node,
    message: Content,
    ctx: &ToolContext,
    engine: &Arc<Engine>,
) -> (Arc<InvocationContext>, Arc<Event>) {
    let outer = ctx.invocation();
    let services = outer.engine().services();
    let invocation_id = InvocationId::from(format!("e-{}", services.ids.uuid()));
    let mut event = Event::from_author("user").with_content(message);
    event.set_invocation_id(invocation_id.clone());
    event.set_id(EventId::from(services.ids.uuid()));
    event.set_timestamp(services.clock.now());
    let event = Arc::new(event);
    let mut config = outer.run_config().clone();
    config.streaming_mode = StreamingMode::None;
    let state: Map = ctx.state().to_map().into_iter().filter(|(key, _)| !key.starts_with("_adk")).collect();
    let setup = InvocationSetup {
        session_key: Arc::new(outer.session_key().clone()),
        invocation_id,
        agent_name: agent.spec().name.clone(),
        run_config: Arc::new(config),
        resumable: false,
        services: Arc::clone(services),
        compaction: None,
        scheduler: Arc::clone(engine) as _,
        abort: outer.abort_signal().clone(),
        state,
        events: vec![Arc::clone(&event)],
        last_update_time: services.clock.now(),
    };
    let ic = Arc::new(setup.open());
    ic.engine().set_user_event(Arc::clone(&event));
    (ic, event)
}

/// Gives an event its id and time.
fn stamp(ic: &InvocationContext, event: &mut Event) {
    let services = ic.engine().services();
    if event.id().is_empty() {
        event.set_id(EventId::from(services.ids.uuid()));
    }
    event.set_timestamp(services.clock.now());
}

/// Makes an event a part of the nested conversation.
fn record(ic: &InvocationContext, event: &Arc<Event>) {
    ic.engine().record(event, None, event.actions().state_writes(), ic.engine().services().clock.now());
}

/// Moves what an event changes to the call.
fn adopt(event: &Event, ctx: &ToolContext) -> Result<(), NodeError> {
    let delta = event.actions().state_delta();
    if !delta.is_empty() {
        ctx.state().update(delta.clone())?;
    }
    let files = event.actions().artifact_delta();
    if !files.is_empty() {
        ctx.with_actions(|actions| actions.artifact_delta_mut().extend(files.clone()))?;
    }
    Ok(())
}
