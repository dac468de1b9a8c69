//! Begins an opened invocation: stores its message and prepares the root node's input.
// R1103, R1107

use std::sync::Arc;

use pleach_context::NodeInput;
use pleach_context::engine::{InvocationHandle, TakenCredentials};
use pleach_core::{Content, Event, Map, StateRights};
use pleach_session::{REDACTIONS, is_left_of};

use crate::RunError;
use crate::answers::check_message::resolve;
use crate::app::inner::RunnerParts;
use crate::deadlines::event::note_deadline;
use crate::opening::open::Opening;
use crate::opening::progress::Progress;
use crate::request::message::as_user;
use crate::run::join::{Difference, kept};
use crate::run::state::ActiveRun;
use crate::run::steps::Invocation;
use crate::sessions::resting_fork::continued;

/// An invocation that has begun.
pub(crate) enum Begun {
    /// The root node runs now.
    Now(Box<Invocation>),
    /// The invocation was started or answered before, so its recorded result is returned.
    Before {
        invocation: Box<Invocation>,
        /// What it was started with otherwise.
        difference: Option<Difference>,
    },
}

impl Opening {
    /// Stores the message, unless the invocation already has one, and prepares the root node's run.
    ///
    /// # Errors
    /// An error of a plugin or the session service, or an answer that does not fit after a plugin replaced it. Nothing is
    /// stored then.
    pub(crate) async fn begin(
        mut self: Box<Self>,
        parts: &RunnerParts,
        run: &Arc<ActiveRun>,
        shown: &mut ShownMessage,
    ) -> Result<Begun, RunError> {
        let (answers, continues_task) = (self.answered.is_some(), self.task.is_some());
        let takes_message = answers || continues_task || self.progress.first_message.is_none();
        let starts_again = !takes_message && self.message.is_some();
        let turn_message = self.progress.turn_message.take().filter(|_| self.message.is_none());
        // Boxed, as everything rare: the future of each run is as large as its largest part.
        let difference = if starts_again { Box::pin(self.difference()).await? } else { None };
        let stored = match self.message.take() {
            Some(message) if takes_message => Some(self.store_message(parts, message, shown).await?),
            _ if !self.state_delta.is_empty() && !starts_again => {
                let event = Event::from_author("user").with_state_map(std::mem::take(&mut self.state_delta));
                let event = self.invocation.completed(event);
                self.invocation.append(event).await?;
                None
            }
            _ => None,
        };
        let executes = !starts_again && !self.runs_elsewhere;
        if executes && self.is_resting_fork && !self.invocation.store.has_stored() {
            let event = self.invocation.continued_event();
            self.invocation.append(event).await?;
        }
        let Self { mut invocation, progress: Progress { first_message: original, history, .. }, .. } = *self;
        let Invocation { ic, store, .. } = &mut *invocation;
        if executes && store.has_stored() {
            parts.active.announce(run);
        }
        // Callers that join compare their requests with the first one, unless a redaction has removed a part of it. Of a run that starts
        // the invocation, a plugin may have replaced the message, and the run has it as it was sent.
        let has_plugins = !ic.services().plugins.is_empty();
        let starting = stored.as_ref().filter(|_| !answers && !continues_task && !has_plugins);
        if let Some(event) = original.as_ref().or(starting).filter(|event| !is_redacted(event)) {
            run.set_first(event, !has_plugins);
        }
        // The agent of a task gets the new message, a resumed node the first one.
        let first = if continues_task { stored.clone() } else { original.or_else(|| stored.clone()) };
        if difference.is_none() {
            run.begin(ic.invocation_id());
        }
        let input_event = turn_message.or(first);
        if let Some(event) = &input_event {
            ic.set_user_event(Arc::clone(event));
        }
        if history.is_some() && !starts_again && !store.has_stored() {
            // Nothing is stored yet, so the first body must claim the session: of several resumes only one runs.
            ic.work_gate().close();
        }
        if let Some(mut history) = history {
            stored.iter().for_each(|event| history.add(event));
            ic.set_history(*history);
        }
        invocation.input = input_event.map_or(NodeInput::Null, NodeInput::Content);
        invocation.user_event = stored;
        Ok(match executes {
            true => Begun::Now(invocation),
            false => Begun::Before { invocation, difference },
        })
    }

    /// Finds what a request that starts the invocation again asks for otherwise than the message that started it.
    async fn difference(&self) -> Result<Option<Difference>, RunError> {
        let (Some(message), Some(original)) = (&self.message, &self.progress.first_message) else { return Ok(None) };
        difference(&self.invocation.ic, message, (&self.state_delta, self.state_rights), original).await
    }

    /// Stores a message after the plugins have seen it.
    async fn store_message(
        &mut self,
        parts: &RunnerParts,
        message: Content,
        shown: &mut ShownMessage,
    ) -> Result<Arc<Event>, RunError> {
        let message = shown.show(&self.invocation.ic, message).await?;
        let (event, sent) = self.message_event(parts, message)?;
        let stored = self.invocation.append(event).await?;
        // Only after the append: of two concurrent answers, the stored one counts.
        let ic = &self.invocation.ic;
        ic.services().sent_credentials.keep(ic.session_key(), ic.invocation_id(), sent);
        Ok(stored)
    }

    /// Puts a message into its event, without the credentials in it, which are returned.
    fn message_event(
        &mut self,
        parts: &RunnerParts,
        message: Seen,
    ) -> Result<(Arc<Event>, TakenCredentials), RunError> {
        let ic = &self.invocation.ic;
        let scope = match &self.answered {
            Some(answered) => answered.isolation_scope.clone(),
            None => self.task.take().map(|task| task.scope),
        };
        let mut answered = self.answered.take();
        let mut message = match message {
            Seen::AsSent(message) => message,
            Seen::Replaced(message) => {
                if let Some(known) = &answered {
                    let (events, named) = (ic.events(), Some(&known.invocation_id));
                    answered = resolve(&message, ic.session_key(), &events, named, &*parts.root)?;
                }
                message
            }
        };
        let sent = TakenCredentials::take_from(&mut message, || ic.events());
        let mut event = Event::from_author("user").with_state_map(std::mem::take(&mut self.state_delta));
        event.set_isolation_scope(scope);
        event.set_content(Some(message));
        self.message_id.take().into_iter().for_each(|id| event.set_id(id));
        if self.by_deadline {
            note_deadline(&mut event);
        }
        if let Some(answered) = answered {
            event.set_branch(answered.branch);
        }
        Ok((self.invocation.completed(event), sent))
    }
}

impl Invocation {
    /// Appends an event to the session, without the `on_event` hooks.
    // R1107
    async fn append(&mut self, event: Arc<Event>) -> Result<Arc<Event>, RunError> {
        self.store.append(&self.ic, event).await
    }

    /// Completes a user's event: its invocation, the metadata of the run, its id and time.
    fn completed(&mut self, mut event: Event) -> Arc<Event> {
        let ic = &self.ic;
        event.set_invocation_id(ic.invocation_id().clone());
        let mut metadata: Map = ic.custom_metadata();
        metadata.extend(event.custom_metadata().cloned().unwrap_or_default());
        if !metadata.is_empty() {
            event.set_custom_metadata(Some(metadata));
        }
        self.store.stamp(ic.services(), &mut event);
        Arc::new(event)
    }

    /// Returns the event that continues a copied session.
    fn continued_event(&mut self) -> Arc<Event> {
        let mut event = continued(self.ic.invocation_id());
        self.store.stamp(self.ic.services(), &mut event);
        Arc::new(event)
    }
}

/// Finds what a request that starts an invocation again asks for otherwise than the message that started it.
async fn difference(
    ic: &InvocationHandle,
    message: &Content,
    (state_delta, rights): (&Map, StateRights),
    first: &Event,
) -> Result<Option<Difference>, RunError> {
    if is_other_message(ic, message, first).await? {
        return Ok(Some(Difference::Message));
    }
    let kept = kept(state_delta, rights);
    if kept.is_empty() {
        return Ok(None);
    }
    let is_same = kept == crate::run::join::kept(first.actions().state_delta(), rights)
        || is_left(first, |original| *original.actions_mut().state_delta_mut() = kept);
    Ok((!is_same).then_some(Difference::State))
}

/// Returns whether a message differs from the one that started the invocation, which a plugin may have replaced.
async fn is_other_message(ic: &InvocationHandle, new: &Content, first: &Event) -> Result<bool, RunError> {
    let is_first = |message: Option<&Content>| {
        first.content() == message || is_left(first, |original| original.set_content(message.cloned()))
    };
    if is_first(Some(new)) {
        return Ok(false);
    }
    let replaced = ic.services().plugins.on_user_message(ic, new).await.map_err(RunError::Plugin)?;
    Ok(!is_first(replaced.map(as_user).as_ref()))
}

fn is_redacted(event: &Event) -> bool {
    event.custom_metadata().is_some_and(|metadata| metadata.contains_key(REDACTIONS))
}

/// Returns whether a redacted event is what is left of one with other values: these cannot be compared any more.
fn is_left(redacted: &Event, change: impl FnOnce(&mut Event)) -> bool {
    if !is_redacted(redacted) {
        return false;
    }
    let mut original = redacted.clone();
    change(&mut original);
    is_left_of(&original, redacted)
}

/// Whether the plugins have seen the message of a request, and what they replaced it with. A request that begins again because
/// another writer was first does not show it to them again.
#[derive(Default)]
pub(crate) struct ShownMessage(Option<Option<Content>>);

/// A message after the plugins have seen it.
enum Seen {
    AsSent(Content),
    Replaced(Content),
}

impl ShownMessage {
    async fn show(&mut self, ic: &InvocationHandle, message: Content) -> Result<Seen, RunError> {
        let plugins = &ic.services().plugins;
        if self.0.is_none() && !plugins.is_empty() {
            // Boxed: the future of each run is as large as its largest part.
            let replaced = Box::pin(plugins.on_user_message(ic, &message)).await;
            self.0 = Some(replaced.map_err(RunError::Plugin)?.map(as_user));
        }
        Ok(self.0.iter().flatten().next().cloned().map_or(Seen::AsSent(message), Seen::Replaced))
    }
}
