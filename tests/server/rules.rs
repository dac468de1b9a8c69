//! Rules of the API beyond the recorded exchanges.

use pleach::server::{Server, ServerError};
use pleach::{App, InMemorySessionService};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _};

use crate::client::Ask;
use crate::served::{apps, demo, message, serve};
use crate::{demo as demo_app, wf};

const SESSIONS: &str = "/apps/demo/users/u/sessions";

#[tokio::test]
async fn h5_h7_unknown_paths_wrong_methods_and_slashes() {
    let served = demo().await;
    for (method, path, status) in [
        ("GET", "/nope", 404),
        ("GET", "/", 404),
        ("GET", "/nope/", 404),
        ("HEAD", "/nope", 404),
        ("GET", "//list-apps", 404),
        ("GET", "/apps//app-info", 404),
        ("GET", "/apps/demo/users//sessions", 404),
        ("POST", "/apps/demo/users//sessions", 404),
        ("GET", "/run_live", 404),
        ("HEAD", "/list-apps", 405),
        ("HEAD", "/health", 405),
        ("POST", "/list-apps", 405),
        ("PUT", "/run", 405),
        ("GET", "/run", 405),
        ("OPTIONS", "/run", 405),
        ("TRACE", "/run", 405),
        ("GET", "/list-apps/", 307),
        ("POST", "/run/", 307),
        ("GET", "/apps/demo/users/u/sessions/", 307),
        ("GET", "/apps/demo/users/u/sessions/s/", 307),
    ] {
        let reply = served.send(Ask::new(method, path)).await;
        assert_eq!(reply.status, status, "{method} {path}: {reply:?}");
        let text = match (status, method) {
            (_, "HEAD") | (307, _) => continue,
            (404, _) => "Not Found",
            _ => "Method Not Allowed",
        };
        assert_eq!(reply.json(), json!({"detail": text}), "{method} {path}");
    }
    let wrong = served.send(Ask::new("DELETE", "/run")).await;
    assert_eq!(wrong.header("allow"), Some("POST"));
    let live = served.send(Ask::get("/run_live?user_id=u&session_id=s").header("upgrade", "websocket")).await;
    assert_eq!(live.status, 501);
}

#[tokio::test]
async fn h21_h22_a_server_names_itself_and_its_apps() {
    let served = demo().await;
    let version = served.get("/version").await.json();
    assert_eq!(version["language"], "rust");
    assert!(version["version"].is_string() && version["language_version"].is_string());
    assert_eq!(served.get("/list-apps?relative_path=./").await.json(), json!(["demo", "wf"]));
    assert_eq!(served.get("/list-apps?detailed=maybe").await.status, 422);
    assert_eq!(served.get("/list-apps?detailed=yes").await.json()["apps"][1]["name"], "wf");
}

#[tokio::test]
async fn h27_apps_that_are_not_served() {
    let served = demo().await;
    served.session("demo", "s").await;
    for (name, status, detail) in [
        ("nope", 404, "Agent not found: 'nope'."),
        ("a.b", 404, "Agent not found: 'a.b'."),
        ("../x", 404, "Invalid agent name: '../x'."),
        ("a b", 404, "Invalid agent name: 'a b'."),
        ("__internal", 403, ""),
        ("", 400, "app_name is required when ADK_DEFAULT_APP_NAME is not set"),
    ] {
        for path in ["/run", "/run_sse"] {
            let reply = served.post(path, message(name, "s", "hi")).await;
            assert_eq!(reply.status, status, "{name}: {reply:?}");
            assert!(reply.detail().starts_with(detail), "{name}: {reply:?}");
        }
    }
    assert_eq!(served.get("/apps/__x/app-info").await.status, 403);
    // A development server that listens only for this machine treats such a name as an unknown app.
    let dev = serve(apps().dev(true)).await;
    for path in ["/apps/__x/app-info", "/dev/apps/__x/build_graph"] {
        let reply = dev.get(path).await;
        assert_eq!((reply.status, reply.detail().starts_with("Agent not found: '__x'.")), (404, true), "{reply:?}");
    }
    assert_eq!(dev.post("/run", message("__x", "s", "hi")).await.status, 404);
    // The app of a session need not exist.
    assert_eq!(served.get("/apps/nope/users/u/sessions").await.json(), json!([]));
    assert_eq!(served.post("/apps/nope/users/u/sessions", json!({})).await.status, 200);
}

#[tokio::test]
async fn h30_h37_sessions_are_made_read_and_removed() {
    let served = demo().await;
    let made =
        served.post(SESSIONS, json!({"session_id": " s1 ", "state": {"a": null, "temp:t": 1}, "foo": 1})).await.json();
    assert_eq!((&made["id"], &made["state"]), (&json!("s1"), &json!({"a": null})));
    assert!(made["lastUpdateTime"].is_f64());
    for ask in [
        Ask::new("POST", SESSIONS),
        Ask::new("POST", SESSIONS).raw("null", "application/json"),
        Ask::post(SESSIONS, &json!({"sessionId": " "})),
    ] {
        let reply = served.send(ask).await;
        assert_eq!((reply.status, reply.json()["id"].as_str().unwrap().len()), (200, 36));
    }
    let named = served.send(Ask::new("POST", &format!("{SESSIONS}/s2")).raw("null", "application/json")).await;
    assert_eq!(named.json()["id"], "s2");
    assert_eq!(served.post(&format!("{SESSIONS}/s2"), json!({})).await.status, 409);
    assert_eq!(served.post(&format!("{SESSIONS}/s3"), json!([1])).await.status, 422);
    for eval in ["adk-eval-session-1", "___eval___session___1"] {
        served.session("demo", eval).await;
    }
    let listed = served.get(SESSIONS).await.json();
    assert_eq!(listed.as_array().unwrap().len(), 5);
    assert!(listed.as_array().unwrap().iter().all(|session| session["events"] == json!([])));
    for _ in 0..2 {
        let removed = served.send(Ask::new("DELETE", &format!("{SESSIONS}/s1"))).await;
        assert_eq!((removed.status, removed.text.as_str()), (200, "null"));
    }
    assert_eq!(served.get(&format!("{SESSIONS}/s1")).await.detail(), "Session not found");
}

#[tokio::test]
async fn h33_h34_events_and_options_that_a_new_session_must_not_have_are_refused() {
    let served = demo().await;
    let call = |name: &str| json!({"content": {"parts": [{"functionCall": {"name": name}}]}});
    let answer = |name: &str| json!({"content": {"parts": [{"function_response": {"name": name}}]}});
    for (event, what) in [
        (json!({"longRunningToolIds": ["x"]}), "long-running tool IDs"),
        (json!({"actions": {"escalate": false}}), "event actions"),
        (json!({"actions": {"state_delta": {"a": 1}}}), "event actions"),
        (call("adk_request_input"), "ADK protocol function calls"),
        (answer("adk_request_confirmation"), "ADK protocol function calls"),
        (call("adk_request_credential"), "ADK protocol function calls"),
    ] {
        let body = json!({"sessionId": "s", "events": [{"author": "user"}, event]});
        let reply = served.post(SESSIONS, body).await;
        let detail = format!("Session initialization event 1 cannot include {what}.");
        assert_eq!((reply.status, reply.detail()), (400, detail));
    }
    for (options, status) in
        [(json!({"state": 1, "user_id": 2}), 400), (json!({"x": 1}), 400), (json!([]), 422), (json!({}), 200)]
    {
        assert_eq!(served.post(SESSIONS, json!({"sessionId": "s", "options": options})).await.status, status);
    }
    let twice = json!([{"id": "e", "author": "a"}, {"id": "e", "author": "b"}]);
    assert_eq!(served.post(SESSIONS, json!({"sessionId": "half", "events": twice})).await.status, 400);
    assert_eq!(served.get(&format!("{SESSIONS}/half")).await.status, 404);
    let events = json!([call("get_weather"), answer("get_weather"), {"author": "a", "foo": 1, "actions": {}, "longRunningToolIds": []}]);
    let made = served.post(SESSIONS, json!({"sessionId": "t", "events": events})).await.json();
    let events = made["events"].as_array().unwrap();
    assert_eq!(events.len(), 3);
    assert!(events.iter().all(|event| event["id"].as_str().unwrap().len() == 36 && event["timestamp"].is_f64()));
    assert_eq!((events[2].get("foo"), events[2].get("customMetadata")), (None, None));
    let signal = json!({"name": "paid", "payload": 1});
    let events =
        json!([{"author": "user", "invocationId": "i", "customMetadata": {"pleach_signal": signal, "kept": 1}}]);
    let made = served.post(SESSIONS, json!({"sessionId": "forged", "events": events})).await.json();
    assert_eq!(made["events"][0]["customMetadata"], json!({"kept": 1}));
}

#[tokio::test]
async fn h6_h58_h59_the_parameters_of_a_run() {
    let served = demo().await;
    served.session("demo", "s").await;
    let mut body = message("demo", "s", "artifact please");
    // A client cannot send signals.
    let signal = json!({"name": "paid", "payload": 1});
    body["customMetadata"] = json!({"trace": "t1", "__adk_internal_x": 1, "pleach_signal": signal});
    body["stateDelta"] = json!({"seen": null, "user:n": 1});
    body["unknown"] = json!(1);
    let all = served.post("/run", body.clone()).await.json();
    assert_eq!(all.as_array().unwrap().len(), 3);
    assert!(all.as_array().unwrap().iter().all(|event| event["customMetadata"] == json!({"trace": "t1"})), "{all}");
    assert_eq!(all[1]["actions"]["artifactDelta"], json!({"note.txt": 0}));
    body["functionCallEventId"] = json!("e1");
    assert_eq!(served.post("/run_sse", body.clone()).await.events().len(), 3);
    body["functionCallEventId"] = json!("");
    assert_eq!(served.post("/run_sse", body).await.events().len(), 4);
    let session = served.get(&format!("{SESSIONS}/s")).await.json();
    assert_eq!((&session["state"]["seen"], &session["state"]["user:n"]), (&Value::Null, &json!(1)));
    assert_eq!(session["events"][0]["actions"]["stateDelta"], json!({"seen": null, "user:n": 1}));
    let snake = json!({"app_name": "demo", "user_id": "u", "session_id": "s", "new_message": {"role": "model", "parts": [{"text": "hi"}]}});
    let reply = served.post("/run", snake).await.json();
    assert_eq!(reply[0]["content"]["parts"][0]["text"], "Hello from the scripted model. You said: hi");
    let call = json!({"appName": "demo", "userId": "u", "sessionId": "s", "newMessage": {"parts": [{"functionCall": {"name": "x"}}]}});
    let refused = served.post("/run", call).await;
    assert_eq!((refused.status, refused.detail().contains("nothing was stored")), (400, true), "{refused:?}");
    let mut deferred = message("demo", "s", "hi");
    deferred["serviceTier"] = json!("deferred");
    assert_eq!(served.post("/run_sse", deferred.clone()).await.status, 200);
    deferred["streaming"] = json!(true);
    assert_eq!(served.post("/run_sse", deferred).await.status, 422);
}

#[tokio::test]
async fn h60_a_run_without_a_message_continues_from_the_history() {
    let served = demo().await;
    served.session("demo", "s").await;
    served.post("/run", message("demo", "s", "hi")).await;
    let reply =
        served.post("/run", json!({"appName": "demo", "userId": "u", "sessionId": "s", "newMessage": null})).await;
    assert_eq!((reply.status, reply.json().as_array().unwrap().len()), (200, 1), "{reply:?}");
}

#[tokio::test]
async fn h61_h65_an_answer_continues_the_invocation_that_asked() {
    let served = demo().await;
    served.session("demo", "s").await;
    let asked = served.post("/run", message("demo", "s", "delete it")).await.json();
    let call = &asked[1]["content"]["parts"][0]["functionCall"];
    let response =
        json!({"id": call["id"], "name": "adk_request_confirmation", "response": {"confirmed": false, "payload": {}}});
    let mut answer = message("demo", "s", "");
    answer["newMessage"] = json!({"parts": [{"functionResponse": response}]});
    answer["invocationId"] = json!("e-other");
    let reply = served.post("/run_sse", answer).await;
    let events = reply.events();
    assert_eq!(events.len(), 2, "{reply:?}");
    assert!(events.iter().all(|event| event["invocationId"] == asked[0]["invocationId"]));
    let result = &events[0]["content"]["parts"][0]["functionResponse"];
    assert_eq!(result["id"], asked[0]["content"]["parts"][0]["functionCall"]["id"]);
    assert!(result["response"]["error"].is_string(), "{result}");
}

#[tokio::test]
async fn h62_a_run_creates_its_session_where_that_is_allowed() {
    let served = serve(apps().auto_create_session(true)).await;
    for path in ["/run", "/run_sse"] {
        assert_eq!(served.post(path, message("demo", &path[1..], "hi")).await.status, 200);
        assert_eq!(served.get(&format!("{SESSIONS}{path}")).await.status, 200);
    }
}

#[tokio::test]
async fn h10_h11_h63_a_default_app_a_prefix_and_a_limit_of_model_calls() {
    let served = serve(apps().default_app("demo").max_llm_calls(1)).await;
    assert_eq!(served.post("/users/u/sessions", json!({"sessionId": "s"})).await.json()["appName"], "demo");
    assert_eq!(served.get("/app-info").await.json()["name"], "demo");
    let body = json!({"userId": "u", "sessionId": "s", "newMessage": {"parts": [{"text": "hi"}]}});
    assert_eq!(served.post("/run", body).await.status, 200);
    let events = served.post("/run_sse", message("demo", "s", "weather")).await.events();
    let error = &events.last().unwrap()["error_details"]["error_type"];
    assert_eq!(error, "LlmCallsLimitExceededError");
    let behind = serve(apps().url_prefix("https://front.example/adk/")).await;
    assert_eq!(behind.get("/list-apps/").await.header("location"), Some("/adk/list-apps"));
}

#[tokio::test]
async fn h38_h39_services_and_bodies_that_are_missing() {
    let (demo, wf) = (demo_app::agent().unwrap(), wf::workflow().unwrap());
    let plain = Server::new().app(App::new("demo", demo).unwrap()).app(App::new("wf", wf).unwrap());
    let served = serve(plain.sessions(InMemorySessionService::new())).await;
    served.session("demo", "s").await;
    let patch = |path: &str| Ask::new("PATCH", path);
    let memory = "/apps/demo/users/u/memory";
    assert_eq!(served.send(patch(memory).json(&json!({"sessionId": "s"}))).await.status, 400);
    assert_eq!(served.send(patch(memory)).await.status, 422);
    assert_eq!(served.get(&format!("{SESSIONS}/s/artifacts")).await.status, 400);
    assert_eq!(served.send(patch(&format!("{SESSIONS}/s")).json(&json!({"stateDelta": null}))).await.status, 422);
    assert_eq!(served.send(patch(&format!("{SESSIONS}/none")).json(&json!({"stateDelta": {}}))).await.status, 404);
    let wrong = Ask::new("POST", "/run").raw(message("demo", "s", "hi").to_string(), "text/plain");
    assert_eq!(served.send(wrong).await.json()["detail"][0]["type"], "model_attributes_type");
    let empty = served.send(Ask::new("POST", "/run")).await.json();
    assert_eq!(empty["detail"][0]["loc"], json!(["body"]));
    assert_eq!(served.send(Ask::new("POST", "/run").raw(b"\xff".to_vec(), "application/json")).await.status, 400);
}

#[tokio::test]
async fn a_server_that_cannot_work_is_not_built() {
    let app = || App::new("demo", demo_app::agent().unwrap()).unwrap();
    let sessions = InMemorySessionService::new;
    assert!(matches!(Server::new().build(), Err(ServerError::NoSessions)));
    let twice = Server::new().sessions(sessions()).app(app()).app(app()).build();
    assert!(matches!(twice, Err(ServerError::DuplicateApp(name)) if name == "demo"));
    let unknown = Server::new().sessions(sessions()).app(app()).default_app("nope").build();
    assert!(matches!(unknown, Err(ServerError::UnknownDefaultApp(name)) if name == "nope"));
    let pattern = Server::new().sessions(sessions()).allow_origins(["regex:("]).build();
    assert!(matches!(pattern, Err(ServerError::Origin(_))));
    let taken = demo().await;
    let bound = apps().bind(taken.address).await;
    let text = bound.unwrap_err().to_string();
    assert!(text.contains(&taken.address.to_string()), "{text}");
}

#[tokio::test]
async fn h25_agent_identities_are_not_supported() {
    let reply = demo().await.post("/agent-identity/finalize", json!({})).await;
    assert_eq!((reply.status, reply.detail().contains("Google Cloud")), (500, true), "{reply:?}");
}

#[tokio::test]
async fn h75_h81_versions_of_an_artifact() {
    let served = demo().await;
    let base = format!("{SESSIONS}/s/artifacts");
    for (part, version, mime_type) in [
        (json!({"text": "one"}), 0, "text/plain"),
        (json!({"inlineData": {"data": "+/8=", "mimeType": "image/png"}}), 1, "image/png"),
    ] {
        let body = json!({"filename": "a/b.png", "artifact": part, "custom_metadata": {"a_b": null}});
        let saved = served.post(&base, body).await.json();
        assert_eq!((&saved["version"], &saved["mimeType"]), (&json!(version), &json!(mime_type)));
        assert_eq!(saved["customMetadata"], json!({"a_b": null}));
    }
    let none = served.post(&base, json!({"filename": "x", "artifact": {}})).await;
    assert_eq!((none.status, none.detail()), (400, "Not supported artifact type.".to_owned()));
    let latest = json!({"inlineData": {"data": "-_8=", "mimeType": "image/png"}});
    for (path, status, reply) in [
        ("a/b.png", 200, latest.clone()),
        ("a%2Fb.png", 200, latest.clone()),
        ("a/b.png?version=0", 200, json!({"text": "one"})),
        ("a/b.png/versions/latest", 200, latest),
        ("a/b.png/versions/%200", 200, json!({"text": "one"})),
        ("a/b.png/versions", 200, json!([0, 1])),
        ("none/versions", 200, json!([])),
        ("none/versions/metadata", 200, json!([])),
        ("a/b.png?version=9", 404, json!({"detail": "Artifact not found"})),
        ("a/b.png/versions/9", 404, json!({"detail": "Artifact not found"})),
        ("a/b.png/versions/9/metadata", 404, json!({"detail": "Artifact version not found"})),
        ("a/b.png/versions/x/metadata", 422, json!({"detail": "Invalid version ID"})),
        ("a/b.png/", 404, json!({"detail": "Artifact not found"})),
    ] {
        let got = served.get(&format!("{base}/{path}")).await;
        assert_eq!((got.status, got.json()), (status, reply), "{path}");
    }
    assert_eq!(
        served.get(&format!("{base}/a/b.png?version=x")).await.json()["detail"][0]["loc"],
        json!(["query", "version"])
    );
    assert_eq!(served.get(&format!("{base}/a/b.png/versions/metadata")).await.json().as_array().unwrap().len(), 2);
    for _ in 0..2 {
        let removed = served.send(Ask::new("DELETE", &format!("{base}/a/b.png"))).await;
        assert_eq!((removed.status, removed.text.as_str()), (200, "null"));
    }
    assert_eq!(served.get(&base).await.json(), json!([]));
}

// H33
#[tokio::test]
async fn h33_the_short_words_of_events_are_spelled_out() {
    let served = demo().await;
    let made = |event: Value| served.post(SESSIONS, json!({"events": [event]}));
    for (event, status) in [
        (json!({"author": "a", "state": {"k": 1}}), 400),
        (json!({"author": "a", "route": "x"}), 400),
        (json!({"author": "a", "state": 1}), 422),
        (json!({"author": "a", "groundingMetadata": "x"}), 422),
        (json!({"author": "a", "turnCompleteReason": 1}), 422),
        (json!({"author": "a", "content": {"parts": [{"inlineData": {"data": "+/-_"}}]}}), 422),
        (json!({"author": "a", "content": {"parts": [{"inlineData": {"data": "QR=="}}]}}), 422),
        (json!({"author": "a", "message": "hi", "content": {"parts": []}}), 422),
        (json!({"author": "a", "message": null, "state": null}), 200),
    ] {
        let reply = made(event).await;
        assert_eq!(reply.status, status, "{reply:?}");
    }
    let event = json!({"author": "user", "message": "hi", "node_path": "p@1", "timestamp": 0});
    let event = made(event).await.json()["events"][0].clone();
    assert_eq!(event["content"], json!({"role": "user", "parts": [{"text": "hi"}]}));
    assert_eq!((&event["nodeInfo"]["path"], event["timestamp"].as_f64()), (&json!("p@1"), Some(0.0)));
    let reply = made(json!({"author": "a", "timestamp": false})).await;
    assert_eq!(reply.json()["events"][0]["timestamp"].as_f64(), Some(0.0), "{reply:?}");
}

// H90
#[tokio::test]
async fn h90_a_request_without_a_host_is_refused() {
    let served = demo().await;
    let bare = tokio::net::TcpStream::connect(served.address).await.unwrap();
    let mut bare = tokio::io::BufReader::new(bare);
    bare.write_all(b"GET /health HTTP/1.1\r\n\r\n").await.unwrap();
    let mut line = String::new();
    bare.read_line(&mut line).await.unwrap();
    assert!(line.starts_with("HTTP/1.1 400"), "{line}");
}

#[tokio::test]
async fn h6_a_second_spelling_of_a_member_is_one_too_many() {
    let served = demo().await;
    served.session("demo", "s").await;
    let blob = json!({"mimeType": "text/plain", "data": "YQ=="});
    let both = json!({"mimeType": "text/plain", "mime_type": "text/plain", "data": "YQ=="});
    for (part, place) in [
        (json!({"inlineData": blob, "inline_data": blob}), json!(["body", "newMessage", "parts", 0, "inline_data"])),
        (json!({"inlineData": both}), json!(["body", "newMessage", "parts", 0, "inlineData", "mime_type"])),
    ] {
        let mut body = message("demo", "s", "");
        body["newMessage"] = json!({ "parts": [part] });
        let reply = served.post("/run", body).await;
        let problem = &reply.json()["detail"][0];
        assert_eq!((reply.status, &problem["type"], &problem["loc"]), (422, &json!("extra_forbidden"), &place));
    }
    // Where unknown members are ignored, the second spelling is ignored as well.
    let mut body = message("demo", "s", "hi");
    body["app_name"] = json!("nope");
    assert_eq!(served.post("/run", body).await.status, 200);
}

#[tokio::test]
async fn h6_a_body_may_begin_with_a_byte_order_mark() {
    let served = demo().await;
    let body = "\u{feff}{\"sessionId\": \"marked\"}";
    let made = served.send(Ask::new("POST", SESSIONS).raw(body, "application/json")).await;
    assert_eq!(made.json()["id"], "marked");
    // These numbers do not exist in JSON.
    for number in ["NaN", "-Infinity", "1e999"] {
        let body = format!("{{\"state\": {{\"k\": {number}}}}}");
        let reply = served.send(Ask::new("POST", SESSIONS).raw(body, "application/json")).await;
        assert_eq!((reply.status, &reply.json()["detail"][0]["type"]), (422, &json!("json_invalid")), "{number}");
    }
}

#[tokio::test]
async fn h92_a_preflight_for_a_private_network_is_refused() {
    let served = serve(apps().allow_origins(["http://app.example"])).await;
    let ask = |method: &str| {
        let ask = Ask::new("OPTIONS", "/run").header("origin", "http://app.example");
        ask.header("access-control-request-method", method)
    };
    assert_eq!(served.send(ask("POST")).await.status, 200);
    assert_eq!(served.send(ask("HEAD")).await.status, 200);
    assert_eq!(served.send(ask("BREW")).await.status, 400);
    let private = served.send(ask("POST").header("access-control-request-private-network", "true")).await;
    assert_eq!((private.status, private.text.as_str()), (400, "Disallowed CORS private-network"));
}
