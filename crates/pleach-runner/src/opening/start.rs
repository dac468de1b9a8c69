//! [`Start`]: how an opened request starts its run. The function [`decide`] decides this once, from the facts about the
//! request and its invocation.
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
    /// The id of the message's event; if `None`, the event gets a new id.
    pub(crate) id: Option<EventId>,
    /// Whether the message is the answer of a deadline.
    pub(crate) by_deadline: bool,
    /// The state changes stored with the message.
    pub(crate) state: Map,
}

/// How an opened request starts its run.
///
/// In the variants, `first` is the message that started the invocation, and `turn` is the message that began its last
/// turn.
#[derive(Debug)]
pub(crate) enum Start {
    /// A message starts the invocation.
    Message(NewMessage),
    /// An answer continues the invocation that asked.
    Answer { message: NewMessage, target: AnsweredRun, first: Option<Arc<Event>> },
    /// A message continues the task of an agent, in the scope of the task.
    Task { message: NewMessage, scope: Arc<str>, first: Option<Arc<Event>> },
    /// A message names an invocation that has a first message: the recorded result is returned and nothing is stored.
    Repeat { content: Content, state: Map, rights: StateRights, first: Arc<Event> },
    /// A request without a new message continues the invocation, or begins one whose root has no input.
    Resume {
        /// The state changes. If there are any, they are stored in a separate event.
        state: Map,
        /// The reason to store an event even if there are none.
        note: Option<ResumeNote>,
        turn: Option<Arc<Event>>,
        first: Option<Arc<Event>>,
    },
    /// The result is returned as it is recorded now, because the invocation is only inspected or another process runs
    /// it.
    Observe { turn: Option<Arc<Event>>, first: Option<Arc<Event>> },
}

/// The reason why a resume stores an event of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResumeNote {
    /// The session is a resting copy: the event ends its rest.
    EndsRest,
    /// A recovery resumes the invocation, for this time since it made progress.
    Recovery(u32),
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
    pub(crate) note: Option<ResumeNote>,
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
/// The named invocation has no events and there is no message to start it, or an aborted invocation would continue.
/// Sending the first message of an aborted invocation again is not an error: it returns the recorded end.
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
        (None, _, _, first) => Start::Resume { state, note: facts.note, turn, first },
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
    /// Checks the state changes of the request, and adds the changes of reserved keys.
    ///
    /// # Errors
    /// A key that the request may not change. In a repeated request such keys are left out instead, because its state
    /// is not stored.
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

    /// Returns `true` if the run stores nothing before its root runs again. Repeated events are then dropped.
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
            note: None,
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
