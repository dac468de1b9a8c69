//! The server with google-adk's own UI.
// H100–H121

use std::path::PathBuf;
use std::sync::Arc;

use pleach::server::{DevUi, Server, Traces};
use pleach::{App, InMemoryArtifactService, InMemorySessionService, SystemClock};
use serde_json::json;
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::layer::SubscriberExt as _;

use crate::fixture::Tools;
use crate::page::Page;
use crate::{demo, wf};

const CHAT: &str = "app-chat-panel";
const SIDE: &str = "app-side-panel";
const BOX: &str = "textarea.chat-input-box";
const BUTTON: &str = "button";

/// Returns a server with the UI and the apps of the example. The spans of this thread are recorded until the guard is dropped.
fn server(ui: PathBuf) -> (Server, DefaultGuard) {
    let traces = Traces::new();
    let recorded = tracing::subscriber::set_default(tracing_subscriber::registry().with(traces.layer()));
    let server = Server::new()
        .app(App::new("demo", demo::agent().unwrap()).unwrap())
        .app(App::new("wf", wf::workflow().unwrap()).unwrap())
        .sessions(InMemorySessionService::new())
        .artifacts(InMemoryArtifactService::with_clock(Arc::new(SystemClock)))
        .traces(traces)
        .dev_ui(DevUi::new(ui));
    (server, recorded)
}

/// Opens an app, and answers the UI's question about telemetry.
async fn open(page: &Page, app: &str) {
    page.open(&format!("/dev-ui/?app={app}")).await;
    page.click(BUTTON, "No Thanks").await;
    page.until("the end of the dialog", "return !document.querySelector('mat-dialog-container')", Vec::new()).await;
}

async fn say(page: &Page, text: &str) {
    page.fill(BOX, text, true).await;
}

#[tokio::test]
async fn h121_an_agent_chats_asks_for_confirmation_and_leaves_artifacts_state_and_traces() {
    let Some((tools, ui)) = Tools::with_adk_ui() else { return };
    let (server, _recorded) = server(ui);
    tools
        .test("adk_ui_agent", server, async |page| {
            open(page, "demo").await;
            // The first message creates the session.
            page.click("button[aria-label='More options']", "").await;
            page.click("[role=menuitem]", "Streaming").await;
            say(page, "weather").await;
            page.shows(CHAT, "tool said: [('city', 'Paris'), ('temp_c', 21)]").await;
            page.until("the session in the address", "return location.search.includes('session=')", Vec::new()).await;
            page.shows(SIDE, "get_weather").await;
            say(page, "hello").await;
            page.shows(CHAT, "Hello from the scripted model. You said: hello").await;
            // The page shows one answer, not one for each fragment.
            let answers = "return document.querySelector('app-chat-panel').innerText.split('Hello from').length - 1";
            assert_eq!(page.script(answers, Vec::new()).await, json!(1));
            confirm(page).await;
            say(page, "artifact").await;
            page.shows(CHAT, "tool said: [('version', 0)]").await;
            page.click("[role=tab]", "Artifacts").await;
            page.shows("app-artifact-tab", "note.txt").await;
            page.shows("app-artifact-tab", "artifact body").await;
            page.click("[role=tab]", "State").await;
            page.shows("app-state-tab", "last_artifact").await;
            page.click("mat-button-toggle button", "Traces").await;
            page.shows("body", "generate_content scripted").await;
            page.shows("body", "Total latency").await;
        })
        .await;
}

/// Approves the call of a tool.
async fn confirm(page: &Page) {
    say(page, "delete it").await;
    page.shows("app-long-running-response", "Confirmed").await;
    page.click("app-long-running-response input[type=checkbox]", "").await;
    page.click("app-long-running-response button", "Submit").await;
    page.shows(CHAT, "tool said: [('deleted', 'a.txt')]").await;
}

#[tokio::test]
async fn h67_a_workflow_is_drawn_and_its_question_answered_by_a_form() {
    let Some((tools, ui)) = Tools::with_adk_ui() else { return };
    let (server, _recorded) = server(ui);
    tools
        .test("adk_ui_workflow", server, async |page| {
            open(page, "wf").await;
            say(page, "go").await;
            page.shows("app-long-running-response", "Your name?").await;
            for node in ["START", "start", "ask", "finish", "END"] {
                page.shows(SIDE, node).await;
            }
            page.fill("app-long-running-response input#name", "Ana", false).await;
            page.click("app-long-running-response button", "Submit").await;
            page.shows(CHAT, "done {'name': 'Ana'}").await;
            page.click("[role=tab]", "State").await;
            page.shows("app-state-tab", "final").await;
        })
        .await;
}
