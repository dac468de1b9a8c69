//! [`Refusal`]: a request that a pooler refuses, with the remedy.

use std::fmt;

/// The kinds of requests that a pooler refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The refused request is a parameter with which a connection starts.
    Parameter,
    /// The pooler's mode is `statement`, which refuses transactions.
    StatementMode,
}

impl Refusal {
    /// Reads the message of a PgBouncer error.
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
                "a pooler (PgBouncer) answers at this address and refuses a setting with which connections start: use \
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
