//! Rewinds a session to before an invocation or a node run.
// R127, R1140, S40

use std::collections::BTreeMap;
use std::sync::Arc;

use foldhash::{HashMap, HashSet};
use pleach_artifact::{ArtifactScope, ArtifactService, SaveArtifact, USER_PREFIX, rewind_tombstone};
use pleach_context::engine::mark_completed;
use pleach_core::{Event, InvocationId, Map, NodePath, Scope, Session, SessionId, UserId};
use pleach_session::{is_state_redacted, set_rewind_before_event};
use serde_json::Value;

use crate::app::inner::RunnerInner;
use crate::run::event_writer::EventWriter;
use crate::sessions::run_place::RunPlace;
use crate::{RunError, Runner, SessionRef};

impl Runner {
    /// Rewinds a session to before the first event of an invocation, and returns the event that records the rewind.
    ///
    /// Nothing is deleted. One event is appended, and all events from the start of the invocation up to this event are
    /// ignored: they are not replayed, and their questions cannot be answered.
    ///
    /// The session's own state returns to its earlier values. A key that no event had set by then becomes null, even if
    /// it was set when the session was created, because no event records its first value. If a value was
    /// [redacted](Runner::redact) in its event and the key has been set again since then, the value becomes
    /// `"[redacted]"`. `app:` and `user:` state is unchanged.
    ///
    /// If a file of the session was saved since then, it gets a new version with the old content. A file that did not
    /// exist before gets an empty version, which loads as absent. The user's files are unchanged.
    ///
    /// To undo a rewind, rewind to before the invocation of the returned event.
    ///
    /// ADK: `Runner.rewind_async`.
    ///
    /// # Errors
    /// [`RunError::SessionNotFound`], even if a run would create the session; [`RunError::UnknownInvocation`];
    /// [`RunError::Session`] with a stale error if another writer changed the session at the same time;
    /// [`RunError::Artifact`]. On an error the session is unchanged, but files that were already restored keep their
    /// new version.
    ///
    /// # Cancel safety
    /// If the future is dropped, the event is stored whole or not at all; files may already be restored. Rewinding again is safe.
    // R1141, R1140, S40
    #[doc(alias = "rewind_async")]
    pub async fn rewind(
        &self,
        user: impl Into<UserId>,
        session: impl Into<SessionId>,
        invocation: impl Into<InvocationId>,
    ) -> Result<Arc<Event>, RunError> {
        let invocation = invocation.into();
        let session = self.parts.load_all(&self.key(user, session)).await?;
        let begins = |event: &Arc<Event>| !invocation.is_empty() && *event.invocation_id() == invocation;
        let Some(place) = session.events.iter().position(begins) else {
            let session = session.key().clone();
            return Err(RunError::UnknownInvocation { session, invocation: invocation.to_string() });
        };
        self.parts.rewind(session, place, &invocation, |_| {}).await
    }

    /// Rewinds a session to before a node run began. The node run is the one at `path` in the last invocation that has
    /// a run there. Returns the event that records the rewind.
    ///
    /// Everything stored since then is ignored, including events of parallel lanes. [`Runner::resume`] then runs that node and its
    /// successors again, in the same invocation, with their current code; nodes that had completed before do not run again.
    ///
    /// State and files return to their earlier values, as with [`Runner::rewind`]. To undo the rewind, call
    /// [`Runner::rewind`] with the invocation of the returned event. The [idempotency
    /// keys](pleach_context::Context::idempotency_key) stay the same, so a service that knows them does not repeat its
    /// side effects. To leave the session as it is and work on a copy, use [`Runner::fork_before`].
    ///
    /// The event names the invocation in `actions.rewind_before_invocation_id` and the first ignored event in
    /// `custom_metadata["pleach_rewind_before_event"]`. google-adk reads only the invocation, and so undoes the whole
    /// invocation up to the rewind.
    ///
    /// # Errors
    /// The errors of [`Runner::rewind`]; [`RunError::UnknownRun`] if the effective events have no run at the path.
    ///
    /// # Cancel safety
    /// The same as for [`Runner::rewind`].
    pub async fn rewind_before(
        &self,
        session: impl Into<SessionRef>,
        path: impl Into<NodePath>,
    ) -> Result<Arc<Event>, RunError> {
        let key = self.parts.session_key(&session.into()).await?;
        let session = self.parts.load_all(&key).await?;
        let RunPlace { place, invocation, completed } = RunPlace::find(&session, &path.into())?;
        let first = session.events[place].id().clone();
        let note = |event: &mut Event| {
            set_rewind_before_event(event, &first);
            if !completed.is_empty() {
                mark_completed(event, &completed);
            }
        };
        self.parts.rewind(session, place, &invocation, note).await
    }
}

impl RunnerInner {
    /// Rewinds a session to before the event at `place`; `note` completes the event that records the rewind.
    async fn rewind(
        &self,
        session: Session,
        place: usize,
        invocation: &InvocationId,
        note: impl FnOnce(&mut Event),
    ) -> Result<Arc<Event>, RunError> {
        let mut event = Event::from_author("user").with_state_map(state_delta(&session, place));
        event.set_invocation_id(InvocationId::of_uuid(self.services.ids.uuid()));
        event.actions_mut().set_rewind_before_invocation_id(Some(invocation.to_string()));
        if let Some(artifacts) = &self.services.artifacts {
            let scope = ArtifactScope::session(session.key());
            for (name, version) in changed_files(&session.events, place) {
                let version = restore(&**artifacts, &scope, name, version).await?;
                event.actions_mut().artifact_delta_mut().insert(name.to_owned(), version);
            }
        }
        note(&mut event);
        let mut store = EventWriter::new(session.head);
        store.set_id_and_time(&self.services, &mut event);
        Ok(self.services.sessions.append(&mut store.head, Arc::new(event)).await?)
    }
}

/// Returns the state delta that restores the session's own state as it was before the event at `place`.
fn state_delta(session: &Session, place: usize) -> Map {
    let own = |key: &str| Scope::split(key).0 == Scope::Session;
    let deltas = |events| -> _ {
        <[Arc<Event>]>::iter(events).flat_map(|event: &Arc<Event>| {
            event.actions().state_delta().iter().map(move |(key, value)| (event, key, value))
        })
    };
    let mut then: HashMap<&str, (&Event, &Value)> = HashMap::default();
    for (event, key, value) in deltas(&session.events[..place]) {
        match value {
            Value::Null => then.remove(key.as_str()),
            value => then.insert(key, (event, value)),
        };
    }
    then.retain(|key, _| own(key));
    let since: HashSet<&str> = deltas(&session.events[place..]).map(|(_, key, _)| key.as_str()).collect();
    let added = session.state.keys().filter(|key| own(key) && !then.contains_key(key.as_str()));
    let mut delta: Map = added.map(|key| (key.clone(), Value::Null)).collect();
    // If a value was redacted in its event, the state still has it, unless a later event has set the key again.
    let is_kept = |key: &str, event: &Event| is_state_redacted(event, key) && !since.contains(key);
    let changed = then
        .into_iter()
        .filter(|(key, (event, value))| session.state.get(*key) != Some(*value) && !is_kept(key, event));
    delta.extend(changed.map(|(key, (_, value))| (key.to_owned(), value.clone())));
    delta
}

/// Returns the session's files that were saved at `place` or later, each with its version before that, if it has one.
fn changed_files(events: &[Arc<Event>], place: usize) -> BTreeMap<&str, Option<i64>> {
    let newest = |events| -> BTreeMap<&str, i64> {
        let saved = <[Arc<Event>]>::iter(events).flat_map(|event| event.actions().artifact_delta());
        saved.map(|(name, version)| (name.as_str(), *version)).collect()
    };
    let then = newest(&events[..place]);
    let now = newest(events).into_iter().filter(|(name, _)| !name.starts_with(USER_PREFIX));
    now.map(|(name, version)| (name, version, then.get(name).copied()))
        .filter(|(_, version, before)| *before != Some(*version))
        .map(|(name, _, before)| (name, before))
        .collect()
}

/// Saves the content of `version` as a new version. If `version` no longer exists, saves an empty version, which loads
/// as absent.
async fn restore(
    artifacts: &dyn ArtifactService,
    scope: &ArtifactScope,
    name: &str,
    version: Option<i64>,
) -> Result<i64, RunError> {
    let key = scope.artifact(name);
    let old = match version {
        Some(version) => artifacts.load_artifact(&key, Some(version)).await?,
        None => None,
    };
    if let (Some(version), None) = (version, &old) {
        tracing::warn!(%key, version, "the file's earlier version no longer exists: the file is saved as absent");
    }
    Ok(artifacts.save_artifact(SaveArtifact::new(key, old.unwrap_or_else(rewind_tombstone))).await?)
}

#[cfg(test)]
mod tests {
    use pleach_core::SessionKey;
    use serde_json::json;

    use super::*;

    fn session(deltas: &[Value]) -> Session {
        let mut session = Session::from_parts(SessionKey::new("app", "ana", "s1"), Map::new(), Vec::new(), 0.0);
        for delta in deltas {
            let delta = delta.as_object().cloned().unwrap_or_default();
            let event = Arc::new(Event::from_author("node").with_state_map(delta));
            session.apply(&event);
        }
        session
    }

    #[test]
    fn r1140_own_keys_go_back_and_shared_keys_stay() {
        for (rule, deltas, place, expected) in [
            ("a changed key gets its old value", vec![json!({"k": 1}), json!({"k": 2})], 1, json!({"k": 1})),
            ("an added key becomes null", vec![json!({"k": 1}), json!({"l": 2})], 1, json!({"l": null})),
            ("a key that was set to the same value is left out", vec![json!({"k": 1}), json!({"k": 1})], 1, json!({})),
            (
                "a key that was null before becomes null",
                vec![json!({"k": null}), json!({"k": 1})],
                1,
                json!({"k": null}),
            ),
            ("shared state stays", vec![json!({"app:a": 1}), json!({"app:a": 2, "user:u": 1})], 1, json!({})),
            ("to before the first event", vec![json!({"k": 1})], 0, json!({"k": null})),
        ] {
            assert_eq!(Value::Object(state_delta(&session(&deltas), place)), expected, "{rule}");
        }
    }

    #[test]
    fn r1140_files_saved_since_are_those_whose_version_changed() {
        let saved = |files: &[(&str, i64)]| {
            let mut event = Event::from_author("node");
            for (name, version) in files {
                event.actions_mut().artifact_delta_mut().insert((*name).to_owned(), *version);
            }
            Arc::new(event)
        };
        let events = [saved(&[("a", 0), ("b", 0)]), saved(&[("a", 1), ("c", 0), ("user:u", 3)])];
        assert_eq!(changed_files(&events, 1), BTreeMap::from([("a", Some(0)), ("c", None)]));
        assert_eq!(changed_files(&events, 2), BTreeMap::new());
    }
}
