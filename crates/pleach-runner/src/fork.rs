//! Going on from the middle of a session in a new one.

use std::collections::BTreeMap;
use std::sync::Arc;

use foldhash::HashSet;
use pleach_artifact::{ArtifactScope, ArtifactService, SaveArtifact, USER_PREFIX, rewind_tombstone};
use pleach_core::{Event, EventId, Map, Scope, Session, SessionId, SessionKey, UserId, apply};
use pleach_session::{CreateSession, effective_events};

use crate::parts::RunnerParts;
use crate::{RunError, Runner};

impl Runner {
    /// Copies a session as it was right after one of its events into a new session of the same user, and returns that.
    ///
    /// The new session has the events that counted then, with their ids, times and invocations. So where the event
    /// lies in the middle of an invocation, [`Runner::resume`] goes on with it there, and questions that were open can be
    /// answered in both sessions. An event that a later rewind took back can be named, too: this is the way to it.
    ///
    /// **State.** The session's own keys are as they were after that event. A key that no event has ever changed keeps
    /// its value; of one that only later events changed nobody knows an earlier value, so it is left out. `app:` and `user:`
    /// state is shared as it is now: the copies of the events do not set it again.
    ///
    /// **Files.** The session's files are copied up to the versions that the copied events tell of; files that no event
    /// tells of, and references to the old session inside of contents, are not. The user's files are shared.
    ///
    /// Every event is one append, so the new session fills up while others can already see it. If anything fails it is
    /// deleted again; a process that dies meanwhile leaves what it has copied. The last update of the new session is the
    /// time of its last event. ADK has no such call.
    ///
    /// # Errors
    /// [`RunError::SessionNotFound`]; [`RunError::UnknownEvent`]; [`RunError::BlankId`]; [`RunError::Session`] with
    /// `AlreadyExists` when the new id is taken, or when the storage fails; [`RunError::Artifact`].
    ///
    /// # Cancel safety
    /// The copying goes on in a task of its own when the future is dropped, so the new session is there as a whole or not
    /// at all.
    ///
    /// # Panics
    /// Without a tokio runtime.
    // R1141
    pub async fn fork(
        &self,
        user: impl Into<UserId>,
        session: impl Into<SessionId>,
        at: impl Into<EventId>,
        new_session: Option<SessionId>,
    ) -> Result<Session, RunError> {
        let (key, at) = (self.key(user, session), at.into());
        let source = self.parts.load_all(&key).await?;
        let Some(place) = source.events.iter().position(|event| !at.is_empty() && *event.id() == at) else {
            return Err(RunError::UnknownEvent { session: key, event: at.to_string() });
        };
        let new_id = new_session.unwrap_or_else(|| SessionId::from(self.parts.services.ids.uuid().to_string()));
        let new_key = SessionKey::new(key.app_name, key.user_id, new_id);
        crate::parts::check_ids(&new_key)?;
        let parts = Arc::clone(&self.parts);
        let copying = tokio::spawn(async move { parts.fork(&source, place, new_key).await });
        copying.await.unwrap_or(Err(RunError::Aborted))
    }
}

impl RunnerParts {
    async fn fork(&self, source: &Session, place: usize, key: SessionKey) -> Result<Session, RunError> {
        let live = effective_events(&source.events[..=place]);
        let create = CreateSession::new(key.app_name, key.user_id)
            .with_session_id(key.session_id)
            .with_state(state_before(source, place, &live))
            .with_create_time(live.first().map_or(source.last_update_time(), |event| event.timestamp()));
        let mut fork = self.services.sessions.create_session(create).await?;
        let mut files = Files::between(source, &fork);
        match self.fill(&mut fork, &live, &mut files).await {
            Ok(()) => Ok(fork),
            Err(error) => {
                self.discard(&fork, &files).await;
                Err(error)
            }
        }
    }

    async fn fill(&self, fork: &mut Session, live: &[&Arc<Event>], files: &mut Files) -> Result<(), RunError> {
        if let Some(artifacts) = &self.services.artifacts {
            for (name, newest) in newest_versions(live) {
                files.copy(&**artifacts, name, newest).await?;
            }
        }
        for event in live {
            let stored = self.services.sessions.append(&mut fork.head, files.copied(event)).await?;
            fork.apply(&stored);
        }
        Ok(())
    }

    /// Takes a copy back that could not be finished.
    async fn discard(&self, fork: &Session, files: &Files) {
        if let Err(error) = self.services.sessions.delete_session(fork.key()).await {
            tracing::warn!(session = %fork.key(), %error, "an unfinished fork could not be deleted");
        }
        let Some(artifacts) = &self.services.artifacts else { return };
        for name in &files.begun {
            if let Err(error) = artifacts.delete_artifact(&files.to.artifact(name)).await {
                tracing::warn!(session = %fork.key(), name, %error, "a file of an unfinished fork could not be deleted");
            }
        }
    }
}

/// The session's own state that the copies of `live` have to be put on, to give the state after the event at `place`.
fn state_before(source: &Session, place: usize, live: &[&Arc<Event>]) -> Map {
    let told: HashSet<&str> =
        source.events.iter().flat_map(|event| event.actions().state_delta().keys()).map(String::as_str).collect();
    let untold = source.state.iter().filter(|(key, _)| !told.contains(key.as_str()));
    let mut state: Map = untold.map(|(key, value)| (key.clone(), value.clone())).collect();
    for event in &source.events[..=place] {
        apply(&mut state, event.actions().state_delta());
    }
    let again: HashSet<&String> = live.iter().flat_map(|event| event.actions().state_delta().keys()).collect();
    state.retain(|key, _| is_own(key) && !again.contains(key));
    state
}

fn is_own(key: &str) -> bool {
    Scope::split(key).0 == Scope::Session
}

/// The session's files that events tell of, with their newest versions.
fn newest_versions<'a>(events: &[&'a Arc<Event>]) -> BTreeMap<&'a str, i64> {
    let mut newest = BTreeMap::new();
    for (name, version) in events.iter().flat_map(|event| event.actions().artifact_delta()) {
        if !name.starts_with(USER_PREFIX) {
            let known = newest.entry(name.as_str()).or_insert(*version);
            *known = (*known).max(*version);
        }
    }
    newest
}

/// The files of a session on their way to another one.
struct Files {
    from: ArtifactScope,
    to: ArtifactScope,
    /// The names that the new session did not have before.
    begun: Vec<String>,
    /// The numbers of the copied versions, by name, where they are others than those of the originals.
    renumbered: BTreeMap<String, BTreeMap<i64, i64>>,
}

impl Files {
    fn between(from: &Session, to: &Session) -> Self {
        let (from, to) = (ArtifactScope::session(from.key()), ArtifactScope::session(to.key()));
        Self { from, to, begun: Vec::new(), renumbered: BTreeMap::new() }
    }

    /// Copies the versions of a file up to `newest`.
    async fn copy(&mut self, artifacts: &dyn ArtifactService, name: &str, newest: i64) -> Result<(), RunError> {
        let (from, to) = (self.from.artifact(name), self.to.artifact(name));
        if artifacts.list_versions(&to).await?.is_empty() {
            self.begun.push(name.to_owned());
        }
        for version in artifacts.list_artifact_versions(&from).await? {
            if version.version > newest {
                break;
            }
            let part = artifacts.load_artifact(&from, Some(version.version)).await?;
            let copy = SaveArtifact::new(to.clone(), part.unwrap_or_else(rewind_tombstone));
            let number = artifacts.save_artifact(copy.with_custom_metadata(version.custom_metadata)).await?;
            if number != version.version {
                self.renumbered.entry(name.to_owned()).or_default().insert(version.version, number);
            }
        }
        Ok(())
    }

    /// The event as the new session stores it: without shared state, and with the versions of the copied files.
    fn copied(&self, event: &Arc<Event>) -> Arc<Event> {
        let mut copy = Arc::clone(event);
        if !event.actions().state_delta().keys().all(|key| is_own(key)) {
            Arc::make_mut(&mut copy).actions_mut().state_delta_mut().retain(|key, _| is_own(key));
        }
        for (name, version) in event.actions().artifact_delta() {
            if let Some(number) = self.renumbered.get(name).and_then(|numbers| numbers.get(version)) {
                Arc::make_mut(&mut copy).actions_mut().artifact_delta_mut().insert(name.clone(), *number);
            }
        }
        copy
    }
}
