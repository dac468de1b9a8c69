//! [`KeptList`]: the last listing of tools, and the decision when to list them again.

use std::sync::Arc;

use crate::declared::Listed;

/// The number of equal lists in a row up to which reports of changes are still believed at once.
const FREE: u32 = 2;
/// The longest time for which reports of changes are ignored.
const LONGEST_WAIT: f64 = 30.0;

/// The last listing of tools.
#[derive(Clone)]
pub(super) struct KeptList {
    /// The number of changes that the server had reported before the listing.
    version: u64,
    listed: Listed,
    /// The number of lists in a row that were equal to the previous list.
    same: u32,
    /// The time of the listing, in seconds of the clock.
    at: f64,
}

impl KeptList {
    /// Returns the entry for a new listing that replaces `before`.
    pub(super) fn after(before: Option<&Self>, version: u64, listed: Listed, at: f64) -> Self {
        match before.filter(|before| is_same(&before.listed, &listed)) {
            Some(before) => Self { version, listed, same: before.same.saturating_add(1), at },
            None => Self { version, listed, same: 0, at },
        }
    }

    /// Returns the tools unless they must be listed again, because the server has reported a change since the listing.
    /// After several equal lists, such reports are ignored for a time that doubles with each further equal list.
    pub(super) fn current(&self, version: u64, now: f64) -> Option<&Listed> {
        let ignores_reports = (self.at..self.at + wait_after(self.same)).contains(&now);
        (self.version == version || ignores_reports).then_some(&self.listed)
    }
}

fn is_same(one: &Listed, other: &Listed) -> bool {
    Arc::ptr_eq(one, other)
        || (one.len() == other.len() && one.iter().zip(other.iter()).all(|(one, other)| one.tool == other.tool))
}

fn wait_after(same: u32) -> f64 {
    match same.checked_sub(FREE + 1) {
        None => 0.0,
        Some(doublings) => f64::from(2_u32.saturating_pow(doublings)).min(LONGEST_WAIT),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::declared::{ListedTool, declare};

    fn listed(name: &str) -> Listed {
        let tool = json!({"name": name});
        declare("s", None, vec![ListedTool::read(tool.as_object().unwrap()).unwrap()])
    }

    #[test]
    fn a_server_that_reports_a_change_after_each_list_is_asked_less_and_less_often() {
        let mut kept = KeptList::after(None, 0, listed("a"), 0.0);
        assert!(kept.current(0, 99.0).is_some());
        let mut waits = Vec::new();
        for version in 1..10 {
            let wait = (0..100).find(|wait| kept.current(version, kept.at + f64::from(*wait)).is_none());
            waits.push(wait.unwrap());
            let at = kept.at + f64::from(wait.unwrap());
            kept = KeptList::after(Some(&kept), version, listed("a"), at);
        }
        assert_eq!(waits, [0, 0, 0, 1, 2, 4, 8, 16, 30]);
        kept = KeptList::after(Some(&kept), 10, listed("b"), 1_000.0);
        assert!(kept.current(11, 1_000.0).is_none(), "the list has changed, so the next report is believed");
    }
}
