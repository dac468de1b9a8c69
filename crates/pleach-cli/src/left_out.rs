//! [`LeftOut`]: sessions, and values of states, that a copy leaves out because they cannot be copied.

use std::collections::BTreeSet;

use pleach::{Session, SessionError};

use crate::fault::Fault;
use crate::screen::Screen;

/// The sessions and the values that a copy leaves out because they are missing or cannot be read.
#[derive(Default)]
pub(crate) struct LeftOut {
    sessions: usize,
    /// The owner and the key of each value. Sessions share the state of their app and user.
    values: BTreeSet<(String, String)>,
}

impl LeftOut {
    /// Returns a result for a session; `None` if the session is broken, which is reported on standard error.
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

    /// Reports the values of a copied session's state that cannot be read. Values of its app and user are reported once
    /// for all their sessions.
    pub(crate) fn note_unreadable(&mut self, session: &Session, screen: &Screen) {
        let (app, user) = (session.app_name(), session.user_id());
        for (key, reason) in &session.unreadable {
            let whose = match key.split_once(':') {
                Some(("app", _)) => format!("app {app}"),
                Some(("user", _)) => format!("user {app}/{user}"),
                _ => format!("session {}", session.key()),
            };
            if self.values.insert((whose.clone(), key.clone())) {
                screen.complain(&Fault::UnreadableState { whose, key: key.clone(), reason: reason.clone() });
            }
        }
    }

    /// Fails if something was left out.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        match (self.sessions, self.values.len()) {
            (0, 0) => Ok(()),
            (sessions, values) => Err(Fault::LeftOut { sessions, values }),
        }
    }
}
