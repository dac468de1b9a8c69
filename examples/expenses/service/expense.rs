//! The data of an expense.

use pleach::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An employee's report of an expense.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Report {
    /// The amount in cents.
    pub(crate) cents: u32,
    pub(crate) purpose: String,
}

/// A manager's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Decision {
    pub(crate) approved: bool,
    /// The reason for the decision.
    #[serde(default)]
    pub(crate) note: Option<String>,
    /// The person who answered; `None` if the deadline did. The service sets it. Forms leave it out, because it is
    /// `readOnly`.
    #[serde(default)]
    #[schemars(extend("readOnly" = true))]
    pub(crate) by: Option<String>,
}

/// The outcome of an expense.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// The bank has paid, and has returned this receipt.
    Paid {
        receipt: String,
    },
    Rejected {
        by: Option<String>,
        note: Option<String>,
    },
}

/// The state key of the report, which later nodes read.
pub(crate) const REPORT: Key<Report> = Key::new("report");

/// The state key of the outcome, which is stored with the last event of an expense.
pub(crate) const OUTCOME: Key<Outcome> = Key::new("outcome");
