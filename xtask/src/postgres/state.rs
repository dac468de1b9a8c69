//! The state that `postgres up` stores in the target folder for `postgres down`.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::cluster::Cluster;
use super::programs::Programs;

const FILE: &str = "postgres-server.json";

/// A server that was left running.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) url: String,
    folder: PathBuf,
    token: String,
    programs: PathBuf,
}

impl State {
    pub(super) fn of(cluster: &Cluster) -> Self {
        Self {
            url: cluster.url().to_owned(),
            folder: cluster.folder().to_owned(),
            token: cluster.token().to_owned(),
            programs: cluster.programs().folder().to_owned(),
        }
    }

    pub(super) fn cluster(&self) -> anyhow::Result<Cluster> {
        Cluster::known(
            Programs::in_folder(self.programs.clone()),
            self.folder.clone(),
            self.token.clone(),
            self.url.clone(),
        )
    }

    pub(super) fn load(target: &Path) -> anyhow::Result<Option<Self>> {
        let path = target.join(FILE);
        match fs::read(&path) {
            Ok(bytes) => {
                serde_json::from_slice(&bytes).map(Some).with_context(|| format!("{} cannot be read", path.display()))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }

    pub(super) fn save(&self, target: &Path) -> anyhow::Result<()> {
        fs::create_dir_all(target)?;
        fs::write(target.join(FILE), serde_json::to_vec_pretty(self)?).context("cannot remember the server")
    }

    pub(super) fn forget(target: &Path) -> anyhow::Result<()> {
        fs::remove_file(target.join(FILE)).context("cannot forget the server")
    }
}
