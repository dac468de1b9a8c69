//! When a failed attempt is tried again, and after how long.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::NodeError;

/// How often and after which delays a failed node is tried again. A node without one never retries.
///
/// Times are seconds. ADK: `RetryConfig`.
// R407–R409
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetryConfig {
    /// Attempts in all, the first one included; 0 and 1 mean no retry.
    #[serde(alias = "maxAttempts")]
    pub max_attempts: u32,
    /// Seconds before the second attempt.
    #[serde(alias = "initialDelay")]
    pub initial_delay: f64,
    /// The longest delay, in seconds.
    #[serde(alias = "maxDelay")]
    pub max_delay: f64,
    /// By what the delay grows with each attempt.
    #[serde(alias = "backoffFactor")]
    pub backoff_factor: f64,
    /// The random share of a delay: 0 none, 1 anything between nothing and twice the delay.
    pub jitter: f64,
    /// The error classes (or ancestors of them) that are tried again; `None` means all.
    pub exceptions: Option<Vec<String>>,
    /// Which of these errors are tried again; `None` means all. Not part of the JSON form.
    #[serde(skip)]
    pub condition: Option<RetryCondition>,
}

/// A function that decides whether an error is worth another attempt. Two are equal when they are clones of one.
#[derive(Clone)]
pub struct RetryCondition(Arc<dyn Fn(&NodeError) -> bool + Send + Sync>);

impl Default for RetryConfig {
    fn default() -> Self {
        Self {
            max_attempts: 5,
            initial_delay: 1.0,
            max_delay: 60.0,
            backoff_factor: 2.0,
            jitter: 1.0,
            exceptions: None,
            condition: None,
        }
    }
}

impl RetryConfig {
    /// A policy of `max_attempts` attempts in all, with the default delays.
    #[must_use]
    pub fn attempts(max_attempts: u32) -> Self {
        Self { max_attempts, ..Self::default() }
    }

    /// Sets the first delay, in seconds.
    #[must_use]
    pub fn initial_delay(mut self, seconds: f64) -> Self {
        self.initial_delay = seconds;
        self
    }

    /// Sets the random share of a delay.
    #[must_use]
    pub fn jitter(mut self, jitter: f64) -> Self {
        self.jitter = jitter;
        self
    }

    /// Retries only errors of these classes, or of classes below them.
    ///
    /// A text that is no class of any error cannot be noticed: name types of your own with [`on`](Self::on). A node whose
    /// error is not named is reported as a warning by `tracing`.
    #[must_use]
    pub fn only<I: IntoIterator<Item = S>, S: Into<String>>(mut self, classes: I) -> Self {
        self.exceptions = Some(classes.into_iter().map(Into::into).collect());
        self
    }

    /// Retries errors of the type `E`, beside the classes that are named already.
    ///
    /// ```
    /// # use pleach_context::RetryConfig;
    /// # #[derive(Debug)] struct GatewayError;
    /// # impl std::fmt::Display for GatewayError {
    /// #     fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { Ok(()) }
    /// # }
    /// # impl std::error::Error for GatewayError {}
    /// let policy = RetryConfig::attempts(3).on::<GatewayError>().on::<std::io::Error>();
    /// ```
    ///
    /// `E` is the type of the error that the handler returns or passes to `?`, not that of a cause inside it.
    #[must_use]
    pub fn on<E: std::error::Error + 'static>(mut self) -> Self {
        self.exceptions.get_or_insert_default().push(crate::error::name_of::<E>().to_owned());
        self
    }

    /// Retries only errors for which `condition` is true, beside the limits of the classes. A later condition replaces an earlier one; one that
    /// panics counts as false.
    ///
    /// ```
    /// # use pleach_context::RetryConfig;
    /// let policy = RetryConfig::attempts(3).when(|error| error.message().contains("503"));
    /// # assert!(policy.condition.is_some());
    /// ```
    #[must_use]
    pub fn when(mut self, condition: impl Fn(&NodeError) -> bool + Send + Sync + 'static) -> Self {
        self.condition = Some(RetryCondition(Arc::new(condition)));
        self
    }

    /// Whether the policy's classes include that of the error; without classes they include all.
    #[must_use]
    pub fn names(&self, error: &NodeError) -> bool {
        self.exceptions.as_ref().is_none_or(|names| names.iter().any(|name| error.is(name)))
    }

    /// Whether a failure of attempt `attempt` (1-based) is tried again.
    // R407, R408
    #[must_use]
    pub fn retries(&self, error: &NodeError, attempt: u32) -> bool {
        attempt < self.max_attempts
            && self.names(error)
            && self.condition.as_ref().is_none_or(|condition| condition.holds(error))
    }

    /// The pause after attempt `attempt` (1-based); `uniform` is a random number in `[0, 1)`.
    // R409
    #[must_use]
    pub fn delay(&self, attempt: u32, uniform: f64) -> Duration {
        if self.initial_delay <= 0.0 {
            // Nothing times what a large attempt makes of the factor is no number.
            return Duration::ZERO;
        }
        let exponent = i32::try_from(attempt.saturating_sub(1)).unwrap_or(i32::MAX);
        let mut delay = self.initial_delay * self.backoff_factor.powi(exponent);
        if self.jitter > 0.0 {
            delay = delay.min(self.max_delay / (1.0 + self.jitter));
            let spread = self.jitter * delay;
            delay = (delay + spread * (2.0 * uniform - 1.0)).max(0.0);
        }
        Duration::try_from_secs_f64(delay.min(self.max_delay)).unwrap_or(Duration::ZERO)
    }
}

impl RetryCondition {
    /// Returns whether the error is worth another attempt.
    fn holds(&self, error: &NodeError) -> bool {
        std::panic::catch_unwind(AssertUnwindSafe(|| (self.0)(error))).unwrap_or(false)
    }
}

impl fmt::Debug for RetryCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RetryCondition(..)")
    }
}

impl PartialEq for RetryCondition {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e59_delays_without_jitter_double_up_to_the_limit() {
        let policy = RetryConfig::default().jitter(0.0);
        let seconds: Vec<u64> = (1..=8).map(|attempt| policy.delay(attempt, 0.5).as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60]);
    }

    #[test]
    fn e59_no_delay_stays_none_however_many_attempts_there_were() {
        let policy = RetryConfig::default().initial_delay(0.0);
        assert_eq!([1, 1_000, 5_000].map(|attempt| policy.delay(attempt, 0.5)), [Duration::ZERO; 3]);
        assert_eq!(RetryConfig::default().jitter(0.0).delay(5_000, 0.5), Duration::from_secs(60));
    }

    #[test]
    fn e60_the_factor_of_a_policy_counts() {
        let policy = RetryConfig { initial_delay: 2.0, backoff_factor: 3.0, ..RetryConfig::default() }.jitter(0.0);
        assert_eq!([1, 2, 3].map(|attempt| policy.delay(attempt, 0.5).as_secs()), [2, 6, 18]);
    }

    #[test]
    fn e61_jitter_spreads_around_the_delay() {
        let policy = RetryConfig::default().jitter(0.5);
        assert_eq!(policy.delay(1, 0.0), Duration::from_millis(500));
        assert!(policy.delay(1, 0.999_999) <= Duration::from_millis(1500));
    }

    /// Issue 10 E: a misspelled type does not compile, and types that share a name are distinguished where they can be.
    #[test]
    fn a_policy_names_errors_by_their_type() {
        #[derive(Debug)]
        struct GatewayError;
        impl std::fmt::Display for GatewayError {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("no answer")
            }
        }
        impl std::error::Error for GatewayError {}
        let policy = RetryConfig::attempts(3).on::<GatewayError>().on::<std::io::Error>();
        assert!(policy.retries(&NodeError::from_handler(GatewayError), 1));
        let io = || std::io::Error::other("broken");
        assert!(policy.retries(&NodeError::from_handler(io()), 1));
        assert!(policy.retries(&crate::Fail::from(io()).into_node_error(), 1));
        assert!(!policy.retries(&NodeError::from_handler(std::fmt::Error), 1));
        assert!(!policy.retries(&NodeError::value("x"), 1));
    }

    #[test]
    fn e55_zero_and_one_attempts_mean_no_retry() {
        let error = NodeError::value("x");
        assert!(!RetryConfig::attempts(0).retries(&error, 1) && !RetryConfig::attempts(1).retries(&error, 1));
        assert!(RetryConfig::attempts(2).retries(&error, 1) && !RetryConfig::attempts(2).retries(&error, 2));
        assert!(!RetryConfig::attempts(2).only(["KeyError"]).retries(&error, 1));
        assert!(RetryConfig::attempts(2).only(["Exception"]).retries(&error, 1));
        assert!(RetryConfig::attempts(2).only(["BaseException"]).retries(&error, 1));
    }
}
