//! Begins an opened invocation: stores its message and prepares the root node's input.
// R1103, R1107

use std::sync::Arc;

use pleach_context::engine::{InvocationHandle, TakenCredentials};
use pleach_context::{History, NodeInput};
use pleach_core::{Content, Event, Map, StateRights};
use pleach_session::{REDACTIONS, is_left_of};

use crate::RunError;
use crate::answers::check_message::{AnsweredRun, find_answered_question};
use crate::app::inner::RunnerInner;
use crate::deadlines::answer_id::note_deadline;
use crate::opening::open::Opening;
use crate::opening::start::{NewMessage, ResumeNote, Start};
use crate::request::message::as_user;
use crate::run::join::{Difference, stored_changes};
use crate::run::state::RunState;
use crate::run::steps::Invocation;
use crate::sessions::recovery_notes::recovery;
use crate::sessions::resting_fork::continued;

/// An invocation that has begun.
pub(crate) enum Begun {
    /// The root node runs now.
    Runs(Box<Invocation>),
    /// The invocation was started before. Its recorded result is returned, or an error if the requests differ.
    Repeated(Box<Invocation>, Option<Difference>),
    /// The recorded result is returned as it is now.
    Observed(Box<Invocation>),
}

/// The messages of a run that has stored its own message, if it has one.
struct Messages {
    /// The event of the new message.
    stored: Option<Arc<Event>>,
    /// The message that started the invocation, if requests that join the run can be compared with it.
    first: Option<Arc<Event>>,
    /// The root's input.
    input: Option<Arc<Event>>,
}

impl Messages {
    /// The root gets the new message.
    fn of_new(stored: Arc<Event>, first: Option<Arc<Event>>) -> Self {
        Self { input: Some(Arc::clone(&stored)), stored: Some(stored), first }
    }

    /// The root gets the message that started the invocation, or the answer if there is none.
    fn of_answer(stored: Arc<Event>, first: Option<Arc<Event>>) -> Self {
        Self { input: first.clone().or_else(|| Some(Arc::clone(&stored))), stored: Some(stored), first }
    }

    /// The root gets the message of the last turn, or the one that started the invocation.
    fn of_recorded(turn: Option<Arc<Event>>, first: Option<Arc<Event>>) -> Self {
        Self { stored: None, input: turn.or_else(|| first.clone()), first }
    }
}

impl Opening {
    /// Stores what the request has to store, and prepares the root node's run.
    ///
    /// # Errors
    /// An error of a plugin or the session service, or an answer that does not fit after a plugin replaced it. On an
    /// error nothing has been stored.
    pub(crate) async fn begin(
        self: Box<Self>,
        parts: &RunnerInner,
        run: &Arc<RunState>,
        shown: &mut PluginMessage,
    ) -> Result<Begun, RunError> {
        let Self { mut invocation, start, history } = *self;
        // The rare kinds are boxed, because the future of each run is as large as its largest part.
        let messages = match start {
            Start::Message(message) => {
                let stored = invocation.store_message(parts, message, None, None, shown).await?;
                // A plugin may have replaced the stored message, so only without plugins can joining requests be
                // compared with it.
                let first = invocation.has_no_plugins().then(|| Arc::clone(&stored));
                Messages::of_new(stored, first)
            }
            Start::Answer { message, target, first } => {
                let scope = target.isolation_scope.clone();
                let storing = Box::pin(invocation.store_message(parts, message, Some(target), scope, shown));
                Messages::of_answer(storing.await?, first)
            }
            Start::Task { message, scope, first } => {
                let storing = Box::pin(invocation.store_message(parts, message, None, Some(scope), shown));
                Messages::of_new(storing.await?, first)
            }
            Start::Resume { state, note, turn, first } => {
                Box::pin(invocation.store_resume(state, note)).await?;
                Messages::of_recorded(turn, first)
            }
            Start::Repeat { content, state, rights, first } => {
                let difference = Box::pin(difference(&invocation.ic, &content, (&state, rights), &first)).await?;
                let (messages, is_same) = (Messages::of_recorded(None, Some(first)), difference.is_none());
                return Ok(Begun::Repeated(invocation.prepare(run, messages, history, is_same), difference));
            }
            Start::Observe { turn, first } => {
                invocation.close_gate(history.as_deref());
                let messages = Messages::of_recorded(turn, first);
                return Ok(Begun::Observed(invocation.prepare(run, messages, history, true)));
            }
        };
        let has_stored = invocation.store.has_stored();
        if !has_stored {
            invocation.close_gate(history.as_deref());
        }
        let invocation = invocation.prepare(run, messages, history, true);
        if has_stored {
            parts.active.announce(run);
        }
        Ok(Begun::Runs(invocation))
    }
}

impl Invocation {
    /// Passes the messages and the history to the run and to the context of the invocation. `begins` is false if the
    /// request differs from the one that started the invocation, and will be refused.
    fn prepare(
        mut self: Box<Self>,
        run: &RunState,
        messages: Messages,
        history: Option<Box<History>>,
        begins: bool,
    ) -> Box<Self> {
        let Messages { stored, first, input } = messages;
        // A redaction may have removed a part of the message.
        if let Some(first) = first.filter(|event| !is_redacted(event)) {
            run.set_first(&first, self.has_no_plugins());
        }
        if begins {
            run.begin(self.ic.invocation_id());
        }
        if let Some(event) = &input {
            self.ic.set_user_event(Arc::clone(event));
        }
        if let Some(mut history) = history {
            stored.iter().for_each(|event| history.add(event));
            self.ic.set_history(*history);
        }
        self.input = input.map_or(NodeInput::Null, NodeInput::Content);
        self.user_event = stored;
        self
    }

    /// Makes the first body claim the session. Nothing is stored yet, and if several processes resume the invocation,
    /// only one of them may run bodies.
    fn close_gate(&self, history: Option<&History>) {
        if history.is_some() {
            self.ic.work_gate().close();
        }
    }

    fn has_no_plugins(&self) -> bool {
        self.ic.services().plugins.is_empty()
    }

    /// Stores the state changes of a resume, or the event that it needs for another reason.
    async fn store_resume(&mut self, state: Map, note: Option<ResumeNote>) -> Result<(), RunError> {
        let event = match (state.is_empty(), note) {
            (false, None | Some(ResumeNote::EndsRest)) => {
                self.completed(Event::from_author("user").with_state_map(state))
            }
            (_, Some(ResumeNote::Recovery(attempt))) => self.plain(recovery(self.ic.invocation_id(), attempt)),
            (true, Some(ResumeNote::EndsRest)) => self.plain(continued(self.ic.invocation_id())),
            (true, None) => return Ok(()),
        };
        self.append(event).await.map(drop)
    }

    /// Stores a message or an answer in `scope`, after the plugins have seen it. An answer has the branch of its question.
    async fn store_message(
        &mut self,
        parts: &RunnerInner,
        message: NewMessage,
        target: Option<AnsweredRun>,
        scope: Option<Arc<str>>,
        shown: &mut PluginMessage,
    ) -> Result<Arc<Event>, RunError> {
        let NewMessage { content, id, by_deadline, state } = message;
        let (mut content, target) = match shown.show(&self.ic, content).await? {
            Seen::AsSent(content) => (content, target),
            Seen::Replaced(content) => {
                let target = target.map(|known| self.resolve_again(parts, &content, &known)).transpose()?.flatten();
                (content, target)
            }
        };
        let sent = TakenCredentials::take_from(&mut content, || self.ic.events());
        let mut event = Event::from_author("user").with_state_map(state);
        event.set_isolation_scope(scope);
        event.set_content(Some(content));
        id.into_iter().for_each(|id| event.set_id(id));
        if by_deadline {
            note_deadline(&mut event);
        }
        if let Some(target) = target {
            event.set_branch(target.branch);
        }
        let event = self.completed(event);
        let stored = self.append(event).await?;
        // This comes after the append: if two answers race, the stored one wins.
        let ic = &self.ic;
        ic.services().sent_credentials.keep(ic.session_key(), ic.invocation_id(), sent);
        Ok(stored)
    }

    /// Checks an answer again after a plugin has replaced it.
    fn resolve_again(
        &self,
        parts: &RunnerInner,
        content: &Content,
        known: &AnsweredRun,
    ) -> Result<Option<AnsweredRun>, RunError> {
        let ic = &self.ic;
        find_answered_question(content, ic.session_key(), &ic.events(), Some(&known.invocation_id), &*parts.root)
    }

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
        self.store.set_id_and_time(ic.services(), &mut event);
        Arc::new(event)
    }

    /// Completes an event of the engine: its id and time.
    fn plain(&mut self, mut event: Event) -> Arc<Event> {
        self.store.set_id_and_time(self.ic.services(), &mut event);
        Arc::new(event)
    }
}

/// Returns how a repeated request differs from the message that started its invocation, if it does.
async fn difference(
    ic: &InvocationHandle,
    message: &Content,
    (state_delta, rights): (&Map, StateRights),
    first: &Event,
) -> Result<Option<Difference>, RunError> {
    if is_other_message(ic, message, first).await? {
        return Ok(Some(Difference::Message));
    }
    let changes = stored_changes(state_delta, rights);
    if changes.is_empty() {
        return Ok(None);
    }
    let is_same = changes == stored_changes(first.actions().state_delta(), rights)
        || is_left(first, |original| *original.actions_mut().state_delta_mut() = changes);
    Ok((!is_same).then_some(Difference::State))
}

/// Returns `true` if a message differs from the one that started the invocation. The plugins may have replaced the
/// stored one, so the new message is also compared as they would replace it.
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

/// Returns `true` if `redacted` is a redacted event that may have had the values that `change` sets. The redacted
/// values themselves cannot be compared.
fn is_left(redacted: &Event, change: impl FnOnce(&mut Event)) -> bool {
    if !is_redacted(redacted) {
        return false;
    }
    let mut original = redacted.clone();
    change(&mut original);
    is_left_of(&original, redacted)
}

/// The message of a request after the plugins have seen it. They see it only once, even if the request begins again
/// because another writer was first.
#[derive(Default)]
pub(crate) struct PluginMessage(Option<Option<Content>>);

/// A message after the plugins have seen it.
enum Seen {
    AsSent(Content),
    Replaced(Content),
}

impl PluginMessage {
    async fn show(&mut self, ic: &InvocationHandle, message: Content) -> Result<Seen, RunError> {
        let plugins = &ic.services().plugins;
        if self.0.is_none() && !plugins.is_empty() {
            // This is boxed because the future of each run is as large as its largest part.
            let replaced = Box::pin(plugins.on_user_message(ic, &message)).await;
            self.0 = Some(replaced.map_err(RunError::Plugin)?.map(as_user));
        }
        Ok(self.0.iter().flatten().next().cloned().map_or(Seen::AsSent(message), Seen::Replaced))
    }
}
