//! [`RunSlots`]: limits the number of active runs, or followers, of a user.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use http::StatusCode;
use pleach_core::{AppName, UserId};

use crate::error::ApiError;

type Key = (AppName, UserId);

/// Counts the active runs, or the followers, of each user of an app.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunSlots(Arc<Mutex<HashMap<Key, usize>>>);

/// A slot of a user. Dropping it frees the slot.
#[derive(Debug)]
pub(crate) struct RunSlot {
    slots: RunSlots,
    key: Key,
}

impl RunSlots {
    /// Takes a slot.
    ///
    /// # Errors
    /// 429 if the user has reached the limit. `what` is the name of the counted things in its text.
    pub(crate) fn take(&self, what: &str, app: &AppName, user: &UserId, limit: usize) -> Result<RunSlot, ApiError> {
        let key = (app.clone(), user.clone());
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.get(&key).copied().unwrap_or(0);
        if count >= limit {
            let detail = format!("The user has {count} {what}, and {limit} at once are allowed: wait for one to end.");
            return Err(ApiError::new(StatusCode::TOO_MANY_REQUESTS, detail));
        }
        counts.insert(key.clone(), count + 1);
        Ok(RunSlot { slots: self.clone(), key })
    }
}

impl Drop for RunSlot {
    fn drop(&mut self) {
        let mut counts = self.slots.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Entry::Occupied(mut count) = counts.entry(self.key.clone()) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_free_again_when_its_run_ends() {
        let slots = RunSlots::default();
        let take = |user: &str| slots.take("runs", &"app".into(), &user.into(), 2);
        let (first, _second, _other) = (take("a").unwrap(), take("a").unwrap(), take("b").unwrap());
        assert!(matches!(take("a"), Err(ApiError::Detail(StatusCode::TOO_MANY_REQUESTS, _))));
        drop(first);
        drop(take("a").unwrap());
        assert_eq!(slots.0.lock().unwrap().len(), 2);
    }
}
