//! The session contract on a Postgres database.

#![expect(clippy::unwrap_used, reason = "test code: a panic is how a rule fails")]

mod support;

use pleach_session_postgres::PostgresSessionService;
use support::Place;

async fn open() -> Option<(PostgresSessionService, Place)> {
    let place = Place::new().await?;
    Some((place.open().await, place))
}

pleach_testkit::session_contract!(open(), v1);
