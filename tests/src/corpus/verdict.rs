//! Judges a case by its differences and the list of known failures.

use super::{Case, ExpectedFailures};
use crate::normalise::Difference;

/// The judgement of one case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The traces are equal, as expected.
    Passed,
    /// The traces differ.
    Failed(Vec<Difference>),
    /// The traces differ, and the case is listed. The value is the reason in the list.
    Known(String),
    /// The case passes but is listed, so its line must be removed. The value is the reason in the list.
    Unlisted(String),
}

/// Judges one case.
pub fn judge(case: &Case<'_>, found: Vec<Difference>, expected: &ExpectedFailures) -> Verdict {
    match (found.is_empty(), expected.reason(case)) {
        (true, None) => Verdict::Passed,
        (false, None) => Verdict::Failed(found),
        (false, Some(reason)) => Verdict::Known(reason.to_owned()),
        (true, Some(reason)) => Verdict::Unlisted(reason.to_owned()),
    }
}
