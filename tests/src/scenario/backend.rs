//! The session service of a scenario.

use std::sync::Arc;

use anyhow::Context as _;
use pleach::{SessionService, connect};
use pleach_contract::own_tests::schema::{SERVER_VARIABLE, Schema, server};
use tempfile::TempDir;

use crate::corpus::Lane;

/// Opens the session service of a lane, as often as needed.
#[derive(Debug)]
pub(super) struct Backend {
    kind: Kind,
    reopen: bool,
}

#[derive(Debug)]
enum Kind {
    /// Process memory. It cannot be reopened, so the same service is used throughout.
    Memory(Arc<dyn SessionService>),
    Sqlite(TempDir),
    Postgres(Schema),
}

impl Backend {
    pub(super) async fn new(lane: &Lane) -> anyhow::Result<Self> {
        let kind = match lane.backend.as_str() {
            "memory" => Kind::Memory(connect("memory:").await?),
            "sqlite" => Kind::Sqlite(tempfile::tempdir().context("no folder for the database")?),
            "postgres" => {
                let server = server().with_context(|| format!("set {SERVER_VARIABLE} to the URL of a database"))?;
                Kind::Postgres(Schema::create(server).await.context("no schema on the server of the tests")?)
            }
            other => anyhow::bail!("unknown backend `{other}`"),
        };
        Ok(Self { kind, reopen: lane.reopen })
    }

    /// Returns true if the Runner and the service are dropped after every turn.
    pub(super) fn reopens(&self) -> bool {
        self.reopen
    }

    /// Opens the service.
    pub(super) async fn open(&self) -> anyhow::Result<Arc<dyn SessionService>> {
        Ok(match &self.kind {
            Kind::Memory(service) => Arc::clone(service),
            Kind::Sqlite(folder) => {
                let file = folder.path().join("sessions.db");
                connect(&format!("sqlite:{}", file.display())).await?
            }
            Kind::Postgres(schema) => connect(&schema.url()).await?,
        })
    }
}
