//! A database for every test, on the server that `PLEACH_TEST_POSTGRES_URL` names.

use pleach_contract::own_tests::Schema;
use pleach_session_postgres::PostgresSessionService;

/// An empty schema, which is dropped with this value.
pub(crate) struct Database {
    pub(crate) schema: Schema,
}

impl Database {
    /// Creates a schema, or prints why the test is skipped.
    pub(crate) async fn new() -> Option<Self> {
        Some(Self { schema: Schema::for_test().await? })
    }

    /// Returns a URL in which the schema is the default one, and whose connections have its name.
    pub(crate) fn url(&self) -> String {
        self.schema.url()
    }

    pub(crate) async fn open(&self) -> PostgresSessionService {
        PostgresSessionService::open(&self.url()).await.unwrap()
    }
}
