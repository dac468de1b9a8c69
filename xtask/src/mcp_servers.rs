//! The reference MCP servers from npm, which tests start as child processes.
//!
//! Owns finding them and installing them below the target folder. No test needs them: without them they say SKIPPED.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::ensure;

use crate::python::run;

/// The variable that names a folder to use, and under which tests find theirs.
pub(crate) const SERVERS_VARIABLE: &str = "PLEACH_TEST_MCP_SERVERS";

/// The servers, and the versions that the tests are written for.
const PACKAGES: [(&str, &str); 2] = [("server-everything", "2026.8.31"), ("server-filesystem", "2026.8.31")];

/// Takes the folder given by the environment, or the one below `target`, into which the servers are installed when they are not there.
///
/// # Errors
/// There are none and none can be installed: no node, no npm, no way to the package index. The text names it.
pub(crate) fn obtain(target: &Path) -> anyhow::Result<PathBuf> {
    if let Some(given) = std::env::var_os(SERVERS_VARIABLE).filter(|given| !given.is_empty()) {
        let folder = PathBuf::from(given);
        ensure!(is_complete(&folder), "the folder of {SERVERS_VARIABLE} lacks a server");
        return Ok(folder);
    }
    run(Command::new("node").arg("--version"))?;
    let folder = target.join("mcp-servers");
    if !is_complete(&folder) {
        println!("installing the reference MCP servers below {}", folder.display());
        let packages = PACKAGES.map(|(name, version)| format!("@modelcontextprotocol/{name}@{version}"));
        // The limits are for machines without a network, which should not wait long for nothing.
        let npm = ["install", "--no-audit", "--no-fund", "--fetch-retries=1", "--fetch-timeout=15000", "--prefix"];
        run(Command::new("npm").args(npm).arg(&folder).args(packages))?;
        ensure!(is_complete(&folder), "npm has installed something else");
    }
    Ok(folder)
}

fn is_complete(folder: &Path) -> bool {
    let script = |name| folder.join("node_modules/@modelcontextprotocol").join(name).join("dist/index.js");
    PACKAGES.iter().all(|(name, _)| script(name).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_complete_with_all_servers() {
        let folder = std::env::temp_dir().join(format!("pleach-mcp-servers-{}", std::process::id()));
        for (name, _) in PACKAGES {
            assert!(!is_complete(&folder));
            let dist = folder.join("node_modules/@modelcontextprotocol").join(name).join("dist");
            std::fs::create_dir_all(&dist).expect("a folder");
            std::fs::write(dist.join("index.js"), "").expect("a file");
        }
        assert!(is_complete(&folder));
        std::fs::remove_dir_all(folder).expect("it is there");
    }
}
