//! [`Step`]: the name and the options of a step.

use std::time::Duration;

use smol_str::SmolStr;

use crate::RetryConfig;

/// The name and the options of a [step](crate::Context::step). A text converts into a step with that name and no
/// options.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub(super) name: SmolStr,
    pub(super) key: Option<SmolStr>,
    pub(super) retry: Option<RetryConfig>,
    pub(super) timeout: Option<Duration>,
}

impl Step {
    /// Returns a step with this name. Step names follow the rules for node names: a letter or underscore first, then
    /// letters, digits and underscores.
    pub fn new(name: impl Into<SmolStr>) -> Self {
        Self { name: name.into(), key: None, retry: None, timeout: None }
    }

    /// Identifies the step by this key instead of its place among the steps with its name. The order of the steps may
    /// then change, for example in a loop. Calls with the same name and key in one run share one execution and one
    /// result.
    ///
    /// The key becomes part of a path: use letters, digits, `-` and `_`.
    #[must_use]
    pub fn key(mut self, key: impl Into<SmolStr>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Tries the closure again when it fails. Each failed attempt leaves an error event.
    #[must_use]
    pub fn retry(mut self, policy: RetryConfig) -> Self {
        self.retry = Some(policy);
        self
    }

    /// Limits the time of one attempt, after which the closure is dropped and the attempt fails with a
    /// `NodeTimeoutError`.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }
}

impl<N: Into<SmolStr>> From<N> for Step {
    fn from(name: N) -> Self {
        Self::new(name)
    }
}
