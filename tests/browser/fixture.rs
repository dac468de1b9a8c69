//! A server and a browser for one test. A failing test leaves a screenshot and the page's text in the target folder.

use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fantoccini::{Client, ClientBuilder};
use futures_util::FutureExt as _;
use hyper_util::client::legacy::connect::HttpConnector;
use pleach::server::Server;
use serde_json::json;

use crate::driver::Driver;
use crate::page::Page;

/// The time limit for starting. It is large, and only ends the test if a browser hangs.
const START: Duration = Duration::from_secs(120);

/// The paths of the browser, its driver and the files of google-adk's UI.
pub(crate) struct Tools {
    chromium: PathBuf,
    driver: PathBuf,
    /// The folder of google-adk's UI, which only some tests need.
    pub(crate) adk_ui: Option<PathBuf>,
}

impl Tools {
    /// Finds the tools by environment variables. Prints SKIPPED and returns `None` if one is missing.
    pub(crate) fn find() -> Option<Self> {
        let path = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let (chromium, driver) = (path("PLEACH_TEST_CHROMIUM"), path("PLEACH_TEST_CHROMEDRIVER"));
        let (Some(chromium), Some(driver)) = (chromium, driver) else {
            pleach_contract::own_tests::skip("PLEACH_TEST_CHROMIUM and PLEACH_TEST_CHROMEDRIVER name no browser");
            return None;
        };
        Some(Self { chromium, driver, adk_ui: path("PLEACH_TEST_ADK_UI") })
    }

    /// Finds the tools and google-adk's UI. Prints SKIPPED and returns `None` if one is missing.
    pub(crate) fn with_adk_ui() -> Option<(Self, PathBuf)> {
        let tools = Self::find()?;
        let Some(folder) = tools.adk_ui.clone() else {
            pleach_contract::own_tests::skip("PLEACH_TEST_ADK_UI names no folder with google-adk's UI");
            return None;
        };
        Some((tools, folder))
    }

    /// Serves on a free port, opens the browser, runs the test and closes the browser. If the test panics, a screenshot and the text of the
    /// page are kept in `target/browser/{name}`.
    pub(crate) async fn test(&self, name: &str, server: Server, test: impl AsyncFnOnce(&Page)) {
        let bound = server.bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", bound.local_addr());
        let serving = tokio::spawn(bound.serve());
        let driver =
            tokio::time::timeout(START, Driver::start(&self.driver)).await.expect("the driver starts").unwrap();
        let profile = tempfile::tempdir().unwrap();
        let browser = tokio::time::timeout(START, self.open(&driver, profile.path()));
        let page = Page::new(browser.await.expect("the browser starts"), address);
        let ended = AssertUnwindSafe(test(&page)).catch_unwind().await;
        if ended.is_err() {
            page.keep(&artefacts(name)).await;
        }
        page.close().await;
        serving.abort();
        if let Err(panic) = ended {
            std::panic::resume_unwind(panic);
        }
    }

    async fn open(&self, driver: &Driver, profile: &Path) -> Client {
        let arguments = [
            "--headless=new",
            // Containers lack the rights for the browser's sandbox, and have little shared memory.
            "--no-sandbox",
            "--disable-dev-shm-usage",
            "--disable-gpu",
            "--window-size=1600,1000",
            // No request leaves the machine, whatever the page links to.
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            "--disable-background-networking",
            "--disable-component-update",
            "--no-first-run",
            &format!("--user-data-dir={}", profile.display()),
        ];
        let wanted = json!({ "goog:chromeOptions": { "binary": self.chromium, "args": arguments } });
        let mut builder = ClientBuilder::new(HttpConnector::new());
        builder.capabilities(wanted.as_object().unwrap().clone()).connect(&driver.url).await.unwrap()
    }
}

/// Returns the folder for the files that a failing test leaves.
fn artefacts(name: &str) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"));
    target.join("browser").join(name)
}
