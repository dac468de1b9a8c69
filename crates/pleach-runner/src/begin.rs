//! Begins an opened invocation: stores its message and prepares the root node's input.
// R1103, R1107

use std::sync::Arc;

use pleach_context::engine::{Engine as _, TakenCredentials};
use pleach_context::{InvocationContext, NodeInput};
use pleach_core::{Content, Event, Map, Scope};
use pleach_session::{REDACTIONS, is_left_of};

use crate::RunError;
use crate::active::ActiveRun;
use crate::answer::{AnswerTarget, resolve};
use crate::deadline_answer::note_deadline;
use crate::invocation::Invocation;
use crate::join::Difference;
use crate::message::as_user;
use crate::open::Opening;
use crate::parts::RunnerParts;
use crate::progress::Progress;
use crate::resting_fork::continued;
use crate::store::Store;

/// An invocation that has begun.
pub(crate) enum Begun {
    /// The root node runs now.
    Now(Invocation),
    /// The invocation was started or answered before, so its recorded result is returned.
    Before {
        invocation: Invocation,
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
        self: Box<Self>,
        parts: &RunnerParts,
        run: &Arc<ActiveRun>,
        shown: &mut ShownMessage,
    ) -> Result<Begun, RunError> {
        let Self {
            ic,
            engine,
            entry,
            mut store,
            message,
            message_id,
            by_deadline,
            answered,
            task,
            state_delta,
            progress,
            repeats,
            is_resting_fork,
            runs_elsewhere,
        } = *self;
        let Progress { first_message: original, turn_message, mut history, resumes } = progress;
        let turn_message = turn_message.filter(|_| message.is_none());
        let continues_task = task.is_some();
        let takes_message = answered.is_some() || continues_task || original.is_none();
        let starts_again = !takes_message && message.is_some();
        let difference = match (&message, &original) {
            (Some(message), Some(original)) if starts_again => difference(&ic, message, &state_delta, original).await?,
            _ => None,
        };
        let stored = match message {
            Some(message) if takes_message => {
                let scope = match &answered {
                    Some(answered) => answered.isolation_scope.clone(),
                    None => task.map(|task| task.scope),
                };
                let message = shown.show(&ic, message).await?;
                let mut event = Event::from_author("user").with_state_map(state_delta);
                event.set_isolation_scope(scope);
                message_id.into_iter().for_each(|id| event.set_id(id));
                if by_deadline {
                    note_deadline(&mut event);
                }
                Some(store_message(parts, &ic, &mut store, message, answered, event).await?)
            }
            _ if !state_delta.is_empty() && !starts_again => {
                store_user_event(&ic, &mut store, Event::from_author("user").with_state_map(state_delta)).await?;
                None
            }
            _ => None,
        };
        let executes = !starts_again && !runs_elsewhere;
        if executes && is_resting_fork && !store.has_stored() {
            let mut event = continued(ic.invocation_id());
            store.stamp(ic.engine().services(), &mut event);
            store.append(&ic, Arc::new(event)).await?;
        }
        if executes && store.has_stored() {
            parts.active.announce(run);
        }
        if difference.is_none() {
            run.begin(ic.invocation_id());
        }
        // The agent of a task gets the new message, a resumed node the first one.
        let first = if continues_task { stored.clone() } else { original.or_else(|| stored.clone()) };
        // Joining callers compare messages as sent, and a plugin may have replaced this one, or a redaction a part of it.
        if ic.engine().services().plugins.is_empty() {
            let as_sent = first.iter().filter(|event| !is_redacted(event));
            as_sent.filter_map(|event| event.content()).for_each(|message| run.set_message(message));
        }
        let input_event = turn_message.or(first);
        if let Some(event) = &input_event {
            ic.engine().set_user_event(Arc::clone(event));
        }
        if resumes {
            stored.iter().for_each(|event| history.add(event));
            ic.engine().set_history(history);
        }
        if resumes && !starts_again && !store.has_stored() {
            // Nothing is stored yet, so the first body must claim the session: of several resumes only one runs.
            ic.engine().work_gate().close();
        }
        let input = input_event.map_or(NodeInput::Null, NodeInput::Content);
        let invocation = Invocation { ic, engine, entry, store, input, user_event: stored, repeats };
        Ok(match executes {
            true => Begun::Now(invocation),
            false => Begun::Before { invocation, difference },
        })
    }
}

/// Finds what a request that starts an invocation again asks for otherwise than the message that started it.
async fn difference(
    ic: &InvocationContext,
    message: &Content,
    state_delta: &Map,
    first: &Event,
) -> Result<Option<Difference>, RunError> {
    if is_other_message(ic, message, first).await? {
        return Ok(Some(Difference::Message));
    }
    // What is temporary is not stored.
    let mut kept = state_delta.iter().filter(|(key, _)| Scope::split(key).0 != Scope::Temp).peekable();
    if kept.peek().is_none() {
        return Ok(None);
    }
    let kept: Map = kept.map(|(key, value)| (key.clone(), value.clone())).collect();
    let is_same = kept == *first.actions().state_delta()
        || is_left(first, |original| *original.actions_mut().state_delta_mut() = kept);
    Ok((!is_same).then_some(Difference::State))
}

/// Returns whether a message differs from the one that started the invocation, which a plugin may have replaced.
async fn is_other_message(ic: &InvocationContext, new: &Content, first: &Event) -> Result<bool, RunError> {
    let is_first = |message: Option<&Content>| {
        first.content() == message || is_left(first, |original| original.set_content(message.cloned()))
    };
    if is_first(Some(new)) {
        return Ok(false);
    }
    let replaced = ic.engine().services().plugins.on_user_message(ic, new).await.map_err(RunError::Plugin)?;
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
    async fn show(&mut self, ic: &InvocationContext, message: Content) -> Result<Seen, RunError> {
        if self.0.is_none() {
            let plugins = &ic.engine().services().plugins;
            self.0 = Some(plugins.on_user_message(ic, &message).await.map_err(RunError::Plugin)?.map(as_user));
        }
        Ok(self.0.iter().flatten().next().cloned().map_or(Seen::AsSent(message), Seen::Replaced))
    }
}

async fn store_message(
    parts: &RunnerParts,
    ic: &InvocationContext,
    store: &mut Store,
    message: Seen,
    mut answered: Option<AnswerTarget>,
    mut event: Event,
) -> Result<Arc<Event>, RunError> {
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
    event.set_content(Some(message));
    if let Some(answered) = answered {
        event.set_branch(answered.branch);
    }
    let stored = store_user_event(ic, store, event).await?;
    // Only after the append: of two concurrent answers, the stored one counts.
    ic.engine().services().sent_credentials.keep(ic.session_key(), ic.invocation_id(), sent);
    Ok(stored)
}

/// Stores a user's event, without the `on_event` hooks.
// R1107
async fn store_user_event(ic: &InvocationContext, store: &mut Store, mut event: Event) -> Result<Arc<Event>, RunError> {
    event.set_invocation_id(ic.invocation_id().clone());
    let mut metadata: Map = ic.custom_metadata();
    metadata.extend(event.custom_metadata().cloned().unwrap_or_default());
    if !metadata.is_empty() {
        event.set_custom_metadata(Some(metadata));
    }
    store.stamp(ic.engine().services(), &mut event);
    store.append(ic, Arc::new(event)).await
}
