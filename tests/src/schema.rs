//! A schema of its own on the Postgres server of the tests.

use anyhow::Context as _;
use pleach::{IdGen as _, RandomIds};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

/// An empty schema. It stays until [`remove`](Self::remove).
#[derive(Clone)]
pub struct Schema {
    server: String,
    name: String,
}

impl Schema {
    /// Makes a schema with a random name on the server of a URL.
    ///
    /// # Errors
    /// The server cannot be reached or refuses.
    pub async fn create(server: String) -> anyhow::Result<Self> {
        let schema = Self { server, name: format!("pleach_{}", RandomIds.uuid().simple()) };
        schema.run("CREATE SCHEMA", "").await?;
        Ok(schema)
    }

    /// Takes the schema and everything in it away.
    ///
    /// # Errors
    /// The server cannot be reached or refuses.
    pub async fn remove(&self) -> anyhow::Result<()> {
        self.run("DROP SCHEMA", "CASCADE").await
    }

    async fn run(&self, verb: &str, behind: &str) -> anyhow::Result<()> {
        let mut connection = PgConnection::connect(&self.server).await.context("no connection to Postgres")?;
        let sql = format!("SET client_min_messages = error; {verb} {} {behind}", self.name);
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await?;
        Ok(connection.close().await?)
    }

    /// Its name, which needs no quotes.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Waits until the server has ended the connections that were made with [`url`](Self::url).
    ///
    /// What a process had sent when it was killed is still carried out, and its transaction may still commit.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub async fn settle(&self) -> anyhow::Result<()> {
        let mut connection = PgConnection::connect(&self.server).await.context("no connection to Postgres")?;
        let left = "SELECT 1 FROM pg_stat_activity WHERE application_name = $1";
        while !sqlx::query(left).bind(&self.name).fetch_all(&mut connection).await?.is_empty() {}
        Ok(connection.close().await?)
    }

    /// The URL under which it is the default schema, and its connections have its name.
    pub fn url(&self) -> String {
        let mark = if self.server.contains('?') { '&' } else { '?' };
        let name = &self.name;
        format!("{}{mark}options=-csearch_path%3D{name}&application_name={name}", self.server)
    }
}

/// Without the URL, which may hold a password.
impl std::fmt::Debug for Schema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Schema").field("name", &self.name).finish_non_exhaustive()
    }
}
