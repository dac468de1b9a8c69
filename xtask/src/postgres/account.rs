//! The operating system account that a private server runs under, because Postgres refuses root.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

use crate::tools::is_root;

/// Accounts without privileges, best first.
const CANDIDATES: [&str; 2] = ["postgres", "nobody"];

/// The account to switch to; none if this process is not root.
#[derive(Clone, Copy, Debug)]
pub(super) struct Account {
    ids: Option<(u32, u32)>,
}

impl Account {
    /// Returns the current account or, if that is root, an unprivileged account.
    pub(super) fn choose() -> anyhow::Result<Self> {
        if !is_root() {
            return Ok(Self { ids: None });
        }
        let ids = CANDIDATES
            .into_iter()
            .find_map(|name| Some((id("-u", name)?, id("-g", name)?)))
            .context("running as root, and there is no account `postgres` or `nobody`")?;
        Ok(Self { ids: Some(ids) })
    }

    /// Sets the account that a command runs under.
    pub(super) fn apply(self, command: &mut Command) {
        if let Some((user, group)) = self.ids {
            command.uid(user).gid(group);
        }
    }

    /// Makes the account the owner of a file or folder.
    pub(super) fn own(self, path: &Path) -> anyhow::Result<()> {
        if let Some((user, group)) = self.ids {
            std::os::unix::fs::chown(path, Some(user), Some(group))
                .with_context(|| format!("cannot give {} away", path.display()))?;
        }
        Ok(())
    }
}

fn id(option: &str, account: &str) -> Option<u32> {
    let output = Command::new("id").args([option, account]).output().ok()?;
    String::from_utf8_lossy(&output.stdout).trim().parse().ok()
}
