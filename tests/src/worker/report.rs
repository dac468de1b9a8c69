//! The reports of a worker, one line each.

use std::fmt;
use std::str::FromStr;

use super::Step;

/// A report of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// The sessions' storage is open.
    Opened,
    /// All sessions of the worker exist and are loaded.
    Ready,
    /// The append of this event was acknowledged, so the event is stored.
    Stored(Step),
    /// The append of this event was refused because another worker came first.
    Stale(Step),
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opened => f.write_str("opened"),
            Self::Ready => f.write_str("ready"),
            Self::Stored(step) => write!(f, "stored {step}"),
            Self::Stale(step) => write!(f, "stale {step}"),
        }
    }
}

impl FromStr for Report {
    type Err = anyhow::Error;

    fn from_str(line: &str) -> anyhow::Result<Self> {
        let report = match line.split_once(' ') {
            None if line == "opened" => Some(Self::Opened),
            None if line == "ready" => Some(Self::Ready),
            Some(("stored", id)) => Step::of_id(id).map(Self::Stored),
            Some(("stale", id)) => Step::of_id(id).map(Self::Stale),
            _ => None,
        };
        report.ok_or_else(|| anyhow::anyhow!("`{line}` is not a report of a worker"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_are_written() {
        let step = Step { writer: "w".into(), session: "s".into(), number: 1 };
        for report in [Report::Opened, Report::Ready, Report::Stored(step.clone()), Report::Stale(step)] {
            assert_eq!(report.to_string().parse::<Report>().expect("a line"), report);
        }
        // An incomplete line is not mistaken for a whole one.
        assert!("stored w/s/".parse::<Report>().is_err());
    }
}
