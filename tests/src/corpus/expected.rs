//! Reads the list of scenarios that are known to fail. The list may only shrink.

use super::{Case, Lane, Scenario};

/// The lines of `expected_failures.txt`: `name: reason` or `name[backend]: reason`.
#[derive(Clone, Debug, Default)]
pub struct ExpectedFailures {
    entries: Vec<Entry>,
    faults: Vec<String>,
}

#[derive(Clone, Debug)]
struct Entry {
    name: String,
    backend: Option<String>,
    reason: String,
}

impl ExpectedFailures {
    /// Reads the list. Blank lines and lines that start with `#` are ignored. A line that
    /// cannot be read, or that names an unknown scenario or backend, is a fault.
    pub fn parse(text: &str, corpus: &[Scenario]) -> Self {
        let mut list = Self::default();
        for (index, line) in text.lines().map(str::trim).enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            match Entry::parse(line).and_then(|entry| entry.checked(corpus)) {
                Ok(entry) => list.entries.push(entry),
                Err(fault) => list.faults.push(format!("line {}: {fault}", index + 1)),
            }
        }
        list
    }

    /// The faults of the list itself. Each is counted as a failure.
    pub fn faults(&self) -> &[String] {
        &self.faults
    }

    /// The reason why a case is known to fail, or `None` if it is not.
    pub fn reason(&self, case: &Case<'_>) -> Option<&str> {
        self.entries
            .iter()
            .find(|entry| {
                let backend = entry.backend.as_deref();
                entry.name == case.scenario.name && backend.is_none_or(|backend| backend == case.lane.backend)
            })
            .map(|entry| entry.reason.as_str())
    }
}

impl Entry {
    fn parse(line: &str) -> Result<Self, String> {
        let (case, reason) = line
            .split_once(':')
            .map(|(case, reason)| (case.trim(), reason.trim()))
            .filter(|(_, reason)| !reason.is_empty())
            .ok_or_else(|| format!("`{line}` gives no reason: write `name[backend]: reason`"))?;
        let (name, backend) = match case.strip_suffix(']').and_then(|c| c.split_once('[')) {
            Some((name, backend)) => (name, Some(backend.to_owned())),
            None => (case, None),
        };
        Ok(Self { name: name.to_owned(), backend, reason: reason.to_owned() })
    }

    fn checked(self, corpus: &[Scenario]) -> Result<Self, String> {
        if !corpus.iter().any(|scenario| scenario.name == self.name) {
            return Err(format!("there is no scenario `{}`", self.name));
        }
        match &self.backend {
            Some(backend) if !Lane::BACKENDS.contains(&backend.as_str()) => {
                Err(format!("there is no backend `{backend}`"))
            }
            _ => Ok(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(name: &str) -> Scenario {
        Scenario {
            name: name.into(),
            features: vec!["other".into()],
            path: name.into(),
            golden: serde_json::Value::Null,
            waits: false,
        }
    }

    #[test]
    fn entries_hold_for_one_backend_or_all() {
        let corpus = [scenario("a"), scenario("b")];
        let text = "# comment\n\na: not yet\nb[sqlite]: rounds times\n";
        let list = ExpectedFailures::parse(text, &corpus);
        assert_eq!(list.faults(), [""; 0]);
        let [memory, sqlite] = [&Lane::available()[0], &Lane::available()[1]];
        let reason = |scenario, lane| list.reason(&Case { scenario, lane }).map(str::to_owned);
        assert_eq!(reason(&corpus[0], memory).as_deref(), Some("not yet"));
        assert_eq!(reason(&corpus[0], sqlite).as_deref(), Some("not yet"));
        assert_eq!(reason(&corpus[1], memory), None);
        assert_eq!(reason(&corpus[1], sqlite).as_deref(), Some("rounds times"));
    }

    #[test]
    fn unknown_names_and_missing_reasons_are_faults() {
        let list = ExpectedFailures::parse("x: y\na\na:\na[disk]: y\n", &[scenario("a")]);
        assert_eq!(
            list.faults(),
            [
                "line 1: there is no scenario `x`",
                "line 2: `a` gives no reason: write `name[backend]: reason`",
                "line 3: `a:` gives no reason: write `name[backend]: reason`",
                "line 4: there is no backend `disk`",
            ]
        );
    }
}
