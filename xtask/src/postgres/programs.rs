//! Finds the server programs, and installs them on Debian.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::tools;

/// The folder in which Debian and Ubuntu have a folder for each server version.
const DEBIAN_FOLDER: &str = "/usr/lib/postgresql";

/// The programs that a private server needs. They must be in one folder, so that their versions agree.
const NEEDED: [&str; 4] = ["postgres", "initdb", "pg_ctl", "psql"];

/// A folder with all server programs.
#[derive(Clone, Debug)]
pub(super) struct Programs {
    folder: PathBuf,
}

impl Programs {
    pub(super) fn in_folder(folder: PathBuf) -> Self {
        Self { folder }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Finds the programs on the machine, or installs the Debian package if that is possible.
    ///
    /// # Errors
    /// The server programs are missing and cannot be installed here.
    pub(super) fn find_or_install() -> anyhow::Result<Self> {
        if let Some(found) = Self::find() {
            return Ok(found);
        }
        if !tools::can_install() {
            bail!("no Postgres server programs on this machine");
        }
        tools::install(&["postgresql"])?;
        Self::find().context("the package `postgresql` brought no server programs")
    }

    /// Returns the folder of the `postgres` on `PATH`, or otherwise the newest of Debian's folders.
    fn find() -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path)
            // A link on `PATH` leads to the folder with the other programs.
            .filter_map(|folder| folder.join("postgres").canonicalize().ok())
            .filter_map(|program| program.parent().map(Path::to_path_buf))
            .chain(debian_folders())
            .find(|folder| is_complete(folder))
            .map(Self::in_folder)
    }
}

fn is_complete(folder: &Path) -> bool {
    NEEDED.iter().all(|name| folder.join(name).is_file())
}

/// Returns Debian's folders, newest version first.
fn debian_folders() -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(DEBIAN_FOLDER) else {
        return Vec::new();
    };
    let mut versions: Vec<u32> = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    versions.sort_unstable_by(|a, b| b.cmp(a));
    versions.into_iter().map(|version| Path::new(DEBIAN_FOLDER).join(version.to_string()).join("bin")).collect()
}
