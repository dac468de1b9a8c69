//! [`PayloadSessions`].

use std::sync::Arc;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use pleach_artifact::{ArtifactError, ArtifactService};
use pleach_core::{Blob, BoxFuture, Event, EventId, Part, Session, SessionHead, SessionKey};
use pleach_session::{GetSessionConfig, LostPayload, SessionError, SessionResult, SessionService, Since, prepare};

use crate::note::{Entry, Note};
use crate::place::{Place, large_places};
use crate::take::{Payload, Shell};
use crate::vault::{AT_ONCE, Loss, Vault, payload_name};

/// From this size in bytes on, a value costs more in its event's row than as an artifact.
const THRESHOLD: usize = 256 * 1024;

/// A session service that stores large values of events as artifacts, over any session service and any artifact
/// service.
///
/// **Values that are taken out.** Each of the following values of an event is taken out if it has more bytes than the
/// [threshold](Self::with_threshold):
/// - the output,
/// - in the parts of the content: the text, the media, the arguments of a function call, a function response with its
///   media, code, and the output of code.
///
/// For JSON the length of its text is measured, for media the number of bytes. Each value is judged separately, so an
/// event with many smaller values stays large. These values are never taken out:
/// - the state delta, because stores merge it,
/// - calls that ask a question, and function responses of users, which answer them, because stores read both,
/// - metadata.
///
/// **Values that are stored instead.** The output and the arguments and responses of functions become
/// `{"pleach_payload": "payload-4f5c…", "bytes": 5000000}`. A text becomes `[payload payload-4f5c…, 5000000 bytes]`.
/// A part whose media are taken out gets this string as its text, if it has no text of its own. The event's
/// `custom_metadata` contains the list of the references. Only this list is used to resolve them:
///
/// ```json
/// {"pleach_payloads": {"taken": [{"place": "output", "artifact": "payload-4f5c…", "bytes": 5000000}]}}
/// ```
///
/// **Values that callers see.** Callers always see the whole event: an append returns it, and loads resolve the
/// references, a few artifacts at a time. Programs that read the database without this service, such as google-adk, see
/// the references. All services that write to one database should use the same artifact service; their thresholds may
/// differ.
///
/// **The place of payloads.** Payloads are in the app `APP.payloads` of the artifact service, under the user and the
/// session. The name of a payload is a hash of its event, place and content. The ids of app, user and session are
/// used as names if they consist of lower-case letters, digits and inner `-`, `_`, `.`, `@`; otherwise their hashes
/// are used. A payload is saved before its event is appended. If the append is refused, or the process dies in
/// between, the payload stays until its session is deleted, because another writer may be appending the same event.
/// [`delete_session`](SessionService::delete_session) deletes first the session and then its payloads.
///
/// # Errors
/// Loads fail with [`SessionError::PayloadLost`] if a payload is missing or damaged; a value is never replaced by
/// another one. If the artifact service fails, appends and loads fail with `Unavailable`, and the event is not stored.
/// A load ends at its first failure.
///
/// # Example
/// ```
/// # use std::sync::Arc;
/// # use pleach_artifact::{ArtifactService, InMemoryArtifactService};
/// # use pleach_core::{Clock, Event};
/// # use pleach_payloads::PayloadSessions;
/// # use pleach_session::{CreateSession, SessionResult, SessionService, SessionServiceExt as _};
/// async fn keep(sessions: Arc<dyn SessionService>, artifacts: Arc<dyn ArtifactService>) -> SessionResult<()> {
///     let sessions = PayloadSessions::new(sessions, artifacts).with_threshold(64 * 1024);
///     let mut session = sessions.create_session(CreateSession::new("shop", "ana")).await?;
///     let stored = sessions.append_event(&mut session, Event::of("x".repeat(1_000_000))).await?;
///     assert_eq!(stored.output().and_then(|output| output.as_str()).map(str::len), Some(1_000_000));
///     Ok(())
/// }
/// ```
///
/// ADK has no such service.
#[derive(Clone, Debug)]
pub struct PayloadSessions {
    pub(crate) inner: Arc<dyn SessionService>,
    pub(crate) vault: Vault,
    pub(crate) threshold: usize,
}

/// A value that was taken out of an event.
struct TakenValue {
    place: Place,
    payload: Payload,
    shell: Shell,
    name: String,
    len: usize,
    /// The part that the artifact service stores.
    part: Part,
}

/// The payloads of a stored event that is about to be replaced.
#[derive(Default)]
pub(crate) struct EarlierPayloads {
    /// The payloads that the stored event refers to.
    pub(crate) taken: Vec<String>,
    /// The payloads that an earlier redaction should have deleted but left.
    pub(crate) left: Vec<String>,
}

/// A reference in an event.
struct Reference<'a> {
    key: &'a SessionKey,
    event: &'a EventId,
    place: &'a str,
    name: &'a str,
}

impl Reference<'_> {
    fn lost(&self, reason: String) -> SessionError {
        SessionError::PayloadLost(Box::new(LostPayload {
            key: self.key.clone(),
            event: self.event.clone(),
            place: self.place.to_owned(),
            artifact: self.name.to_owned(),
            reason,
        }))
    }

    fn failed(&self, error: ArtifactError) -> SessionError {
        let Self { key, event, place, name } = self;
        SessionError::Unavailable {
            what: format!("{name}, the payload for {place} of event {event} in session {key},"),
            source: error.into(),
        }
    }
}

impl PayloadSessions {
    /// Creates a service that stores values of more than 256 KiB as artifacts.
    pub fn new(sessions: Arc<dyn SessionService>, artifacts: Arc<dyn ArtifactService>) -> Self {
        Self { inner: sessions, vault: Vault::new(artifacts), threshold: THRESHOLD }
    }

    /// Sets the number of bytes that a value may have in its event. The threshold applies only to appends: stored
    /// values are found whatever the threshold is.
    #[must_use]
    pub fn with_threshold(mut self, bytes: usize) -> Self {
        self.threshold = bytes;
        self
    }

    /// Returns `true` if a stored event refers to values outside the event. The event must have been read without this
    /// service, because this service resolves references.
    #[must_use]
    pub fn has_references(event: &Event) -> bool {
        Note::of(event).is_some_and(|note| !note.taken.is_empty())
    }

    async fn append_whole(&self, head: &mut SessionHead, event: Arc<Event>) -> SessionResult<Arc<Event>> {
        let places = if event.is_partial() { Vec::new() } else { large_places(&event, self.threshold) };
        if places.is_empty() && (event.is_partial() || !Note::is_on(&event)) {
            return self.inner.append(head, event).await;
        }
        // Check the event first, so that nothing is saved for an event that no store accepts.
        let mut event = Arc::unwrap_or_clone(prepare::event_to_store(head.key(), event)?);
        let key = self.stored_key(head.key()).await?.ok_or_else(|| SessionError::NotFound(head.key().clone()))?;
        let restore = self.take_out(&key, &mut event, places, EarlierPayloads::default()).await?;
        let stored = match self.inner.append(head, Arc::new(event)).await {
            Ok(stored) => stored,
            Err(error) => {
                // The session is gone, so no later delete would find these payloads.
                if matches!(error, SessionError::NotFound(_)) {
                    let _ = self.forget(&key).await;
                }
                return Err(error);
            }
        };
        let mut whole = Arc::unwrap_or_clone(stored);
        // This is the note that was written above.
        let _ = Note::take(&mut whole);
        for (place, payload, shell) in restore {
            place.put(&mut whole, payload, &shell);
        }
        Ok(Arc::new(whole))
    }

    /// Takes values out of an event, notes and saves them, and returns them with their places. Payloads of the stored
    /// event are kept, or are noted as gone.
    pub(crate) async fn take_out(
        &self,
        key: &SessionKey,
        event: &mut Event,
        places: Vec<Place>,
        earlier: EarlierPayloads,
    ) -> SessionResult<Vec<(Place, Payload, Shell)>> {
        let mut all = Vec::with_capacity(places.len());
        for place in places {
            all.extend(take(key, event, place)?);
        }
        let entries: Vec<_> =
            all.iter().map(|taken| Entry::new(taken.place, taken.name.clone(), taken.len, &taken.shell)).collect();
        let EarlierPayloads { taken, left } = earlier;
        let is_gone = |name: &&String| entries.iter().all(|entry| entry.artifact != **name);
        let gone = taken.iter().chain(&left).filter(is_gone).cloned().collect();
        Note::write(entries, gone, event).map_err(|error| unwritable(key, event, &error))?;
        let (restore, saves): (Vec<_>, Vec<_>) = all
            .into_iter()
            .map(|taken| ((taken.place, taken.payload, taken.shell), (taken.place, taken.name, taken.part)))
            .unzip();
        let is_new = |(_, name, _): &(Place, String, Part)| !taken.contains(name);
        self.save_all(key, event.id(), saves.into_iter().filter(is_new).collect()).await?;
        Ok(restore)
    }

    async fn save_all(
        &self,
        key: &SessionKey,
        event: &EventId,
        saves: Vec<(Place, String, Part)>,
    ) -> SessionResult<()> {
        let saves = saves.into_iter().map(|(place, name, part)| async move {
            let saved = self.vault.save(key, event, place, &name, part).await;
            saved.map_err(|error| Reference { key, event, place: &place.to_string(), name: &name }.failed(error))
        });
        stream::iter(saves).buffer_unordered(AT_ONCE).try_collect().await
    }

    /// Replaces the references of all events, or of one event, by their values.
    pub(crate) async fn resolve(&self, mut session: Session, only: Option<&EventId>) -> SessionResult<Session> {
        let mut wanted = Vec::new();
        let is_wanted = |event: &Event| Note::is_on(event) && only.is_none_or(|only| event.id() == only);
        for (number, event) in session.events.iter_mut().enumerate().filter(|(_, event)| is_wanted(event)) {
            let whole = Arc::make_mut(event);
            let Some(note) = Note::take(whole) else { continue };
            let note = note.map_err(|error| SessionError::Corrupt {
                what: format!(
                    "the list `custom_metadata.pleach_payloads` of event {} in session {}",
                    whole.id(),
                    session.head.key()
                ),
                source: pleach_core::without_data(error),
            })?;
            wanted.extend(note.taken.into_iter().map(|entry| (number, whole.id().clone(), entry)));
        }
        if wanted.is_empty() {
            return Ok(session);
        }
        let key = Arc::clone(session.head.shared_key());
        let loads = wanted.into_iter().map(|(number, event, entry)| {
            let key = &key;
            async move { self.load(key, &event, &entry).await.map(|loaded| (number, entry, loaded)) }
        });
        let mut loads = stream::iter(loads).buffered(AT_ONCE);
        while let Some(loaded) = loads.next().await {
            let (number, entry, (place, payload, shell)) = loaded?;
            let event = Arc::make_mut(&mut session.events[number]);
            if place.put(event, payload, &shell).is_none() {
                let reference = Reference { key: &key, event: event.id(), place: &entry.place, name: &entry.artifact };
                return Err(reference.lost("does not fit the event, which has no such place".to_owned()));
            }
        }
        drop(loads);
        Ok(session)
    }

    async fn load(&self, key: &SessionKey, event: &EventId, entry: &Entry) -> SessionResult<(Place, Payload, Shell)> {
        let reference = Reference { key, event, place: &entry.place, name: &entry.artifact };
        let unknown = || reference.lost("is for a place that this version does not know".to_owned());
        let place: Place = entry.place.parse().map_err(|()| unknown())?;
        let bytes = self.vault.load(key, event, place, &entry.artifact).await.map_err(|loss| match loss {
            Loss::Lost(reason) => reference.lost(reason),
            Loss::Failed(error) => reference.failed(error),
        })?;
        let shell = entry.shell();
        let payload = Payload::from_bytes(place, bytes, &shell);
        let payload = payload.ok_or_else(|| reference.lost("has content of another kind".to_owned()))?;
        Ok((place, payload, shell))
    }

    /// Returns the key under which a session is stored, because some layouts trim the blanks around an id.
    async fn stored_key(&self, key: &SessionKey) -> SessionResult<Option<SessionKey>> {
        if prepare::trimmed_key(key).is_none() {
            return Ok(Some(key.clone()));
        }
        let found = self.inner.get_session(key, GetSessionConfig::recent(0)).await?;
        Ok(found.map(|session| session.key().clone()))
    }

    async fn delete(&self, key: &SessionKey) -> SessionResult<()> {
        self.inner.delete_session(key).await?;
        self.forget(key).await?;
        match prepare::trimmed_key(key) {
            Some(trimmed) => self.forget(&trimmed).await,
            None => Ok(()),
        }
    }

    /// Deletes the payloads of a session that is gone. Keeps them if the session exists; it may have been created
    /// again.
    async fn forget(&self, key: &SessionKey) -> SessionResult<()> {
        let failed = |error: ArtifactError| SessionError::Unavailable {
            what: format!("the payload folder of session {key}, which is itself deleted,"),
            source: error.into(),
        };
        // A payload is saved for a session that its writer has loaded. So the payloads that are listed while the
        // session is missing belonged to the deleted session.
        let names = self.vault.names(key).await.map_err(failed)?;
        if names.is_empty() || self.inner.get_session(key, GetSessionConfig::recent(0)).await?.is_some() {
            return Ok(());
        }
        self.vault.delete(key, names).await.map_err(failed)
    }
}

/// Takes a value out of an event and leaves a reference.
fn take(key: &SessionKey, event: &mut Event, place: Place) -> SessionResult<Option<TakenValue>> {
    let Some((payload, shell)) = place.take(event) else { return Ok(None) };
    let bytes = payload.to_bytes().map_err(|error| unwritable(key, event, &error))?;
    let name = payload_name(event.id(), place, &bytes);
    let len = bytes.len();
    place.refer(event, &name, len, &shell);
    let blob = Blob { data: Some(bytes.into()), mime_type: Some(payload.media_type().to_owned()), ..Blob::default() };
    let part = Part { inline_data: Some(Box::new(blob)), ..Part::default() };
    Ok(Some(TakenValue { place, payload, shell, name, len, part }))
}

fn unwritable(key: &SessionKey, event: &Event, error: &serde_json::Error) -> SessionError {
    SessionError::Unstorable {
        key: key.clone(),
        field: format!("event {} ({error})", event.id()),
        reason: "it cannot be written as JSON",
    }
}

impl SessionService for PayloadSessions {
    pleach_session::forward_session_service!(|this| this.inner; create_session, head_behind, list_apps,
        list_sessions, list_questions, new_deadlines, find_sessions, claim, check_head, note_settled, user_state,
        app_state, health_check, flush, close);

    fn get_session<'a>(
        &'a self,
        key: &'a SessionKey,
        config: GetSessionConfig,
    ) -> BoxFuture<'a, SessionResult<Option<Session>>> {
        Box::pin(self.get(key, config))
    }

    fn events_since<'a>(&'a self, head: &'a SessionHead) -> BoxFuture<'a, SessionResult<Option<Since>>> {
        Box::pin(self.since(head))
    }

    /// Deletes the session, and then its payloads.
    ///
    /// # Errors
    /// If the payloads cannot be deleted, the session is already gone, and repeating the call deletes the remaining
    /// payloads. The same holds after a crash in between, and for a session that another program deleted.
    fn delete_session<'a>(&'a self, key: &'a SessionKey) -> BoxFuture<'a, SessionResult<()>> {
        Box::pin(self.delete(key))
    }

    fn append<'a>(&'a self, head: &'a mut SessionHead, event: Arc<Event>) -> BoxFuture<'a, SessionResult<Arc<Event>>> {
        Box::pin(self.append_whole(head, event))
    }

    /// Redacts the event, and then deletes the payloads that it no longer refers to. Only the event's own payloads are
    /// read.
    ///
    /// The rest of a partly redacted payload is saved before the event is replaced. If another redaction of the event
    /// comes first, the saved payload stays until its session is deleted; it contains nothing that was to be removed.
    ///
    /// # Errors
    /// If payloads cannot be deleted, the event is already redacted, and repeating the redaction deletes the remaining
    /// payloads. The same holds after a crash in between. If a payload of the event is lost, the event cannot be
    /// redacted.
    fn redact_event<'a>(
        &'a self,
        head: &'a mut SessionHead,
        event: Arc<Event>,
        time: f64,
    ) -> BoxFuture<'a, SessionResult<()>> {
        Box::pin(self.redact(head, event, time))
    }

    fn session_to_redact<'a>(
        &'a self,
        key: &'a SessionKey,
        event: &'a EventId,
    ) -> BoxFuture<'a, SessionResult<Option<Session>>> {
        Box::pin(self.get_to_redact(key, event))
    }
}
