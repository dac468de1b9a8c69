//! Tests of hosting a browser UI: files in its folder are served, and no other files.

use std::path::Path;

use pleach::server::{Caller, DevUi};
use serde_json::json;

use crate::client::Ask;
use crate::served::{Served, apps, serve};

/// A folder with a UI, and a file next to the folder.
fn files() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let ui = folder.path().join("ui");
    std::fs::create_dir_all(ui.join("assets/config")).unwrap();
    for (name, text) in [
        ("index.html", "<html>ui</html>"),
        ("main.js", "js()"),
        ("assets/index.html", "<html>assets</html>"),
        ("assets/a b.svg", "<svg/>"),
        ("assets/config/runtime-config.json", "stale"),
        ("../secret.txt", "secret"),
    ] {
        std::fs::write(ui.join(name), text).unwrap();
    }
    folder
}

async fn hosted(folder: &Path) -> Served {
    serve(apps().dev_ui(DevUi::new(folder.join("ui")))).await
}

#[tokio::test]
async fn h100_a_ui_is_hosted_from_its_folder() {
    let folder = files();
    let served = hosted(folder.path()).await;
    for path in ["/", "/dev-ui"] {
        let reply = served.get(path).await;
        assert_eq!((reply.status, reply.header("location")), (307, Some("/dev-ui/")), "{path}");
    }
    for (path, kind, text) in [
        ("/dev-ui/", "text/html; charset=utf-8", "<html>ui</html>"),
        ("/dev-ui/index.html", "text/html; charset=utf-8", "<html>ui</html>"),
        ("/dev-ui/main.js", "text/javascript; charset=utf-8", "js()"),
        ("/dev-ui/main.js?v=1", "text/javascript; charset=utf-8", "js()"),
        ("/dev-ui/assets/", "text/html; charset=utf-8", "<html>assets</html>"),
        ("/dev-ui/assets/a%20b.svg", "image/svg+xml", "<svg/>"),
    ] {
        let reply = served.get(path).await;
        assert_eq!(
            (reply.status, reply.text.as_str(), reply.header("content-type")),
            (200, text, Some(kind)),
            "{path}"
        );
    }
    assert_eq!(served.get("/dev-ui/nope.js").await.detail(), "Not Found");
    assert_eq!(served.send(Ask::post("/dev-ui/main.js", &json!({}))).await.status, 405);
    // Without a UI these routes do not exist.
    let plain = serve(apps()).await;
    for path in ["/", "/dev-ui/", "/dev-ui/config", "/config/telemetry"] {
        assert_eq!(plain.get(path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn h100_files_answer_as_those_of_other_web_servers() {
    let folder = files();
    let served = hosted(folder.path()).await;
    // A page of a folder is redirected, because its relative links would lead elsewhere.
    let page = served.get("/dev-ui/assets?a=b").await;
    assert_eq!((page.status, page.header("location")), (307, Some("/dev-ui/assets/?a=b")));
    assert_eq!(served.get("/dev-ui/assets/config").await.status, 404);
    for path in ["/dev-ui//main.js", "/dev-ui/./main.js", "/dev-ui/main.js/"] {
        assert_eq!(served.get(path).await.text, "js()", "{path}");
    }
    let head = served.send(Ask::new("HEAD", "/dev-ui/main.js")).await;
    assert_eq!((head.status, head.text.as_str(), head.header("content-length")), (200, "", Some("4")));
    for path in ["/dev-ui/config", "/dev-ui/assets/config/runtime-config.json", "/dev-ui", "/list-apps"] {
        assert_eq!(served.send(Ask::new("HEAD", path)).await.status, 405, "{path}");
    }
}

#[tokio::test]
async fn h100_a_file_that_has_not_changed_is_not_sent_again() {
    let folder = files();
    let served = hosted(folder.path()).await;
    let ask = || Ask::get("/dev-ui/main.js");
    let first = served.send(ask()).await;
    let (tag, changed) = (first.header("etag").unwrap(), first.header("last-modified").unwrap());
    for (name, value) in [
        ("if-none-match", tag.to_owned()),
        ("if-none-match", format!("\"other\", W/{tag}")),
        ("if-modified-since", changed.to_owned()),
    ] {
        let reply = served.send(ask().header(name, &value)).await;
        assert_eq!((reply.status, reply.text.as_str(), reply.header("etag")), (304, "", Some(tag)), "{name}: {value}");
    }
    for (name, value) in [
        ("if-none-match", "\"other\""),
        ("if-modified-since", "Thu, 01 Jan 1970 00:00:00 GMT"),
        ("if-modified-since", "yesterday"),
    ] {
        assert_eq!(served.send(ask().header(name, value)).await.text, "js()", "{name}: {value}");
    }
    // The tag takes precedence over the date.
    let both = ask().header("if-none-match", "\"other\"").header("if-modified-since", changed);
    assert_eq!(served.send(both).await.status, 200);
}

#[tokio::test]
async fn h100_h101_a_development_server_without_a_ui_leads_to_the_inspector() {
    let served = serve(apps().dev(true).url_prefix("/adk")).await;
    for (path, location) in [("/", "/adk/dev-ui/"), ("/dev-ui", "/adk/dev-ui/"), ("/dev-ui/", "/adk/inspect/")] {
        let reply = served.get(path).await;
        assert_eq!((reply.status, reply.header("location")), (307, Some(location)), "{path}");
    }
    let config = served.get("/dev-ui/assets/config/runtime-config.json").await.json();
    assert_eq!(config, json!({"backendUrl": "/adk", "telemetry": null}));
    assert_eq!(served.get("/dev-ui/config").await.json(), json!({"logo_text": null, "logo_image_url": null}));
    assert_eq!(served.get("/dev-ui/main.js").await.status, 404);
}

#[tokio::test]
async fn h100_a_folder_that_is_not_there_is_named_when_the_server_is_built() {
    let folder = files();
    let error = apps().dev_ui(DevUi::new(folder.path().join("nope"))).build().unwrap_err();
    assert!(error.to_string().contains("nope"), "{error}");
}

#[tokio::test]
async fn h95_no_file_outside_of_the_folder_is_served() {
    let folder = files();
    let served = hosted(folder.path()).await;
    for up in [
        "../",
        "..%2f",
        "%2e%2e/",
        "%2e%2e%2f",
        "%252e%252e%252f",
        "..%5c",
        "..\\",
        "assets/../../",
        "/",
        "%2f",
        "./../",
    ] {
        let reply = served.get(&format!("/dev-ui/{up}secret.txt")).await;
        assert_eq!(reply.status, 404, "{up}: {reply:?}");
        assert!(!reply.text.contains("secret"), "{up}");
    }
    let whole = folder.path().join("secret.txt").display().to_string();
    assert_eq!(served.get(&format!("/dev-ui/{whole}")).await.status, 404);
}

#[cfg(unix)]
#[tokio::test]
async fn h95_a_link_out_of_the_folder_is_not_followed() {
    use std::os::unix::fs::symlink;

    let folder = files();
    let ui = folder.path().join("ui");
    symlink(folder.path().join("secret.txt"), ui.join("link.txt")).unwrap();
    symlink(folder.path(), ui.join("out")).unwrap();
    symlink(ui.join("main.js"), ui.join("inside.js")).unwrap();
    let served = hosted(folder.path()).await;
    for path in ["/dev-ui/link.txt", "/dev-ui/out/secret.txt", "/dev-ui/out/", "/dev-ui/out"] {
        assert_eq!(served.get(path).await.status, 404, "{path}");
    }
    assert_eq!(served.get("/dev-ui/inside.js").await.text, "js()");
}

#[tokio::test]
async fn h101_h102_the_ui_gets_the_config_of_its_server() {
    let folder = files();
    let ui = DevUi::new(folder.path().join("ui")).logo("Shop", "https://shop.example/logo.png");
    let served = serve(apps().dev_ui(ui).url_prefix("https://front.example/adk")).await;
    let config = "/dev-ui/assets/config/runtime-config.json";
    let expected = |telemetry| {
        json!({"backendUrl": "https://front.example/adk", "telemetry": telemetry,
            "logo": {"text": "Shop", "imageUrl": "https://shop.example/logo.png"}})
    };
    let reply = served.get(config).await;
    assert_eq!((reply.json(), reply.header("cache-control")), (expected(json!(null)), Some("no-store")));
    // Even with another spelling of the path, the reply is not the file in the folder.
    let spelt = served.get("/dev-ui/assets/config/runtime%2Dconfig.json").await;
    assert_eq!(spelt.json(), expected(json!(null)));
    let logo = json!({"logo_text": "Shop", "logo_image_url": "https://shop.example/logo.png"});
    assert_eq!(served.get("/dev-ui/config").await.json(), logo);
    assert_eq!(served.get("/dev-ui").await.header("location"), Some("/adk/dev-ui/"));
    let telemetry = |body| Ask::post("/config/telemetry", &body);
    assert_eq!(served.send(telemetry(json!({"telemetry": true}))).await.status, 400);
    let marked = |body| telemetry(body).header("x-adk-telemetry-request", "true");
    assert_eq!(served.send(marked(json!({"telemetry": "maybe"}))).await.status, 422);
    assert_eq!(served.send(marked(json!({"telemetry": false}))).await.json(), json!({"telemetry": false}));
    assert_eq!(served.get("/config/telemetry").await.json(), json!({"telemetry": false}));
    assert_eq!(served.get(config).await.json(), expected(json!(false)));
}

#[tokio::test]
async fn h90_the_ui_has_the_guards_of_the_api() {
    let folder = files();
    let served = hosted(folder.path()).await;
    for path in ["/", "/dev-ui/main.js", "/config/telemetry"] {
        assert_eq!(served.send(Ask::get(path).header("host", "evil.example")).await.status, 403, "{path}");
        assert_eq!(served.send(Ask::get(path).header("origin", "http://evil.example")).await.status, 403, "{path}");
    }
    let bound = serve(apps().dev_ui(DevUi::new(folder.path().join("ui"))).caller(|_| Caller::Unknown)).await;
    assert_eq!(bound.get("/dev-ui/").await.status, 401);
}

#[tokio::test]
async fn h107_h108_agents_are_drawn_with_what_an_event_did() {
    let folder = files();
    let served = hosted(folder.path()).await;
    let dot = |reply: crate::client::Reply| reply.json()["dotSrc"].as_str().unwrap_or_default().to_owned();
    let dark = dot(served.get("/dev/apps/demo/graph?dark_mode=true").await);
    assert!(dark.contains("bgcolor=\"#333537\"") && !dark.contains("#69CB87"), "{dark}");
    // A workflow has no agents to draw.
    assert_eq!(served.get("/dev/apps/wf/graph").await.json(), json!({}));
    served.session("demo", "s").await;
    let events = served.post("/run", crate::served::message("demo", "s", "weather")).await.json();
    let graph = |event: &str| format!("/dev/apps/demo/users/u/sessions/s/events/{event}/graph");
    let id = |place: usize| events[place]["id"].as_str().unwrap();
    let call = dot(served.get(&graph(id(0))).await);
    assert!(call.contains("demo_agent -> get_weather [color=\"#69CB87\"]"), "{call}");
    let answer = dot(served.get(&graph(id(1))).await);
    assert!(answer.contains("demo_agent -> get_weather [color=\"#69CB87\" dir=back]"), "{answer}");
    let text = dot(served.get(&graph(id(2))).await);
    assert_eq!((text.matches("#69CB87").count(), text.matches("fillcolor").count()), (0, 1), "{text}");
    assert_eq!(served.get(&graph("nope")).await.json(), json!({}));
    assert_eq!(served.get("/dev/apps/nope/graph").await.status, 404);
}

#[tokio::test]
async fn h110_h115_tabs_without_data_stay_empty() {
    let folder = files();
    let served = hosted(folder.path()).await;
    for (path, expected) in [
        ("tests", json!([])),
        ("eval-sets", json!({"evalSetIds": []})),
        ("eval_sets", json!([])),
        ("eval-results", json!({"evalResultIds": []})),
        ("eval_results", json!([])),
        ("metrics-info", json!({"metricsInfo": []})),
        ("debug/trace/session/s", json!([])),
    ] {
        assert_eq!(served.get(&format!("/dev/apps/demo/{path}")).await.json(), expected, "{path}");
        assert_eq!(served.get(&format!("/dev/apps/nope/{path}")).await.status, 404, "{path}");
    }
    let builder = served.get("/dev/apps/demo/builder?file_path=x").await;
    assert_eq!((builder.status, builder.text.as_str()), (200, ""));
    assert_eq!(served.get("/dev/apps/demo/debug/trace/e1").await.detail(), "Trace not found");
}
