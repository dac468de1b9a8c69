//! [`Invocation`]: the steps of one run, from the message to the end.
// R1103, R1107, R1108, R1130

use std::pin::pin;
use std::sync::Arc;

use futures_util::future;
use pleach_context::NodeInput;
use pleach_context::engine::{InvocationHandle, NodeEnd, NodeResult, RunHandle, RunResult};
use pleach_core::{Content, Event, Map, Question};
use pleach_session::notes::{ENDED_BY_PLUGIN, engine_note};
use pleach_workflow::Engine;
use serde_json::Value;
use smol_str::SmolStr;

use crate::RunError;
use crate::app::inner::RunnerInner;
use crate::run::abort_events::abort_events;
use crate::run::event_writer::EventWriter;
use crate::run::outcome::Outcome;
use crate::run::repeat_filter::RepeatFilter;
use crate::run::root_driver::{must_stop, stopped};
use crate::run::root_events::RootEvents;
use crate::run::state::RunState;
use crate::run::task::Yielded;

/// An invocation that is ready to run its root node.
pub(crate) struct Invocation {
    pub(crate) ic: InvocationHandle,
    pub(crate) engine: Arc<Engine>,
    /// The names of the agents from the root agent down to the agent that runs.
    pub(crate) entry: Vec<SmolStr>,
    pub(crate) store: EventWriter,
    pub(crate) input: NodeInput,
    /// The stored event of the message.
    pub(crate) user_event: Option<Arc<Event>>,
    /// Drops events that a resume would only repeat.
    pub(crate) repeats: RepeatFilter,
}

impl Invocation {
    /// Returns an invocation whose root has no input yet.
    pub(crate) fn new(
        ic: InvocationHandle,
        engine: Arc<Engine>,
        entry: Vec<SmolStr>,
        store: EventWriter,
        repeats: RepeatFilter,
    ) -> Self {
        Self { ic, engine, entry, store, input: NodeInput::Null, user_event: None, repeats }
    }

    /// Runs the root node: stores each event, yields it, and then lets its node continue. Returns the outcome.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the nodes.
    pub(crate) async fn run(
        mut self: Box<Self>,
        parts: Arc<RunnerInner>,
        run: Arc<RunState>,
    ) -> Result<Outcome, RunError> {
        let ended = self.run_root(&parts, &run).await;
        let Self { ic, store, .. } = &mut *self;
        if parts.heartbeat.is_some() {
            // Boxed, as everything rare: the future of each run is as large as its largest part.
            Box::pin(parts.note_end(ic, store, &ended)).await;
        }
        finish(&parts, &run, ic, store, ended?).await
    }

    /// Runs the root node, and closes the invocation if it was aborted. Returns the outcome.
    async fn run_root(&mut self, parts: &Arc<RunnerInner>, run: &Arc<RunState>) -> Result<Outcome, RunError> {
        let Self { ic, engine, entry, store, input, user_event, repeats } = self;
        if let Some(event) = user_event.take() {
            run.yield_event(Yielded::message(event)).await;
        }
        let early_exit = stop_early(ic, store).await?;
        let outcome = match early_exit {
            Some(event) => {
                run.yield_event(Yielded::event(event)).await;
                outcome_of(parts, ic, run, Some(Ok(NodeEnd::Done(NodeResult::default()))))?
            }
            None => {
                let root_ctx = RunHandle::root(ic.clone());
                let root = Box::pin(engine.run_root(&root_ctx, &*parts.root, entry, std::mem::take(input)));
                let mut events = RootEvents::new(ic, parts, run, store, repeats, root);
                while let Some(shown) = events.next().await? {
                    run.yield_event(shown).await;
                }
                outcome_of(parts, ic, run, events.into_end())?
            }
        };
        if matches!(outcome, Outcome::Aborted) {
            let events = abort_events(&ic.events(), ic.invocation_id(), &parts.root.spec().name);
            for event in events.into_iter().map(Arc::new) {
                let stored = store.store_closing_event(ic, event).await?;
                run.yield_event(Yielded::event(stored)).await;
            }
        }
        Ok(outcome)
    }
}

/// Asks the plugins whether the run ends before its root begins. If so, stores and returns the event with their content.
async fn stop_early(ic: &InvocationHandle, store: &mut EventWriter) -> Result<Option<Arc<Event>>, RunError> {
    let content = ic.services().plugins.before_run(ic).await.map_err(RunError::Plugin)?;
    let Some(content) = content else { return Ok(None) };
    Ok(Some(store.store_event(ic, early_exit(ic, content)).await?.shown))
}

/// Returns the outcome of a run. `ended` is the result of the root; `None` if the run had to stop before the root ended.
fn outcome_of(
    parts: &RunnerInner,
    ic: &InvocationHandle,
    run: &RunState,
    ended: Option<RunResult>,
) -> Result<Outcome, RunError> {
    Ok(match ended {
        _ if run.stop.is_requested() => Outcome::Cut(Some(ic.invocation_id().clone())),
        Some(ended) if !ic.is_aborted() => Outcome::of(ic, &*parts.root, ended?),
        _ => Outcome::Aborted,
    })
}

/// Ends a run whose events are stored: calls the plugins' `after_run` hooks and summarises the history. Returns the outcome.
async fn finish(
    parts: &Arc<RunnerInner>,
    run: &Arc<RunState>,
    ic: &InvocationHandle,
    store: &mut EventWriter,
    outcome: Outcome,
) -> Result<Outcome, RunError> {
    keep_what_waits(parts, ic, &outcome);
    // Runs that had nothing to execute are announced as well.
    parts.active.announce(run);
    let succeeded = !matches!(outcome, Outcome::Aborted | Outcome::Cut(_));
    ic.services().plugins.after_run(ic).await.map_err(RunError::Plugin)?;
    if let (Some(config), true) = (&parts.compaction, succeeded && store.has_stored() && !must_stop(ic, &run.stop)) {
        run.sum_up();
        // If the summary is aborted, a later invocation makes it.
        let compacting = Box::pin(config.compact(ic, store));
        future::select(compacting, pin!(stopped(ic, &run.stop))).await;
    }
    Ok(outcome)
}

/// Keeps the deadlines of the questions that an invocation waits for, and forgets the deadlines of answered ones. If the invocation does
/// not wait for answers, its credentials are dropped as well. If the run was cut off, everything is kept for the resume.
fn keep_what_waits(parts: &Arc<RunnerInner>, ic: &InvocationHandle, outcome: &Outcome) {
    let (session, invocation) = (ic.session_key(), ic.invocation_id());
    let open: &[Question] = match outcome {
        Outcome::Cut(_) => return,
        Outcome::Waiting(questions) => questions,
        _ => {
            ic.services().sent_credentials.forget(session, invocation);
            &[]
        }
    };
    parts.timers.shared.keep_only(session, invocation, open);
    parts.keep_deadlines(session, open);
}

/// Returns the event with which a plugin ends the run before the root node starts.
fn early_exit(ic: &InvocationHandle, content: Content) -> Arc<Event> {
    let mut event = Event::from_author("model").with_content(content);
    event.set_invocation_id(ic.invocation_id().clone());
    event.set_custom_metadata(Some(Map::from_iter([(ENDED_BY_PLUGIN.to_owned(), Value::Bool(true))])));
    Arc::new(event)
}

/// Returns `true` if a plugin ended the invocation with these events before its root node began.
pub(crate) fn is_ended_by_plugin(own: &[&Arc<Event>]) -> bool {
    let last = own.iter().rev().find(|event| !event.is_from_user());
    last.is_some_and(|event| event.path().is_root() && engine_note(event, ENDED_BY_PLUGIN).is_some())
}
