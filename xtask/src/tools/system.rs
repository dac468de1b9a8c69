//! Finds programs on `PATH`, and installs Debian packages and the MCP servers of npm.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail, ensure};

use super::given;
use crate::cargo::{run, succeeds};

/// The variable that allows installing the browser, which `.ci/run` sets. The packages are large, so a developer may
/// not want them.
const INSTALL_VARIABLE: &str = "PLEACH_INSTALL_BROWSER";

/// The reference MCP servers, with the versions that the tests are written for.
const SERVERS: [(&str, &str); 2] = [("server-everything", "2026.8.31"), ("server-filesystem", "2026.8.31")];

/// Returns true if Debian packages can be installed here: on Debian or Ubuntu, as root.
pub(crate) fn can_install() -> bool {
    Path::new("/etc/debian_version").exists() && is_root()
}

/// Installs Debian packages.
///
/// # Errors
/// The package manager failed, even with fresh lists.
pub(crate) fn install(packages: &[&str]) -> anyhow::Result<()> {
    let names = packages.join(" ");
    // This goes to standard error, because another program may read standard output.
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

/// Returns true if this process runs as root.
pub(crate) fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).trim() == "0")
}

/// Returns the first program with one of these names on `PATH`, or in the folder that Debian has only on root's `PATH`.
fn on_path(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).chain(["/usr/sbin".into()]).collect();
    let programs = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    programs.into_iter().find(|program| program.is_file())
}

/// Finds or installs PgBouncer, which tests start in front of the Postgres server.
pub(super) fn pgbouncer(variable: &str) -> anyhow::Result<PathBuf> {
    if let Some(program) = given(variable) {
        ensure!(program.is_file(), "{variable} names no file");
        return Ok(program);
    }
    if let Some(found) = on_path(&["pgbouncer"]) {
        return Ok(found);
    }
    ensure!(can_install(), "no pgbouncer on this machine");
    install(&["pgbouncer"])?;
    on_path(&["pgbouncer"]).context("the package `pgbouncer` brought no program")
}

/// Finds or installs a Chromium and its driver.
pub(super) fn browser(variables: &[&str]) -> anyhow::Result<Vec<PathBuf>> {
    let found = find_browser(variables);
    if found.is_ok() || std::env::var_os(INSTALL_VARIABLE).is_none() || !can_install() {
        return found;
    }
    install(&["chromium", "chromium-driver"])?;
    find_browser(variables)
}

fn find_browser(variables: &[&str]) -> anyhow::Result<Vec<PathBuf>> {
    let names: [&[&str]; 2] = [&["chromium", "chromium-browser", "google-chrome"], &["chromedriver"]];
    let find = |(variable, names): (&&str, &[&str])| {
        let program = given(variable).or_else(|| on_path(names));
        let program = program.with_context(|| format!("no {} on this machine", names[0]))?;
        // A package may be installed without its files.
        run(Command::new(&program).arg("--version"))?;
        Ok(program)
    };
    variables.iter().zip(names).map(find).collect()
}

/// Returns the folder of the UI that is part of google-adk.
///
/// # Errors
/// This google-adk has no UI.
pub(crate) fn adk_ui(python: &Path) -> anyhow::Result<PathBuf> {
    // The script does not load google-adk, which would take seconds.
    let script = "import importlib.util as u; print(u.find_spec('google.adk').submodule_search_locations[0])";
    let output = Command::new(python).args(["-c", script]).output().context("cannot run the Python of google-adk")?;
    let folder = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()).join("cli/browser");
    ensure!(folder.join("index.html").is_file(), "this google-adk has no UI");
    Ok(folder)
}

/// Finds or installs the reference MCP servers, which tests start as child processes. Returns their folder.
pub(super) fn mcp_servers(variable: &str, target: &Path) -> anyhow::Result<PathBuf> {
    if let Some(folder) = given(variable) {
        ensure!(has_servers(&folder), "the folder of {variable} lacks a server");
        return Ok(folder);
    }
    run(Command::new("node").arg("--version"))?;
    let folder = target.join("mcp-servers");
    if !has_servers(&folder) {
        println!("installing the reference MCP servers below {}", folder.display());
        let packages = SERVERS.map(|(name, version)| format!("@modelcontextprotocol/{name}@{version}"));
        // On a machine without a network, the installation should fail quickly.
        let npm = ["install", "--no-audit", "--no-fund", "--fetch-retries=1", "--fetch-timeout=15000", "--prefix"];
        run(Command::new("npm").args(npm).arg(&folder).args(packages))?;
        ensure!(has_servers(&folder), "npm has installed something else");
    }
    Ok(folder)
}

fn has_servers(folder: &Path) -> bool {
    let script = |name| folder.join("node_modules/@modelcontextprotocol").join(name).join("dist/index.js");
    SERVERS.iter().all(|(name, _)| script(name).is_file())
}
