//! [`RetryPolicy`]: decides whether and when a failed request is sent again.

use std::time::Duration;

use pleach_core::IdGen;
use pleach_model::{HttpRetryOptions, ModelError, ModelErrorKind};

/// The number of attempts, and the waits between them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RetryPolicy {
    attempts: u32,
    initial_delay: f64,
    max_delay: f64,
    base: f64,
    jitter: f64,
    /// The HTTP statuses to retry; `None` for the default ones.
    statuses: Option<Vec<u16>>,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { attempts: 3, initial_delay: 1.0, max_delay: 60.0, base: 2.0, jitter: 1.0, statuses: None }
    }
}

impl RetryPolicy {
    /// Creates a policy from options. The defaults replace missing or invalid values.
    pub(crate) fn of(options: &HttpRetryOptions) -> Self {
        let default = Self::default();
        let seconds =
            |set: Option<f64>, default: f64| set.filter(|set| set.is_finite() && *set >= 0.0).unwrap_or(default);
        Self {
            attempts: options.attempts.unwrap_or(default.attempts).max(1),
            initial_delay: seconds(options.initial_delay, default.initial_delay),
            max_delay: seconds(options.max_delay, default.max_delay),
            base: seconds(options.exp_base, default.base),
            jitter: seconds(options.jitter, default.jitter),
            statuses: options.http_status_codes.clone(),
        }
    }

    /// Returns the wait before the next attempt, after `made` attempts; `None` if the error is final.
    pub(crate) fn wait(&self, error: &ModelError, made: u32, ids: &dyn IdGen) -> Option<Duration> {
        if made >= self.attempts || !self.is_worth_it(error) {
            return None;
        }
        if let Some(asked) = error.retry_after() {
            return (asked.as_secs_f64() <= self.max_delay).then_some(asked);
        }
        let grown = self.initial_delay * self.base.powi(made.saturating_sub(1).min(1_000).cast_signed());
        let seconds = (grown + self.jitter * ids.uniform()).min(self.max_delay);
        Duration::try_from_secs_f64(seconds).ok()
    }

    fn is_worth_it(&self, error: &ModelError) -> bool {
        // A provider may report a failure in an answer with status 200.
        let failed = (error.kind() == ModelErrorKind::Unavailable).then_some(503);
        match (error.status().or(failed), &self.statuses) {
            (Some(status), Some(statuses)) => statuses.contains(&status),
            (Some(status), None) => matches!(status, 408 | 429 | 500..=599),
            (None, _) => matches!(error.kind(), ModelErrorKind::Unreachable | ModelErrorKind::StreamCut),
        }
    }
}

#[cfg(test)]
mod tests {
    use pleach_core::RandomIds;

    use super::*;

    fn policy() -> RetryPolicy {
        let options = HttpRetryOptions { jitter: Some(0.0), ..HttpRetryOptions::default() };
        RetryPolicy::of(&options)
    }

    fn wait(policy: &RetryPolicy, error: &ModelError, made: u32) -> Option<f64> {
        policy.wait(error, made, &RandomIds).map(|wait| wait.as_secs_f64())
    }

    #[test]
    fn l215_waits_grow_and_attempts_end() {
        let error = ModelError::from_status("m", 503);
        let policy = policy();
        let waits = [1, 2, 3].map(|made| wait(&policy, &error, made));
        assert_eq!(waits, [Some(1.0), Some(2.0), None]);
        let many = RetryPolicy { attempts: 100, ..policy };
        assert_eq!(wait(&many, &error, 50), Some(60.0));
    }

    #[test]
    fn a_provider_is_waited_for_as_long_as_it_asks_but_not_for_hours() {
        let limited = |seconds| ModelError::from_status("m", 429).with_retry_after(Duration::from_secs(seconds));
        assert_eq!(wait(&policy(), &limited(7), 1), Some(7.0));
        assert_eq!(wait(&policy(), &limited(3600), 1), None);
    }

    #[test]
    fn what_cannot_succeed_is_not_tried_again() {
        use ModelErrorKind::*;
        for (kind, again) in [(Unreachable, true), (StreamCut, true), (Timeout, false), (InvalidResponse, false)] {
            assert_eq!(wait(&policy(), &ModelError::new("m", kind), 1).is_some(), again, "{kind:?}");
        }
        assert!(wait(&policy(), &ModelError::new("m", Unavailable), 1).is_some());
        for (status, again) in [(408, true), (429, true), (500, true), (529, true), (400, false), (401, false)] {
            assert_eq!(wait(&policy(), &ModelError::from_status("m", status), 1).is_some(), again, "{status}");
        }
        let own = RetryPolicy { statuses: Some(vec![409]), ..policy() };
        assert_eq!(wait(&own, &ModelError::from_status("m", 409), 1), Some(1.0));
        assert_eq!(wait(&own, &ModelError::from_status("m", 503), 1), None);
    }
}
