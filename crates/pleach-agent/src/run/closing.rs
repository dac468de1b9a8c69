//! [`Closing`]: how far the end of an agent's run is recorded.
// L134, L179

use pleach_core::Event;

use super::CallbackNote;

/// How far the end of an agent's run is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Closing {
    /// The callbacks behind the agent have left no event: they may have to be called.
    #[default]
    Open,
    /// The end is marked, and what the callbacks have given is not stored.
    Owed,
    /// The callbacks have been called; the end is not marked.
    Called,
    /// Nothing is left.
    Closed,
}

impl Closing {
    /// Takes an event of the agent.
    pub(crate) fn take(&mut self, event: &Event) {
        let note = CallbackNote::on(event);
        let is_addition = note == Some(CallbackNote::After);
        *self = match self {
            // A callback has answered: the run has ended without a mark.
            _ if note == Some(CallbackNote::Before) && event.content().is_some() => Self::Closed,
            _ if event.actions().end_of_agent() == Some(true) => {
                if is_addition {
                    Self::Owed
                } else {
                    Self::Closed
                }
            }
            // google-adk stores what a callback says without a note.
            Self::Owed | Self::Closed => Self::Closed,
            _ if is_addition => Self::Called,
            _ => Self::Open,
        };
    }

    /// Takes a message of the user: it comes when everything before it has ended.
    pub(crate) fn take_message(&mut self) {
        *self = if self.is_marked() { Self::Closed } else { Self::Called };
    }

    /// Returns whether the callbacks behind the agent have been called, and what they have given is stored.
    pub(crate) fn has_called(self) -> bool {
        matches!(self, Self::Called | Self::Closed)
    }

    /// Returns whether the end of the agent is marked.
    pub(crate) fn is_marked(self) -> bool {
        matches!(self, Self::Owed | Self::Closed)
    }
}
