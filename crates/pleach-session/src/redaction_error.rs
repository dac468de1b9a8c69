//! [`RedactionError`].

use std::fmt;

use pleach_core::{EventId, SessionKey};

/// A redaction that was refused. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedactionError {
    /// The session.
    pub key: SessionKey,
    /// The event.
    pub event: EventId,
    /// The path at fault, as the caller passed it; empty if no path is at fault.
    pub path: String,
    /// The reason why the redaction is refused.
    pub fault: RedactionFault,
}

/// The reason why a redaction is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RedactionFault {
    /// The session has no such event.
    UnknownEvent,
    /// The redaction has no path.
    NoPath,
    /// The path is not a JSON pointer.
    NoPointer,
    /// The event has no value there.
    Absent,
    /// The engine reads the value, so it must stay.
    Fixed,
    /// Values of the event are kept as payloads, which are redacted through the service that keeps them.
    Payloads,
    /// The redaction would change which questions are open or which answers apply. For example, an answer that no
    /// longer fits its schema would not close its question, or would no longer grant a permission.
    ChangesQuestions,
    /// A run that has not ended still reads the value: the arguments of a call without a response, or code that was not executed.
    StillRead,
}

impl fmt::Display for RedactionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, event, path, fault } = self;
        write!(f, "session {key}: event {event} is not redacted: ")?;
        match fault {
            RedactionFault::UnknownEvent => f.write_str("the session has no such event"),
            RedactionFault::NoPath => f.write_str("no path is given; name a value, such as `/output`"),
            RedactionFault::NoPointer => {
                write!(
                    f,
                    "`{path}` is not a JSON pointer; write it like `/content/parts/0/text`, with `~1` for `/` in a key"
                )
            }
            RedactionFault::Absent => write!(f, "it has no value at `{path}`; check the stored event"),
            RedactionFault::Fixed if path.is_empty() => {
                f.write_str("it would also change other values, or leave values that no redaction leaves")
            }
            RedactionFault::Fixed => {
                write!(f, "the engine reads `{path}`; name a value in the content, the output or the state delta")
            }
            RedactionFault::Payloads => f.write_str(
                "some of its values are stored outside the session service; redact it through `PayloadSessions`, or in the command with `--payloads`",
            ),
            RedactionFault::ChangesQuestions => {
                write!(
                    f,
                    "without `{path}`, another answer would apply or another question would be open; name only inner values that the question's schema does not need"
                )
            }
            RedactionFault::StillRead => {
                write!(f, "a run that has not ended still reads `{path}`; redact it after the run has ended, or after a rewind of its invocation")
            }
        }
    }
}
