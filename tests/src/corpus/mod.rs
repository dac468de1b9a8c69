//! Finds the scenarios of the conformance corpus, and runs all of them.
//!
//! The program `conformance` plays each scenario in a process of its own, so a hang or a crash affects only one
//! scenario. This module finds the scenarios, runs the processes and judges the traces. It does not interpret
//! scenarios, because the program does that.

mod child;
mod expected;
mod report;
mod verdict;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use pleach_contract::own_tests::schema;
use serde_json::Value;

pub use child::{run_all, stored_by_all};
pub use expected::ExpectedFailures;
pub use report::{Summary, write_report};
pub use verdict::{Verdict, judge};

/// The folder of the corpus: `scenarios/` and `expected_failures.txt`.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance")
}

/// One recorded scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The name of the scenario: the file name without `.json`.
    pub name: String,
    /// The features that the scenario exercises; never empty.
    pub features: Vec<String>,
    /// The scenario file.
    pub path: PathBuf,
    /// The whole golden file.
    pub golden: Value,
    /// Whether the order of the events depends on time, because the scenario has sleeps, delays or time limits.
    pub waits: bool,
}

impl Scenario {
    fn load(path: PathBuf) -> anyhow::Result<Self> {
        let name = path.file_stem().context("a scenario without a name")?.to_string_lossy().into_owned();
        let golden = read_json(&path.with_extension("golden.json"))?;
        let scenario = read_json(&path)?;
        let text = scenario.to_string();
        let waits = ["\"sleep_ms\"", "\"delay_ms\"", "\"timeout_ms\""].iter().any(|key| text.contains(key));
        let mut features: Vec<String> = scenario["features"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|feature| feature.as_str().map(str::to_owned))
            .collect();
        if features.is_empty() {
            features.push("other".into());
        }
        Ok(Self { name, features, path, golden, waits })
    }

    /// Returns true if the name or a feature contains the text. The empty text matches all scenarios.
    pub fn matches(&self, filter: &str) -> bool {
        self.name.contains(filter) || self.features.iter().any(|f| f.contains(filter))
    }
}

/// The way in which a scenario keeps its sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// The backend: `memory`, `sqlite` or `postgres`.
    pub backend: String,
    /// Whether the Runner and the service are dropped after every turn and the stored session is reopened.
    pub reopen: bool,
}

impl Lane {
    /// The backends a lane may name.
    pub const BACKENDS: [&'static str; 3] = ["memory", "sqlite", "postgres"];

    /// The available lanes: memory, SQLite reopened after every turn, and Postgres reopened after every turn if there is a server.
    pub fn available() -> Vec<Self> {
        let server = schema::server().is_some();
        let lanes = [("memory", false), ("sqlite", true), ("postgres", true)];
        let lanes = lanes.into_iter().filter(|(backend, _)| server || *backend != "postgres");
        lanes.map(|(backend, reopen)| Self { backend: backend.into(), reopen }).collect()
    }
}

/// One scenario on one lane.
#[derive(Clone, Debug)]
pub struct Case<'a> {
    /// The scenario that is played.
    pub scenario: &'a Scenario,
    /// The lane on which the sessions are kept.
    pub lane: &'a Lane,
}

impl Case<'_> {
    /// Returns true if a stall of the disk can change the order of the events. With a database time is real, so a stall
    /// may be longer than the time between two steps of the scenario.
    fn depends_on_the_disk(&self) -> bool {
        self.scenario.waits && self.lane.backend != "memory"
    }
}

impl std::fmt::Display for Case<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}[{}]", self.scenario.name, self.lane.backend)
    }
}

/// All scenarios of a folder, by name.
///
/// # Errors
/// A file cannot be read, is not JSON, or has no golden file.
pub fn load(folder: &Path) -> anyhow::Result<Vec<Scenario>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.to_string_lossy();
        if name.ends_with(".json") && !name.ends_with(".golden.json") {
            paths.push(path);
        }
    }
    paths.sort();
    paths.into_iter().map(Scenario::load).collect()
}

fn read_json(path: &Path) -> anyhow::Result<Value> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is not JSON", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normalise::compare;

    #[test]
    fn every_scenario_has_a_golden_file_of_its_own() {
        let corpus = load(&folder().join("scenarios")).expect("the corpus");
        assert!(!corpus.is_empty());
        for scenario in corpus {
            assert_eq!(scenario.golden["scenario"], scenario.name.as_str());
            assert!(scenario.matches(""));
        }
    }

    /// A recording is already normalised. It must equal itself, because the rules are idempotent on ungrouped traces.
    #[test]
    fn every_ordered_recording_equals_itself() {
        for scenario in load(&folder().join("scenarios")).expect("the corpus") {
            if scenario.golden["compare"] != "per_node" {
                let trace = &scenario.golden["trace"];
                assert_eq!(compare(&scenario.golden, trace), [], "{}", scenario.name);
            }
        }
    }
}
