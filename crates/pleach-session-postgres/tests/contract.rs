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

/// Opens four services on one database.
async fn open_four() -> Option<(Vec<PostgresSessionService>, Database)> {
    let (first, database) = open().await?;
    let mut services = vec![first];
    for _ in 1..4 {
        services.push(database.open().await);
    }
    Some((services, database))
}

pleach_contract::session_contract!(open(), v1);
pleach_contract::shared_session_contract!(open_four());

mod pooled {
    use pleach_contract::own_tests::Pooler;
    use pleach_session_postgres::PostgresSessionService;

    use super::support::Database;

    async fn open() -> Option<(PostgresSessionService, (Pooler, Database))> {
        let database = Database::new().await?;
        let pooler = Pooler::for_test(&database.schema, "pool_mode = transaction\ndefault_pool_size = 4")?;
        let service = PostgresSessionService::open(&pooler.url(&database.schema)).await.unwrap();
        Some((service, (pooler, database)))
    }

    pleach_contract::session_contract!(open(), v1);
}
