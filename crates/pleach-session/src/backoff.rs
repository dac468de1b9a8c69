//! [`Backoff`]: growing pauses between attempts.

use std::time::Duration;

use pleach_core::{IdGen as _, RandomIds};

/// Random, growing pauses between attempts, with a limit on their sum.
///
/// Backends use them to retry while a shared resource is busy. The backend itself sleeps.
#[derive(Debug)]
pub struct Backoff {
    left: Duration,
    pause: Duration,
    longest: Duration,
}

impl Backoff {
    /// Creates pauses that begin at about `first`, double up to `longest` and add up to at most `limit`.
    pub fn new(limit: Duration, first: Duration, longest: Duration) -> Self {
        Self { left: limit, pause: first, longest }
    }

    /// Returns the next pause; `None` once the limit is reached.
    pub fn pause(&mut self) -> Option<Duration> {
        if self.left.is_zero() {
            return None;
        }
        let pause = self.pause.mul_f64(0.5 + RandomIds.uniform()).min(self.left);
        self.left -= pause;
        self.pause = (self.pause * 2).min(self.longest);
        Some(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_add_up_to_the_limit() {
        let [limit, first, longest] = [100, 1, 8].map(Duration::from_millis);
        let mut backoff = Backoff::new(limit, first, longest);
        let pauses: Vec<_> = std::iter::from_fn(|| backoff.pause()).collect();
        assert_eq!(pauses.iter().sum::<Duration>(), limit);
        assert!(pauses[0] < first * 2 && pauses.iter().all(|pause| *pause < longest * 2), "{pauses:?}");
        assert!(Backoff::new(Duration::ZERO, first, longest).pause().is_none());
    }
}
