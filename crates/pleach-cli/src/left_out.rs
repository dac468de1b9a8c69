//! [`LeftOut`]: sessions, and values of states, that cannot be copied, while others are.

use std::collections::BTreeSet;

use pleach::{Session, SessionError};

use crate::fault::Fault;
use crate::screen::Screen;

/// A value that a copy leaves out because it is missing or cannot be read.
#[derive(Default)]
pub(crate) struct LeftOut {
    sessions: usize,
    /// The owner of the state, and the key. Sessions share the state of their app and user.
    values: BTreeSet<(String, String)>,
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

    /// Names the values of a copied session's state that cannot be read: those of its app and user once for all of their sessions.
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

    /// Fails when something was left out.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        match (self.sessions, self.values.len()) {
            (0, 0) => Ok(()),
            (sessions, values) => Err(Fault::LeftOut { sessions, values }),
        }
    }
}
