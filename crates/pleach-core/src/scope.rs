//! The scopes of state keys.
// S10, S11

/// The scope of a state key, given by its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// `app:`: all users and sessions of the app.
    App,
    /// `user:`: all sessions of the user.
    User,
    /// `temp:`: this invocation only; never stored.
    Temp,
    /// Anything else: this session.
    Session,
}

impl Scope {
    /// Returns the prefix, empty for [`Scope::Session`].
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::App => "app:",
            Self::User => "user:",
            Self::Temp => "temp:",
            Self::Session => "",
        }
    }

    /// Splits a key into its scope and the name within it. Case matters, and only one prefix is removed.
    // S10, S11
    pub fn split(key: &str) -> (Self, &str) {
        for scope in [Self::App, Self::User, Self::Temp] {
            if let Some(rest) = key.strip_prefix(scope.prefix()) {
                return (scope, rest);
            }
        }
        (Self::Session, key)
    }

    /// Joins scope and name to a key. This is the reverse of [`split`](Self::split).
    pub fn key(self, name: &str) -> String {
        [self.prefix(), name].concat()
    }
}
