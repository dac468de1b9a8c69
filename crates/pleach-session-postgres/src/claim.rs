//! Claiming, which is an append's fence without an event, and replacing a redacted event after a claim.

use std::sync::Arc;

use pleach_core::{Event, Revision, SessionHead, SessionKey};
use pleach_session::{SessionError, SessionResult, check_redacted, prepare, redacted_document};
use sqlx::Row as _;

use crate::append::end;
use crate::connections::Ask;
use crate::fault::{Server, Trouble};
use crate::lent::Lent;
use crate::load::read_event;
use crate::value::{self, EventText, Name, Seen, Time};
use crate::{limits, sql};

/// The number of times that a statement is repeated. It must be repeated if another writer locked the row first
/// without changing the revision, or if an event has the time of the claim.
const RACES: usize = 8;

/// A claim of a session.
pub(crate) struct Claim {
    key: Arc<SessionKey>,
    server: Server,
    /// The revision that the caller has seen, which is the fence.
    seen: Seen,
    time: Time,
}

/// A claim of a session, and the event that replaces the stored event with its id.
pub(crate) struct Redact {
    pub(crate) claim: Claim,
    /// The event, prepared for storage.
    pub(crate) event: Arc<Event>,
}

impl Claim {
    pub(crate) fn new(head: &SessionHead, time: f64, server: &Server) -> SessionResult<Self> {
        let time = limits::check_time(head.key(), "update_time", prepare::claim_time(head, time))?;
        let seen = Seen { revision: head.revision(), update_time: head.last_update_time() };
        Ok(Self { key: head.shared_key().clone(), server: server.clone(), seen, time })
    }

    async fn claim(&self, connection: &mut Lent) -> Result<Seen, Trouble> {
        let ours = self.seen.revision;
        let mut time = self.time;
        for _ in 0..RACES {
            let claimed = value::query(sql::CLAIM, &self.key)
                .bind(Time(ours.micros))
                .bind(i64::from(ours.ties))
                .bind(time)
                .fetch_all(&mut *connection)
                .await?;
            if let Some(row) = claimed.first() {
                return Ok(Seen::new(time, row.try_get("ties")?));
            }
            compare(&mut *connection, &self.key, ours).await?;
            time = Time(time.0.saturating_add(1));
        }
        let source = "other writers kept coming first".into();
        Err(SessionError::Locked { what: format!("session {} in {}", self.key, self.server), source }.into())
    }
}

/// Compares the session's revision with the revision that the caller has seen.
///
/// # Errors
/// `NotFound` and `Stale`.
async fn compare(connection: &mut Lent, key: &SessionKey, ours: Revision) -> Result<(), Trouble> {
    let rows = value::query(sql::FIND_REVISION, key).fetch_all(connection).await?;
    let Some(row) = rows.first() else { return Err(SessionError::NotFound(key.clone()).into()) };
    let stored = Seen::new(row.try_get("update_time")?, row.try_get("ties")?).revision;
    if stored == ours { Ok(()) } else { Err(SessionError::Stale { key: key.clone(), stored, ours }.into()) }
}

/// A check whether a head is the newest.
pub(crate) struct CheckHead<'h>(pub(crate) &'h SessionHead);

impl Ask for CheckHead<'_> {
    type Answer = ();

    async fn ask(&self, connection: &mut Lent, _: bool) -> Result<(), Trouble> {
        compare(connection, self.0.key(), self.0.revision()).await
    }
}

impl Redact {
    /// Claims the session and replaces the event, in the transaction that `connection` has begun.
    async fn execute(&self, connection: &mut Lent) -> Result<Seen, Trouble> {
        let Self { claim, event } = self;
        let seen = claim.claim(&mut *connection).await?;
        let id = event.id().to_string();
        let rows = value::query(sql::FIND_STORED, &claim.key).bind(Name(&id)).fetch_all(&mut *connection).await?;
        let stored = rows.first().map(|row| read_event(row, &id, &claim.key, &claim.server)).transpose()?;
        check_redacted(&claim.key, stored.as_ref(), event)?;
        let document = rows.first().map_or(Ok(None), |row| value::json(row, "data"))?.unwrap_or_default();
        let corrupt = |error| claim.server.corrupt(format!("event {id} of session {}", claim.key), error);
        let exact = redacted_document(document, event).map_err(corrupt)?;
        let replace = value::query(sql::REPLACE_EVENT, &claim.key).bind(Name(&id));
        let replace = match &exact {
            Some(text) => replace.bind(text),
            None => replace.bind(EventText(event)),
        };
        replace.execute(&mut *connection).await?;
        value::query(sql::TOUCH_EVENTS, &claim.key).bind(Name(&id)).execute(connection).await?;
        Ok(seen)
    }
}

/// A claim is stale if it is repeated after its response was lost, because it cannot be distinguished from another
/// caller's claim.
impl Ask for Claim {
    type Answer = Seen;

    async fn ask(&self, connection: &mut Lent, _: bool) -> Result<Seen, Trouble> {
        self.claim(connection).await
    }
}

impl Ask for Redact {
    type Answer = Seen;

    async fn ask(&self, connection: &mut Lent, _: bool) -> Result<Seen, Trouble> {
        connection.begin("").await?;
        let outcome = self.execute(connection).await;
        end(connection, outcome, |_| true).await
    }
}
