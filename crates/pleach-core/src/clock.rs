//! Traits for time and randomness, and the rounding rule of stored times.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use crate::BoxFuture;

/// The source of time and timers. All code of pleach uses a `Clock` for both, so that tests can control them.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// Returns the current time, in seconds since 1970-01-01 UTC.
    fn now(&self) -> f64;

    /// Completes after `duration`.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;
}

impl<C: Clock + ?Sized> Clock for Arc<C> {
    fn now(&self) -> f64 {
        (**self).now()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        (**self).sleep(duration)
    }
}

/// The source of ids and random numbers.
pub trait IdGen: fmt::Debug + Send + Sync + 'static {
    /// Returns a new random UUID (version 4).
    fn uuid(&self) -> Uuid;

    /// Returns a number in `[0, 1)`, for jitter.
    fn uniform(&self) -> f64;
}

impl<G: IdGen + ?Sized> IdGen for Arc<G> {
    fn uuid(&self) -> Uuid {
        (**self).uuid()
    }

    fn uniform(&self) -> f64 {
        (**self).uniform()
    }
}

/// The default [`IdGen`]: random UUIDs and numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct RandomIds;

impl IdGen for RandomIds {
    #[expect(clippy::disallowed_methods, reason = "this is the IdGen that other code must use")]
    fn uuid(&self) -> Uuid {
        Uuid::new_v4()
    }

    fn uniform(&self) -> f64 {
        // The low 62 bits of a version 4 UUID are random; 53 of them fill an f64's mantissa.
        const BITS: u32 = 53;
        let (_, low) = self.uuid().as_u64_pair();
        (low & ((1 << BITS) - 1)) as f64 / (1u64 << BITS) as f64
    }
}

/// Rounds seconds since the epoch to whole microseconds as Python's `datetime` does.
///
/// The fraction is multiplied by a million as an `f64` and rounded half to even. No decimal text is involved, because
/// the last digit could then differ from what google-adk stores. Values outside the range of `i64` saturate, and NaN
/// becomes 0.
// S49
pub fn micros(seconds: f64) -> i64 {
    let whole = seconds as i64;
    let fraction = ((seconds - whole as f64) * 1e6).round_ties_even();
    whole.saturating_mul(1_000_000).saturating_add(fraction as i64)
}

/// Converts whole microseconds since the epoch to seconds.
// S49
pub fn seconds(micros: i64) -> f64 {
    micros as f64 / 1e6
}

/// The time, in seconds since the epoch, from which an `f64` can no longer distinguish every microsecond: in the year
/// 2242.
pub const DISTINCT_TIMES: f64 = 8_589_934_592.0;

/// Returns the earliest time after `time` that storage can distinguish from it, in seconds since the epoch.
///
/// This is the next whole microsecond, or from [`DISTINCT_TIMES`] on the next whole second, which is exact in every
/// unit.
// S48
pub fn next_time(time: f64) -> f64 {
    if time < DISTINCT_TIMES {
        return seconds(micros(time).saturating_add(1));
    }
    (time.floor() + 1.0).max(time.next_up())
}

#[cfg(test)]
mod tests {
    use super::{DISTINCT_TIMES, IdGen, RandomIds, micros, next_time, seconds};

    // S48: for any time, the next time differs in every unit that a backend compares.
    #[test]
    fn s48_the_next_time_is_later_in_every_unit() {
        for start in
            [-1.5, 0.0, 1_760_000_000.123_456, DISTINCT_TIMES - 1.0, DISTINCT_TIMES, 9.1e9, 9e10, 253_402_300_000.0]
        {
            let mut time = start;
            for _ in 0..1_000 {
                let next = next_time(time);
                assert!(next > time && micros(next) > micros(time), "{time} {next}");
                assert!((next * 1e6).round() > (time * 1e6).round(), "{time} {next}");
                assert_eq!(seconds(micros(next)), next);
                time = next;
            }
        }
        assert!(next_time(f64::MAX) > f64::MAX);
        let whole = 8_589_934_591_999_999;
        assert_eq!((micros(seconds(whole)), next_time(seconds(whole))), (whole, DISTINCT_TIMES));
    }

    // S49: half to even on the exact binary value, carry and borrow.
    #[test]
    fn micros_round_as_python_does() {
        for (time, expected) in [
            (1_760_000_000.123_456_5, 1_760_000_000_123_456),
            (1_760_000_000.123_456_6, 1_760_000_000_123_457),
            (1_760_000_000.999_999_6, 1_760_000_001_000_000),
            (-1.5, -1_500_000),
            (-0.000_000_4, 0),
            (0.0, 0),
            (0.000_000_5, 0),
            (0.000_001_5, 2),
            (f64::NAN, 0),
            (f64::INFINITY, i64::MAX),
        ] {
            assert_eq!(micros(time), expected, "{time}");
        }
        assert_eq!(seconds(1_760_000_000_123_457), 1_760_000_000.123_457);
    }

    #[test]
    fn random_ids_are_version_4_and_differ() {
        let ids = [RandomIds.uuid(), RandomIds.uuid()];
        assert_ne!(ids[0], ids[1]);
        assert!(ids.iter().all(|id| id.get_version_num() == 4));
        let numbers: Vec<f64> = (0..1000).map(|_| RandomIds.uniform()).collect();
        assert!(numbers.iter().all(|number| (0.0..1.0).contains(number)));
        assert!(numbers.iter().any(|number| *number < 0.2) && numbers.iter().any(|number| *number > 0.8));
    }
}
