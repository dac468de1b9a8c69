//! The conditions and delays for retrying a failed attempt.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::NodeError;

/// How often and after which delays a failed node is retried. A node without a policy never retries.
///
/// Times are seconds. ADK: `RetryConfig`.
// R407–R409
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetryConfig {
    /// The total number of attempts, including the first; 0 and 1 mean no retry.
    #[serde(alias = "maxAttempts")]
    pub max_attempts: u32,
    /// The delay before the second attempt, in seconds.
    #[serde(alias = "initialDelay")]
    pub initial_delay: f64,
    /// The longest delay, in seconds.
    #[serde(alias = "maxDelay")]
    pub max_delay: f64,
    /// The factor by which the delay grows with each attempt.
    #[serde(alias = "backoffFactor")]
    pub backoff_factor: f64,
    /// The random share of a delay: 0 means none, 1 means anything between zero and twice the delay.
    pub jitter: f64,
    /// The error classes (or their ancestors) that are retried; `None` means all.
    pub exceptions: Option<Vec<String>>,
    /// A condition for retrying such an error; `None` means that all are retried. It is not part of the JSON form.
    #[serde(skip)]
    pub condition: Option<RetryCondition>,
}

/// A function that decides whether an error is worth another attempt. Two are equal if one is a clone of the other.
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
    /// Returns a policy with a total of `max_attempts` attempts and the default delays.
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
    /// A misspelled class cannot be detected: name your own types with [`on`](Self::on) instead. If a node fails with
    /// an error that the policy does not name, `tracing` gets a warning.
    #[must_use]
    pub fn only<I: IntoIterator<Item = S>, S: Into<String>>(mut self, classes: I) -> Self {
        self.exceptions = Some(classes.into_iter().map(Into::into).collect());
        self
    }

    /// Retries errors of the type `E`, in addition to the classes that are already named.
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
    /// `E` is the type of the error that the handler returns or passes to `?`, not the type of a cause inside it.
    #[must_use]
    pub fn on<E: std::error::Error + 'static>(mut self) -> Self {
        self.exceptions.get_or_insert_default().push(crate::error::name_of::<E>().to_owned());
        self
    }

    /// Retries only errors for which `condition` is true, within the limits of the classes. A later condition replaces
    /// an earlier one. A condition that panics is treated as false.
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

    /// Returns true if the policy's classes include the class of the error. A policy without classes includes all.
    #[must_use]
    pub fn names(&self, error: &NodeError) -> bool {
        self.exceptions.as_ref().is_none_or(|names| names.iter().any(|name| error.is(name)))
    }

    /// Returns true if a failure of attempt `attempt` (1-based) is retried.
    // R407, R408
    #[must_use]
    pub fn retries(&self, error: &NodeError, attempt: u32) -> bool {
        attempt < self.max_attempts
            && self.names(error)
            && self.condition.as_ref().is_none_or(|condition| condition.holds(error))
    }

    /// Returns the delay after attempt `attempt` (1-based); `uniform` is a random number in `[0, 1)`.
    // R409
    #[must_use]
    pub fn delay(&self, attempt: u32, uniform: f64) -> Duration {
        if self.initial_delay <= 0.0 {
            // For a large attempt the power is infinite, and zero times infinity is NaN.
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
    /// Returns true if the error is worth another attempt.
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

    /// A misspelled type does not compile, and types that share a name are distinguished where possible.
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
