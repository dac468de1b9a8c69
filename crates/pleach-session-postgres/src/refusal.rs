//! [`Refusal`]: what a pooler does not let through, with the remedy.

use std::fmt;

/// The kinds of refusals of a pooler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// A parameter with which a connection starts.
    Parameter,
    /// Transactions: its mode is `statement`.
    StatementMode,
}

impl Refusal {
    /// Reads the message of an error of PgBouncer.
    pub(crate) fn of(message: &str) -> Option<Self> {
        if message.starts_with("unsupported startup parameter") {
            return Some(Self::Parameter);
        }
        message.contains("statement pooling mode").then_some(Self::StatementMode)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Parameter => {
                "a pooler (PgBouncer) answers at this address and refuses a setting that connections start with: use \
                 `pooler=transaction` in the URL, which makes the settings in each transaction, put the settings of PGOPTIONS \
                 into the URL, or name them in the pooler's `ignore_startup_parameters`"
            }
            Self::StatementMode => {
                "a pooler (PgBouncer) answers at this address and its pool_mode is `statement`, which has no transactions: use \
                 pool_mode `transaction` or `session`, or the address of the server itself"
            }
        })
    }
}
