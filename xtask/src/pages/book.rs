//! The book: mdBook makes it, where it is installed.

use std::process::{Command, Stdio};

use crate::cargo::succeeds;
use crate::workspace::Workspace;

/// Builds the book in the target folder; true when it is built, or when mdBook is not installed.
pub(crate) fn build() -> anyhow::Result<bool> {
    let installed = Command::new("mdbook").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !installed.is_ok_and(|status| status.success()) {
        println!("book: SKIPPED, mdbook is not installed (`cargo install mdbook`)");
        return Ok(true);
    }
    let workspace = Workspace::load()?;
    let target = workspace.target_directory.join("book");
    let mut command = Command::new("mdbook");
    succeeds(command.arg("build").arg("--dest-dir").arg(&target).arg(workspace.workspace_root.join("docs")))
}
