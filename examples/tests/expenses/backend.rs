//! Starts a service for a test, on each backend.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pleach::SessionService;
use pleach::prelude::connect;
use pleach::testkit::TestClock;
use pleach_contract::own_tests::Schema;
use tempfile::TempDir;

use crate::client::Client;
use crate::service::{Bank, Policy, Service, recover_always};

/// How long managers may take. Timers read new deadlines every second, and the test clock advances to each of these
/// times.
pub(crate) const LIMIT: Duration = Duration::from_secs(600);

#[derive(Clone, Copy, Debug)]
pub(crate) enum Backend {
    Memory,
    Sqlite,
    Postgres,
}

/// The database and the ledger of a test. They are removed when this value is dropped.
pub(crate) struct Place {
    pub(crate) folder: TempDir,
    schema: Option<Schema>,
    backend: Backend,
    memory: Arc<dyn SessionService>,
    pub(crate) clock: TestClock,
}

impl Backend {
    /// Creates a place, or prints the reason for skipping the test.
    pub(crate) async fn place(self) -> Option<Place> {
        let schema = match self {
            Self::Postgres => Some(Schema::for_test().await?),
            _ => None,
        };
        let memory = connect("memory:").await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        Some(Place { folder, schema, backend: self, memory, clock: TestClock::default() })
    }
}

impl Place {
    pub(crate) fn url(&self) -> String {
        match (&self.schema, self.backend) {
            (Some(schema), _) => schema.url(),
            (None, Backend::Memory) => "memory:".to_owned(),
            // The absolute path begins with a slash, so the URL has four slashes.
            (None, _) => format!("sqlite:///{}", self.folder.path().join("expenses.db").display()),
        }
    }

    pub(crate) fn ledger(&self) -> PathBuf {
        self.folder.path().join("payments.jsonl")
    }

    /// Returns the number of payments, which is the number of lines in the ledger.
    pub(crate) fn payments(&self) -> usize {
        std::fs::read_to_string(self.ledger()).map_or(0, |ledger| ledger.lines().count())
    }

    /// Starts a service, like a process that opens the database.
    pub(crate) async fn start(&self) -> Client {
        self.start_with(Bank::new(self.ledger(), Duration::ZERO)).await
    }

    pub(crate) async fn start_with(&self, bank: Bank) -> Client {
        let sessions = match self.backend {
            Backend::Memory => Arc::clone(&self.memory),
            _ => connect(&self.url()).await.unwrap(),
        };
        let policy = Policy { free_cents: 5_000, answer_within: LIMIT, attempts: 1 };
        let service = Service::new(sessions, bank, policy, self.clock.clone()).unwrap();
        service.runner.start_timers();
        drop(tokio::spawn(recover_always(service.clone(), LIMIT)));
        Client::new(service)
    }
}
