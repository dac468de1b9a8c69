//! Where a scenario keeps its sessions.

use std::sync::Arc;

use anyhow::Context as _;
use pleach::{SessionService, connect};
use tempfile::TempDir;

use crate::corpus::Lane;
use crate::schema::Schema;

/// Opens the session service of a lane as often as it is wanted.
#[derive(Debug)]
pub(super) struct Backend {
    kind: Kind,
    reopen: bool,
}

#[derive(Debug)]
enum Kind {
    /// Process memory cannot be opened anew: the same service is used throughout.
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
                let url = std::env::var(Lane::POSTGRES_URL);
                let url = url.with_context(|| format!("set {} to the URL of a database", Lane::POSTGRES_URL))?;
                Kind::Postgres(Schema::create(url).await?)
            }
            other => anyhow::bail!("unknown backend `{other}`"),
        };
        Ok(Self { kind, reopen: lane.reopen })
    }

    /// Takes away what the scenario left on a server.
    pub(super) async fn clear(self) -> anyhow::Result<()> {
        match self.kind {
            Kind::Postgres(schema) => schema.remove().await,
            Kind::Memory(_) | Kind::Sqlite(_) => Ok(()),
        }
    }

    /// Whether Runner and service are dropped after every turn.
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
