//! [`Closing`]: how much of the end of an agent's run is recorded.
// L134, L179

use pleach_core::Event;

use super::CallbackNote;

/// How much of the end of an agent's run is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Closing {
    /// There is no event of the `after_agent` callbacks, so they may have to be called.
    #[default]
    Open,
    /// The end is marked, but the announced event of the `after_agent` callbacks is not stored.
    EndMarked,
    /// The `after_agent` callbacks have been called, but the end is not marked.
    CallbacksCalled,
    /// The end is recorded completely.
    Closed,
}

impl Closing {
    /// Reads the next event of the agent.
    pub(crate) fn take(&mut self, event: &Event) {
        let note = CallbackNote::on(event);
        let is_addition = note == Some(CallbackNote::After);
        *self = match self {
            // A callback has answered: the run has ended without a mark.
            _ if note == Some(CallbackNote::Before) && event.content().is_some() => Self::Closed,
            _ if event.actions().end_of_agent() == Some(true) => {
                if is_addition {
                    Self::EndMarked
                } else {
                    Self::Closed
                }
            }
            // google-adk stores the content of a callback without a note.
            Self::EndMarked | Self::Closed => Self::Closed,
            _ if is_addition => Self::CallbacksCalled,
            _ => Self::Open,
        };
    }

    /// Reads a message of the user. Such a message arrives after everything before it has ended.
    pub(crate) fn take_message(&mut self) {
        *self = if self.is_marked() { Self::Closed } else { Self::CallbacksCalled };
    }

    /// Returns `true` if the `after_agent` callbacks have been called and their event is stored.
    pub(crate) fn has_called(self) -> bool {
        matches!(self, Self::CallbacksCalled | Self::Closed)
    }

    /// Returns `true` if the end of the agent is marked.
    pub(crate) fn is_marked(self) -> bool {
        matches!(self, Self::EndMarked | Self::Closed)
    }
}
