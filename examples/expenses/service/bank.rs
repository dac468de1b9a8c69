//! The bank. In place of a bank's API, it is a file with a line for each payment.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::fs::{self, OpenOptions};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::Mutex;

/// A bank. Like the APIs of real banks, it makes only one payment for each idempotency key.
pub(crate) struct Bank {
    ledger: PathBuf,
    /// How long the bank takes to confirm a payment that it has made.
    delay: Duration,
    turn: Mutex<()>,
}

/// A line of the ledger.
#[derive(Serialize, Deserialize)]
struct Payment {
    key: String,
    employee: String,
    cents: u32,
}

/// The error of a bank that cannot be reached, or does not confirm a payment.
#[derive(Debug, thiserror::Error)]
#[error("the bank does not answer: {0}")]
pub(crate) struct BankError(#[from] io::Error);

impl Bank {
    pub(crate) fn new(ledger: impl Into<PathBuf>, delay: Duration) -> Self {
        Self { ledger: ledger.into(), delay, turn: Mutex::default() }
    }

    /// Pays, unless it has already paid under this key. Returns the receipt.
    pub(crate) async fn pay(&self, employee: &str, cents: u32, key: &str) -> Result<String, BankError> {
        let turn = self.turn.lock().await;
        if !self.has_paid(key).await? {
            let payment = Payment { key: key.to_owned(), employee: employee.to_owned(), cents };
            let line = serde_json::to_string(&payment).map_err(io::Error::from)? + "\n";
            let mut ledger = OpenOptions::new().create(true).append(true).open(&self.ledger).await?;
            ledger.write_all(line.as_bytes()).await?;
            ledger.sync_data().await?;
        }
        drop(turn);
        tokio::time::sleep(self.delay).await;
        Ok(format!("receipt {key}"))
    }

    async fn has_paid(&self, key: &str) -> Result<bool, BankError> {
        let ledger = match fs::read_to_string(&self.ledger).await {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            ledger => ledger?,
        };
        let mut payments = ledger.lines().filter_map(|line| serde_json::from_str::<Payment>(line).ok());
        Ok(payments.any(|payment| payment.key == key))
    }
}
