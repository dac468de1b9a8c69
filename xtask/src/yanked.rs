//! Finds versions in the lock file that were yanked.
//!
//! Cargo caches the registry's description of each crate in a file in its home folder. `cargo update --dry-run`
//! refreshes these files. cargo-deny can do the same check, but only together with the advisories, which may be
//! unreachable even if the registry is not.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, ensure};
use serde::Deserialize;

use crate::cargo::cargo;
use crate::workspace::Workspace;

/// A crate of the lock file that comes from a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Locked {
    name: String,
    version: String,
}

/// One version, as the registry describes it.
#[derive(Debug, Deserialize)]
struct Release {
    vers: String,
    #[serde(default)]
    yanked: bool,
}

/// The state of a version.
#[derive(Debug, PartialEq, Eq)]
enum State {
    Good,
    Yanked,
    Unknown,
}

/// Prints every version that was yanked or is unknown. Returns true if there is none.
pub(crate) fn check(workspace: &Workspace) -> anyhow::Result<bool> {
    let refreshed = cargo(["update", "--dry-run", "-q"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !refreshed.is_ok_and(|status| status.success()) {
        println!("no way to the registry: versions are compared with what it said last");
    }
    let lock = workspace.workspace_root.join("Cargo.lock");
    let text = std::fs::read_to_string(&lock).with_context(|| format!("cannot read {}", lock.display()))?;
    let locked = locked(&text);
    ensure!(!locked.is_empty(), "no crate in {}", lock.display());
    let caches = caches()?;
    let mut faults = 0;
    for crate_ in &locked {
        let fault = match state(&caches, crate_) {
            State::Good => continue,
            State::Yanked => "its authors have taken this version back",
            State::Unknown => "the registry's description is not on this machine",
        };
        println!("{} {}: {fault}", crate_.name, crate_.version);
        faults += 1;
    }
    println!("yanked: {} versions, {faults} faults", locked.len());
    Ok(faults == 0)
}

/// Returns the crates of a lock file that come from a registry.
fn locked(lock: &str) -> Vec<Locked> {
    let value = |block: &str, key: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"'));
        line.map(str::to_owned)
    };
    let blocks = lock.split("[[package]]").skip(1);
    let of_registry =
        blocks.filter(|block| value(block, "source").is_some_and(|source| source.starts_with("registry+")));
    of_registry
        .filter_map(|block| Some(Locked { name: value(block, "name")?, version: value(block, "version")? }))
        .collect()
}

/// Returns the folders in which cargo caches the descriptions, one for each registry.
fn caches() -> anyhow::Result<Vec<PathBuf>> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo"))).context("cargo has no home folder")?;
    let index = home.join("registry/index");
    let entries = std::fs::read_dir(&index).with_context(|| format!("cannot read {}", index.display()))?;
    Ok(entries.filter_map(|entry| Some(entry.ok()?.path().join(".cache"))).filter(|cache| cache.is_dir()).collect())
}

/// Returns the state of a version according to the descriptions. If registries disagree, "yanked" wins, because they
/// may be the same registry under several names.
fn state(caches: &[PathBuf], crate_: &Locked) -> State {
    let files = caches.iter().filter_map(|cache| std::fs::read(cache.join(place(&crate_.name))).ok());
    let mut states = files.map(|bytes| state_in(&bytes, &crate_.version)).collect::<Vec<_>>();
    states.sort_by_key(|state| match state {
        State::Yanked => 0,
        State::Good => 1,
        State::Unknown => 2,
    });
    states.into_iter().next().unwrap_or(State::Unknown)
}

/// Returns the state of a version according to a description. A description consists of texts between zero bytes, some
/// of which are JSON.
fn state_in(bytes: &[u8], version: &str) -> State {
    let texts = bytes.split(|byte| *byte == 0);
    let releases = texts.filter_map(|text| serde_json::from_slice::<Release>(text).ok());
    match releases.into_iter().find(|release| release.vers == version) {
        Some(Release { yanked: true, .. }) => State::Yanked,
        Some(_) => State::Good,
        None => State::Unknown,
    }
}

/// Returns the path of a crate's description, which depends on the length and the first letters of the crate's name.
fn place(name: &str) -> PathBuf {
    let name = name.to_lowercase();
    let folder = match name.len() {
        1 => "1".to_owned(),
        2 => "2".to_owned(),
        3 => format!("3/{}", &name[..1]),
        _ => format!("{}/{}", &name[..2], &name[2..4]),
    };
    Path::new(&folder).join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_of_registries_are_read_from_the_lock_file() {
        let lock = "version = 4\n\n[[package]]\nname = \"own\"\nversion = \"0.1.0\"\n\n[[package]]\nname = \"serde\"\nversion = \"1.0.1\"\nsource = \"registry+https://x\"\ndependencies = [\n \"a\",\n]\n";
        assert_eq!(locked(lock), [Locked { name: "serde".into(), version: "1.0.1".into() }]);
    }

    #[test]
    fn descriptions_are_where_cargo_has_them() {
        for (name, path) in [("a", "1/a"), ("ab", "2/ab"), ("abc", "3/a/abc"), ("Inflector", "in/fl/inflector")] {
            assert_eq!(place(name), Path::new(path));
        }
    }

    #[test]
    fn a_version_that_was_taken_back_is_found() {
        let bytes = b"\x03\x02etag: x\x001.0.0\x00{\"name\":\"a\",\"vers\":\"1.0.0\",\"yanked\": true}\x001.0.1\x00{\"name\":\"a\",\"vers\":\"1.0.1\",\"yanked\":false}\x00";
        let of = |version| state_in(bytes, version);
        assert_eq!((of("1.0.0"), of("1.0.1"), of("2.0.0")), (State::Yanked, State::Good, State::Unknown));
        assert_eq!(state(&[], &Locked { name: "a".into(), version: "1.0.0".into() }), State::Unknown);
    }
}
