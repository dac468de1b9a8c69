//! Judging a batch of appends: pure decisions about the rows that the transaction has read.
//!
//! Appends are judged in the order of their arrival, each against the result of those before it. A refused append
//! changes nothing, so it needs no savepoint and does not affect the others.

use std::fmt;
use std::sync::Arc;

use foldhash::HashMap;
use pleach_core::{AppName, Event, Revision, SessionHead, SessionKey, UserId};
use pleach_session::prepare::StateTexts;
use pleach_session::raw_state::{self, RawDelta, RawObject, StoredValue};
use pleach_session::{SessionError, SessionResult, prepare};

use super::Reply;
use crate::fault::File;
use crate::time::instant;

/// The new revision and update time of the caller's head.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Renewed {
    pub(crate) revision: Revision,
    pub(crate) update_time: f64,
}

impl Renewed {
    /// Returns the revision that the owner of a head has seen.
    pub(crate) fn seen_by(head: &SessionHead) -> Self {
        Self { revision: head.revision(), update_time: head.last_update_time() }
    }

    /// Creates the revision of a session whose last update was at `update_time`. `ties` is the number of events in that
    /// microsecond, or the ties of a claim.
    ///
    /// A revision never repeats in a session: every append adds an event at its own time, and a claim counts the events
    /// before it (see [`prepare::CLAIMED`]).
    pub(crate) fn new(update_time: f64, ties: u32) -> Self {
        Self { revision: Revision::new(instant(update_time), ties), update_time }
    }
}

/// An append, with everything that is needed to write it.
pub(crate) struct Append {
    pub(crate) key: Arc<SessionKey>,
    /// The revision that the caller has seen, which is the fence.
    pub(crate) seen: Renewed,
    /// The event as the caller sent it, for recognising a repeated append.
    pub(crate) sent: Arc<Event>,
    /// The event with its time.
    pub(crate) event: Arc<Event>,
    /// The event's time as stored in a column.
    pub(crate) time: f64,
    /// The event as JSON text, which the driver shares.
    pub(crate) data: Arc<str>,
    /// The event's delta, without the results of operations.
    pub(crate) delta: RawDelta,
    pub(crate) reply: Reply<Appended>,
}

/// The result of a successful append.
#[derive(Clone, Debug)]
pub(crate) struct Appended {
    pub(crate) renewed: Renewed,
    /// The stored event, if it differs from the sent one.
    pub(crate) stored: Option<Arc<Event>>,
}

/// An event whose operations have been applied to the stored values.
pub(super) struct Resolved {
    pub(super) event: Arc<Event>,
    /// The event as JSON text.
    pub(super) data: Arc<str>,
    delta: RawDelta,
}

impl Append {
    /// Returns `true` if both have the same event id in the same session.
    pub(super) fn is_same_event(&self, other: &Self) -> bool {
        self.event.id() == other.event.id() && self.key == other.key
    }
}

/// A session that the batch reads and changes.
pub(super) struct SessionSlot {
    pub(super) key: Arc<SessionKey>,
    /// Whether an append of the batch changes the session's own state, so that it must be read.
    wants_state: bool,
    pub(super) row: Option<SessionRow>,
    /// The state to write, once an append has changed it.
    pub(super) new_state: Option<String>,
    /// The times of the events accepted so far.
    pub(super) accepted: Vec<f64>,
}

/// A session's row, and the data about its events that the fence needs.
pub(super) struct SessionRow {
    pub(super) state: Option<String>,
    pub(super) update_time: f64,
    /// The number of events in that microsecond; for a claimed session see [`prepare::CLAIMED`].
    pub(super) ties: u32,
    /// The latest time of any event.
    pub(super) newest: Option<f64>,
    /// Whether the session has times of the other layout's kind.
    pub(super) mixed: bool,
}

/// App or user state that an append of the batch changes.
pub(super) struct StateSlot<K> {
    pub(super) key: K,
    /// The stored text; `{}` if the row is missing, so that the append creates it.
    pub(super) text: String,
    /// The time to write, once an append has changed the state.
    pub(super) changed: Option<f64>,
}

/// The slots that an append uses.
#[derive(Clone, Copy)]
struct Places {
    session: usize,
    app: Option<usize>,
    user: Option<usize>,
}

/// The decision about an append.
pub(super) enum Verdict {
    /// The append is written, with the results of its operations if it has any.
    Store(Renewed, Option<Box<Resolved>>),
    /// The fence does not hold. An event with this id may already be stored.
    Stale(Revision),
    /// The append is refused.
    Refuse(SessionError),
}

/// The distinct rows that a batch uses.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) sessions: Vec<SessionSlot>,
    pub(super) apps: Vec<StateSlot<AppName>>,
    pub(super) users: Vec<StateSlot<(AppName, UserId)>>,
    places: Vec<Places>,
}

impl Batch {
    pub(super) fn new(appends: &[Append]) -> Self {
        let mut batch = Self::default();
        let mut sessions = HashMap::default();
        let mut apps = HashMap::default();
        let mut users = HashMap::default();
        for append in appends {
            let key = &*append.key;
            let session = *sessions.entry(key).or_insert_with(|| {
                batch.sessions.push(SessionSlot::new(append.key.clone()));
                batch.sessions.len() - 1
            });
            batch.sessions[session].wants_state |= !append.delta.session.is_empty();
            let app = (!append.delta.app.is_empty()).then(|| {
                *apps.entry(&key.app_name).or_insert_with(|| StateSlot::add(&mut batch.apps, key.app_name.clone()))
            });
            let user = (!append.delta.user.is_empty()).then(|| {
                let owner = (key.app_name.clone(), key.user_id.clone());
                *users.entry((&key.app_name, &key.user_id)).or_insert_with(|| StateSlot::add(&mut batch.users, owner))
            });
            batch.places.push(Places { session, app, user });
        }
        batch
    }

    /// Returns the sessions to read, as the JSON array of `[app, user, id, wants state]` that `batch_begin.sql`
    /// expects.
    pub(super) fn session_keys(&self) -> serde_json::Result<String> {
        let keys = self
            .sessions
            .iter()
            .map(|slot| (&slot.key.app_name, &slot.key.user_id, &slot.key.session_id, slot.wants_state));
        serde_json::to_string(&keys.collect::<Vec<_>>())
    }

    pub(super) fn app_keys(&self) -> serde_json::Result<String> {
        serde_json::to_string(&self.apps.iter().map(|slot| &slot.key).collect::<Vec<_>>())
    }

    pub(super) fn user_keys(&self) -> serde_json::Result<String> {
        serde_json::to_string(&self.users.iter().map(|slot| &slot.key).collect::<Vec<_>>())
    }

    pub(super) fn found_session(&mut self, slot: usize, row: SessionRow) {
        if let Some(slot) = self.sessions.get_mut(slot) {
            slot.row = Some(row);
        }
    }

    pub(super) fn found_app(&mut self, slot: usize, state: Option<String>) {
        if let (Some(slot), Some(state)) = (self.apps.get_mut(slot), state) {
            slot.text = state;
        }
    }

    pub(super) fn found_user(&mut self, slot: usize, state: Option<String>) {
        if let (Some(slot), Some(state)) = (self.users.get_mut(slot), state) {
            slot.text = state;
        }
    }

    /// Returns the session slot of the append at `index`.
    pub(super) fn session_of(&self, index: usize) -> &SessionSlot {
        &self.sessions[self.places[index].session]
    }

    /// Judges the append at `index` and records its changes if it is accepted.
    ///
    /// `stored_at_time` is the number of stored events with this event's time. It is needed only if
    /// [`SessionSlot::needs_count`] returns `true`.
    pub(super) fn judge(&mut self, index: usize, append: &Append, stored_at_time: u32, file: &File) -> Verdict {
        let Places { session, app, user } = self.places[index];
        let SessionSlot { key, row: Some(row), new_state, accepted, .. } = &mut self.sessions[session] else {
            return Verdict::Refuse(SessionError::NotFound((*append.key).clone()));
        };
        if !row.fits(&append.seen) {
            return Verdict::Stale(row.renewed().revision);
        }
        // Everything that can fail happens before the first change.
        let resolved = if append.event.actions().state_ops().is_empty() {
            None
        } else {
            let own = new_state.as_deref().or(row.state.as_deref());
            let app = app.map(|at| &*self.apps[at].text);
            let texts = StateTexts { session: own, app, user: user.map(|at| &*self.users[at].text) };
            match resolve(append, texts, file) {
                Ok(resolved) => Some(Box::new(resolved)),
                Err(error) => return Verdict::Refuse(error),
            }
        };
        let delta = resolved.as_ref().map_or(&append.delta, |resolved| &resolved.delta);
        let merged = || -> SessionResult<_> {
            let stored = new_state.as_deref().or(row.state.as_deref()).unwrap_or("{}");
            let session = merge_session(stored, &delta.session, key, file)?;
            let of_app = format_args!("the state of app {}", key.app_name);
            let app = app.map(|at| self.apps[at].merge(&delta.app, of_app, file)).transpose()?;
            let of_user = format_args!("the state of user {}/{}", key.app_name, key.user_id);
            let user = user.map(|at| self.users[at].merge(&delta.user, of_user, file)).transpose()?;
            Ok((session, app, user))
        };
        let (session_text, app_text, user_text) = match merged() {
            Ok(merged) => merged,
            Err(error) => return Verdict::Refuse(error),
        };
        let time = append.time;
        let renewed = row.accept(time, stored_at_time, accepted);
        if session_text.is_some() {
            *new_state = session_text;
        }
        if let (Some(at), Some(text)) = (app, app_text) {
            self.apps[at].set(text, time);
        }
        if let (Some(at), Some(text)) = (user, user_text) {
            self.users[at].set(text, time);
        }
        Verdict::Store(renewed, resolved)
    }
}

/// Applies the operations to the states that the previous appends left.
fn resolve(append: &Append, texts: StateTexts<'_>, file: &File) -> SessionResult<Resolved> {
    let key = &append.key;
    let corrupt = |error| file.corrupt(format_args!("a state that session {key} writes"), error);
    let event = prepare::resolve_ops_on_texts(key, &append.event, texts, StoredValue::exact, corrupt)?;
    let data = prepare::event_text(key, &event)?.into();
    let unwritable = |error| file.fault(sqlx::Error::Encode(Box::new(error)));
    let delta = RawDelta::from_map(event.actions().state_delta()).map_err(unwritable)?;
    Ok(Resolved { event, data, delta })
}

/// Returns the session's new text, or `None` if the delta does not change it.
fn merge_session(stored: &str, delta: &RawObject, key: &SessionKey, file: &File) -> SessionResult<Option<String>> {
    if delta.is_empty() {
        return Ok(None);
    }
    raw_state::merge(stored, delta)
        .map(Some)
        .map_err(|error| file.corrupt(format_args!("the state of session {key}"), error))
}

impl SessionSlot {
    fn new(key: Arc<SessionKey>) -> Self {
        Self { key, wants_state: false, row: None, new_state: None, accepted: Vec::new() }
    }

    /// Returns `true` if only the database knows how many events have this time, because it is not later than the
    /// stored ones.
    pub(super) fn needs_count(&self, time: f64) -> bool {
        let time = instant(time);
        let among = |newest| time <= instant(newest);
        self.row.as_ref().is_some_and(|row| instant(row.update_time) != time && row.newest.is_some_and(among))
    }
}

impl SessionRow {
    fn fits(&self, seen: &Renewed) -> bool {
        // No revision has NaN as its time.
        !self.update_time.is_nan() && self.renewed().revision == seen.revision
    }

    fn renewed(&self) -> Renewed {
        Renewed::new(self.update_time, self.ties)
    }

    /// Adds an event at `time` after the `accepted` events of the same batch.
    fn accept(&mut self, time: f64, stored_at_time: u32, accepted: &mut Vec<f64>) -> Renewed {
        self.ties = if instant(time) == instant(self.update_time) {
            // No event has the time of a claim.
            if self.ties > prepare::CLAIMED { 1 } else { self.ties + 1 }
        } else {
            let here = accepted.iter().filter(|&&other| instant(other) == instant(time)).count();
            stored_at_time + u32::try_from(here).expect("a batch is far smaller than 2^32") + 1
        };
        self.update_time = time;
        self.newest = Some(self.newest.map_or(time, |newest| newest.max(time)));
        accepted.push(time);
        self.renewed()
    }
}

impl<K> StateSlot<K> {
    fn add(slots: &mut Vec<Self>, key: K) -> usize {
        slots.push(Self { key, text: "{}".to_owned(), changed: None });
        slots.len() - 1
    }

    fn merge(&self, delta: &RawObject, whose: fmt::Arguments<'_>, file: &File) -> SessionResult<String> {
        raw_state::merge(&self.text, delta).map_err(|error| file.corrupt(whose, error))
    }

    fn set(&mut self, text: String, time: f64) {
        self.text = text;
        self.changed = Some(time);
    }
}
