//! A Chromium with its driver, for the tests of pages.
//!
//! Owns finding them, and installing Debian's packages on machines that are for tests. No test needs them: without them the step says SKIPPED.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::debian;
use crate::python::run;

/// The variables under which tests find the browser, its driver, and the folder of google-adk's UI.
pub(crate) const CHROMIUM_VARIABLE: &str = "PLEACH_TEST_CHROMIUM";
pub(crate) const DRIVER_VARIABLE: &str = "PLEACH_TEST_CHROMEDRIVER";
pub(crate) const UI_VARIABLE: &str = "PLEACH_TEST_ADK_UI";

/// The variable that allows to install the packages: `.ci/run` sets it. They are large, and a developer may not want them.
const INSTALL_VARIABLE: &str = "PLEACH_INSTALL_BROWSER";

/// The names of the browser on different systems.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

const DRIVER: &str = "chromedriver";

/// A browser and its driver.
pub(crate) struct Browser {
    pub(crate) chromium: PathBuf,
    pub(crate) driver: PathBuf,
}

/// Takes the programs given by the environment, or those on `PATH`, or installs Debian's packages where that is allowed.
///
/// # Errors
/// There is no browser or no driver, and none can be installed. The text names what is missing.
pub(crate) fn obtain() -> anyhow::Result<Browser> {
    let found = find();
    if found.is_ok() || std::env::var_os(INSTALL_VARIABLE).is_none() || !debian::can_install() {
        return found;
    }
    debian::install(&["chromium", "chromium-driver"])?;
    find()
}

fn find() -> anyhow::Result<Browser> {
    let given = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let chromium = given(CHROMIUM_VARIABLE).or_else(|| BROWSERS.iter().find_map(|name| on_path(name)));
    let chromium = chromium.context("no Chromium on this machine")?;
    let driver = given(DRIVER_VARIABLE).or_else(|| on_path(DRIVER)).context("no chromedriver on this machine")?;
    // A package may be there whose files are not.
    run(Command::new(&chromium).arg("--version"))?;
    run(Command::new(&driver).arg("--version"))?;
    Ok(Browser { chromium, driver })
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file())
}

/// Returns the folder of the UI that google-adk brings.
///
/// # Errors
/// This google-adk has none.
pub(crate) fn adk_ui(python: &Path) -> anyhow::Result<PathBuf> {
    // Without loading google-adk, which takes seconds.
    let script = "import importlib.util as u; print(u.find_spec('google.adk').submodule_search_locations[0])";
    let output = Command::new(python).args(["-c", script]).output().context("cannot run the Python of google-adk")?;
    let folder = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()).join("cli/browser");
    if !folder.join("index.html").is_file() {
        bail!("this google-adk has no UI");
    }
    Ok(folder)
}
