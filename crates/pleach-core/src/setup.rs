//! [`SetupError`]: mistakes that a program makes before it builds an app.

/// An error in something that a program sets up: a model, a tool set, a database. Such an error converts to the
/// error that building an app returns, so that one function can set up everything with `?`.
pub trait SetupError: std::error::Error + 'static {}
