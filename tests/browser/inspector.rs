//! Tests of the inspector: the live view of a session, and answers to questions.

use std::sync::Arc;

use pleach::server::Server;
use pleach::{
    App, CreateSession, Event, InMemoryArtifactService, InMemorySessionService, RequestInput, Session,
    SessionService as _, SessionServiceExt as _, SystemClock,
};
use serde_json::{Value, json};

use crate::fixture::Tools;
use crate::page::Page;
use crate::{demo, wf};

const TAB: &str = "[role=tab]";
const TIMELINE: &str = ".timeline";
const MESSAGE: &str = ".composer textarea";

fn server() -> Server {
    server_of(InMemorySessionService::new())
}

fn server_of(sessions: impl pleach::SessionService) -> Server {
    Server::new()
        .app(App::new("demo", demo::agent().unwrap()).unwrap())
        .app(App::new("wf", wf::workflow().unwrap()).unwrap())
        .sessions(sessions)
        .artifacts(InMemoryArtifactService::with_clock(Arc::new(SystemClock)))
        .inspector(true)
}

/// Creates a session from the list of an app, which opens the session.
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
            // The page is not reloaded: the events come through the stream, and texts are not read as markup.
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

/// Checks that the tree shows which runs were executed after the answer, and which were read from the log.
async fn runs(page: &Page) {
    page.click(TAB, "Runs").await;
    page.shows(".tree", "finish").await;
    let works = json!(["1–2 ran", "1 ran 2 replayed", "1 ran 2 answered", "2 ran"]);
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
            // The content security policy of the page refuses markup, whatever its source.
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

/// Returns a store with a session of the workflow.
async fn stored() -> (Arc<InMemorySessionService>, Session) {
    let store = Arc::new(InMemorySessionService::new());
    let session = store.create_session(CreateSession::new("wf", "u").with_session_id("s")).await.unwrap();
    (store, session)
}

async fn says(store: &InMemorySessionService, session: &mut Session, numbers: std::ops::Range<usize>) {
    for number in numbers {
        let mut event = Event::from_author("a").with_message(format!("event-{number}."));
        event.set_id(format!("e{number}"));
        event.set_invocation_id("i");
        store.append_event(session, event).await.unwrap();
    }
}

#[tokio::test]
async fn a_long_timeline_is_shown_from_its_end_and_followed() {
    let Some(tools) = Tools::find() else { return };
    let (store, mut session) = stored().await;
    says(&store, &mut session, 0..1000).await;
    tools
        .test("inspector_long", server_of(Arc::clone(&store)), async |page| {
            page.open("/inspect/#/wf/u/s").await;
            page.shows(TIMELINE, "event-999.").await;
            let count = "return document.querySelectorAll('.timeline .entry').length";
            assert_eq!(page.script(count, Vec::new()).await, json!(300));
            page.shows(".live:not(.off)", "live").await;
            // New entries are added without reading the old ones again.
            page.script("document.querySelector('.timeline .entry').dataset.mark = 'kept'", Vec::new()).await;
            says(&store, &mut session, 1000..1001).await;
            page.shows(TIMELINE, "event-1000.").await;
            page.click("button", "Show 300 earlier").await;
            page.shows(TIMELINE, "event-400.").await;
            assert_eq!(page.script(count, Vec::new()).await, json!(601));
            let kept = "return document.querySelectorAll('[data-mark=kept]').length";
            assert_eq!(page.script(kept, Vec::new()).await, json!(1));
            assert_eq!(page.script("return document.querySelectorAll('.divider').length", Vec::new()).await, json!(1));
            page.click("button", "Show 300 earlier").await;
            page.click("button", "Show 300 earlier").await;
            page.shows(TIMELINE, "event-0.").await;
            assert_eq!(page.script(count, Vec::new()).await, json!(1001));
        })
        .await;
}

/// Stores questions with these schemas, with the ids `q0`, `q1` and so on.
async fn asks(schemas: &[Value]) -> Arc<InMemorySessionService> {
    let (store, mut session) = stored().await;
    for (number, schema) in schemas.iter().enumerate() {
        let id = format!("q{number}");
        let asks = RequestInput::<Value>::ask(&id, "?").with_schema(schema.clone()).into_event(&id);
        let mut event = asks.with_node_path(format!("wf@1/ask{number}@1").as_str());
        event.set_id(format!("e{number}"));
        event.set_invocation_id("i");
        store.append_event(&mut session, event).await.unwrap();
    }
    store
}

/// Answers the question with this number and returns the value that the page sends, as text.
async fn answered(page: &Page, number: usize) -> String {
    let sent = "window.sent = null; document.querySelector(arguments[0] + ' [type=submit]').click();
        return new Promise(done => { const look = () => window.sent ? done(window.sent) : setTimeout(look, 10); look(); })";
    let sent = page.script(sent, vec![format!("[data-question=q{number}]").into()]).await;
    sent.as_str().unwrap().split_once("\"value\":").unwrap().1.trim_end_matches("}}").to_owned()
}

#[tokio::test]
async fn any_schema_has_a_form_and_answers_are_sent_as_they_were_written() {
    let Some(tools) = Tools::find() else { return };
    let recursive = json!({"anyOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}});
    let number = json!({"type": ["integer", "null"]});
    let object = json!({"type": "object", "required": ["b"], "properties": {
        "a": {"anyOf": [{"type": "number"}, {"type": "null"}]}, "b": number, "c": {"type": "string"},
    }});
    let store = asks(&[recursive, json!({"type": "boolean"}), number.clone(), object, json!({}), json!({})]).await;
    tools
        .test("inspector_forms", server_of(store), async |page| {
            page.open("/inspect/#/wf/u/s").await;
            page.shows(".question:nth-of-type(6)", "asks q5").await;
            // Requests do not reach the server: their bodies are kept as text.
            let keep = "const real = window.fetch; window.fetch = (at, how) => how?.method === 'POST'
                ? (window.sent = how.body, Promise.resolve(new Response('{}'))) : real(at, how)";
            page.script(keep, Vec::new()).await;
            page.fill("[data-question=q0] textarea", "[1]", false).await;
            assert_eq!(answered(page, 0).await, "[1]");
            // No choice is preselected, so a single click approves nothing.
            page.click("[data-question=q1] button", "Answer").await;
            page.shows("#notice", "Nothing is chosen.").await;
            page.script("document.querySelector('[data-question=q1] select').value = '1'", Vec::new()).await;
            assert_eq!(answered(page, 1).await, "false");
            page.fill("[data-question=q2] input[type=number]", "9007199254740993", false).await;
            assert_eq!(answered(page, 2).await, "9007199254740993");
            page.script("document.querySelector('[data-question=q2] input[type=checkbox]').click()", Vec::new()).await;
            assert_eq!(answered(page, 2).await, "null");
            // A number that was not entered is reported as missing.
            page.click("[data-question=q3] button", "Answer").await;
            page.shows("#notice", "a: A number is missing.").await;
            let untick = "document.querySelectorAll('[data-question=q3] input[type=checkbox]').forEach(e => e.click())";
            page.script(untick, Vec::new()).await;
            assert_eq!(answered(page, 3).await, "{\"b\":null}");
            page.fill("[data-question=q4] textarea", "[9007199254740993]", false).await;
            assert_eq!(answered(page, 4).await, "[9007199254740993]");
            page.fill("[data-question=q5] textarea", "123", false).await;
            page.click("[data-question=q5] label input", "").await;
            assert_eq!(answered(page, 5).await, "\"123\"");
        })
        .await;
}
