//! PgBouncer, which tests start in front of the Postgres server.
//!
//! Owns finding the program and installing it on Debian. The tests start it themselves, with the settings that each needs.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use crate::debian;

/// The variable that names the program to use, and under which tests find theirs.
pub(crate) const PROGRAM_VARIABLE: &str = "PLEACH_TEST_PGBOUNCER";

/// Where Debian has it, which is on root's `PATH` only.
const DEBIAN: &str = "/usr/sbin";

/// Takes the program given by the environment, else the one on the machine, else installs the Debian package.
///
/// # Errors
/// There is none and it cannot be installed here; the text has the reason.
pub(crate) fn obtain() -> anyhow::Result<PathBuf> {
    if let Some(given) = std::env::var_os(PROGRAM_VARIABLE).filter(|given| !given.is_empty()) {
        let program = PathBuf::from(given);
        ensure!(program.is_file(), "{PROGRAM_VARIABLE} names no file");
        return Ok(program);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = || std::env::split_paths(&path).chain([Path::new(DEBIAN).to_path_buf()]);
    if let Some(found) = find(folders()) {
        return Ok(found);
    }
    ensure!(debian::can_install(), "no pgbouncer on this machine");
    debian::install(&["pgbouncer"])?;
    find(folders()).context("the package `pgbouncer` brought no program")
}

fn find(mut folders: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    folders.find_map(|folder| Some(folder.join("pgbouncer")).filter(|program| program.is_file()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_folder_that_has_the_program_counts() {
        let base = std::env::temp_dir().join(format!("pleach-pgbouncer-{}", std::process::id()));
        let folders = ["a", "b", "c"].map(|name| base.join(name));
        for folder in &folders {
            std::fs::create_dir_all(folder).expect("a folder");
        }
        assert_eq!(find(folders.clone().into_iter()), None);
        for folder in &folders[1..] {
            std::fs::write(folder.join("pgbouncer"), "").expect("a file");
        }
        assert_eq!(find(folders.clone().into_iter()), Some(folders[1].join("pgbouncer")));
        std::fs::remove_dir_all(base).expect("it is there");
    }
}
