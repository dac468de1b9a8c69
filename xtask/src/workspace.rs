//! Reads the workspace from `cargo metadata`: packages, features and targets.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use serde::Deserialize;

/// The part of `cargo metadata --no-deps` that the checks need.
#[derive(Debug, Deserialize)]
pub(crate) struct Workspace {
    pub(crate) packages: Vec<Package>,
    pub(crate) target_directory: PathBuf,
    pub(crate) workspace_root: PathBuf,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) features: std::collections::BTreeMap<String, Vec<String>>,
    pub(crate) targets: Vec<Target>,
    pub(crate) description: Option<String>,
    pub(crate) license: Option<String>,
    pub(crate) repository: Option<String>,
    pub(crate) readme: Option<PathBuf>,
    #[serde(default)]
    pub(crate) keywords: Vec<String>,
    #[serde(default)]
    pub(crate) categories: Vec<String>,
    /// The registries to which the package may be published; `null` for any.
    publish: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// The kind, such as `dev`; `null` for a normal dependency.
    kind: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Target {
    pub(crate) name: String,
    pub(crate) kind: Vec<String>,
}

impl Dependency {
    pub(crate) fn is_dev(&self) -> bool {
        self.kind.as_deref() == Some("dev")
    }
}

impl Package {
    /// Returns the folder with the package's `Cargo.toml`.
    pub(crate) fn folder(&self) -> &Path {
        self.manifest_path.parent().unwrap_or(Path::new("."))
    }

    /// Returns true if the package may be published.
    pub(crate) fn is_published(&self) -> bool {
        self.publish.as_ref().is_none_or(|registries| !registries.is_empty())
    }

    /// Returns true if other packages can depend on it.
    pub(crate) fn is_library(&self) -> bool {
        self.targets.iter().flat_map(|target| &target.kind).any(|kind| kind == "lib" || kind == "proc-macro")
    }

    pub(crate) fn has_target(&self, kind: &str, name: &str) -> bool {
        self.targets.iter().any(|t| t.name == name && t.kind.iter().any(|k| k == kind))
    }
}

impl Workspace {
    /// Runs `cargo metadata`. Nothing is downloaded, because dependencies are not resolved.
    pub(crate) fn load() -> anyhow::Result<Self> {
        let output = Command::new(crate::cargo::program())
            .args(["metadata", "--no-deps", "--format-version", "1"])
            .output()
            .context("cannot run `cargo metadata`")?;
        anyhow::ensure!(
            output.status.success(),
            "`cargo metadata` failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
        serde_json::from_slice(&output.stdout).context("cannot read the output of `cargo metadata`")
    }

    pub(crate) fn package(&self, name: &str) -> Option<&Package> {
        self.packages.iter().find(|p| p.name == name)
    }

    /// Returns a path as it is shown to people: relative to the root if it is below the root.
    pub(crate) fn relative<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.workspace_root).unwrap_or(path)
    }
}
