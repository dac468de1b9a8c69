//! [`InboxState`]: what a service remembers of its inbox.

use std::sync::atomic::{AtomicBool, AtomicU64};

use pleach_core::{AppName, UserId};
use pleach_session::ListQuestions;
use tokio::sync::Mutex;

use crate::inbox_index::IndexBuild;

/// What a service remembers of its inbox.
#[derive(Debug, Default)]
pub(crate) struct InboxState {
    /// The tables exist, and the index, if it can be made.
    pub(crate) is_made: AtomicBool,
    pub(crate) has_warned: AtomicBool,
    pub(crate) build: IndexBuild,
    /// Counts listings and refreshes, in the order they begin.
    pub(crate) begun: AtomicU64,
    /// The last refresh. A refresh holds the lock: concurrent ones would store the same rows and wait for each other in the
    /// server.
    pub(crate) refreshed: Mutex<Option<Refresh>>,
}

/// A completed refresh of the projection.
#[derive(Debug)]
pub(crate) struct Refresh {
    pub(crate) app_name: AppName,
    pub(crate) user_id: Option<UserId>,
    /// Its number in the order of listings and refreshes.
    pub(crate) begun: u64,
}

impl Refresh {
    /// Returns whether the refresh began after the listing with the number `asked`, and covers its request.
    pub(crate) fn covers(&self, request: &ListQuestions, asked: u64) -> bool {
        let reads_user = self.user_id.is_none() || self.user_id == request.user_id;
        self.begun > asked && self.app_name == request.app_name && reads_user
    }
}
