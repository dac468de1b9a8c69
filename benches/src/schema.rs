//! A schema of one's own on a Postgres server.

use pleach::{BoxError, IdGen as _, RandomIds};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

const VARIABLE: &str = "PLEACH_TEST_POSTGRES_URL";

/// The server to measure on, if there is one.
pub(crate) fn server() -> Option<String> {
    std::env::var(VARIABLE).ok().filter(|url| !url.is_empty())
}

/// Why rows on Postgres are skipped without a server.
pub(crate) const NO_SERVER: &str = "PLEACH_TEST_POSTGRES_URL names no server (`cargo xtask bench` starts one)";

/// An empty schema; dropped with this value, also when measuring fails.
pub(crate) struct Schema {
    server: String,
    name: String,
}

impl Schema {
    /// Makes a schema on the [`server`].
    ///
    /// # Errors
    /// There is no server, or it does not answer.
    pub(crate) async fn create() -> Result<Self, BoxError> {
        let server = server().ok_or(NO_SERVER)?;
        let name = format!("pleach_bench_{}", RandomIds.uuid().simple());
        run(&server, format!("CREATE SCHEMA {name}")).await?;
        Ok(Self { server, name })
    }

    /// The URL under which this schema is the default one.
    pub(crate) fn url(&self) -> String {
        let mark = if self.server.contains('?') { '&' } else { '?' };
        format!("{}{mark}options=-csearch_path%3D{}", self.server, self.name)
    }

    /// A connection to it.
    pub(crate) async fn connect(&self) -> Result<PgConnection, BoxError> {
        Ok(PgConnection::connect(&self.url()).await?)
    }

    /// Runs statements in it.
    pub(crate) async fn run(&self, sql: impl Into<String>) -> Result<(), BoxError> {
        run(&self.url(), sql.into()).await
    }
}

async fn run(url: &str, sql: String) -> Result<(), BoxError> {
    let mut connection = PgConnection::connect(url).await?;
    // Made of constants and names of our own.
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await?;
    Ok(connection.close().await?)
}

impl Drop for Schema {
    fn drop(&mut self) {
        let url = self.server.clone();
        let sql = format!("SET client_min_messages = error; DROP SCHEMA IF EXISTS {} CASCADE", self.name);
        // A thread with a runtime of its own: this may run inside of one, and also while the row panics.
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(run(&url, sql))
        });
        if !matches!(dropping.join(), Ok(Ok(()))) {
            eprintln!("bench: the schema {} could not be dropped", self.name);
        }
    }
}
