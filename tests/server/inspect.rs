//! Tests of the inspector: the views of sessions in its API, the routes that act on sessions, and refused requests.

use std::sync::Arc;
use std::time::Duration;

use pleach::model::{Model, ModelCall, ModelError, ModelWait, ResponseStream};
use pleach::prelude::{Input, START, ScriptedModel, Workflow};
use pleach::server::{Caller, Inspector, Server};
use pleach::{
    App, CreateSession, Event, InMemorySessionService, LlmAgent, NodeTool, SessionKey, SessionService as _,
    SessionServiceExt as _,
};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::client::{Ask, Reply};
use crate::served::{Served, apps, message, serve};

pub(crate) const SESSION: &str = "/inspect/api/apps/wf/users/u/sessions/s";

pub(crate) async fn inspected(server: Server) -> Served {
    serve(server.inspector(true)).await
}

/// Serves both apps, with a session of the workflow that waits for an answer.
pub(crate) async fn waiting() -> Served {
    let served = inspected(apps()).await;
    served.session("wf", "s").await;
    assert_eq!(served.post("/run", message("wf", "s", "go")).await.status, 200);
    served
}

async fn question(served: &Served) -> Value {
    served.get(SESSION).await.json()["openQuestions"][0].clone()
}

async fn answer(served: &Served, value: Value) -> Reply {
    let question = question(served).await;
    let answer = json!({"questionId": question["id"], "invocationId": question["invocationId"], "value": value});
    served.post(&format!("{SESSION}/moves"), json!({ "answer": answer })).await
}

/// Waits until the invocation of the session has this status. The run has no client whose stream would show this.
async fn until(served: &Served, status: &str) -> Value {
    loop {
        let session = served.get(SESSION).await.json();
        if session["invocations"][0]["status"] == status {
            return session;
        }
        tokio::task::yield_now().await;
    }
}

fn facts(entry: &Value) -> Vec<&str> {
    entry["facts"].as_array().unwrap().iter().map(|fact| fact["kind"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_session_is_shown_as_invocations_timeline_tree_and_state() {
    let served = waiting().await;
    let session = served.get(SESSION).await.json();
    let invocation = &session["invocations"][0];
    assert_eq!((&invocation["status"], &invocation["message"]), (&json!("waiting"), &json!("go")), "{session}");
    assert_eq!((&session["readOnly"], &session["openQuestions"][0]["message"]), (&json!(false), &json!("Your name?")));
    assert_eq!(answer(&served, json!({"name": "Otter"})).await.status, 202);
    until(&served, "done").await;

    let timeline = served.get(&format!("{SESSION}/timeline")).await.json();
    let shown: Vec<String> = timeline["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| format!("{} {}", entry["path"].as_str().unwrap(), facts(entry).join("+")))
        .collect();
    let expected = [
        " says",
        "wf@1/start@1 says+gives",
        "wf@1/ask@1 calls+asks",
        " answers",
        "wf@1/finish@1 says",
        "wf@1/finish@1 gives+sets",
    ];
    assert_eq!(shown, expected);
    let page = served.get(&format!("{SESSION}/timeline?from=2&limit=2")).await.json();
    assert_eq!((&page["entries"][0]["place"], &page["next"], &page["total"]), (&json!(2), &json!(4), &json!(6)));

    let tree = served.get(&format!("{SESSION}/tree")).await.json();
    let runs: Vec<String> = tree["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| {
            let work = run["turns"].as_array().unwrap().iter().map(|turn| turn["work"].as_str().unwrap());
            format!(
                "{} {} {}",
                run["path"].as_str().unwrap(),
                run["status"].as_str().unwrap(),
                work.collect::<Vec<_>>().join(",")
            )
        })
        .collect();
    let expected = [
        "wf@1 done executed,executed",
        "wf@1/start@1 done executed,replayed",
        "wf@1/ask@1 done executed,answered",
        "wf@1/finish@1 done executed",
    ];
    assert_eq!(runs, expected);
    assert_eq!(tree["runs"][3]["output"], json!({"final": {"name": "Otter"}}));
    assert_eq!(tree["turns"][1]["answers"], json!(["ask1"]));

    let state = served.get(&format!("{SESSION}/state")).await.json();
    let key = &state["keys"][0];
    assert_eq!(
        (&key["key"], &key["fromEvents"], &key["changes"][0]["path"]),
        (&json!("final"), &json!(true), &json!("wf@1/finish@1"))
    );
    let event = served.get(&format!("{SESSION}/events/{}", key["changes"][0]["event"].as_str().unwrap())).await.json();
    assert_eq!(event["actions"]["stateDelta"]["final"], key["value"]);
}

#[tokio::test]
async fn the_workflow_is_drawn_with_the_status_of_a_run() {
    let served = waiting().await;
    let drawn = served.get(&format!("{SESSION}/picture")).await.json();
    let boxes = |drawn: &Value| -> Vec<(String, Value)> {
        let boxes = drawn["picture"]["boxes"].as_array().unwrap().iter();
        boxes.map(|one| (one["name"].as_str().unwrap().to_owned(), one["status"].clone())).collect()
    };
    let named = |pairs: &[(&str, Value)]| -> Vec<(String, Value)> {
        pairs.iter().map(|(name, status)| ((*name).to_owned(), status.clone())).collect()
    };
    let all = [("start", json!("done")), ("ask", json!("waiting")), ("finish", Value::Null), ("START", Value::Null)];
    assert_eq!((boxes(&drawn), &drawn["source"]), (named(&all), &json!("workflow")));
    let svg = served.get(&format!("{SESSION}/picture?format=svg")).await;
    assert_eq!(svg.header("content-type"), Some("image/svg+xml"));
    assert!(svg.text.starts_with("<svg ") && svg.text.contains("waiting, "), "{}", svg.text);
    let app = served.get("/inspect/api/apps/wf/picture").await.json();
    assert_eq!(boxes(&app)[1].1, Value::Null);
    assert_eq!(served.get("/inspect/api/apps/nope/picture").await.status, 404);
    assert_eq!(served.get(&format!("{SESSION}/picture?invocation=nope")).await.status, 404);
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_refused_and_the_question_stays_open() {
    let served = waiting().await;
    let refused = answer(&served, json!({"name": 7})).await;
    assert_eq!(refused.status, 400, "{refused:?}");
    assert!(refused.detail().contains("ask1"), "{refused:?}");
    assert_eq!(question(&served).await["id"], "ask1");
    assert_eq!(answer(&served, json!({"name": "Otter"})).await.status, 202);
    until(&served, "done").await;
    let question = json!({"questionId": "ask1", "invocationId": served.get(SESSION).await.json()["invocations"][0]["id"], "value": {}});
    let again = served.post(&format!("{SESSION}/moves"), json!({ "answer": question })).await;
    assert_eq!(again.status, 409, "{again:?}");
}

#[tokio::test]
async fn a_message_starts_a_run_and_a_fork_copies_a_session() {
    let served = inspected(apps()).await;
    served.session("wf", "s").await;
    let started = served.post(&format!("{SESSION}/moves"), json!({"message": "hello"})).await;
    assert_eq!((started.status, started.json()["invocationId"].is_string()), (202, true), "{started:?}");
    until(&served, "waiting").await;
    let entries = served.get(&format!("{SESSION}/timeline")).await.json()["entries"].clone();
    let event = &entries[1]["id"];
    let forked = served.post(&format!("{SESSION}/forks"), json!({"eventId": event, "sessionId": "copy"})).await;
    assert_eq!(forked.json(), json!({"appName": "wf", "userId": "u", "id": "copy"}));
    let copy = served.get("/inspect/api/apps/wf/users/u/sessions/copy").await.json();
    assert_eq!((&copy["eventCount"], &copy["openQuestions"]), (&json!(2), &json!([])));
    let again = served.post(&format!("{SESSION}/forks"), json!({"eventId": event, "sessionId": "copy"})).await;
    assert_eq!((again.status, again.detail().as_str()), (409, "Session already exists: copy"));
    assert_eq!(served.post(&format!("{SESSION}/forks"), json!({"eventId": "nope"})).await.status, 404);
    // The interrupted invocation of the copy continues.
    let resume = json!({ "resume": entries[1]["invocation"] });
    let moved = served.post("/inspect/api/apps/wf/users/u/sessions/copy/moves", resume).await;
    assert_eq!(moved.status, 202, "{moved:?}");
    for body in [json!({}), json!({"message": "a", "resume": "b"})] {
        assert_eq!(served.post(&format!("{SESSION}/moves"), body).await.status, 400);
    }
    assert_eq!(served.post(&format!("{SESSION}/moves"), json!({"surprise": 1})).await.status, 422);
}

#[tokio::test]
async fn new_events_of_a_session_are_streamed() {
    let served = waiting().await;
    let entries = served.get(&format!("{SESSION}/timeline")).await.json()["entries"].clone();
    let last = entries.as_array().unwrap().last().unwrap()["id"].as_str().unwrap().to_owned();
    let mut live = Ask::get(&format!("{SESSION}/live?after={last}")).open(served.address).await;
    assert_eq!(answer(&served, json!({"name": "Otter"})).await.status, 202);
    let block = live.next().await.unwrap();
    assert_eq!(block.id.as_deref(), block.data["stored"].as_str());
    assert_ne!(block.data["stored"], last.as_str());
}

#[tokio::test]
async fn the_picture_of_a_workflow_that_is_a_tool_is_connected_to_its_agent() {
    let mut wf = Workflow::builder("triage").input::<String>();
    let (read, rate) = (
        wf.node("read", async |Input(text): Input<String>| text),
        wf.node("rate", async |Input(text): Input<String>| text),
    );
    wf.edge(START, read).edge(read, rate);
    let model = ScriptedModel::calling("triage", json!({"request": "x"})).then_text("Done.");
    let helper = LlmAgent::builder("helper").model(model).tool(NodeTool::new(wf.build().unwrap())).build().unwrap();
    let server = Server::new().app(App::new("shop", helper).unwrap()).sessions(InMemorySessionService::new());
    let served = inspected(server).await;
    served.session("shop", "s").await;
    assert_eq!(served.post("/run", message("shop", "s", "go")).await.status, 200);
    let reply = served.get("/inspect/api/apps/shop/users/u/sessions/s/picture").await.json();
    let boxes = reply["picture"]["boxes"].as_array().unwrap();
    let shown = |name: &str| boxes.iter().find(|shown| shown["name"] == name).unwrap();
    let (agent, workflow) = (shown("helper"), shown("triage"));
    assert_eq!(
        (&agent["kind"], &agent["status"], &agent["path"]),
        (&json!("node"), &json!("done"), &json!("helper@1"))
    );
    assert_eq!((&workflow["kind"], &workflow["status"]), (&json!("group"), &json!("done")));
    // Two lines are inside the workflow. One line leads to the agent, and one from the agent's lower border to the
    // workflow's upper border.
    let edges = reply["picture"]["edges"].as_array().unwrap();
    assert_eq!(edges.len(), 4, "{reply}");
    let lower = agent["y"].as_f64().unwrap() + agent["height"].as_f64().unwrap();
    let leads = |edge: &&Value| edge["points"][0][1] == json!(lower) && edge["points"][1][1] == workflow["y"];
    assert_eq!(edges.iter().filter(leads).count(), 1, "{reply}");
}

/// A model that reports a wait when the test lets it, and never answers.
struct Busy(Arc<Notify>);

impl Model for Busy {
    fn name(&self) -> &str {
        "busy"
    }

    fn generate<'a>(&'a self, call: ModelCall<'a>) -> ResponseStream<'a> {
        Box::pin(futures_util::stream::once(async move {
            self.0.notified().await;
            let error = ModelError::from_status("busy", 429);
            call.waits(&ModelWait { model: "busy", error: &error, wait: Duration::from_secs(7), attempts: 2 });
            std::future::pending().await
        }))
    }
}

#[tokio::test]
async fn why_nothing_comes_from_a_model_is_streamed() {
    let report = Arc::new(Notify::new());
    let helper = LlmAgent::builder("helper").model(Busy(Arc::clone(&report))).build().unwrap();
    let server = Server::new().app(App::new("busy", helper).unwrap()).sessions(InMemorySessionService::new());
    let served = inspected(server).await;
    served.session("busy", "s").await;
    let base = "/inspect/api/apps/busy/users/u/sessions/s";
    let mut live = Ask::get(&format!("{base}/live")).open(served.address).await;
    assert_eq!(served.post(&format!("{base}/moves"), json!({"message": "go"})).await.status, 202);
    // The stream has followed the run since before this event.
    assert!(live.next().await.unwrap().data["stored"].is_string());
    report.notify_one();
    let wait = live.next().await.unwrap().data["wait"].clone();
    assert_eq!((&wait["model"], &wait["status"], &wait["seconds"]), (&json!("busy"), &json!(429), &json!(7.0)));
    assert_eq!((&wait["author"], &wait["path"], &wait["attempt"]), (&json!("helper"), &json!("helper@1"), &json!(2)));
}

// Without a Runner, the inspector polls the store for events of other processes.
#[tokio::test]
async fn events_of_other_writers_are_streamed_without_a_runner() {
    let store = Arc::new(hostile().await);
    let served = serve_alone(Inspector::new(Arc::clone(&store))).await;
    let base = "/inspect/api/apps/old/users/u/sessions/s";
    let mut live = Ask::get(&format!("{base}/live?after=e1")).open(served.address).await;
    let key = SessionKey::new("old", "u", "s");
    let mut session = store.get_session(&key, Default::default()).await.unwrap().unwrap();
    let mut event = Event::from_author("a").with_message("more");
    event.set_id("e2");
    store.append_event(&mut session, event).await.unwrap();
    assert_eq!(live.next().await.unwrap().data, json!({"stored": "e2"}));
    // A client reconnects after an earlier event, and gets the new event at once.
    let mut live = Ask::get(&format!("{base}/live")).header("last-event-id", "e1").open(served.address).await;
    assert_eq!(live.next().await.unwrap().data, json!({"stored": "e2"}));
    store.delete_session(&key).await.unwrap();
    assert_eq!(live.next().await.unwrap().data, json!({"error": "The session was deleted."}));
    assert!(live.next().await.is_none());
    assert_eq!(served.get(&format!("{base}/live")).await.status, 404);
}

#[tokio::test]
async fn a_development_server_has_the_inspector() {
    let served = serve(apps().dev(true)).await;
    assert_eq!(served.get("/inspect/").await.status, 200);
    assert_eq!(served.get("/inspect/api/config").await.json()["readOnly"], false);
}

/// Returns a store with a session whose texts are hostile.
pub(crate) async fn hostile() -> InMemorySessionService {
    let store = InMemorySessionService::new();
    let mut session = store.create_session(CreateSession::new("old", "u").with_session_id("s")).await.unwrap();
    let mut event = Event::from_author("<b>a</b>").with_message("</script><img src=x onerror=alert(1)>");
    event.set_invocation_id("<i>");
    event.set_id("e1");
    let event = event.with_node_path("<svg onload=1>@1").with_state("<k>", "<v>").with_output("\u{1b}[2J");
    store.append_event(&mut session, event).await.unwrap();
    store
}

#[tokio::test]
async fn texts_of_events_are_json_and_no_markup() {
    let served = serve_alone(Inspector::new(hostile().await)).await;
    let base = "/inspect/api/apps/old/users/u/sessions/s";
    for path in ["", "/timeline", "/tree", "/state", "/picture", "/events/e1"] {
        let reply = served.get(&format!("{base}{path}")).await;
        assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/json")), "{path}");
        assert!(!reply.text.contains('\u{1b}'));
        reply.json();
    }
    let svg = served.get(&format!("{base}/picture?format=svg")).await;
    assert!(svg.text.contains("&lt;svg onload=1&gt;") && !svg.text.contains("<svg onload"), "{}", svg.text);
    assert_eq!(svg.header("content-security-policy"), Some("default-src 'none'"));
}

pub(crate) async fn serve_alone(inspector: Inspector) -> Served {
    let bound = inspector.bind("127.0.0.1:0").await.unwrap();
    let (address, server) = (bound.local_addr(), bound.server().clone());
    tokio::spawn(bound.serve());
    Served { address, server }
}

#[tokio::test]
async fn an_inspector_without_runners_reads_and_writes_nothing() {
    let served = serve_alone(Inspector::new(hostile().await)).await;
    assert_eq!(served.get("/inspect/api/config").await.json()["readOnly"], true);
    let apps = served.get("/inspect/api/apps").await.json();
    assert_eq!(apps, json!({"apps": [{"name": "old", "readOnly": true}]}));
    let base = "/inspect/api/apps/old/users/u/sessions/s";
    assert_eq!(served.get(base).await.json()["readOnly"], true);
    for (path, body) in [("moves", json!({"message": "x"})), ("forks", json!({"eventId": "e1"}))] {
        let refused = served.post(&format!("{base}/{path}"), body).await;
        assert!(refused.status == 403 && refused.detail().contains("is read-only"), "{refused:?}");
    }
    // The server has no route of the API.
    for ask in [
        Ask::post("/apps/old/users/u/sessions", &json!({})),
        Ask::new("DELETE", "/apps/old/users/u/sessions/s"),
        Ask::post("/run", &json!({})),
        Ask::get("/list-apps"),
    ] {
        assert_eq!(served.send(ask).await.status, 404);
    }
    assert_eq!(served.send(Ask::new("DELETE", base)).await.status, 405);
    assert_eq!(served.get("/").await.header("location"), Some("/inspect/"));
    assert_eq!(served.get(base).await.json()["eventCount"], 1);
}

#[tokio::test]
async fn the_page_is_served_with_a_policy_that_runs_nothing_inline() {
    let served = inspected(apps()).await;
    for (path, kind) in [
        ("/inspect/", "text/html; charset=utf-8"),
        ("/inspect/files/main.js", "text/javascript; charset=utf-8"),
        ("/inspect/files/inspect.css", "text/css; charset=utf-8"),
    ] {
        let reply = served.get(path).await;
        assert_eq!((reply.status, reply.header("content-type")), (200, Some(kind)), "{path}");
        let policy = reply.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'self';") && !policy.contains("unsafe"), "{policy}");
        assert_eq!(
            (reply.header("x-content-type-options"), reply.header("x-frame-options")),
            (Some("nosniff"), Some("DENY"))
        );
    }
    assert_eq!(served.get("/inspect").await.header("location"), Some("/inspect/"));
    for path in ["/inspect/files/nope.js", "/inspect/files/..%2fmod.rs", "/inspect/nope"] {
        assert_eq!(served.get(path).await.status, 404, "{path}");
    }
    assert_eq!(serve(apps()).await.get("/inspect/").await.status, 404, "the inspector is off by default");
}

#[tokio::test]
async fn the_inspector_has_the_guards_of_the_api() {
    let served = waiting().await;
    let moves = format!("{SESSION}/moves");
    for ask in [
        Ask::get("/inspect/"),
        Ask::get("/inspect/files/main.js"),
        Ask::get("/inspect/api/apps"),
        Ask::get(SESSION),
        Ask::post(&moves, &json!({"message": "x"})),
    ] {
        assert_eq!(served.send(ask.clone().header("host", "evil.example")).await.status, 403);
        assert_eq!(served.send(ask.clone().header("origin", "http://evil.example")).await.status, 403);
    }
    // A form of another page can send text but not JSON.
    let text = Ask::new("POST", &moves).raw("{\"message\": \"x\"}", "text/plain");
    assert_eq!(served.send(text).await.status, 422);
}

#[tokio::test]
async fn a_caller_sees_and_moves_its_own_sessions_only() {
    let server = apps().caller(|request| match request.headers.get("x-user").and_then(|user| user.to_str().ok()) {
        Some("admin") => Caller::Anyone,
        Some(user) => Caller::User(user.into()),
        None => Caller::Unknown,
    });
    let served = inspected(server).await;
    let of = |user: &str, ask: Ask| ask.header("x-user", user);
    for user in ["ana", "ben"] {
        let made = Ask::post(&format!("/apps/wf/users/{user}/sessions"), &json!({"sessionId": user}));
        assert_eq!(served.send(of(user, made)).await.status, 200);
    }
    let sessions = "/inspect/api/apps/wf/sessions";
    let ids = |reply: Reply| -> Vec<String> {
        let json = reply.json();
        json["sessions"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(served.send(of("ana", Ask::get(sessions))).await), ["ana"]);
    assert_eq!(ids(served.send(of("admin", Ask::get(sessions))).await).len(), 2);
    assert_eq!(ids(served.send(of("admin", Ask::get(&format!("{sessions}?search=BE")))).await), ["ben"]);
    assert_eq!(served.send(of("ana", Ask::get(&format!("{sessions}?user=ben")))).await.status, 403);
    let base = "/inspect/api/apps/wf/users/ben/sessions/ben";
    for path in ["", "/timeline", "/tree", "/state", "/picture", "/live", "/events/e1"] {
        assert_eq!(served.send(of("ana", Ask::get(&format!("{base}{path}")))).await.status, 403, "{path}");
    }
    for path in ["moves", "forks"] {
        let ask = Ask::post(&format!("{base}/{path}"), &json!({"message": "x", "eventId": "e"}));
        assert_eq!(served.send(of("ana", ask)).await.status, 403, "{path}");
    }
    for path in ["/inspect/", "/inspect/api/apps", base] {
        assert_eq!(served.get(path).await.status, 401, "{path}");
    }
}
