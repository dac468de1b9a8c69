//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use lexopt::{Arg, ValueExt as _};
use pleach::BoxError;

pub(crate) const USAGE: &str = "\
A service for expense reports: small ones are paid, large ones wait for a manager.

usage: expenses [--listen ADDRESS] [--sessions URL] [--ledger FILE] [--answer-within SECONDS] 
                [--bank-delay SECONDS] [--idle SECONDS] [--drain SECONDS]

  --listen ADDRESS         host and port, 0 for a free one (default: 127.0.0.1:8080)
  --sessions URL           memory:, sqlite:FILE or postgresql://… (default: sqlite:expenses.db)
  --ledger FILE            the file that stands in for a bank, with a line for each payment (default: payments.jsonl)
  --answer-within SECONDS  how long managers may take before an expense is rejected (default: 259200, three days)
  --bank-delay SECONDS     how long the bank takes to confirm a payment that it has made (default: 0)
  --idle SECONDS           how long an expense must be idle to be treated as interrupted (default: 60)
  --drain SECONDS          how long requests and runs may take when the service shuts down (default: 10)";

/// The parsed command line.
pub(crate) struct Args {
    pub(crate) listen: String,
    pub(crate) sessions: String,
    pub(crate) ledger: PathBuf,
    pub(crate) answer_within: Duration,
    pub(crate) bank_delay: Duration,
    pub(crate) idle: Duration,
    pub(crate) drain: Duration,
}

impl Args {
    /// Reads the command line; `None` if it asks for help.
    pub(crate) fn parse() -> Result<Option<Self>, BoxError> {
        let mut args = Self {
            listen: "127.0.0.1:8080".to_owned(),
            sessions: "sqlite:expenses.db".to_owned(),
            ledger: "payments.jsonl".into(),
            answer_within: Duration::from_secs(3 * 86_400),
            bank_delay: Duration::ZERO,
            idle: Duration::from_secs(60),
            drain: Duration::from_secs(10),
        };
        let mut parser = lexopt::Parser::from_env();
        while let Some(arg) = parser.next()? {
            match arg {
                Arg::Long("listen") => args.listen = parser.value()?.string()?,
                Arg::Long("sessions") => args.sessions = parser.value()?.string()?,
                Arg::Long("ledger") => args.ledger = parser.value()?.into(),
                Arg::Long("answer-within") => args.answer_within = Duration::from_secs(parser.value()?.parse()?),
                Arg::Long("bank-delay") => args.bank_delay = Duration::from_secs(parser.value()?.parse()?),
                Arg::Long("idle") => args.idle = Duration::from_secs(parser.value()?.parse()?),
                Arg::Long("drain") => args.drain = Duration::from_secs(parser.value()?.parse()?),
                Arg::Long("help") | Arg::Short('h') => return Ok(None),
                other => return Err(format!("{}; `--help` shows the options", other.unexpected()).into()),
            }
        }
        Ok(Some(args))
    }
}
