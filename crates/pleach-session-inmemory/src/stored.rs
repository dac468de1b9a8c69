//! One stored session: its log, its own state and the rules of appending.

use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard};

use foldhash::HashMap;
use pleach_core::{Event, EventId, Map, Revision, Scope, Session, SessionHead, SessionKey, merge_view};
use pleach_session::{
    Asked, GetSessionConfig, InboxItem, ListCursor, ListQuestions, QuestionCursor, SessionError, SessionResult, Since,
    check_redacted, prepare,
};

use crate::open_index::OpenIndex;
use crate::shared::{SharedState, lock};

/// The new revision and update time of the caller's head after a claim.
pub(crate) type Renewed = (Revision, f64);

/// The result of an append: the stored event, and the new revision and update time of the caller's head.
#[derive(Debug)]
pub(crate) struct Appended {
    pub(crate) event: Arc<Event>,
    pub(crate) revision: Revision,
    pub(crate) update_time: f64,
}

/// The states of the app and the user, locked.
type SharedStates<'a> = (MutexGuard<'a, Map>, MutexGuard<'a, Map>);

/// A stored session. Heads point directly to it, so an append needs no lookup.
#[derive(Debug)]
pub(crate) struct StoredSession {
    service: u64,
    generation: u32,
    key: Arc<SessionKey>,
    app: SharedState,
    user: SharedState,
    log: Mutex<Log>,
}

#[derive(Debug)]
struct Log {
    /// Whether the session has been removed from the directory. Heads may still point to it.
    deleted: bool,
    update_time: f64,
    /// The session's own keys. App and user state are merged in on load.
    state: Map,
    events: Vec<Arc<Event>>,
    /// The number of changes: events and claims.
    changes: i64,
    /// The number of changes right after each event.
    places: Vec<i64>,
    /// The position of each event id. It costs a few percent of an append and avoids a scan when an id is repeated.
    // S34
    positions: HashMap<EventId, usize>,
    questions: OpenIndex,
    /// The programs that need to do nothing for the session at a number of changes: the two that noted this last.
    settled: Vec<(String, i64)>,
}

/// The number of programs whose notes are kept.
const PROGRAMS: usize = 2;

impl StoredSession {
    pub(crate) fn new(
        service: u64,
        generation: u32,
        key: Arc<SessionKey>,
        state: Map,
        app: SharedState,
        user: SharedState,
        create_time: f64,
    ) -> Self {
        let log = Log {
            deleted: false,
            update_time: create_time,
            state,
            events: Vec::new(),
            changes: 0,
            places: Vec::new(),
            positions: HashMap::default(),
            questions: OpenIndex::default(),
            settled: Vec::new(),
        };
        Self { service, generation, key, app, user, log: Mutex::new(log) }
    }

    /// Returns `true` if a head with `key` of the given service refers to this session.
    pub(crate) fn is_of(&self, service: u64, key: &SessionKey) -> bool {
        self.service == service && (std::ptr::eq(&*self.key, key) || *self.key == *key)
    }

    pub(crate) fn mark_deleted(&self) {
        lock(&self.log).deleted = true;
    }

    /// Returns the session's position in a listing.
    // S32
    pub(crate) fn place(&self) -> ListCursor {
        ListCursor {
            update_time: lock(&self.log).update_time,
            user_id: self.key.user_id.clone(),
            session_id: self.key.session_id.clone(),
        }
    }

    /// Returns a session object with merged state and the events that `config` selects, shared with the store.
    // S20
    pub(crate) fn load(self: &Arc<Self>, config: &GetSessionConfig) -> Session {
        let log = lock(&self.log);
        self.view(&log, wanted(&log.events, config))
    }

    /// Returns a session object without state and events.
    pub(crate) fn without_state(self: &Arc<Self>) -> Session {
        Session::new(self.head(&lock(&self.log)), Map::new())
    }

    /// Returns the events that were appended after a revision of this session.
    pub(crate) fn since(self: &Arc<Self>, revision: Revision) -> Since {
        let log = lock(&self.log);
        if revision.ties != self.generation || !(0..=log.changes).contains(&revision.micros) {
            return Since::Unknown;
        }
        Since::Events(self.view(&log, &log.events[log.seen_at(revision)..]))
    }

    /// Returns the open questions that match `request`, with their positions.
    pub(crate) fn questions(&self, request: &ListQuestions) -> Vec<(QuestionCursor, InboxItem)> {
        let mut guard = lock(&self.log);
        let log = &mut *guard;
        let wanted = log.questions.open(&log.events).iter().filter(|asked| request.wants(&asked.question));
        let item = |asked: &Asked| {
            let cursor = QuestionCursor::new(&self.key, asked.question.asked_at, asked.place);
            (cursor, InboxItem { session: (*self.key).clone(), question: asked.question.clone() })
        };
        wanted.map(item).collect()
    }

    fn view(self: &Arc<Self>, log: &Log, events: &[Arc<Event>]) -> Session {
        let events = events.to_vec();
        let state = merge_view(log.state.clone(), &lock(&self.app), &lock(&self.user));
        Session { events, ..Session::new(self.head(log), state) }
    }

    fn head(self: &Arc<Self>, log: &Log) -> SessionHead {
        SessionHead::new(self.key.clone(), self.revision(log.changes), log.update_time).with_handle(self.clone())
    }

    /// Appends after the revision of the caller's head; `None` if the session has been deleted.
    // S34, S35
    pub(crate) fn append(&self, head: &SessionHead, event: &Arc<Event>) -> Option<SessionResult<Appended>> {
        let mut guard = lock(&self.log);
        let log = &mut *guard;
        if log.deleted {
            return None;
        }
        let ours = head.revision();
        let slot = match log.positions.entry(event.id().clone()) {
            Entry::Occupied(taken) => {
                let position = *taken.get();
                return Some(self.repeated(log, position, head, event));
            }
            Entry::Vacant(slot) => slot,
        };
        let stored = self.revision(log.changes);
        if stored != ours {
            return Some(Err(SessionError::Stale { key: (*self.key).clone(), stored, ours }));
        }
        let mut event = prepare::event_with_time(head, Arc::clone(event));
        let mut shared = None;
        if !event.actions().state_ops().is_empty() {
            event = match self.resolved(&log.state, &mut shared, &event) {
                Ok(resolved) => resolved,
                Err(error) => return Some(Err(error)),
            };
        }
        slot.insert(log.events.len());
        log.changes += 1;
        log.places.push(log.changes);
        log.update_time = event.timestamp();
        if event.actions().changes_state() {
            self.apply_delta(&mut log.state, shared, event.actions().state_delta());
        }
        log.questions.add(&event);
        log.events.push(Arc::clone(&event));
        Some(Ok(Appended { revision: self.revision(log.changes), update_time: event.timestamp(), event }))
    }

    /// Advances the revision without an event, to the update time `time`; `None` if the session has been deleted.
    pub(crate) fn claim(&self, ours: Revision, time: f64) -> Option<SessionResult<Renewed>> {
        Some(self.lock_at(ours)?.map(|mut log| self.advance(&mut log, time)))
    }

    /// Compares the revision; `None` if the session has been deleted.
    pub(crate) fn check(&self, ours: Revision) -> Option<SessionResult<()>> {
        self.lock_at(ours).map(|log| log.map(drop))
    }

    /// Notes that the session needs nothing at a revision, if this is its current revision.
    pub(crate) fn settle(&self, program: &str, revision: Revision) {
        if let Some(Ok(mut log)) = self.lock_at(revision) {
            log.settled.retain(|(noted, _)| noted != program);
            let changes = log.changes;
            log.settled.insert(0, (program.to_owned(), changes));
            log.settled.truncate(PROGRAMS);
        }
    }

    /// Returns `true` if a program has noted that the session needs nothing as it is now.
    pub(crate) fn is_settled(&self, program: &str) -> bool {
        let log = lock(&self.log);
        log.settled.iter().any(|(noted, changes)| noted == program && *changes == log.changes)
    }

    /// Replaces an event and advances the revision; `None` if the session has been deleted.
    pub(crate) fn redact(&self, ours: Revision, event: Arc<Event>, time: f64) -> Option<SessionResult<Renewed>> {
        Some(self.lock_at(ours)?.and_then(|mut log| {
            let place = log.positions.get(event.id()).copied();
            check_redacted(&self.key, place.map(|place| &*log.events[place]), &event)?;
            if let Some(place) = place {
                log.events[place] = event;
            }
            log.questions = OpenIndex::of(&log.events);
            Ok(self.advance(&mut log, time))
        }))
    }

    /// Locks the log if its revision is the caller's; `None` if the session has been deleted.
    fn lock_at(&self, ours: Revision) -> Option<SessionResult<MutexGuard<'_, Log>>> {
        let log = lock(&self.log);
        if log.deleted {
            return None;
        }
        let stored = self.revision(log.changes);
        if stored == ours {
            return Some(Ok(log));
        }
        Some(Err(SessionError::Stale { key: (*self.key).clone(), stored, ours }))
    }

    fn advance(&self, log: &mut Log, time: f64) -> Renewed {
        log.changes += 1;
        log.update_time = time;
        (self.revision(log.changes), time)
    }

    /// Returns the event with the results of its operations. The states to which they are applied stay locked in
    /// `shared`.
    fn resolved<'a>(
        &'a self,
        state: &Map,
        shared: &mut Option<SharedStates<'a>>,
        event: &Arc<Event>,
    ) -> SessionResult<Arc<Event>> {
        prepare::resolve_ops(&self.key, event, |state_key| {
            let (scope, name) = Scope::split(state_key);
            let (app, user) = match scope {
                Scope::App | Scope::User => shared.get_or_insert_with(|| self.lock_shared()),
                Scope::Session | Scope::Temp => return Ok(state.get(name).cloned()),
            };
            Ok(if scope == Scope::App { app.get(name) } else { user.get(name) }.cloned())
        })
    }

    /// Locks both states, always in this order, so that no reader sees half a delta and no two appends deadlock.
    fn lock_shared(&self) -> SharedStates<'_> {
        (lock(&self.app), lock(&self.user))
    }

    /// Handles an event id that is already in the log. If it is the same event, the append succeeds: its response was
    /// lost earlier.
    // S34
    fn repeated(&self, log: &Log, position: usize, head: &SessionHead, event: &Arc<Event>) -> SessionResult<Appended> {
        let present = &log.events[position];
        let is_same = Arc::ptr_eq(present, event) || present == event || prepare::repeated(event, present).is_some();
        if !is_same {
            let key = (*self.key).clone();
            return Err(SessionError::EventAlreadyExists { key, event: event.id().clone() });
        }
        let event = Arc::clone(present);
        let behind = self.revision(log.places[position]);
        let ours = head.revision();
        if ours.ties == behind.ties && ours > behind {
            // The caller has seen later changes. With an older revision, its next append would be stale without a
            // reason.
            return Ok(Appended { event, revision: ours, update_time: head.last_update_time() });
        }
        Ok(Appended { event, revision: behind, update_time: present.timestamp() })
    }

    /// Returns the revision of the log after this many changes.
    fn revision(&self, changes: i64) -> Revision {
        Revision::new(changes, self.generation)
    }

    /// Replaces keys of the three states. Both shared states are locked once, so that no reader sees half a delta.
    fn apply_delta<'a>(&'a self, state: &mut Map, mut shared: Option<SharedStates<'a>>, delta: &Map) {
        for (key, value) in delta {
            let (scope, name) = Scope::split(key);
            let target = match scope {
                Scope::Session => &mut *state,
                // `temp:` keys have already been removed from the event.
                Scope::Temp => continue,
                Scope::App | Scope::User => {
                    let (app, user) = shared.get_or_insert_with(|| self.lock_shared());
                    if scope == Scope::App { &mut **app } else { &mut **user }
                }
            };
            match target.get_mut(name) {
                Some(known) => known.clone_from(value),
                None => {
                    target.insert(name.to_owned(), value.clone());
                }
            }
        }
    }
}

impl Log {
    /// Returns the number of events that a caller with this revision has seen.
    fn seen_at(&self, revision: Revision) -> usize {
        self.places.partition_point(|place| *place <= revision.micros)
    }
}

/// Returns the tail of the log that `config` selects: the newest events, cut where the time first falls below the limit.
// S31
fn wanted<'a>(events: &'a [Arc<Event>], config: &GetSessionConfig) -> &'a [Arc<Event>] {
    let count = config.num_recent_events.unwrap_or(events.len());
    let newest = &events[events.len().saturating_sub(count)..];
    let Some(limit) = config.after_timestamp else {
        return newest;
    };
    let start = newest.iter().rposition(|event| event.timestamp() < limit).map_or(0, |older| older + 1);
    &newest[start..]
}
