//! Memory services of pleach: recall across sessions.
