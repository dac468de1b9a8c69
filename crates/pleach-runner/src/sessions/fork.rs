//! Forks a session at one of its events.

use std::collections::BTreeMap;
use std::sync::Arc;

use foldhash::HashSet;
use pleach_artifact::{ArtifactScope, ArtifactService, SaveArtifact, USER_PREFIX, rewind_tombstone};
use pleach_context::engine::{completed_runs, mark_completed};
use pleach_core::{Event, EventId, InvocationId, Map, NodePath, Scope, Session, SessionId, SessionKey, UserId, apply};
use pleach_session::{CreateSession, KnownState, SessionError, effective_events_and_rewinds, partly_rewound};

use crate::app::inner::RunnerInner;
use crate::sessions::resting_fork::note_source;
use crate::sessions::run_place::RunPlace;
use crate::{Run, RunError, RunRequest, Runner, SessionRef};

impl Runner {
    /// Copies a session, as it was right after one of its events, to a new session of the same user, and returns the new session.
    ///
    /// The new session has the events that were effective at that time, with their ids, times and invocations. A
    /// [rewind to before a node run](Runner::rewind_before) is replaced by an event that lists the nodes that had
    /// completed without a result, or left out if there are none. If the copy ends in the middle of an invocation,
    /// [`Runner::resume`] continues the invocation in the new session, and open questions can be answered in both. The
    /// session can also be copied at an event that a later rewind has undone.
    ///
    /// **The copy rests** until a message, an answer, a signal, a resume or a rewind is stored in it:
    /// [`Runner::unfinished`] leaves it out, and its questions are not answered at their deadlines. [`Runner::inbox`]
    /// lists the open questions of the copy and of its source. The copied events name the source in their
    /// `custom_metadata`, as `{"pleach_forked_from": "<session id>"}`. While the copy rests,
    /// [`SessionStatus::forked_from`](crate::SessionStatus::forked_from) returns the source.
    ///
    /// **State.** The session's own keys have the values they had after that event. If no event has changed a key, it
    /// keeps its value. If only later events have changed it, it is left out, because its earlier value is unknown. If
    /// a value was [redacted](Runner::redact) in the event that set it, the value is copied from the source's state, or
    /// is `"[redacted]"` if a later event has set the key again. `app:` and `user:` state is shared and keeps its
    /// current values.
    ///
    /// **Files.** The session's files are copied, with all versions up to those that the copied events list. Files that
    /// no event lists, and references to the old session inside contents, are not copied. The user's files are shared.
    ///
    /// The events are appended one by one, so other callers can see the new session before it is complete. On an error
    /// the new session is deleted. If the process dies during the copy, a partial copy remains, which rests as well:
    /// delete it, and fork again. The last update time of the new session is the time of its last event. ADK has no
    /// such call.
    ///
    /// # Errors
    /// [`RunError::SessionNotFound`]; [`RunError::UnknownEvent`]; [`RunError::BlankId`]; [`RunError::Session`] if the
    /// storage fails, or with `AlreadyExists` if the new id is taken; [`RunError::Artifact`]; [`RunError::ForkCut`] if
    /// the runtime shuts down during the copy.
    ///
    /// # Cancel safety
    /// If the future is dropped, a background task completes the copy, so the new session exists as a whole or not at all.
    ///
    /// # Panics
    /// If it is called outside of a tokio runtime.
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
        let end = place + 1;
        self.copy(Copied { source, end, carried: None }, new_session).await
    }

    /// Copies a session like [`Runner::fork`], but as it was before a node run began. The node run is the one at `path`
    /// in the last invocation that has a run there. Later events, including those of parallel lanes, are not in the
    /// copy. [`Runner::rerun_from`] makes such a copy and continues it.
    ///
    /// If a node had completed without a result, and only later events prove this, the node runs again in the copy, as
    /// after a crash at this point. A [resumable](crate::App::resumable) app records the ends of such nodes, so they do
    /// not run again.
    ///
    /// # Errors
    /// The errors of [`Runner::fork`]; [`RunError::UnknownRun`] if the effective events have no run at the path.
    ///
    /// # Cancel safety
    /// The same as for [`Runner::fork`].
    ///
    /// # Panics
    /// If it is called outside of a tokio runtime.
    pub async fn fork_before(
        &self,
        session: impl Into<SessionRef>,
        path: impl Into<NodePath>,
        new_session: Option<SessionId>,
    ) -> Result<Session, RunError> {
        let key = self.parts.session_key(&session.into()).await?;
        let source = self.parts.load_all(&key).await?;
        Ok(self.fork_before_run(source, path.into(), new_session).await?.0)
    }

    /// Runs an invocation again, from one node run on, in a copy of its session. It calls [`Runner::fork_before`] and
    /// then [`Runner::resume`]. Returns the key of the copy, and the run, which begins when it is first polled.
    ///
    /// Nodes that completed before that node run are not executed again. The node itself, its successors, and parallel
    /// lanes that have stored events since then are executed again with their current code. Use it after a node was
    /// fixed, or after its outside inputs have changed. Side effects happen again, under new [idempotency
    /// keys](pleach_context::Context::idempotency_key). Stop the source first if it still runs or waits.
    ///
    /// # Errors
    /// The errors of [`Runner::fork_before`].
    ///
    /// # Cancel safety
    /// The same as for [`Runner::fork`].
    ///
    /// # Panics
    /// If it is called outside of a tokio runtime.
    pub async fn rerun_from(
        &self,
        session: impl Into<SessionRef>,
        path: impl Into<NodePath>,
        new_session: Option<SessionId>,
    ) -> Result<(SessionKey, Run), RunError> {
        let key = self.parts.session_key(&session.into()).await?;
        let source = self.parts.load_all(&key).await?;
        let (fork, invocation) = self.fork_before_run(source, path.into(), new_session).await?;
        let key = fork.key().clone();
        let run = self.start(RunRequest::new(&key).invocation_id(invocation));
        Ok((key, run))
    }

    /// Makes a copy that ends before the run at `path`. Returns the copy and the invocation of the run.
    async fn fork_before_run(
        &self,
        source: Session,
        path: NodePath,
        new_session: Option<SessionId>,
    ) -> Result<(Session, InvocationId), RunError> {
        let RunPlace { place: end, invocation, completed } = RunPlace::find(&source, &path)?;
        let id = || EventId::from(self.parts.services.ids.uuid().to_string());
        let carried = (!completed.is_empty()).then(|| ends_of(&source.events[end], id(), &invocation, &completed));
        Ok((self.copy(Copied { source, end, carried }, new_session).await?, invocation))
    }

    async fn copy(&self, copied: Copied, new_session: Option<SessionId>) -> Result<Session, RunError> {
        let new_id = new_session.unwrap_or_else(|| SessionId::from(self.parts.services.ids.uuid().to_string()));
        let key = copied.source.key();
        let new_key = SessionKey::new(key.app_name.clone(), key.user_id.clone(), new_id);
        crate::app::inner::check_ids(&new_key)?;
        let (parts, to) = (Arc::clone(&self.parts), new_key.clone());
        let copying = tokio::spawn(async move { parts.fork(&copied, new_key).await });
        copying.await.unwrap_or(Err(RunError::ForkCut { session: to }))
    }
}

/// What to copy: the first events of a session, and possibly one more event.
struct Copied {
    source: Session,
    /// The number of the source's first events to copy.
    end: usize,
    /// An event to append after the copied events.
    carried: Option<Arc<Event>>,
}

impl RunnerInner {
    async fn fork(&self, copied: &Copied, key: SessionKey) -> Result<Session, RunError> {
        let Copied { source, end, carried } = copied;
        check_readable(source)?;
        let effective = effective_events_and_rewinds(&source.events[..*end]).into_iter();
        let live: Vec<Arc<Event>> =
            effective.filter_map(|event| without_rewind(source, event)).chain(carried.clone()).collect();
        let create = CreateSession::new(key.app_name, key.user_id)
            .with_session_id(key.session_id)
            .with_state(state_before(source, *end, &live))
            .with_create_time(live.first().map_or(source.last_update_time(), |event| event.timestamp()));
        let mut fork = self.services.sessions.create_session(create).await?;
        let mut files = Files::between(source, &fork);
        match self.fill(&mut fork, &live, &KnownState::of(source), &mut files).await {
            Ok(()) => Ok(fork),
            Err(error) => {
                self.discard(&fork, &files).await;
                Err(error)
            }
        }
    }

    async fn fill(
        &self,
        fork: &mut Session,
        live: &[Arc<Event>],
        known: &KnownState,
        files: &mut Files,
    ) -> Result<(), RunError> {
        if let Some(artifacts) = &self.services.artifacts {
            for (name, newest) in newest_versions(live) {
                files.copy(&**artifacts, name, newest).await?;
            }
        }
        for event in live {
            let mut event = files.copied(event);
            // Every event gets the note, because each of them is the last one if the fork is interrupted after it.
            note_source(&mut event, &files.source);
            let stored = known.append(&*self.services.sessions, &mut fork.head, event).await?;
            fork.apply(&stored);
            fork.state.extend(known.values(stored.id()).cloned().unwrap_or_default());
        }
        Ok(())
    }

    /// Deletes an unfinished copy.
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

/// Refuses to copy a session if its own state has values that cannot be read, because the copy would lack them.
fn check_readable(source: &Session) -> Result<(), RunError> {
    let Some((key, reason)) = source.unreadable.iter().find(|(key, _)| is_own(key)) else { return Ok(()) };
    let what = format!("state key `{key}` of session {}", source.key());
    Err(SessionError::Corrupt { what, source: reason.clone().into() }.into())
}

/// Returns the event for the copy. A rewind to before a node run is replaced by an event with the completed runs that
/// the rewind records. If it records none, it is left out.
fn without_rewind(source: &Session, event: &Arc<Event>) -> Option<Arc<Event>> {
    let Some((invocation, first)) = partly_rewound(event) else { return Some(Arc::clone(event)) };
    let completed: Vec<NodePath> = completed_runs(event).collect();
    let first = source.events.iter().find(|event| *event.id() == first).filter(|_| !completed.is_empty())?;
    Some(ends_of(first, event.id().clone(), &invocation.into(), &completed))
}

/// Makes an event that records the runs that had completed before the event `first`. That event itself is not copied.
fn ends_of(first: &Event, id: EventId, invocation: &InvocationId, completed: &[NodePath]) -> Arc<Event> {
    let mut event = Event::from_author(first.author());
    event.set_id(id);
    event.set_invocation_id(invocation.clone());
    event.set_timestamp(first.timestamp());
    mark_completed(&mut event, completed);
    Arc::new(event)
}

/// Returns the initial state of the fork. After the `live` events are applied to it, it is the state of the source
/// before the event at `end`.
fn state_before(source: &Session, end: usize, live: &[Arc<Event>]) -> Map {
    let changed: HashSet<&str> =
        source.events.iter().flat_map(|event| event.actions().state_delta().keys()).map(String::as_str).collect();
    let unchanged = source.state.iter().filter(|(key, _)| !changed.contains(key.as_str()));
    let mut state: Map = unchanged.map(|(key, value)| (key.clone(), value.clone())).collect();
    for event in &source.events[..end] {
        apply(&mut state, event.actions().state_delta());
    }
    let again: HashSet<&String> = live.iter().flat_map(|event| event.actions().state_delta().keys()).collect();
    state.retain(|key, _| is_own(key) && !again.contains(key));
    state
}

fn is_own(key: &str) -> bool {
    Scope::split(key).0 == Scope::Session
}

/// Returns the session's files that the events list, with their newest versions.
fn newest_versions(events: &[Arc<Event>]) -> BTreeMap<&str, i64> {
    let mut newest = BTreeMap::new();
    for (name, version) in events.iter().flat_map(|event| event.actions().artifact_delta()) {
        if !name.starts_with(USER_PREFIX) {
            let known = newest.entry(name.as_str()).or_insert(*version);
            *known = (*known).max(*version);
        }
    }
    newest
}

/// Copies the files of a session to another session.
struct Files {
    source: SessionId,
    from: ArtifactScope,
    to: ArtifactScope,
    /// The names of files that the new session did not have before the copy.
    begun: Vec<String>,
    /// The version numbers of copies that differ from the originals, by name and original number.
    renumbered: BTreeMap<String, BTreeMap<i64, i64>>,
}

impl Files {
    fn between(from: &Session, to: &Session) -> Self {
        let source = from.id().clone();
        let (from, to) = (ArtifactScope::session(from.key()), ArtifactScope::session(to.key()));
        Self { source, from, to, begun: Vec::new(), renumbered: BTreeMap::new() }
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

    /// Returns the event as the new session stores it: without shared state, and with the version numbers of the copies.
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
