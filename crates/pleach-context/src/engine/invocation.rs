//! The methods of [`InvocationHandle`], for engines and the Runner.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use pleach_core::{Event, Map, take_temp};

use super::{EventQueue, Fence, InvocationHandle, NodeScheduler, PromptCompaction, Services, WorkGate};
use crate::invocation::{HistoryCache, lock};
use crate::live_signals::{LiveSignals, StoringSignal};
use crate::plugin::apply_plugin_change;
use crate::toolset::Listed;
use crate::{DeadEnd, History, InvocationContext, NodeError, RunConfig, SharedToolset, Tool};

impl InvocationContext {
    fn known(&self, history: History) -> Option<Arc<History>> {
        if history.is_empty() {
            return None;
        }
        self.has_history.store(true, Ordering::Release);
        Some(Arc::new(history))
    }
}

/// The part of an event's state that the invocation keeps while the event is being stored.
#[derive(Debug)]
pub struct UnstoredState {
    temp: Option<Map>,
    /// The number that identifies the writes of the event's state delta.
    writes: u64,
}

impl InvocationHandle {
    /// Sets the function that shows events to the run's followers. Only the first call has an effect. For the Runner.
    pub fn set_followers(&self, show: impl Fn(Arc<Event>) + Send + Sync + 'static) {
        let _ = self.ic.followers.0.set(Box::new(show));
    }

    /// Shows a partial event to the run's followers at once, while its node waits for something slow.
    pub fn show_followers(&self, event: Event) {
        if let Some(show) = self.ic.followers.0.get() {
            show(Arc::new(event));
        }
    }

    /// Returns the tools of a toolset, if they have been listed in this invocation.
    pub(crate) fn listed_tools(&self, toolset: &SharedToolset) -> Option<Arc<[Arc<dyn Tool>]>> {
        lock(&self.ic.listed_tools).iter().find_map(|listed| listed.of(toolset))
    }

    /// Keeps the tools of a toolset for the invocation.
    pub(crate) fn keep_listed_tools(&self, listed: Listed) {
        lock(&self.ic.listed_tools).push(listed);
    }

    /// Adds the dead ends of a workflow run that has completed.
    pub fn note_dead_ends(&self, ends: impl IntoIterator<Item = DeadEnd>) {
        lock(&self.ic.dead_ends).extend(ends);
    }

    /// Returns the dead ends of the workflow runs that have completed so far, in the order in which they completed.
    #[must_use]
    pub fn dead_ends(&self) -> Vec<DeadEnd> {
        lock(&self.ic.dead_ends).clone()
    }

    /// The event of the message that started the invocation.
    #[must_use]
    pub fn user_event(&self) -> Option<&Arc<Event>> {
        self.ic.user_event.get()
    }

    /// Sets the event of the message that started the invocation. Only the first call has an effect.
    pub fn set_user_event(&self, event: Arc<Event>) {
        let _ = self.ic.user_event.set(event);
    }

    /// The services of the app.
    #[must_use]
    pub fn services(&self) -> &Arc<Services> {
        &self.ic.setup.services
    }

    /// The scheduler that runs dynamic nodes.
    #[must_use]
    pub fn scheduler(&self) -> &Arc<dyn NodeScheduler> {
        &self.ic.setup.scheduler
    }

    /// Calls `read` with the session's events. They are locked during the call, so `read` must not call this handle.
    pub fn with_events<R>(&self, read: impl FnOnce(&[Arc<Event>]) -> R) -> R {
        read(&lock(&self.ic.events))
    }

    /// Returns the index that the next event sent will have in the session.
    #[must_use]
    pub fn next_place(&self) -> usize {
        self.with_events(<[_]>::len) + self.queue().held()
    }

    /// The events that are on their way to the store.
    #[must_use]
    pub fn queue(&self) -> &EventQueue {
        &self.ic.queue
    }

    /// The gate that holds node bodies back until the session is claimed. For the Runner and engines.
    #[must_use]
    pub fn work_gate(&self) -> &WorkGate {
        &self.ic.work_gate
    }

    /// The fence, through which steps ask whether the run still owns its session. For the Runner.
    #[must_use]
    pub fn fence(&self) -> &Fence {
        &self.ic.fence
    }

    /// Passes an event to the `on_event` hooks of the plugins. If a hook changes the event, returns the original.
    ///
    /// # Errors
    /// The failure of a hook.
    ///
    /// # Cancel safety
    /// Dropping the future drops the running hook.
    pub async fn apply_event_hooks(&self, event: &mut Arc<Event>) -> Result<Option<Arc<Event>>, NodeError> {
        let plugins = &self.services().plugins;
        if plugins.is_empty() {
            return Ok(None);
        }
        let Some(change) = plugins.on_event(&self.ic, event).await? else {
            plugins.observe_event(&self.ic, event).await;
            return Ok(None);
        };
        let original = Arc::clone(event);
        self.apply_change(event, &original, change);
        plugins.observe_event(&self.ic, event).await;
        Ok(Some(original))
    }

    fn apply_change(&self, event: &mut Arc<Event>, original: &Event, mut change: Event) {
        if let (Some(mut merged), Some(own)) = (self.custom_metadata_if_any(), change.custom_metadata()) {
            merged.extend(own.clone());
            change.set_custom_metadata(Some(merged));
        }
        let changed = Arc::make_mut(event);
        apply_plugin_change(changed, change);
        changed.replace_nul();
        if !changed.is_partial() {
            self.take_changed_delta(original, changed);
        }
    }

    /// Applies a plugin's changes to an event's state delta as writes made now.
    fn take_changed_delta(&self, original: &Event, event: &mut Event) {
        let (before, after) = (original.actions(), event.actions());
        let delta = before.state_writes();
        if before.state_delta() == after.state_delta() {
            if delta != after.state_writes() {
                event.actions_mut().set_state_writes(delta);
            }
            return;
        }
        let mut state = lock(&self.ic.state);
        let delta = if delta == 0 { state.next_delta() } else { delta };
        for (key, value) in after.state_delta() {
            if before.state_delta().get(key) != Some(value) {
                state.set(key, value.clone(), delta);
            }
        }
        drop(state);
        event.actions_mut().set_state_writes(delta);
    }

    /// Decides what an event's state delta stores for keys that other runs write as well. The newest write wins, even
    /// if the event of an older write is stored after it. Part of [`before_store`](Self::before_store).
    pub fn resolve_delta(&self, event: &mut Arc<Event>) {
        let state = lock(&self.ic.state);
        if state.is_contended(event.actions()) {
            state.before_store(Arc::make_mut(event).actions_mut());
        }
    }

    /// Prepares an event for the store, right before the append. If the event's message is also its output, the output
    /// is removed. Keys that other runs write as well get their newest value. `temp:` values are taken out.
    pub fn before_store(&self, event: &mut Arc<Event>) -> UnstoredState {
        if event.message_as_output() == Some(true) && event.output().is_some() {
            Arc::make_mut(event).take_output();
        }
        let (mut temp, writes) = (None, event.actions().state_writes());
        if !event.actions().state_delta().is_empty() {
            self.resolve_delta(event);
            temp = take_temp(Arc::make_mut(event).actions_mut().state_delta_mut());
        }
        UnstoredState { temp, writes }
    }

    /// Takes over a stored event, with the state that [`before_store`](Self::before_store) returned for it. Also lets
    /// bodies run, because the append has won the session.
    ///
    /// `updated` is the session's new update time, in seconds since the epoch.
    pub fn after_store(&self, stored: &Arc<Event>, state: &UnstoredState, updated: f64) {
        self.record(stored, state.temp.as_ref(), state.writes, updated);
        self.work_gate().open();
    }

    /// Takes over a stored event: adds it to the history, and makes its state delta and its `temp:` values, which are
    /// never stored, visible. If a key has a newer write, that write stays visible.
    ///
    /// `updated` is the session's new update time, in seconds since the epoch.
    // R162
    pub fn record(&self, event: &Arc<Event>, temp: Option<&Map>, writes: u64, updated: f64) {
        let delta = event.actions().state_delta();
        if !delta.is_empty() || temp.is_some() {
            let mut state = lock(&self.ic.state);
            state.stored(delta, writes);
            if let Some(temp) = temp {
                state.stored(temp, writes);
            }
        }
        self.ic.last_update_time.store(updated.to_bits(), Ordering::Release);
        lock(&self.ic.events).push(Arc::clone(event));
    }

    /// Returns the compaction that shortens the history before prompts, if the app has one.
    #[must_use]
    pub fn compaction(&self) -> Option<&Arc<dyn PromptCompaction>> {
        self.ic.setup.compaction.as_ref()
    }

    /// The history of the invocation: what it did before this process, or before a retry. `None` for a new
    /// invocation.
    #[must_use]
    pub fn history(&self) -> Option<Arc<History>> {
        if !self.ic.has_history.load(Ordering::Acquire) {
            return None;
        }
        lock(&self.ic.history).history.clone()
    }

    pub(crate) fn signals(&self) -> &LiveSignals {
        &self.ic.signals
    }

    /// Begins to store a signal for this invocation. Returns `None` if a body waits for the signal's name: the body
    /// then gets the signal as an answer once the run pauses. For the Runner.
    #[must_use]
    pub fn store_signal(&self, name: &str) -> Option<StoringSignal<'_>> {
        self.signals().store(name)
    }

    /// Reads what this invocation has done so far from its events. Call it before a retry of a node that has children.
    ///
    /// Events that were read before are not read again, unless the history is still shared.
    // R404, R644, R1001
    pub fn read_history(&self) {
        let mut cache = lock(&self.ic.history);
        let events = lock(&self.ic.events);
        let own = |event: &&Arc<Event>| event.invocation_id() == self.ic.invocation_id();
        let read = std::mem::replace(&mut cache.read, events.len());
        match cache.history.as_mut().and_then(Arc::get_mut) {
            // No event is rewound while the invocation runs.
            Some(history) => events[read..].iter().filter(own).for_each(|event| history.add(event)),
            None => cache.history = self.ic.known(History::read(&events, self.ic.invocation_id())),
        }
    }

    /// Sets the history of this invocation, read from all of its events, before a resume.
    pub fn set_history(&self, history: History) {
        let read = lock(&self.ic.events).len();
        *lock(&self.ic.history) = HistoryCache { history: self.ic.known(history), read };
    }

    /// Counts a model call against the limit of the run configuration.
    ///
    /// # Errors
    /// An `LlmCallsLimitExceededError` if the limit is reached.
    pub fn count_llm_call(&self) -> Result<(), NodeError> {
        let limit = self.ic.run_config().max_llm_calls.unwrap_or(RunConfig::MAX_LLM_CALLS);
        let calls = self.ic.llm_calls.fetch_add(1, Ordering::Relaxed) + 1;
        if limit > 0 && calls > limit {
            let message = format!("Max number of llm calls limit of `{limit}` exceeded");
            return Err(NodeError::new("LlmCallsLimitExceededError", message)
                .with_hint("raise the limit with `RunConfig::max_llm_calls`, or end the loop that calls the model"));
        }
        Ok(())
    }

    /// The custom metadata of the invocation; `None` if there is none.
    #[must_use]
    pub fn custom_metadata_if_any(&self) -> Option<Map> {
        self.ic.has_metadata.load(Ordering::Acquire).then(|| self.ic.custom_metadata())
    }
}
