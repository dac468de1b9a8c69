//! [`ArgumentError`]: a mistake of the model in the arguments of a call.

/// A mistake of the model in the arguments of a call. The model sees the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ArgumentError {
    #[error("the argument `{0}` is missing")]
    Missing(String),
    #[error("there is no argument `{unknown}`; the arguments are: {known}")]
    Unknown { unknown: String, known: String },
    #[error("the argument `{arg}` {reason}")]
    Invalid { arg: String, reason: &'static str },
}

impl ArgumentError {
    pub(crate) fn invalid(arg: &str, reason: &'static str) -> Self {
        Self::Invalid { arg: arg.to_owned(), reason }
    }
}
