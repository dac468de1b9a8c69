//! Claiming: the fence of an append without an event.

use std::sync::Arc;

use pleach_core::{SessionHead, SessionKey};
use pleach_session::{SessionError, SessionResult, prepare};
use sqlx::{PgConnection, Row as _};

use crate::connections::Ask;
use crate::fault::{Server, Trouble};
use crate::value::{self, Seen, Time};
use crate::{limits, sql};

/// How often a statement is repeated because another writer held the row first and did not change the revision, or because an
/// event has the time of the claim.
const RACES: usize = 8;

/// A claim of a session.
pub(crate) struct Claim {
    key: Arc<SessionKey>,
    server: Server,
    /// The revision that the caller has seen; the fence.
    seen: Seen,
    time: Time,
}

impl Claim {
    pub(crate) fn new(head: &SessionHead, time: f64, server: &Server) -> SessionResult<Self> {
        let time = limits::check_time(head.key(), "update_time", prepare::claim_time(head, time))?;
        let seen = Seen { revision: head.revision(), update_time: head.last_update_time() };
        Ok(Self { key: head.shared_key().clone(), server: server.clone(), seen, time })
    }
}

impl Ask for Claim {
    type Answer = Seen;

    /// A claim whose answer was lost is stale when it is repeated: it looks like another caller's.
    async fn ask(&self, connection: &mut PgConnection, _: bool) -> Result<Seen, Trouble> {
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
            let rows = value::query(sql::FIND_REVISION, &self.key).fetch_all(&mut *connection).await?;
            let Some(row) = rows.first() else { return Err(SessionError::NotFound((*self.key).clone()).into()) };
            let stored = Seen::new(row.try_get("update_time")?, row.try_get("ties")?).revision;
            if stored != ours {
                return Err(SessionError::Stale { key: (*self.key).clone(), stored, ours }.into());
            }
            time = Time(time.0.saturating_add(1));
        }
        let source = "other writers kept coming first".into();
        Err(SessionError::Locked { what: format!("session {} in {}", self.key, self.server), source }.into())
    }
}
