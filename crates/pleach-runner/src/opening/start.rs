//! [`Start`]: how an opened request starts its run. [`decide`] makes the decision once, from the facts about the request and its
//! invocation.
// R1103–R1105

use std::sync::Arc;

use pleach_context::engine::drop_shown_credentials;
use pleach_core::{Content, Event, EventId, Map, StateRights};

use crate::RunError;
use crate::answers::check_message::AnsweredRun;
use crate::opening::open_task::OpenTask;
use crate::opening::progress::Progress;

/// A message to store.
#[derive(Debug)]
pub(crate) struct NewMessage {
    pub(crate) content: Content,
    /// The id of its event; `None` for a new one.
    pub(crate) id: Option<EventId>,
    /// Whether the message is the answer of a deadline.
    pub(crate) by_deadline: bool,
    /// The changes of state that are stored with it.
    pub(crate) state: Map,
}

/// How an opened request starts its run.
///
/// `first` is the message that started the invocation, and `turn` the one that began its last turn.
#[derive(Debug)]
pub(crate) enum Start {
    /// A message starts the invocation.
    Message(NewMessage),
    /// An answer continues the invocation that asked.
    Answer { message: NewMessage, target: AnsweredRun, first: Option<Arc<Event>> },
    /// A message continues the task of an agent, in the scope of the task.
    Task { message: NewMessage, scope: Arc<str>, first: Option<Arc<Event>> },
    /// A message with the id of an invocation that has a first message: the recorded result is returned, nothing is stored.
    Repeat { content: Content, state: Map, rights: StateRights, first: Arc<Event> },
    /// A request without a new message continues the invocation, or begins one whose root has no input.
    Resume {
        /// The changes of state, stored in an event of their own unless there are none.
        state: Map,
        /// Whether the session is a copy that nothing has continued: an event must end its rest.
        ends_rest: bool,
        turn: Option<Arc<Event>>,
        first: Option<Arc<Event>>,
    },
    /// The result is returned as it is recorded now: the invocation is only inspected, or another process runs it.
    Observe { turn: Option<Arc<Event>>, first: Option<Arc<Event>> },
}

/// The facts that decide how a request starts its run.
pub(crate) struct Facts<'a> {
    /// The message to store, after the checks; `None` if all answers of the request are stored already.
    pub(crate) message: Option<Content>,
    pub(crate) message_id: Option<EventId>,
    pub(crate) by_deadline: bool,
    pub(crate) state: Map,
    /// Which keys of the state the request may change.
    pub(crate) rights: StateRights,
    /// The question that the request answers.
    pub(crate) answer: Option<AnsweredRun>,
    /// The open task of the session.
    pub(crate) task: Option<OpenTask>,
    /// Whether the request names the invocation.
    pub(crate) is_named: bool,
    /// Whether the request wants the recorded result if there is no message to store.
    pub(crate) observes: bool,
    pub(crate) is_resting_fork: bool,
    pub(crate) progress: &'a Progress,
}

/// The reason why a request starts nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    UnknownInvocation,
    Aborted,
}

/// Decides how a request starts its run.
///
/// # Errors
/// A named invocation without events and without a message to start it; an aborted invocation that would continue. Sending the
/// first message of an aborted invocation again is not an error: it returns the recorded end.
pub(crate) fn decide(facts: Facts<'_>) -> Result<Start, Refusal> {
    let Facts { message, answer, task, is_named, progress, .. } = facts;
    if message.is_none() && is_named && !progress.resumes() {
        return Err(Refusal::UnknownInvocation);
    }
    if (message.is_none() || answer.is_some()) && progress.is_aborted {
        return Err(Refusal::Aborted);
    }
    let (first, turn) = (progress.first_message.clone(), progress.turn_message.clone());
    let (id, by_deadline, state, rights) = (facts.message_id, facts.by_deadline, facts.state, facts.rights);
    Ok(match (message, answer, task, first) {
        (None, _, _, first) if facts.observes => Start::Observe { turn, first },
        (None, _, _, first) => Start::Resume { state, ends_rest: facts.is_resting_fork, turn, first },
        (Some(content), Some(target), _, first) => {
            Start::Answer { message: NewMessage { content, id, by_deadline, state }, target, first }
        }
        (Some(content), None, Some(task), first) => {
            Start::Task { message: NewMessage { content, id, by_deadline, state }, scope: task.scope, first }
        }
        (Some(content), None, None, Some(first)) => Start::Repeat { content, state, rights, first },
        (Some(content), None, None, None) => Start::Message(NewMessage { content, id, by_deadline, state }),
    })
}

impl Start {
    /// Checks the changes of state that the request asks for, and adds those of reserved keys.
    ///
    /// # Errors
    /// A key that the request may not change. The state of a repeated request is not stored, so there such keys are only left out.
    pub(crate) fn check_state(&mut self, stored: &Map, rights: StateRights, mut reserved: Map) -> Result<(), RunError> {
        let state = match self {
            Self::Message(message) | Self::Answer { message, .. } | Self::Task { message, .. } => &mut message.state,
            Self::Resume { state, .. } => state,
            Self::Repeat { state, .. } => {
                rights.strip(state);
                state.append(&mut reserved);
                return Ok(());
            }
            Self::Observe { .. } => return Ok(()),
        };
        drop_shown_credentials(state, stored);
        rights.apply(state, stored)?;
        state.append(&mut reserved);
        Ok(())
    }

    /// Returns `true` if the run stores nothing of its own before its root runs again, so that repeated events are dropped.
    pub(crate) fn only_repeats(&self) -> bool {
        match self {
            Self::Resume { state, .. } => state.is_empty(),
            Self::Observe { .. } => true,
            Self::Message(_) | Self::Answer { .. } | Self::Task { .. } | Self::Repeat { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use pleach_context::History;
    use pleach_core::InvocationId;

    use super::*;

    /// Makes the progress of an invocation: `-` has no event, `s` has events without a first message, `m` has a first message, and
    /// `!` was aborted.
    fn progress(log: &str) -> Progress {
        let message = Some(Arc::new(Event::from_author("user").with_message("first")));
        let first = message.filter(|_| matches!(log, "m" | "!"));
        let history = (log != "-").then(Box::<History>::default);
        Progress { turn_message: first.clone(), first_message: first, is_aborted: log == "!", history }
    }

    /// Decides about a request with these words: `message`, `answer`, `task`, `named`, `observes`.
    fn kind(request: &str, log: &str) -> &'static str {
        let has = |word: &str| request.split(' ').any(|other| other == word);
        let target = || AnsweredRun {
            invocation_id: InvocationId::from("i"),
            branch: None,
            isolation_scope: None,
            questions: Box::default(),
            not_asked: None,
        };
        let facts = Facts {
            message: has("message").then(|| Content::user("hello")),
            message_id: None,
            by_deadline: false,
            state: Map::new(),
            rights: StateRights::default(),
            answer: has("answer").then(target),
            task: has("task").then(|| OpenTask { scope: "t".into(), invocation: InvocationId::from("i") }),
            is_named: has("named"),
            observes: has("observes"),
            is_resting_fork: false,
            progress: &progress(log),
        };
        match decide(facts) {
            Ok(Start::Message(_)) => "message",
            Ok(Start::Answer { .. }) => "answer",
            Ok(Start::Task { .. }) => "task",
            Ok(Start::Repeat { .. }) => "repeat",
            Ok(Start::Resume { .. }) => "resume",
            Ok(Start::Observe { .. }) => "observe",
            Err(Refusal::UnknownInvocation) => "unknown",
            Err(Refusal::Aborted) => "aborted",
        }
    }

    #[test]
    fn each_kind_of_request_starts_in_its_own_way() {
        for (request, log, expected) in [
            ("message", "-", "message"),
            ("message named", "-", "message"),
            ("", "-", "resume"),
            ("message named", "s", "message"),
            ("message answer", "m", "answer"),
            ("message answer", "s", "answer"),
            ("message task", "m", "task"),
            ("message named", "m", "repeat"),
            ("named", "m", "resume"),
            ("named", "s", "resume"),
            ("answer", "m", "resume"),
            ("answer observes", "m", "observe"),
            ("named observes", "m", "observe"),
            ("named observes", "s", "observe"),
            ("message answer observes", "m", "answer"),
        ] {
            assert_eq!(kind(request, log), expected, "{request:?} with {log:?}");
        }
    }

    #[test]
    fn an_unknown_or_aborted_invocation_does_not_continue() {
        for (request, log, expected) in [
            ("named", "-", "unknown"),
            ("named", "!", "aborted"),
            ("answer", "!", "aborted"),
            ("message answer", "!", "aborted"),
            ("message named", "!", "repeat"),
        ] {
            assert_eq!(kind(request, log), expected, "{request:?} with {log:?}");
        }
    }
}
