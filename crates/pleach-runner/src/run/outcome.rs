//! The end of a run: [`Outcome`] with the output, and the public [`RunEnd`].

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use pleach_context::engine::{InvocationHandle, NodeEnd, NodeResult};
use pleach_context::telemetry::SpanEnd;
use pleach_context::{DeadEnd, Node, NodeInput};
use pleach_core::{Event, InvocationId, Question, SessionKey};

use crate::RunError;
use crate::run::agent_reply::AgentReply;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunEnd {
    /// The root node has completed.
    Done,
    /// The root node has completed, but branches ended before a terminal node: no edge took a route, or a join never ran.
    DoneWithDeadEnds(Vec<DeadEnd>),
    /// It has paused and waits for answers.
    Waiting,
    /// Another process stored the same answers at the same time and runs the invocation, so this run had nothing to do. If that
    /// process is gone, [`Runner::resume`](crate::Runner::resume) continues the invocation.
    Elsewhere,
    /// It failed.
    Failed {
        /// The class of the error: [`RunError::code`].
        code: String,
        /// The text of the error: [`RunError::message`].
        message: String,
    },
    /// It was aborted: its open calls are answered, and it cannot be resumed.
    // R1130
    Aborted,
    /// It was stopped where it was, by a drop, [`Run::close`](crate::Run::close) or a drain.
    /// [`Runner::resume`](crate::Runner::resume) continues the invocation.
    Cut,
}

/// The internal end of a run, from which its output and [`RunEnd`] are made.
#[derive(Clone)]
pub(crate) enum Outcome {
    Done(NodeInput, Vec<DeadEnd>),
    /// The root is an agent that has completed and has no output as a node.
    Replied(AgentReply),
    Waiting(Vec<Question>),
    /// Another process runs the invocation.
    Elsewhere {
        session: SessionKey,
        invocation: InvocationId,
    },
    Aborted,
    /// The run was cut off; with the invocation if it has begun.
    Cut(Option<InvocationId>),
}

impl RunEnd {
    /// Returns `true` if the root node has completed, with or without dead ends.
    #[must_use]
    pub fn is_done(&self) -> bool {
        matches!(self, Self::Done | Self::DoneWithDeadEnds(_))
    }
}

impl Outcome {
    /// Returns the outcome of an invocation whose root node has ended.
    pub(crate) fn of(ic: &InvocationHandle, root: &dyn Node, end: NodeEnd) -> Self {
        match end {
            NodeEnd::Done(NodeResult { output, .. }) => {
                let reply = if output.is_null() { AgentReply::of(ic, root) } else { None };
                reply.map_or_else(|| Self::Done(output, ic.dead_ends()), Self::Replied)
            }
            NodeEnd::Waiting => Self::Waiting(Vec::new()),
            NodeEnd::Interrupted(ids) => {
                let questions = ic.with_events(|events| last_asked(events, ic.invocation_id(), &ids));
                Self::Waiting(questions)
            }
        }
    }

    /// Returns the public end of a run with this outcome.
    pub(crate) fn end(&self) -> RunEnd {
        match self {
            Self::Replied(_) => RunEnd::Done,
            Self::Done(_, dead_ends) if dead_ends.is_empty() => RunEnd::Done,
            Self::Done(_, dead_ends) => RunEnd::DoneWithDeadEnds(dead_ends.clone()),
            Self::Waiting(_) => RunEnd::Waiting,
            Self::Elsewhere { .. } => RunEnd::Elsewhere,
            Self::Aborted => RunEnd::Aborted,
            Self::Cut(_) => RunEnd::Cut,
        }
    }

    /// Returns the end of the run's span, and the number of answers that the run waits for.
    pub(crate) fn span_end(&self) -> (SpanEnd, usize) {
        match self {
            Self::Done(..) | Self::Replied(_) => (SpanEnd::Completed, 0),
            Self::Waiting(questions) => (SpanEnd::Interrupted, questions.len()),
            Self::Aborted | Self::Cut(_) | Self::Elsewhere { .. } => (SpanEnd::Cancelled, 0),
        }
    }

    /// Returns the output as a `T`.
    pub(crate) fn output<T: serde::de::DeserializeOwned>(self) -> Result<T, RunError> {
        match self {
            Self::Done(output, dead_ends) => output.parse().map_err(|error| match output.is_null() {
                true if dead_ends.is_empty() => RunError::NoOutput,
                true => RunError::DeadEnd(dead_ends),
                false => RunError::Output(error),
            }),
            Self::Replied(reply) => reply.parse(),
            Self::Waiting(questions) => Err(RunError::Waiting(questions)),
            Self::Elsewhere { session, invocation } => Err(RunError::Unfinished { session, invocation }),
            Self::Aborted => Err(RunError::Aborted),
            Self::Cut(invocation) => Err(RunError::Cut { invocation }),
        }
    }
}

/// Returns the questions with these ids that an invocation has asked. If a question was asked again, the last one is returned. Most were
/// asked a short while ago, so events are read from the end.
fn last_asked(events: &[Arc<Event>], invocation: &InvocationId, ids: &[String]) -> Vec<Question> {
    let mut missing: HashSet<&str> = ids.iter().map(String::as_str).collect();
    let mut found: HashMap<String, Question> = HashMap::new();
    for event in events.iter().rev().filter(|event| event.invocation_id() == invocation) {
        for question in event.questions().into_iter().rev() {
            if missing.remove(question.id.as_str()) {
                found.insert(question.id.clone(), question);
            }
        }
        if missing.is_empty() {
            break;
        }
    }
    ids.iter().filter_map(|id| found.remove(id)).collect()
}

#[cfg(test)]
mod tests {
    use pleach_core::{NodePath, Question, RequestInput};
    use serde_json::json;

    use super::*;

    fn dead_end() -> DeadEnd {
        DeadEnd::route(NodePath::root(), "a".into(), None)
    }

    fn done(output: NodeInput, dead_ends: Vec<DeadEnd>) -> Outcome {
        Outcome::Done(output, dead_ends)
    }

    #[test]
    fn the_public_end_follows_from_the_outcome() {
        let one = || NodeInput::json(json!(1));
        for (outcome, end) in [
            (done(one(), Vec::new()), RunEnd::Done),
            (done(one(), vec![dead_end()]), RunEnd::DoneWithDeadEnds(vec![dead_end()])),
            (Outcome::Waiting(Vec::new()), RunEnd::Waiting),
            (Outcome::Aborted, RunEnd::Aborted),
            (Outcome::Cut(None), RunEnd::Cut),
        ] {
            assert_eq!(outcome.end(), end);
        }
    }

    // R141
    #[test]
    fn the_last_one_of_a_repeated_question_is_returned() {
        let ask = |invocation: &str, id: &str, message: &str| {
            let ask: RequestInput = RequestInput::ask(id, message);
            let mut event = ask.into_event(id);
            event.set_invocation_id(invocation);
            Arc::new(event)
        };
        let mut log =
            vec![ask("i", "a", "first"), ask("i", "b", "once"), ask("i", "a", "again"), ask("j", "b", "other")];
        log.push(Arc::new(Event::message("no question")));
        let ids = ["b", "a", "unknown"].map(str::to_owned);
        let asked = last_asked(&log, &"i".into(), &ids);
        let asked: Vec<_> = asked.iter().map(|question| (&*question.id, &*question.message)).collect();
        assert_eq!(asked, [("b", "once"), ("a", "again")]);
    }

    #[test]
    fn an_outcome_without_an_output_names_the_reason() {
        let code = |outcome: Outcome| match outcome.output::<u32>() {
            Ok(value) => value.to_string(),
            Err(RunError::NoOutput) => "no output".to_owned(),
            Err(RunError::DeadEnd(ends)) => format!("{} dead ends", ends.len()),
            Err(RunError::Output(_)) => "does not fit".to_owned(),
            Err(RunError::Waiting(questions)) => format!("{} questions", questions.len()),
            Err(error) => error.code().to_owned(),
        };
        let questions: Vec<Question> = Vec::new();
        for (outcome, expected) in [
            (done(NodeInput::json(json!(7)), Vec::new()), "7"),
            (done(NodeInput::json(json!("x")), Vec::new()), "does not fit"),
            (done(NodeInput::Null, Vec::new()), "no output"),
            (done(NodeInput::Null, vec![dead_end()]), "1 dead ends"),
            (Outcome::Waiting(questions), "0 questions"),
            (Outcome::Aborted, "INVOCATION_ABORTED"),
        ] {
            assert_eq!(code(outcome), expected);
        }
    }
}
