//! [`Schema`]: a Postgres schema for one test.

use pleach_core::{IdGen as _, RandomIds};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

/// The variable with the URL of the test server.
pub const SERVER_VARIABLE: &str = "PLEACH_TEST_POSTGRES_URL";

/// Returns the URL of the test server, if there is one.
pub fn server() -> Option<String> {
    std::env::var(SERVER_VARIABLE).ok().filter(|url| !url.is_empty())
}

/// An empty schema on a server. It is dropped together with this value.
pub struct Schema {
    server: String,
    name: String,
}

impl Schema {
    /// Creates a schema on the test server. Without a server, prints that the test is skipped.
    ///
    /// # Panics
    /// Panics if the server cannot be reached or refuses.
    pub async fn for_test() -> Option<Self> {
        let Some(server) = server() else {
            crate::own_tests::skip(format_args!("{SERVER_VARIABLE} names no server"));
            return None;
        };
        Some(Self::create(server).await.expect("the server of the tests makes a schema"))
    }

    /// Creates a schema with a random name on the server of a URL.
    ///
    /// # Errors
    /// An error if the server cannot be reached or refuses.
    pub async fn create(server: String) -> sqlx::Result<Self> {
        let name = format!("pleach_{}", RandomIds.uuid().simple());
        run_on(&server, &format!("CREATE SCHEMA {name}")).await?;
        Ok(Self { server, name })
    }

    /// Returns the name of the schema, which needs no quotes.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns a URL that makes this schema the default and names connections after it. The URL ends with the options
    /// of connections: append `%20-cNAME%3DVALUE` to set another one.
    pub fn url(&self) -> String {
        let mark = if self.server.contains('?') { '&' } else { '?' };
        let name = &self.name;
        format!("{}{mark}application_name={name}&options=-csearch_path%3D{name}", self.server)
    }

    /// Opens a connection to the schema.
    ///
    /// # Errors
    /// An error if the server cannot be reached or refuses.
    pub async fn connect(&self) -> sqlx::Result<PgConnection> {
        PgConnection::connect(&self.url()).await
    }

    /// Runs statements in the schema, through a separate connection.
    ///
    /// # Errors
    /// An error if the server cannot be reached or refuses.
    pub async fn run(&self, sql: &str) -> sqlx::Result<()> {
        run_on(&self.url(), sql).await
    }

    /// Restores a plain dump into the schema: statements on the schema `public`, and rows after `COPY … FROM stdin`.
    ///
    /// # Errors
    /// An error if the server cannot be reached or refuses.
    pub async fn restore(&self, dump: &str) -> sqlx::Result<()> {
        let mut connection = self.connect().await?;
        let mut lines = dump.lines();
        let mut statements = String::new();
        while let Some(line) = lines.next() {
            let line = line.replace("public.", &format!("{}.", self.name));
            if !line.starts_with("COPY ") {
                statements.push_str(&line);
                statements.push('\n');
                continue;
            }
            execute(&mut connection, &std::mem::take(&mut statements)).await?;
            let rows: Vec<&str> = lines.by_ref().take_while(|row| *row != "\\.").collect();
            let mut copy = connection.copy_in_raw(&line).await?;
            copy.send(rows.join("\n").into_bytes()).await?;
            copy.finish().await?;
        }
        execute(&mut connection, &statements).await?;
        connection.close().await
    }

    /// Waits until the server has ended the connections that were made with [`url`](Self::url).
    ///
    /// The server still executes what a process sent before it was killed, and may still commit its transaction.
    ///
    /// # Errors
    /// An error if the server cannot be reached.
    pub async fn settle(&self) -> sqlx::Result<()> {
        let mut connection = PgConnection::connect(&self.server).await?;
        let left = "SELECT 1 FROM pg_stat_activity WHERE application_name = $1";
        while !sqlx::query(left).bind(&self.name).fetch_all(&mut connection).await?.is_empty() {}
        connection.close().await
    }
}

/// Runs statements through a separate connection, as another program would.
///
/// # Errors
/// An error if the server cannot be reached or refuses.
pub async fn run_on(url: &str, sql: &str) -> sqlx::Result<()> {
    let mut connection = PgConnection::connect(url).await?;
    execute(&mut connection, sql).await?;
    connection.close().await
}

async fn execute(connection: &mut PgConnection, sql: &str) -> sqlx::Result<()> {
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await.map(drop)
}

/// Debug output omits the URL, which may contain a password.
impl std::fmt::Debug for Schema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Schema").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        let server = self.server.clone();
        // A connection in a transaction would hold its locks forever: the task that ends it may be on the thread that
        // waits here.
        let sql = format!(
            "SET client_min_messages = error; \
             SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{name}'; \
             DROP SCHEMA IF EXISTS {name} CASCADE",
            name = self.name
        );
        // A thread with its own runtime, because this may run inside a runtime, and even while a test panics.
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(run_on(&server, &sql)).map_err(std::io::Error::other)
        });
        if !matches!(dropping.join(), Ok(Ok(()))) {
            eprintln!("the schema {} could not be dropped", self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The task that would end the transaction is on the thread that drops the schema.
    #[test]
    fn a_schema_is_dropped_while_a_connection_has_a_transaction_open() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let Some(schema) = Schema::for_test().await else { return };
            schema.run("CREATE TABLE t (x int)").await.unwrap();
            let mut open = schema.connect().await.unwrap();
            execute(&mut open, "BEGIN; SELECT * FROM t").await.unwrap();
            let (server, name) = (schema.server.clone(), schema.name.clone());
            drop(schema);
            let mut connection = PgConnection::connect(&server).await.unwrap();
            let left = sqlx::query("SELECT 1 FROM pg_namespace WHERE nspname = $1").bind(&name);
            assert!(left.fetch_all(&mut connection).await.unwrap().is_empty());
        });
    }
}
