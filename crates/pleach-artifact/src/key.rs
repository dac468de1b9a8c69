//! [`ArtifactScope`] and [`ArtifactKey`]: the owner and the name of an artifact.

use std::fmt;

use pleach_core::{AppName, SessionId, SessionKey, UserId};

/// The prefix of names that belong to the user, whichever session the scope has.
// S72
pub const USER_PREFIX: &str = "user:";

/// The suffix of app names under which `PayloadSessions` stores values of events as artifacts. HTTP APIs must not
/// show or change these artifacts.
pub const PAYLOADS_APP_SUFFIX: &str = ".payloads";

/// The owner of artifacts: a user of an app, or one of the user's sessions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArtifactScope {
    /// The app.
    pub app_name: AppName,
    /// The user of the app.
    pub user_id: UserId,
    /// The session of the user; `None` for the user's own artifacts.
    pub session_id: Option<SessionId>,
}

impl ArtifactScope {
    /// Creates the scope of a user, outside every session.
    pub fn user(app_name: impl Into<AppName>, user_id: impl Into<UserId>) -> Self {
        Self { app_name: app_name.into(), user_id: user_id.into(), session_id: None }
    }

    /// Creates the scope of a session.
    pub fn session(key: &SessionKey) -> Self {
        Self { session_id: Some(key.session_id.clone()), ..Self::user(key.app_name.clone(), key.user_id.clone()) }
    }

    /// Returns the key of an artifact in this scope.
    pub fn artifact(&self, filename: impl Into<String>) -> ArtifactKey {
        ArtifactKey { scope: self.clone(), filename: filename.into() }
    }
}

impl From<&SessionKey> for ArtifactScope {
    fn from(key: &SessionKey) -> Self {
        Self::session(key)
    }
}

/// The key of an artifact: a scope and a name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArtifactKey {
    /// The owner.
    pub scope: ArtifactScope,
    /// The name. It may contain `/`, and the prefix `user:` puts it into the user's namespace.
    pub filename: String,
}

impl ArtifactKey {
    /// Returns `true` if the name has the prefix of the user's own artifacts.
    // S72
    pub fn has_user_prefix(&self) -> bool {
        self.filename.starts_with(USER_PREFIX)
    }
}

/// Shows app, user, session and name, for logs.
impl fmt::Display for ArtifactKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/", self.scope.app_name, self.scope.user_id)?;
        if let Some(session) = &self.scope.session_id {
            write!(f, "{session}/")?;
        }
        f.write_str(&self.filename)
    }
}
