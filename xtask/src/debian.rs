//! Packages of Debian and Ubuntu, installed where a step needs one and the machine allows it.

use std::path::Path;
use std::process::Command;

use anyhow::bail;

use crate::cargo::succeeds;

/// Whether packages can be installed here: on Debian or Ubuntu, as root.
pub(crate) fn can_install() -> bool {
    Path::new("/etc/debian_version").exists() && is_root()
}

/// Installs packages.
///
/// # Errors
/// The package manager has failed, also with fresh lists.
pub(crate) fn install(packages: &[&str]) -> anyhow::Result<()> {
    let names = packages.join(" ");
    // Standard output may be a report that another program reads.
    eprintln!("installing the Debian packages {names}");
    let apt = |args: &[&str]| {
        let mut command = Command::new("apt-get");
        succeeds(command.args(args).env("DEBIAN_FRONTEND", "noninteractive").stdout(std::io::stderr()))
    };
    let install = [&["install", "-y", "--no-install-recommends"], packages].concat();
    // A fresh image has no package lists, so a failed first attempt is normal.
    if apt(&install)? || (apt(&["update"])? && apt(&install)?) {
        return Ok(());
    }
    bail!("`apt-get install {names}` failed")
}

/// Whether this process has root's rights.
pub(crate) fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).trim() == "0")
}
