//! What a worker says: one line each.

use std::fmt;
use std::str::FromStr;

use super::Step;

/// What a worker says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// The sessions' storage is open.
    Opened,
    /// All its sessions are there, and loaded.
    Ready,
    /// The append of this event was answered: it is stored.
    Stored(Step),
    /// The append of this event was refused because another worker came first.
    Stale(Step),
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opened => f.write_str("opened"),
            Self::Ready => f.write_str("ready"),
            Self::Stored(step) => write!(f, "stored {step}"),
            Self::Stale(step) => write!(f, "stale {step}"),
        }
    }
}

impl FromStr for Told {
    type Err = anyhow::Error;

    fn from_str(line: &str) -> anyhow::Result<Self> {
        let told = match line.split_once(' ') {
            None if line == "opened" => Some(Self::Opened),
            None if line == "ready" => Some(Self::Ready),
            Some(("stored", id)) => Step::of_id(id).map(Self::Stored),
            Some(("stale", id)) => Step::of_id(id).map(Self::Stale),
            _ => None,
        };
        told.ok_or_else(|| anyhow::anyhow!("`{line}` is nothing a worker says"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_are_written() {
        let step = Step { writer: "w".into(), session: "s".into(), number: 1 };
        for told in [Told::Opened, Told::Ready, Told::Stored(step.clone()), Told::Stale(step)] {
            assert_eq!(told.to_string().parse::<Told>().expect("a line"), told);
        }
        // A line that was cut off is not taken for a whole one.
        assert!("stored w/s/".parse::<Told>().is_err());
    }
}
