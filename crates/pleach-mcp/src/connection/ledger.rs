//! [`Ledger`]: counts the messages and bytes since the server's last answer, and lists the waiting requests.

use std::collections::BTreeMap;

use super::incoming::Waiting;
use crate::limits::Limits;

/// The length in seconds of a counting window while no request waits.
const WINDOW: f64 = 60.0;

/// An exceeded limit, with the option of the builder that sets it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Excess {
    pub(super) option: &'static str,
    pub(super) limit: usize,
}

/// The kind of a request, which decides how its answer is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Asked {
    /// The request that begins the session.
    Introduction,
    Other,
}

/// Counts the messages and bytes that a server sends from one answer to the next. While no request waits, the counts
/// restart every minute.
#[derive(Debug)]
pub(super) struct Ledger {
    waiting: BTreeMap<i64, Asked>,
    most_requests: usize,
    most_messages: usize,
    most_bytes: usize,
    /// The number of requests of the server that are not answered yet.
    under_way: usize,
    messages: usize,
    bytes: usize,
    /// The time when counting began, in seconds of the clock.
    since: f64,
}

impl Ledger {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            waiting: BTreeMap::new(),
            most_requests: limits.server_requests,
            most_messages: limits.server_messages,
            // A single message may always be as large as the limit for messages.
            most_bytes: limits.exchange_bytes.max(limits.message_bytes),
            under_way: 0,
            messages: 0,
            bytes: 0,
            since: f64::NEG_INFINITY,
        }
    }

    /// Notes that a request is sent.
    pub(super) fn ask(&mut self, id: i64, asked: Asked) {
        self.waiting.insert(id, asked);
    }

    /// Notes that a request no longer waits. Returns its kind, if it waited.
    pub(super) fn forget(&mut self, id: i64) -> Option<Asked> {
        self.waiting.remove(&id)
    }

    /// Notes an answer, which restarts the counts. Returns the kind of the request, if it waited.
    pub(super) fn answered(&mut self, id: i64) -> Option<Asked> {
        let asked = self.forget(id)?;
        (self.messages, self.bytes) = (0, 0);
        Some(asked)
    }

    /// Counts bytes that the server has sent.
    pub(super) fn count_bytes(&mut self, count: usize, now: f64) -> Result<(), Excess> {
        self.begin_window(now);
        self.bytes = self.bytes.saturating_add(count);
        within("max_exchange_bytes", self.bytes, self.most_bytes)
    }

    /// Counts a notice.
    pub(super) fn count_notice(&mut self, now: f64) -> Result<(), Excess> {
        self.begin_window(now);
        self.messages += 1;
        within("max_server_messages", self.messages, self.most_messages)
    }

    /// Counts a request of the server, until [`end_request`](Self::end_request).
    pub(super) fn begin_request(&mut self, now: f64) -> Result<(), Excess> {
        self.under_way += 1;
        within("max_server_requests", self.under_way, self.most_requests)?;
        self.count_notice(now)
    }

    pub(super) fn end_request(&mut self) {
        self.under_way = self.under_way.saturating_sub(1);
    }

    fn begin_window(&mut self, now: f64) {
        // If the clock was set back, a new window begins as well.
        let is_over = !(self.since..self.since + WINDOW).contains(&now);
        if self.waiting.is_empty() && is_over {
            (self.messages, self.bytes, self.since) = (0, 0, now);
        }
    }
}

impl Waiting for Ledger {
    fn waits(&self, id: i64) -> bool {
        self.waiting.contains_key(&id)
    }

    fn only(&self) -> Option<i64> {
        let mut ids = self.waiting.keys();
        ids.next().copied().filter(|_| ids.next().is_none())
    }
}

fn within(option: &'static str, count: usize, limit: usize) -> Result<(), Excess> {
    if count > limit { Err(Excess { option, limit }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pleach_contract::TestClock;

    use super::*;

    fn ledger() -> Ledger {
        let mut limits = Limits::new(Arc::new(TestClock::new()));
        (limits.server_requests, limits.server_messages) = (2, 3);
        (limits.exchange_bytes, limits.message_bytes) = (10, 8);
        Ledger::new(&limits)
    }

    #[test]
    fn an_exchange_is_counted_until_its_answer_however_long_it_lasts() {
        let mut ledger = ledger();
        ledger.ask(1, Asked::Other);
        for now in [0.0, 100.0, 200.0] {
            ledger.count_notice(now).unwrap();
        }
        assert_eq!(ledger.count_notice(300.0), Err(Excess { option: "max_server_messages", limit: 3 }));
        assert_eq!(ledger.answered(1), Some(Asked::Other));
        assert_eq!(ledger.answered(1), None);
        ledger.count_notice(300.0).unwrap();
        ledger.count_bytes(10, 300.0).unwrap();
        assert_eq!(ledger.count_bytes(1, 301.0), Err(Excess { option: "max_exchange_bytes", limit: 10 }));
    }

    #[test]
    fn a_server_that_owes_nothing_is_counted_by_the_minute() {
        let mut ledger = ledger();
        for now in [0.0, 1.0, 59.0, 60.0, 61.0, 62.0] {
            ledger.count_notice(now).unwrap();
        }
        assert!(ledger.count_notice(63.0).is_err());
        ledger.count_notice(10.0).unwrap();
    }

    #[test]
    fn requests_are_counted_while_they_have_no_answer() {
        let mut ledger = ledger();
        ledger.begin_request(0.0).unwrap();
        ledger.begin_request(0.0).unwrap();
        ledger.end_request();
        ledger.begin_request(0.0).unwrap();
        assert_eq!(ledger.begin_request(0.0), Err(Excess { option: "max_server_requests", limit: 2 }));
    }

    #[test]
    fn one_message_may_be_as_large_as_messages_may_be() {
        let mut limits = Limits::new(Arc::new(TestClock::new()));
        (limits.exchange_bytes, limits.message_bytes) = (10, 20);
        Ledger::new(&limits).count_bytes(20, 0.0).unwrap();
    }
}
