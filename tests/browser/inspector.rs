//! The inspector: what it shows of a session, live, and how a question is answered in it.

use std::sync::Arc;

use pleach::server::Server;
use pleach::{App, InMemoryArtifactService, InMemorySessionService, SystemClock};
use serde_json::{Value, json};

use crate::fixture::Tools;
use crate::page::Page;
use crate::{demo, wf};

const TAB: &str = "[role=tab]";
const TIMELINE: &str = ".timeline";
const MESSAGE: &str = ".composer textarea";

fn server() -> Server {
    Server::new()
        .app(App::new("demo", demo::agent().unwrap()).unwrap())
        .app(App::new("wf", wf::workflow().unwrap()).unwrap())
        .sessions(InMemorySessionService::new())
        .artifacts(InMemoryArtifactService::with_clock(Arc::new(SystemClock)))
        .inspector(true)
}

/// Makes a session in the list of an app, which opens it.
async fn begin(page: &Page, app: &str) {
    page.open(&format!("/inspect/#/{app}")).await;
    page.click("button", "New session").await;
    page.shows(".live", "live").await;
}

/// Returns the texts of all elements that a selector finds.
async fn texts(page: &Page, selector: &str) -> Value {
    let script = "return [...document.querySelectorAll(arguments[0])].map(e => e.innerText.replaceAll('\\n', ' '))";
    page.script(script, vec![selector.into()]).await
}

#[tokio::test]
async fn a_workflow_is_followed_live_and_its_question_answered_by_a_form() {
    let Some(tools) = Tools::find() else { return };
    tools
        .test("inspector_workflow", server(), async |page| {
            begin(page, "wf").await;
            page.fill(MESSAGE, "<b>go</b>", true).await;
            // Nothing is reloaded: the events come by the stream, and texts stay texts.
            page.shows(TIMELINE, "got:<b>go</b>").await;
            assert_eq!(
                page.script("return document.querySelectorAll('.timeline b b').length", Vec::new()).await,
                json!(0)
            );
            page.shows(".question", "Your name?").await;
            page.shows(".invocations", "waiting").await;
            page.fill(".question textarea", "Otter", false).await;
            page.click(".question button", "Answer").await;
            page.shows(TIMELINE, "done {'name': 'Otter'}").await;
            page.shows(".invocations", "done").await;
            page.until("the end of the question", "return document.querySelector('.questions').hidden", Vec::new())
                .await;
            runs(page).await;
            page.click(TAB, "Picture").await;
            page.shows(".picture .frame", "finish").await;
            let done = "return document.querySelectorAll('.picture g.done').length === 3";
            page.until("three nodes that are done", done, Vec::new()).await;
            page.click(TAB, "State").await;
            page.shows(".state", "wf@1/finish@1").await;
        })
        .await;
}

/// The tree shows which runs the answer has executed, and which were read from the log.
async fn runs(page: &Page) {
    page.click(TAB, "Runs").await;
    page.shows(".tree", "finish").await;
    let works = json!(["1 ran 2 ran", "1 ran 2 replayed", "1 ran 2 answered", "2 ran"]);
    assert_eq!(texts(page, ".run .works").await, works);
    page.click(".run", "finish").await;
    page.shows(".rundetail", "{\"final\":{\"name\":\"Otter\"}}").await;
}

#[tokio::test]
async fn a_confirmation_is_a_button_and_a_session_is_forked_at_an_event() {
    let Some(tools) = Tools::find() else { return };
    tools
        .test("inspector_agent", server(), async |page| {
            begin(page, "demo").await;
            page.fill(MESSAGE, "delete it", true).await;
            page.click(".question button", "Confirm").await;
            page.shows(TIMELINE, "tool said: [('deleted', 'a.txt')]").await;
            let before = page.script("return location.hash", Vec::new()).await;
            page.click(".timeline .entry.user .by", "user").await;
            page.shows(".timeline .detail", "\"invocationId\"").await;
            page.click(".timeline .detail button", "Fork here").await;
            page.until("the fork", "return location.hash !== arguments[0]", vec![before]).await;
            page.shows(".bar", "1 event").await;
        })
        .await;
}

#[tokio::test]
async fn the_page_runs_no_markup_of_strangers() {
    let Some(tools) = Tools::find() else { return };
    tools
        .test("inspector_hostile", server(), async |page| {
            page.open("/inspect/").await;
            page.shows(".side", "demo").await;
            // The policy of the page refuses markup wherever it would come from.
            let refused = "try { document.body.innerHTML = '<i></i>'; return false } catch { return true }";
            assert_eq!(page.script(refused, Vec::new()).await, json!(true));
            begin(page, "wf").await;
            page.fill(MESSAGE, "</script><img src=x onerror=\"window.hit=1\">", true).await;
            page.shows(TIMELINE, "<img src=x").await;
            for tab in ["Runs", "Picture", "State", "Timeline"] {
                page.click(TAB, tab).await;
            }
            page.shows(TIMELINE, "<img src=x").await;
            let hit =
                "return window.hit === undefined && document.querySelectorAll('main img, main script').length === 0";
            assert_eq!(page.script(hit, Vec::new()).await, json!(true));
        })
        .await;
}
