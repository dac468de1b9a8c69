//! [`Invocation`]: the steps of one run, from the message to the end.
// R1103, R1107, R1108, R1130

use std::pin::pin;
use std::sync::Arc;

use async_stream::try_stream;
use futures_util::{Stream, future};
use pleach_context::engine::{Engine as _, NodeEnd, NodeResult, root_context};
use pleach_context::{InvocationContext, NodeInput};
use pleach_core::{Content, Event, Map, Question};
use pleach_session::notes::ENDED_BY_PLUGIN;
use pleach_workflow::Engine;
use serde_json::Value;
use smol_str::SmolStr;

use crate::RunError;
use crate::abort_events::abort_events;
use crate::active::ActiveRun;
use crate::heartbeat::Heartbeat;
use crate::keep_signal::keep_next;
use crate::outcome::Outcome;
use crate::parts::RunnerParts;
use crate::repeat_filter::RepeatFilter;
use crate::root_driver::{RootDriver, must_stop, stopped};
use crate::seat::{Item, Shown};
use crate::store::{Store, Stored};

/// An invocation that is ready to run its root node.
pub(crate) struct Invocation {
    pub(crate) ic: Arc<InvocationContext>,
    pub(crate) engine: Arc<Engine>,
    /// The way from the root agent to the agent that runs.
    pub(crate) entry: Vec<SmolStr>,
    pub(crate) store: Store,
    pub(crate) input: NodeInput,
    /// The stored event of the message.
    pub(crate) user_event: Option<Arc<Event>>,
    /// Drops what a resume would only repeat.
    pub(crate) repeats: RepeatFilter,
}

impl Invocation {
    /// Runs the root node: stores each event, yields it, and then lets its node continue. Sets the outcome on `run`.
    ///
    /// Dropping the stream cancels the nodes.
    pub(crate) fn run(self, parts: Arc<RunnerParts>, run: Arc<ActiveRun>) -> impl Stream<Item = Item> + Send {
        let Self { ic, engine, entry, mut store, input, user_event, mut repeats } = self;
        try_stream! {
            if let Some(event) = user_event {
                yield Shown::message(event);
            }
            let mut ended = None;
            if let Some(content) = ic.engine().services().plugins.before_run(&ic).await.map_err(RunError::Plugin)? {
                yield Shown::event(store.take(&ic, Arc::new(early_exit(&ic, content))).await?.shown);
                ended = Some(Ok(NodeEnd::Done(NodeResult::default())));
            } else {
                let root_ctx = root_context(Arc::clone(&ic));
                let mut heartbeat = parts.heartbeat.map(|period| Heartbeat::new(&parts.services.clock, period));
                let mut root = RootDriver::new(Box::pin(engine.run_root(&root_ctx, &*parts.root, &entry, input)));
                'run: loop {
                    while let Some((ticket, event)) = ic.engine().queue().take() {
                        if is_summary(&event) {
                            // Boxed, as everything rare: the stream of each run is as large as its largest part.
                            let stored = Box::pin(store.append_summary(&ic, Arc::unwrap_or_clone(event)));
                            ic.engine().queue().acknowledge(ticket, root.drive_while(pin!(stored)).await?);
                            continue;
                        }
                        let Some((ticket, event)) = repeats.pass(ic.engine().queue(), ticket, event) else { continue };
                        for held in repeats.release() {
                            let stored = root.drive_while(pin!(store.take(&ic, held))).await?;
                            ic.engine().queue().release();
                            yield Shown::event(stored.shown);
                        }
                        let Stored { shown, original } = root.drive_while(pin!(store.take(&ic, event))).await?;
                        if shown.is_interrupt() {
                            parts.keep_deadlines_of(ic.session_key(), &shown);
                        }
                        parts.active.announce(&run);
                        yield Shown::event(shown);
                        // Events that other lanes have queued meanwhile are dropped (R1130).
                        if must_stop(&ic, &run) {
                            break 'run;
                        }
                        ic.engine().queue().acknowledge(ticket, original);
                    }
                    if must_stop(&ic, &run) || ended.is_some() {
                        break;
                    }
                    // A root that has ended takes no signal.
                    while run.incoming.has_any() && !must_stop(&ic, &run) && !root.has_ended().await {
                        let kept = Box::pin(keep_next(&run.incoming, &ic, &mut store));
                        let Some(stored) = root.drive_while(pin!(kept)).await? else { break };
                        yield Shown::message(stored);
                    }
                    if ic.engine().work_gate().is_wanted() {
                        store.claim(&ic).await?;
                        parts.active.announce(&run);
                    }
                    let step = root.step(&ic, &run, Some(&run.incoming));
                    match &mut heartbeat {
                        None => step.await,
                        Some(heartbeat) => {
                            if heartbeat.is_due_before(step, store.head.last_update_time()).await {
                                root.drive_while(Box::pin(store.beat(&ic)).as_mut()).await?;
                            }
                        }
                    }
                    ended = root.take_end();
                }
            }
            if let Some(Ok(end)) = &ended {
                for held in repeats.end(!end.is_done()) {
                    yield Shown::event(store.take(&ic, held).await?.shown);
                }
            }
            let (cut, aborted) = (run.is_closing(), ic.is_aborted());
            if aborted && !cut {
                for event in abort_events(&ic.events(), ic.invocation_id(), &parts.root.spec().name) {
                    yield Shown::event(store.close(&ic, Arc::new(event)).await?);
                }
            }
            let outcome = match ended {
                _ if cut => Outcome::Cut(Some(ic.invocation_id().clone())),
                Some(ended) if !aborted => Outcome::of(&ic, ended.map_err(RunError::from)?),
                _ => Outcome::Aborted,
            };
            keep_what_waits(&parts, &ic, &outcome);
            // Also one that had nothing to do.
            parts.active.announce(&run);
            let succeeded = !matches!(outcome, Outcome::Aborted | Outcome::Cut(_));
            run.set_outcome(outcome);
            ic.engine().services().plugins.after_run(&ic).await.map_err(RunError::Plugin)?;
            if let (Some(config), true) = (&parts.compaction, succeeded && store.has_stored() && !must_stop(&ic, &run)) {
                run.set_summing_up();
                // After an abort a later invocation makes the summary.
                let compacting = Box::pin(config.compact(&ic, &mut store));
                future::select(compacting, pin!(stopped(&ic, &run))).await;
            }
        }
    }
}

/// Keeps the deadlines of the questions that an invocation waits for, and forgets those that are answered. Of one that does not
/// wait, forgets the credentials, too. One that was cut off keeps all: it is continued.
fn keep_what_waits(parts: &Arc<RunnerParts>, ic: &InvocationContext, outcome: &Outcome) {
    let (session, invocation) = (ic.session_key(), ic.invocation_id());
    let open: &[Question] = match outcome {
        Outcome::Cut(_) => return,
        Outcome::Waiting(questions) => questions,
        _ => {
            ic.engine().services().sent_credentials.forget(session, invocation);
            &[]
        }
    };
    parts.timers.shared.keep_only(session, invocation, open);
    parts.keep_deadlines(session, open);
}

/// Returns whether an event is a summary that was made before a prompt: it is no node's.
fn is_summary(event: &Event) -> bool {
    event.path().is_root() && event.actions().compaction().is_some()
}

/// Returns the event with which a plugin ends the run before the root node starts.
fn early_exit(ic: &InvocationContext, content: Content) -> Event {
    let mut event = Event::from_author("model").with_content(content);
    event.set_invocation_id(ic.invocation_id().clone());
    event.set_custom_metadata(Some(Map::from_iter([(ENDED_BY_PLUGIN.to_owned(), Value::Bool(true))])));
    event
}

/// Returns whether a plugin ended the invocation with these events before it began.
pub(crate) fn is_ended_by_plugin(own: &[&Arc<Event>]) -> bool {
    let last = own.iter().rev().find(|event| !event.is_from_user());
    last.is_some_and(|event| {
        event.path().is_root() && event.custom_metadata().is_some_and(|notes| notes.contains_key(ENDED_BY_PLUGIN))
    })
}
