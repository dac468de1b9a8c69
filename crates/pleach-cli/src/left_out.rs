//! [`LeftOut`]: sessions that cannot be copied, while others are.

use pleach::SessionError;

use crate::fault::Fault;
use crate::screen::Screen;

/// How many sessions a copy leaves out because values of them are missing or cannot be read.
#[derive(Default)]
pub(crate) struct LeftOut {
    sessions: usize,
}

impl LeftOut {
    /// Returns what was made of a session; `None` for a broken one, which is named on standard error.
    pub(crate) fn unless_broken<T>(
        &mut self,
        made: Result<Option<T>, Fault>,
        screen: &Screen,
    ) -> Result<Option<T>, Fault> {
        match made {
            Err(
                fault @ (Fault::Outside { .. }
                | Fault::Session(SessionError::PayloadLost(_) | SessionError::Corrupt { .. })),
            ) => {
                screen.complain(&fault);
                self.sessions += 1;
                Ok(None)
            }
            made => made,
        }
    }

    /// Fails when a session was left out.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        match self.sessions {
            0 => Ok(()),
            sessions => Err(Fault::LeftOut { sessions }),
        }
    }
}
