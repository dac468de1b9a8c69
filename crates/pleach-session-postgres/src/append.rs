//! Appending: one statement, and the interpretation of its result.

use std::sync::Arc;

use pleach_core::{Event, Scope, SessionHead, SessionKey};
use pleach_session::prepare::StateTexts;
use pleach_session::raw_state::{self, RawDelta, RawObject, StoredValue};
use pleach_session::{SessionError, SessionResult, prepare};
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgRow, Postgres};

use crate::connections::Ask;
use crate::fault::{Fault, Server, Trouble};
use crate::lent::Lent;
use crate::value::{self, EventText, Seen, Time};
use crate::{limits, sql};

/// The number of times that a statement is repeated because another writer locked the row first without changing the
/// revision.
const RACES: usize = 8;

/// An append, with everything that is needed to write it.
pub(crate) struct Append {
    key: Arc<SessionKey>,
    server: Server,
    /// The revision that the caller has seen, which is the fence.
    seen: Seen,
    /// The event as the caller sent it, for recognising a repeated append.
    sent: Arc<Event>,
    event: Arc<Event>,
    time: Time,
    /// The deltas as JSON text; `None` if there is nothing to merge.
    own: Option<String>,
    app: Option<String>,
    user: Option<String>,
}

/// The result of an append.
#[derive(Debug)]
pub(crate) struct Appended {
    /// The new revision of the caller's head.
    pub(crate) behind: Seen,
    /// The stored event, if it differs from the sent one.
    pub(crate) stored: Option<Arc<Event>>,
}

/// An append's event that was found in the store.
struct KnownEvent {
    /// The revision right after the event.
    behind: Seen,
    /// The stored event, if it has more than the sent one.
    stored: Option<Arc<Event>>,
    /// Whether the caller had seen the event; `None` if that can no longer be determined.
    was_seen: Option<bool>,
}

impl Append {
    /// Checks and serialises everything that needs no connection. `sent` is prepared for storage, but may have no time.
    pub(crate) fn new(head: &SessionHead, sent: Arc<Event>, server: &Server) -> SessionResult<Self> {
        let event = prepare::event_with_time(head, Arc::clone(&sent));
        let seen = Seen { revision: head.revision(), update_time: head.last_update_time() };
        Self::of(head.shared_key().clone(), seen, sent, event, server)
    }

    fn of(
        key: Arc<SessionKey>,
        seen: Seen,
        sent: Arc<Event>,
        event: Arc<Event>,
        server: &Server,
    ) -> SessionResult<Self> {
        let time = limits::check_event(&key, &event)?;
        let unwritable = |error| server.fault(sqlx::Error::Encode(Box::new(error)));
        let delta = RawDelta::from_map(event.actions().state_delta()).map_err(unwritable)?;
        let text = |object: &RawObject| {
            if object.is_empty() { Ok(None) } else { raw_state::to_text(object).map(Some).map_err(unwritable) }
        };
        let (own, app, user) = (text(&delta.session)?, text(&delta.app)?, text(&delta.user)?);
        Ok(Self { key, server: server.clone(), seen, sent, event, time, own, app, user })
    }

    /// Returns the event as it is sent to the store, with its time.
    pub(crate) fn event(&self) -> &Arc<Event> {
        &self.event
    }

    /// Returns the same append with the results of its operations, which are applied to the states in `row`.
    fn resolved(&self, row: &PgRow) -> Result<Self, Trouble> {
        let text = |column| value::json(row, column);
        let (own, app, user) = (text("own")?, text("app")?, text("user")?);
        let texts = StateTexts { session: own, app, user };
        let corrupt = |error| self.server.corrupt(format_args!("a state that session {} writes", self.key), error);
        let event = prepare::resolve_ops_on_texts(&self.key, &self.event, texts, StoredValue::by_value, corrupt)?;
        Ok(Self::of(self.key.clone(), self.seen, self.sent.clone(), event, &self.server)?)
    }

    fn query(&self) -> sqlx::query::Query<'_, Postgres, PgArguments> {
        let shared = self.app.is_some() || self.user.is_some();
        let is_claimed = self.seen.revision.ties > prepare::CLAIMED;
        let texts = if is_claimed { sql::APPEND_BEHIND_CLAIM } else { sql::APPEND };
        let query = value::query(texts[usize::from(shared)], &self.key)
            .bind(Time(self.seen.revision.micros))
            .bind(i64::from(self.seen.revision.ties))
            .bind(self.time)
            .bind(self.event.id().to_string())
            .bind(self.event.invocation_id().as_str())
            .bind(EventText(&self.event))
            .bind(self.own.as_deref());
        if shared { query.bind(self.app.as_deref()).bind(self.user.as_deref()) } else { query }
    }

    /// Returns the stored revision; `None` if there is no session.
    async fn found(&self, connection: &mut Lent) -> sqlx::Result<Option<Seen>> {
        let rows = value::query(sql::FIND_REVISION, &self.key).fetch_all(connection).await?;
        rows.first().map(|row| Ok(Seen::new(row.try_get("update_time")?, row.try_get("ties")?))).transpose()
    }

    /// Looks for a stored event with this id. If it is the same event, the append succeeds: its response was lost
    /// earlier.
    // S34
    async fn known(&self, connection: &mut Lent) -> Result<Option<KnownEvent>, Trouble> {
        let rows = value::query(sql::FIND_EVENT, &self.key)
            .bind(Time(self.seen.revision.micros))
            .bind(i64::from(self.seen.revision.ties))
            .bind(self.event.id().to_string())
            .bind(EventText(&self.event))
            .bind(self.is_completed())
            .fetch_all(connection)
            .await?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let stored = if self.is_completed() { self.repeated(value::json(row, "data")?) } else { None };
        let is_same = if self.is_completed() { stored.is_some() } else { row.try_get("same")? };
        if !is_same {
            let key = (*self.key).clone();
            return Err(SessionError::EventAlreadyExists { key, event: self.event.id().clone() }.into());
        }
        let behind = Seen::new(row.try_get("timestamp")?, row.try_get("ties")?);
        Ok(Some(KnownEvent { behind, stored, was_seen: row.try_get("seen")? }))
    }

    /// Returns `true` if the stored event has more than the sent one: a time, or results of operations.
    fn is_completed(&self) -> bool {
        !self.sent.actions().state_ops().is_empty() || !self.sent.has_timestamp()
    }

    /// Returns the stored event if it is the result of appending the sent one.
    fn repeated(&self, data: Option<&str>) -> Option<Arc<Event>> {
        let stored: Event = serde_json::from_str(data?).ok()?;
        prepare::repeated(&self.sent, &stored).map(Arc::new)
    }

    /// Returns the answer if the fence does not hold; `found` is the stored revision.
    async fn refused(&self, connection: &mut Lent, found: Seen) -> Result<Appended, Trouble> {
        match self.known(connection).await? {
            // The head of a caller that has seen the event does not change.
            Some(KnownEvent { was_seen: Some(true), stored, .. }) => Ok(Appended { behind: self.seen, stored }),
            Some(KnownEvent { was_seen: Some(false), behind, stored }) => Ok(Appended { behind, stored }),
            _ => Err(self.stale(found).into()),
        }
    }

    /// Handles an id that is taken although the fence holds, which means that the caller has seen every event.
    async fn duplicate(&self, connection: &mut Lent, error: sqlx::Error) -> Result<Appended, Trouble> {
        let known = self.known(connection).await?.ok_or(Trouble::Sql(error))?;
        Ok(Appended { behind: self.seen, stored: known.stored })
    }

    fn not_found(&self) -> Trouble {
        SessionError::NotFound((*self.key).clone()).into()
    }

    /// Returns the error for a session whose row other writers locked repeatedly without changing its revision.
    fn outrun(&self) -> Trouble {
        let source = "other writers kept coming first".into();
        SessionError::Locked { what: format!("session {} in {}", self.key, self.server), source }.into()
    }

    /// Applies the operations to the stored values and stores the event.
    async fn append_with_ops(&self, connection: &mut Lent) -> Result<Appended, Trouble> {
        // The fence protects the session's own state, so only shared state is locked until the end.
        let locks = self.writes(Scope::App) || self.writes(Scope::User);
        for _ in 0..RACES {
            let outcome = if locks { self.try_ops_locked(connection).await } else { self.try_ops(connection).await };
            match outcome {
                Ok(Attempt::Stored(appended)) => return Ok(appended),
                Ok(Attempt::Outrun) => {}
                Ok(Attempt::Refused) => {
                    // Read again, because values that were read while waiting for the row may be outdated.
                    let found = self.found(connection).await?.ok_or_else(|| self.not_found())?;
                    if found.revision != self.seen.revision {
                        return self.refused(connection, found).await;
                    }
                }
                Err(Trouble::Sql(error)) if Fault::of(&error) == Fault::Duplicate => {
                    return self.duplicate(connection, error).await;
                }
                Err(Trouble::Sql(error)) => return Err(object_fault(error, &self.key, &self.server)),
                Err(answer) => return Err(answer),
            }
        }
        Err(self.outrun())
    }

    async fn try_ops_locked(&self, connection: &mut Lent) -> Result<Attempt, Trouble> {
        connection.begin("").await?;
        let outcome = self.try_ops(connection).await;
        end(connection, outcome, |attempt| matches!(attempt, Attempt::Stored(_))).await
    }

    async fn try_ops(&self, transaction: &mut Lent) -> Result<Attempt, Trouble> {
        let rows = value::query(sql::LOCK_STATES, &self.key)
            .bind(self.writes(Scope::App))
            .bind(self.writes(Scope::User))
            .fetch_all(&mut *transaction)
            .await?;
        let row = rows.first().ok_or_else(|| self.not_found())?;
        let found = Seen::new(row.try_get("update_time")?, row.try_get("ties")?);
        if found.revision != self.seen.revision {
            return Ok(Attempt::Refused);
        }
        let resolved = self.resolved(row)?;
        let rows = resolved.query().fetch_all(&mut *transaction).await?;
        let Some(row) = rows.first() else { return Ok(Attempt::Outrun) };
        let behind = Seen::new(self.time, row.try_get::<i64, _>("before")? + 1);
        Ok(Attempt::Stored(Appended { behind, stored: Some(resolved.event) }))
    }

    /// Returns `true` if the append writes state of the scope. All states that it writes are locked first, even
    /// those without an operation: locking one later could break the order in which all appends lock states.
    fn writes(&self, scope: Scope) -> bool {
        let actions = self.event.actions();
        let mut keys = actions.state_ops().keys().chain(actions.state_delta().keys());
        keys.any(|key| Scope::split(key).0 == scope)
    }

    fn stale(&self, found: Seen) -> SessionError {
        SessionError::Stale { key: (*self.key).clone(), stored: found.revision, ours: self.seen.revision }
    }
}

/// Commits a transaction whose outcome is to be kept, and rolls it back otherwise.
pub(crate) async fn end<T>(
    connection: &mut Lent,
    outcome: Result<T, Trouble>,
    keep: impl Fn(&T) -> bool,
) -> Result<T, Trouble> {
    match &outcome {
        Ok(done) if keep(done) => connection.commit().await?,
        Err(Trouble::Sql(error)) if Fault::of(error) == Fault::Lost => {}
        _ => connection.roll_back().await?,
    }
    outcome
}

/// The result of one transaction with operations.
enum Attempt {
    Stored(Appended),
    /// The fence did not hold.
    Refused,
    /// Another writer came first.
    Outrun,
}

impl Ask for Append {
    type Answer = Appended;

    async fn ask(&self, connection: &mut Lent, _: bool) -> Result<Appended, Trouble> {
        if !self.event.actions().state_ops().is_empty() {
            return self.append_with_ops(connection).await;
        }
        for _ in 0..RACES {
            // All rows are fetched, because the commit comes after the first row.
            let rows = match self.query().fetch_all(&mut *connection).await {
                Ok(rows) => rows,
                Err(error) if Fault::of(&error) == Fault::Duplicate => return self.duplicate(connection, error).await,
                Err(error) => return Err(object_fault(error, &self.key, &self.server)),
            };
            if let Some(row) = rows.first() {
                let behind = Seen::new(self.time, row.try_get::<i64, _>("before")? + 1);
                return Ok(Appended { behind, stored: None });
            }
            let found = self.found(connection).await?.ok_or_else(|| self.not_found())?;
            if found.revision != self.seen.revision {
                return self.refused(connection, found).await;
            }
        }
        Err(self.outrun())
    }
}

/// Returns the fault of a statement. If a stored state is not a JSON object, the fault names that state (case 88).
pub(crate) fn object_fault(error: sqlx::Error, key: &SessionKey, server: &Server) -> Trouble {
    if Fault::of(&error) != Fault::NotAnObject {
        return error.into();
    }
    let table = error.as_database_error().and_then(|error| error.table()).unwrap_or_default();
    let whose = match table {
        "app_states" => format!("the state of app {}", key.app_name),
        "user_states" => format!("the state of user {}/{}", key.app_name, key.user_id),
        _ => format!("the state of session {key}"),
    };
    server.corrupt(whose, "it is not a JSON object").into()
}
