//! The table of the steps of `test-all`, and the functions that run them.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;

use super::shared::Run;
use crate::cargo::{cargo, counted, succeeds};
use crate::conformance::{self, Build};
use crate::report::{Counts, Outcome};
use crate::tools::{self, Need, UI_VARIABLE};
use crate::workspace::Package;
use crate::{docs, lint, tidy, yanked};

const FACADE: &str = "pleach";
const EXAMPLE: &str = "support_desk";
const OUTSIDE: &str = "outside";
const BROWSER_TESTS: &str = "browser";
/// The variable with the number of races between an answer and a deadline that are played in memory. On each database,
/// a tenth of them is played.
const RACES: &str = "PLEACH_RACES";

/// A step, which has a row in the closing table.
pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    /// The needs that are obtained before the step. The step runs even if one is not available.
    pub(super) needs: &'static [Need],
    pub(super) run: fn(&Run) -> anyhow::Result<Outcome>,
}

/// The steps in order. Quick steps come first, and neighbours share compiled code.
pub(super) const STEPS: &[Step] = &[
    step("fmt", "rustfmt finds nothing to change", |_| plain(succeeds(&mut cargo(["fmt", "--all", "--check"])))),
    step("tidy", "layers, sizes, headers", |_| plain(tidy::run())),
    Step { needs: &[Need::CargoDeny], ..step("deny", "licences, sources and versions of dependencies", deny) },
    Step { needs: &[Need::CargoDeny], ..step("advisories", "known faults of dependencies", advisories) },
    step("clippy", "clippy finds nothing", |_| plain(lint::run())),
    step("features", "every combination of the facade's features", features),
    Step {
        needs: &[Need::Postgres, Need::Pgbouncer, Need::Adk, Need::McpServers, Need::Schemathesis],
        ..step("test", "unit, integration and documentation tests", test)
    },
    Step { needs: &[Need::Adk, Need::Browser], ..step("browser", "the server's pages in Chromium", browser) },
    Step {
        needs: &[Need::Postgres],
        ..step("conformance", "the recorded scenarios", |run| {
            tested(conformance::play(&run.workspace, Build::Workspace, run.environment(), &[]))
        })
    },
    step("order", "the scenarios with serde_json's preserve_order", |run| {
        tested(conformance::play(&run.workspace, Build::PreserveOrder, Vec::new(), &[]))
    }),
    step("outside", "a user's package that depends on the facade with all its features", |run| {
        tested(counted(&mut outside(run)?))
    }),
    Step {
        needs: &[Need::Mdbook],
        ..step("docs", "no page has a dead link, and rustdoc finds nothing", |run| {
            plain(docs::check(run.program(Need::Mdbook)))
        })
    },
    step("package", "the libraries can be packaged", package),
    step("smoke", "the main example runs to its end", smoke),
];

const fn step(name: &'static str, about: &'static str, run: fn(&Run) -> anyhow::Result<Outcome>) -> Step {
    Step { name, about, needs: &[], run }
}

/// Returns the outcome of a step without tests.
fn plain(ok: anyhow::Result<bool>) -> anyhow::Result<Outcome> {
    tested(ok.map(|ok| (ok, Counts::default())))
}

fn tested(result: anyhow::Result<(bool, Counts)>) -> anyhow::Result<Outcome> {
    let (ok, counts) = result?;
    Ok(if ok && counts.failed == 0 { Outcome::Passed(counts) } else { Outcome::Failed(counts) })
}

fn test(run: &Run) -> anyhow::Result<Outcome> {
    let mut command = cargo(["test", "--workspace", "--all-features", "--no-fail-fast"]);
    command.envs(run.environment());
    if std::env::var_os(RACES).is_none() {
        command.env(RACES, "10000");
    }
    tested(run.tests(&mut command))
}

/// Tests pages in a browser, one after the other, because a browser takes a core and much memory.
fn browser(run: &Run) -> anyhow::Result<Outcome> {
    if run.program(Need::Browser).is_none() {
        return Ok(Outcome::Skipped("there is no Chromium, see the row `chromium`".to_owned()));
    }
    let mut command = cargo(["test", "--workspace", "--all-features", "--test", BROWSER_TESTS]);
    command.args(["--no-fail-fast", "--", "--test-threads=1"]);
    command.envs(run.environment());
    match run.program(Need::Adk).map(tools::adk_ui) {
        Some(Ok(folder)) => drop(command.env(UI_VARIABLE, folder)),
        Some(Err(error)) => println!("google-adk's UI is not tested: {error:#}"),
        None => println!("google-adk's UI is not tested: there is no google-adk"),
    }
    tested(run.tests(&mut command))
}

fn features(run: &Run) -> anyhow::Result<Outcome> {
    let Some(facade) = run.workspace.package(FACADE) else {
        return Ok(Outcome::Skipped(format!("there is no crate `{FACADE}`")));
    };
    let mut counts = Counts::default();
    for combination in combinations(facade) {
        let list = combination.join(",");
        println!("features: [{list}]");
        let args = ["check", "-q", "-p", FACADE, "--no-default-features"];
        if succeeds(cargo(args).args(["--features", &list]))? {
            counts.passed += 1;
        } else {
            counts.failed += 1;
        }
    }
    tested(Ok((true, counts)))
}

/// Groups of features that do not interact with other features, each given by what its features turn on. The sets of a
/// group are not combined with other features.
const APART: &[&[&str]] = &[
    &["dep:pleach-model-http"],
    &["dep:pleach-mcp"],
    &["dep:pleach-openapi"],
    &["dep:pleach-otel"],
    &["dep:pleach-server", "pleach-server/dev", "pleach-server/inspect"],
    &["dep:pleach-testkit"],
];

/// Returns the sets of features to check: the sets of features with a meaning of their own, followed by each feature
/// that only combines others (`default`, `full`). Sets that turn on the same features occur once; for example, `dev`
/// turns on `server`.
fn combinations(facade: &Package) -> Vec<Vec<&str>> {
    let (bundles, own): (Vec<&str>, Vec<&str>) =
        facade.features.keys().map(String::as_str).partition(|name| is_bundle(facade, name));
    let is_of = |name: &str, parts: &[&str]| facade.features[name].iter().any(|part| parts.contains(&part.as_str()));
    let (mut rest, mut sets) = (own, Vec::new());
    for parts in APART {
        let (group, others) = rest.into_iter().partition::<Vec<&str>, _>(|name| is_of(name, parts));
        sets.extend(subsets(&group).into_iter().filter(|set| !set.is_empty()));
        rest = others;
    }
    sets.splice(0..0, subsets(&rest));
    sets.extend(bundles.into_iter().map(|bundle| vec![bundle]));
    let mut seen = HashSet::new();
    sets.retain(|set| seen.insert(turned_on(facade, set)));
    sets
}

/// Returns all features that a set turns on, directly or indirectly.
fn turned_on<'a>(facade: &'a Package, set: &[&'a str]) -> BTreeSet<&'a str> {
    let mut all = BTreeSet::new();
    let mut todo = set.to_vec();
    while let Some(feature) = todo.pop() {
        if all.insert(feature) {
            let parts = facade.features[feature].iter().map(String::as_str);
            todo.extend(parts.filter(|part| facade.features.contains_key(*part)));
        }
    }
    // Two sets that differ only in bundles are equal.
    all.retain(|feature| !is_bundle(facade, feature));
    all
}

/// Returns true if a feature only combines others.
fn is_bundle(facade: &Package, feature: &str) -> bool {
    let parts = &facade.features[feature];
    feature == "default" || (!parts.is_empty() && parts.iter().all(|part| facade.features.contains_key(part)))
}

/// Returns every subset of some features, the empty set first.
fn subsets<'a>(features: &[&'a str]) -> Vec<Vec<&'a str>> {
    let mut sets = vec![Vec::new()];
    for feature in features {
        let with: Vec<Vec<&str>> = sets.iter().map(|set| set.iter().copied().chain([*feature]).collect()).collect();
        sets.extend(with);
    }
    sets
}

/// Checks licences, sources and duplicates with cargo-deny. Also checks that no version was yanked.
fn deny(run: &Run) -> anyhow::Result<Outcome> {
    let not_yanked = yanked::check(&run.workspace)?;
    let Some(program) = run.program(Need::CargoDeny) else {
        return if not_yanked { Ok(Outcome::Skipped(no_cargo_deny())) } else { plain(Ok(false)) };
    };
    let clean = succeeds(Command::new(program).args(["check", "bans", "licenses", "sources"]))?;
    plain(Ok(clean && not_yanked))
}

/// Checks for advisories with cargo-deny. If their database cannot be reached, the advisories that were fetched last
/// are used.
fn advisories(run: &Run) -> anyhow::Result<Outcome> {
    let Some(program) = run.program(Need::CargoDeny) else {
        return Ok(Outcome::Skipped(no_cargo_deny()));
    };
    let fetched = Command::new(program).args(["fetch", "db"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if fetched.is_ok_and(|status| status.success()) {
        return plain(succeeds(Command::new(program).args(["check", "advisories"])));
    }
    if has_advisories() {
        println!("no way to the database of advisories: they are those that were fetched last");
        return plain(succeeds(Command::new(program).args(["--offline", "check", "advisories"])));
    }
    Ok(Outcome::Skipped("no way to the database of advisories, and none was fetched yet".to_owned()))
}

fn no_cargo_deny() -> String {
    "there is no cargo-deny, see the row `cargo-deny`".to_owned()
}

/// Returns true if cargo-deny has fetched advisories before.
fn has_advisories() -> bool {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    home.is_some_and(|home| has_database(&home.join("advisory-dbs")))
}

/// Returns true if a folder contains a repository, and not only the lock file of a failed fetch.
fn has_database(folder: &Path) -> bool {
    let mut entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.any(|entry| entry.path().join(".git").exists() || entry.path().join("HEAD").exists())
}

/// Returns the command that tests the package outside the workspace, with the versions of the workspace's lock file and
/// in its target folder.
fn outside(run: &Run) -> anyhow::Result<Command> {
    let root = &run.workspace.workspace_root;
    let (ours, theirs) = (root.join("Cargo.lock"), root.join(OUTSIDE).join("Cargo.lock"));
    std::fs::copy(&ours, &theirs).with_context(|| format!("cannot copy the lock file to {}", theirs.display()))?;
    let mut command = cargo(["test", "--no-fail-fast", "--manifest-path"]);
    command.arg(root.join(OUTSIDE).join("Cargo.toml"));
    command.env("CARGO_TARGET_DIR", &run.workspace.target_directory);
    Ok(command)
}

/// Packages the libraries as `cargo publish` would, without compiling them again. Earlier steps have downloaded the
/// dependencies.
fn package(run: &Run) -> anyhow::Result<Outcome> {
    let mut command = cargo(["package", "--workspace", "--no-verify", "--allow-dirty", "--offline", "-q"]);
    for package in run.workspace.packages.iter().filter(|package| !package.is_published()) {
        command.args(["--exclude", &package.name]);
    }
    plain(succeeds(&mut command))
}

/// Runs the main example in an empty folder, like a new user.
fn smoke(run: &Run) -> anyhow::Result<Outcome> {
    let owner = run.workspace.packages.iter().find(|package| package.has_target("example", EXAMPLE));
    if owner.is_none() {
        return Ok(Outcome::Skipped(format!("there is no example `{EXAMPLE}`")));
    }
    let build = ["build", "--workspace", "--all-features", "--example", EXAMPLE];
    if !succeeds(&mut cargo(build))? {
        return plain(Ok(false));
    }
    let target = &run.workspace.target_directory;
    let folder = target.join("smoke");
    empty(&folder)?;
    let mut example = Command::new(target.join("debug/examples").join(EXAMPLE));
    let example = example.current_dir(&folder).stdin(Stdio::null());
    plain(succeeds(example.envs(run.environment())))
}

fn empty(folder: &Path) -> anyhow::Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feature_sets_are_all_subsets_that_differ() {
        let facade: Package = serde_json::from_value(serde_json::json!({
            "name": "pleach",
            "manifest_path": "Cargo.toml",
            "dependencies": [],
            "targets": [],
            "features": {
                "default": ["inmemory"],
                "full": ["inmemory", "page", "sqlite"],
                "inmemory": ["dep:pleach-session-inmemory"],
                "page": ["sqlite", "dep:pleach-inspect"],
                "sqlite": ["dep:pleach-session-sqlite"],
            },
        }))
        .expect("a package");
        // `page` turns on `sqlite`. `default` and `full` equal sets of the features that they turn on.
        let expected: Vec<Vec<&str>> = vec![
            vec![],
            vec!["inmemory"],
            vec!["page"],
            vec!["inmemory", "page"],
            vec!["sqlite"],
            vec!["inmemory", "sqlite"],
        ];
        assert_eq!(combinations(&facade), expected);
    }
}
