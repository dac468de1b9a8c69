//! A schema of its own for every test, on the server that `PLEACH_TEST_POSTGRES_URL` names.

use pleach_core::{IdGen as _, RandomIds};
use pleach_session_postgres::PostgresSessionService;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

const VARIABLE: &str = "PLEACH_TEST_POSTGRES_URL";

/// An empty schema; dropped with this value.
pub(crate) struct Place {
    server: String,
    pub(crate) schema: String,
}

impl Place {
    /// Makes a schema, or prints why the test is skipped.
    pub(crate) async fn new() -> Option<Self> {
        let Some(server) = std::env::var(VARIABLE).ok().filter(|url| !url.is_empty()) else {
            eprintln!("SKIPPED: {VARIABLE} names no server");
            return None;
        };
        let schema = format!("pleach_{}", RandomIds.uuid().simple());
        run_on(&server, &format!("CREATE SCHEMA {schema}")).await;
        Some(Self { server, schema })
    }

    /// The URL under which the schema is the default one, and its connections have its name.
    pub(crate) fn url(&self) -> String {
        let mark = if self.server.contains('?') { '&' } else { '?' };
        let schema = &self.schema;
        format!("{}{mark}options=-csearch_path%3D{schema}&application_name={schema}", self.server)
    }

    pub(crate) async fn open(&self) -> PostgresSessionService {
        PostgresSessionService::open(&self.url()).await.unwrap()
    }
}

/// Runs statements as another program would.
pub(crate) async fn run_on(url: &str, sql: &str) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

impl Drop for Place {
    fn drop(&mut self) {
        let sql = format!("SET client_min_messages = error; DROP SCHEMA IF EXISTS {} CASCADE", self.schema);
        let server = self.server.clone();
        // A thread with a runtime of its own: this may run inside of one, and also while a test panics.
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(run_on(&server, &sql));
        });
        let _ = dropping.join();
    }
}
