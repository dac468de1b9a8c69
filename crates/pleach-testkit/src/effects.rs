//! [`Effects`]: the external effects of the code under test.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pleach_context::engine::stable_uuid;
use pleach_core::{Event, NodePath, SessionKey};

use crate::trace::{is_stable, uuids};

/// Records the external effects of the code under test: payments, mails, requests.
///
/// Nodes, steps and tools of a test call [`record`](Self::record) where the real ones call a service. Clones share one
/// record. [`ResumeProperty`](crate::ResumeProperty) uses it to check whether a run repeats an effect whose result is
/// already stored.
///
/// ```
/// use pleach_testkit::Effects;
///
/// let effects = Effects::new();
/// effects.record("charge 12", "key-1");
/// effects.record("charge 12", "key-1"); // a repeated request: the service recognises the key
/// assert_eq!(effects.all(), ["charge 12", "charge 12"]);
/// assert_eq!(effects.count("charge 12"), 1);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Effects {
    done: Arc<Mutex<Done>>,
}

#[derive(Debug, Default)]
struct Done {
    all: Vec<(String, String)>,
    /// The effects that have a stored result, with their keys.
    confirmed: BTreeSet<(String, String)>,
    repeated: Vec<String>,
}

impl Effects {
    /// Creates an empty record.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Records that `what` was done. Pass as `key` the `ctx.idempotency_key()` of the place where it is done, or a text
    /// that contains that key. The property refuses other keys, because it could not find the result that confirms
    /// them.
    pub fn record(&self, what: impl Into<String>, key: impl Into<String>) {
        let effect = (what.into(), key.into());
        let mut done = self.done();
        if done.confirmed.contains(&effect) {
            done.repeated.push(effect.0.clone());
        }
        done.all.push(effect);
    }

    /// Returns all effects in order, including repetitions.
    #[must_use]
    pub fn all(&self) -> Vec<String> {
        self.done().all.iter().map(|(what, _)| what.clone()).collect()
    }

    /// Returns the number of keys under which `what` was done. A service that recognises repeated requests has done it
    /// that often.
    #[must_use]
    pub fn count(&self, what: &str) -> usize {
        self.counts().get(what).copied().unwrap_or_default()
    }

    /// Returns the number of keys under which each effect was done.
    pub(crate) fn counts(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for (what, _) in self.done().all.iter().collect::<BTreeSet<_>>() {
            *counts.entry(what.clone()).or_default() += 1;
        }
        counts
    }

    /// Returns the effects that were repeated although the log had the result, or a later event of the same run.
    pub(crate) fn repeated(&self) -> Vec<String> {
        self.done().repeated.clone()
    }

    /// Returns the effects recorded under keys that do not come from `idempotency_key`, each once.
    pub(crate) fn foreign(&self) -> Vec<String> {
        let done = self.done();
        let is_foreign = |key: &str| uuids(key).iter().all(|(_, id)| !is_stable(*id));
        let foreign: BTreeSet<_> = done.all.iter().filter(|(_, key)| is_foreign(key)).collect();
        foreign.into_iter().map(|(what, key)| format!("{what} ({key})")).collect()
    }

    /// Removes all effects, for another case.
    pub(crate) fn clear(&self) {
        *self.done() = Done::default();
    }

    /// Notes that an event is stored: the earlier effects of its run and the runs above it must not be repeated.
    ///
    /// An error event is not a result: the effects of a failed attempt may be repeated.
    pub(crate) fn confirm(&self, session: &SessionKey, event: &Event) {
        if event.error_code().is_some() || event.is_from_user() {
            return;
        }
        let calls = event.function_responses().filter_map(|response| response.id.as_deref());
        let mut keys: BTreeSet<String> = calls.map(|call| key_of(session, event, event.path(), call)).collect();
        let mut path = Some(event.path().clone()).filter(|path| !path.is_root());
        while let Some(run) = path {
            keys.insert(key_of(session, event, &run, ""));
            path = run.parent().filter(|parent| !parent.is_root());
        }
        let mut done = self.done();
        let is_of = |key: &str| uuids(key).iter().any(|(place, _)| keys.contains(&key[place.clone()]));
        let confirmed: Vec<_> = done.all.iter().filter(|(_, key)| is_of(key)).cloned().collect();
        done.confirmed.extend(confirmed);
    }

    fn done(&self) -> MutexGuard<'_, Done> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the value of `Context::idempotency_key` in a run, or in a tool call that the run makes.
fn key_of(session: &SessionKey, event: &Event, path: &NodePath, call: &str) -> String {
    let SessionKey { app_name, user_id, session_id } = session;
    let session = [app_name.as_str(), user_id.as_str(), session_id.as_str()];
    let run = [event.invocation_id().as_str(), path.as_str(), call];
    stable_uuid(session.into_iter().chain(run)).to_string()
}
