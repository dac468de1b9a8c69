//! [`SetupError`]: what a program sets up wrong before it builds an app.

/// An error of something that a program sets up: a model, a tool set, a database. Errors of this kind convert to the error of building
/// an app, so that one function with `?` sets up all of it.
pub trait SetupError: std::error::Error + 'static {}
