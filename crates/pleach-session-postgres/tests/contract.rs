//! The session contract on a Postgres database, and on one behind a pooler that lends its sessions for one transaction
//! at a time.

#![expect(clippy::unwrap_used, reason = "test code: a panic is how a rule fails")]

mod support;

use pleach_session_postgres::PostgresSessionService;
use support::Database;

async fn open() -> Option<(PostgresSessionService, Database)> {
    let database = Database::new().await?;
    Some((database.open().await, database))
}

pleach_testkit::session_contract!(open(), v1);

mod pooled {
    use pleach_session_postgres::PostgresSessionService;
    use pleach_testkit::Pooler;

    use super::support::Database;

    async fn open() -> Option<(PostgresSessionService, (Pooler, Database))> {
        let database = Database::new().await?;
        let pooler = Pooler::for_test(&database.schema, "pool_mode = transaction\ndefault_pool_size = 4")?;
        let service = PostgresSessionService::open(&pooler.url(&database.schema)).await.unwrap();
        Some((service, (pooler, database)))
    }

    pleach_testkit::session_contract!(open(), v1);
}
