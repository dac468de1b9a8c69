//! [`LeftOut`]: records the sessions and state values that a copy leaves out.

use std::collections::BTreeSet;

use pleach::{Session, SessionError};

use crate::fault::Fault;
use crate::screen::Screen;

/// The sessions and state values that a copy leaves out, because they are missing or cannot be read.
#[derive(Default)]
pub(crate) struct LeftOut {
    sessions: usize,
    /// The owner and the key of each value. Sessions share app and user state, so such a value is listed once.
    values: BTreeSet<(String, String)>,
}

impl LeftOut {
    /// Returns the value of a result for a session. If the session is broken, reports this on standard error and
    /// returns `None`.
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

    /// Reports the values in a copied session's state that cannot be read. A value of its app or user is reported once
    /// for all sessions.
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
