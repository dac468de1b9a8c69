//! The operating system account a private server runs under: Postgres refuses root.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

use crate::tools::is_root;

/// Accounts without privileges, best first.
const CANDIDATES: [&str; 2] = ["postgres", "nobody"];

/// An account to switch to, or none when this process is not root anyway.
#[derive(Clone, Copy, Debug)]
pub(super) struct Account {
    ids: Option<(u32, u32)>,
}

impl Account {
    /// The current account, or an unprivileged one when that is root.
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

    /// Makes a command run under the account.
    pub(super) fn apply(self, command: &mut Command) {
        if let Some((user, group)) = self.ids {
            command.uid(user).gid(group);
        }
    }

    /// Gives a file or folder to the account.
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
