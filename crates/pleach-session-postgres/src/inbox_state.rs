//! [`InboxState`]: the part of a service that concerns its inbox.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use pleach_core::{AppName, UserId};
use pleach_session::ListQuestions;
use tokio::sync::{Mutex, OnceCell};

use crate::inbox_index::IndexBuild;

/// The part of a service that concerns its inbox.
#[derive(Debug, Default)]
pub(crate) struct InboxState {
    /// Whether the tables exist, and the index if it can be created.
    pub(crate) is_made: AtomicBool,
    pub(crate) has_warned: AtomicBool,
    pub(crate) build: IndexBuild,
    /// Whether the index of deadlines exists; empty until a process has waited for deadlines.
    pub(crate) has_deadlines: OnceCell<bool>,
    pub(crate) deadlines_build: IndexBuild,
    pub(crate) statistics: Statistics,
    /// The number of listings and refreshes, which are numbered in the order they begin.
    pub(crate) begun: AtomicU64,
    /// The last refresh. A refresh holds the lock, because concurrent refreshes would store the same rows and wait for
    /// each other in the server.
    pub(crate) refreshed: Mutex<Option<Refresh>>,
}

/// Decides when the server counts the rows of the projection again.
///
/// Until the server counts the rows, its planner assumes that a new table is small, and may read the questions of
/// the whole app for each session that is stored. The server's own count comes a minute later.
#[derive(Debug, Default)]
pub(crate) struct Statistics {
    /// The number of sessions that were stored.
    stored: AtomicU64,
}

impl Statistics {
    /// The least number of stored sessions to count. Reading fewer rows is fast anyway, and statistics of a few rows
    /// mislead the planner.
    const LEAST: u64 = 256;

    /// Adds to the number of stored sessions. Returns `true` if it is at least twice the number at the last count.
    pub(crate) fn are_old(&self, sessions: usize) -> bool {
        let before = self.stored.fetch_add(sessions as u64, Ordering::Relaxed);
        let doublings = |stored: u64| (stored / Self::LEAST).checked_ilog2();
        doublings(before) != doublings(before + sessions as u64)
    }
}

/// A completed refresh of the projection.
#[derive(Debug)]
pub(crate) struct Refresh {
    pub(crate) app_name: AppName,
    pub(crate) user_id: Option<UserId>,
    /// The number of this refresh in the order of listings and refreshes.
    pub(crate) begun: u64,
}

impl Refresh {
    /// Returns `true` if the refresh began after the listing with the number `asked`, and covers its request.
    pub(crate) fn covers(&self, request: &ListQuestions, asked: u64) -> bool {
        let reads_user = self.user_id.is_none() || self.user_id == request.user_id;
        self.begun > asked && self.app_name == request.app_name && reads_user
    }
}

#[cfg(test)]
mod tests {
    use super::Statistics;

    #[test]
    fn statistics_are_renewed_when_the_sessions_have_doubled() {
        let statistics = Statistics::default();
        let counts =
            [(1, false), (254, false), (1, true), (255, false), (1, true), (511, false), (1, true), (5000, true)];
        for (sessions, are_old) in counts {
            assert_eq!(statistics.are_old(sessions), are_old, "{sessions} more");
        }
    }
}
