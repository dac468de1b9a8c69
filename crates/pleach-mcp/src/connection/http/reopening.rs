//! [`Reopening`]: decides when an ended stream is opened again, and when it is given up.

use std::time::Duration;

/// The wait before a stream is opened again for the first time.
const SHORTEST: Duration = Duration::from_millis(250);
/// The longest wait that a server may ask for before its stream is opened again.
const LONGEST_ASKED_FOR: Duration = Duration::from_secs(60);
/// The maximum number of failed attempts in a row to open a stream again.
const MOST_FAILURES: u32 = 3;

/// Counts streams in a row that ended soon, and decides when the next stream is opened.
#[derive(Debug)]
pub(super) struct Reopening {
    /// The maximum number of streams in a row that bring nothing.
    most: u32,
    longest: Duration,
    /// The number of streams in a row that ended soon.
    short: u32,
    /// The number of streams in a row that ended soon and brought nothing.
    empty: u32,
    failures: u32,
}

/// The end of a stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Ended {
    /// The stream was open for a while.
    Late,
    /// The stream ended soon, but has brought messages.
    Soon,
    /// The stream ended soon and brought nothing.
    Empty,
}

impl Reopening {
    /// Returns the rule for the stream of an answer. The time-out of the call ends that stream in any case.
    pub(super) fn of_answer() -> Self {
        Self::new(32, Duration::from_secs(10))
    }

    /// Returns the rule for the general stream, which no call waits for.
    pub(super) fn of_listening() -> Self {
        Self::new(10, Duration::from_secs(30))
    }

    fn new(most: u32, longest: Duration) -> Self {
        Self { most, longest, short: 0, empty: 0, failures: 0 }
    }

    /// Returns the wait after a stream that ended, which is at least the wait that the server asked for. Returns `None`
    /// to give up.
    pub(super) fn after(&mut self, ended: Ended, asked_for: Option<Duration>) -> Option<Duration> {
        self.failures = 0;
        match ended {
            Ended::Late => (self.short, self.empty) = (0, 0),
            Ended::Soon => (self.short, self.empty) = (self.short + 1, 0),
            Ended::Empty => (self.short, self.empty) = (self.short + 1, self.empty + 1),
        }
        (self.empty < self.most).then(|| self.wait(self.short, asked_for))
    }

    /// Returns the wait after a stream that could not be opened. Returns `None` to give up.
    pub(super) fn after_failure(&mut self) -> Option<Duration> {
        self.failures += 1;
        (self.failures < MOST_FAILURES).then(|| self.wait(self.failures + 1, None))
    }

    fn wait(&self, times: u32, asked_for: Option<Duration>) -> Duration {
        let doubled = SHORTEST.saturating_mul(2_u32.saturating_pow(times.saturating_sub(1)));
        doubled.min(self.longest).max(asked_for.unwrap_or_default().min(LONGEST_ASKED_FOR))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(reopening: &mut Reopening, ended: Ended, times: usize) -> Vec<Option<u128>> {
        (0..times).map(|_| reopening.after(ended, None).map(|wait| wait.as_millis())).collect()
    }

    #[test]
    fn streams_that_end_at_once_are_opened_ever_later_and_given_up() {
        let waits = waits(&mut Reopening::of_listening(), Ended::Empty, 11);
        let expected = [250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000].map(Some);
        assert_eq!(waits[..9], expected);
        assert_eq!(waits[9..], [None, None]);
    }

    #[test]
    fn streams_that_bring_something_are_opened_ever_later() {
        let mut reopening = Reopening::of_answer();
        let waits = waits(&mut reopening, Ended::Soon, 100);
        assert_eq!((waits[0], waits[1], waits[99]), (Some(250), Some(500), Some(10_000)));
        assert_eq!(reopening.after(Ended::Late, None), Some(SHORTEST));
    }

    #[test]
    fn a_server_may_ask_for_a_longer_wait() {
        let mut reopening = Reopening::of_answer();
        assert_eq!(reopening.after(Ended::Late, Some(Duration::ZERO)), Some(SHORTEST));
        assert_eq!(reopening.after(Ended::Late, Some(Duration::from_secs(5))), Some(Duration::from_secs(5)));
        assert_eq!(reopening.after(Ended::Late, Some(Duration::MAX)), Some(LONGEST_ASKED_FOR));
    }

    #[test]
    fn a_stream_that_cannot_be_opened_is_tried_three_times() {
        let mut reopening = Reopening::of_answer();
        assert!(reopening.after(Ended::Late, None).is_some());
        assert!(reopening.after_failure().is_some());
        assert!(reopening.after_failure().is_some());
        assert_eq!(reopening.after_failure(), None);
    }
}
