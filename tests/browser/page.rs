//! [`Page`]: a page in the browser, with waits for its contents.

use std::path::Path;
use std::time::Duration;

use fantoccini::key::Key;
use fantoccini::{Client, Locator};
use serde_json::Value;

/// The time limit for something to appear. It is large, because a loaded machine is slow.
const PATIENCE: Duration = Duration::from_secs(60);

/// The interval between two checks of the page.
const LOOK: Duration = Duration::from_millis(50);

/// A page in the browser.
pub(crate) struct Page {
    browser: Client,
    server: String,
}

impl Page {
    pub(crate) fn new(browser: Client, server: String) -> Self {
        Self { browser, server }
    }

    /// Opens a path of the server.
    pub(crate) async fn open(&self, path: &str) {
        self.browser.goto(&format!("{}{path}", self.server)).await.unwrap();
    }

    /// Runs a script in the page with these arguments.
    pub(crate) async fn script(&self, script: &str, arguments: Vec<Value>) -> Value {
        self.browser.execute(script, arguments).await.unwrap()
    }

    /// Waits until a script returns a value other than null, false and an empty text.
    pub(crate) async fn until(&self, what: &str, script: &str, arguments: Vec<Value>) -> Value {
        let found = async {
            loop {
                let value = self.script(script, arguments.clone()).await;
                if !matches!(&value, Value::Null | Value::Bool(false)) && value.as_str() != Some("") {
                    return value;
                }
                tokio::time::sleep(LOOK).await;
            }
        };
        tokio::time::timeout(PATIENCE, found).await.unwrap_or_else(|_| panic!("{what} did not appear"))
    }

    /// Waits until an element that the selector finds shows a text.
    pub(crate) async fn shows(&self, selector: &str, text: &str) {
        let script =
            "return [...document.querySelectorAll(arguments[0])].some(e => e.innerText.includes(arguments[1]))";
        self.until(&format!("`{text}` in `{selector}`"), script, vec![selector.into(), text.into()]).await;
    }

    /// Waits for an element with a text and clicks on it.
    pub(crate) async fn click(&self, selector: &str, text: &str) {
        let script = "const found = [...document.querySelectorAll(arguments[0])]
            .find(e => !e.disabled && e.innerText.includes(arguments[1]));
            if (found) found.click(); return !!found";
        self.until(&format!("`{text}` to click on in `{selector}`"), script, vec![selector.into(), text.into()]).await;
    }

    /// Waits for a field and types a text into it, followed by Enter if `enter` is set.
    pub(crate) async fn fill(&self, selector: &str, text: &str, enter: bool) {
        let is_there =
            "const e = document.querySelector(arguments[0]); return !!e && !e.disabled && e.offsetParent !== null";
        self.until(&format!("the field `{selector}`"), is_there, vec![selector.into()]).await;
        let field = self.browser.find(Locator::Css(selector)).await.unwrap();
        field.send_keys(text).await.unwrap();
        if enter {
            field.send_keys(&Key::Enter.to_string()).await.unwrap();
        }
    }

    /// Saves a screenshot and the text of the page.
    pub(crate) async fn keep(&self, folder: &Path) {
        std::fs::create_dir_all(folder).unwrap();
        match self.browser.screenshot().await {
            Ok(picture) => std::fs::write(folder.join("page.png"), picture).unwrap(),
            Err(error) => eprintln!("no screenshot: {error}"),
        }
        if let Ok(shown) = self.browser.execute("return document.body.innerText", Vec::new()).await {
            std::fs::write(folder.join("page.txt"), shown.as_str().unwrap_or_default()).unwrap();
        }
        eprintln!("saved the page in {}", folder.display());
    }

    /// Closes the browser.
    pub(crate) async fn close(self) {
        if let Err(error) = self.browser.close().await {
            eprintln!("the browser did not close: {error}");
        }
    }
}
