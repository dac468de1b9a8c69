//! The tokens of sign-ins, with odd users, servers and clocks.

use std::sync::Mutex;
use std::time::Duration;

use pleach::openapi::{OpenApiToolset, OpenApiToolsetBuilder};
use pleach::prelude::*;
use pleach::{AuthCredential, AuthDocument, InMemoryCredentialService};
use pleach_contract::TestClock;
use serde_json::{Value, json};

use crate::server::{Answer, Request, Server};
use crate::support::{call, document, drain};

/// Starts a server of an API and of its tokens `access-1`, `access-2` and so on. Each comes with a refresh token, `again-1`, `again-2`
/// and so on, that can be used once. `api` answers the requests of the API.
async fn server(expires_in: Value, api: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Server {
    let given: Mutex<Vec<String>> = Mutex::default();
    Server::start(move |request| {
        if request.line != "POST /token" {
            return api(request);
        }
        let mut given = given.lock().unwrap();
        let number = given.len() + 1;
        let token = request.body.split_once("refresh_token=").map(|(_, token)| token.to_owned());
        let last = given.last().map_or("again-0", String::as_str);
        if token.is_some_and(|token| token != last) {
            return Answer::of("400 Bad Request", "application/json", br#"{"error": "invalid_grant"}"#);
        }
        given.push(format!("again-{number}"));
        let again = &given[number - 1];
        Answer::json(
            &json!({"access_token": format!("access-{number}"), "refresh_token": again, "expires_in": expires_in})
                .to_string(),
        )
    })
    .await
}

fn oauth2(fields: Value) -> AuthCredential {
    AuthCredential { oauth2: Some(AuthDocument::new(fields)), ..AuthCredential::of("oauth2") }
}

fn client() -> Value {
    json!({"client_id": "app", "client_secret": "hush-secret", "redirect_uri": "https://app.example.com/back"})
}

fn builder(server: &Server, flows: Value) -> OpenApiToolsetBuilder {
    let mut document = document(json!({"/a": {"get": {"operationId": "f"}}}));
    document["security"] = json!([{"oauth": ["read"]}]);
    document["components"] = json!({"securitySchemes": {"oauth": {"type": "oauth2", "flows": flows}}});
    OpenApiToolset::builder(document).base_url(server.url())
}

fn flows(server: &Server) -> Value {
    json!({"authorizationCode": {
        "authorizationUrl": "https://id.example.com/auth", "tokenUrl": format!("{}/token", server.url()), "scopes": {"read": ""},
    }})
}

fn toolset(server: &Server) -> OpenApiToolset {
    builder(server, flows(server)).credential_for("oauth", oauth2(client())).build().unwrap()
}

/// A model that, for each number, calls the operation that many times and then replies.
fn model(calls: &[usize]) -> ScriptedModel {
    let mut model = ScriptedModel::calling("f", json!({}));
    for (place, &count) in calls.iter().enumerate() {
        for _ in usize::from(place == 0)..count {
            model = model.then_call("f", json!({}));
        }
        model = model.then_text("Done.");
    }
    model
}

fn runner(model: ScriptedModel, toolset: &OpenApiToolset, clock: &TestClock) -> Runner {
    let agent = LlmAgent::builder("helper").model(model).toolset(toolset.clone()).build().unwrap();
    let runner = Runner::builder("demo").root(agent).credentials(InMemoryCredentialService::new());
    runner.clock(clock.clone()).build().unwrap()
}

/// Runs the agent, answers its question with a code and returns the responses.
async fn signed_in(runner: &Runner, user: &str, code: &str) -> Vec<Value> {
    let (_, questions, _) = drain(runner.run(user, "s1", "go")).await;
    let mut config = questions[0].payload.clone().unwrap();
    config["exchangedAuthCredential"]["oauth2"]["authCode"] = code.into();
    let (responses, questions, _) = drain(runner.answer((user, "s1"), &questions[0], config).unwrap()).await;
    assert_eq!(questions.len(), 0);
    responses
}

fn sent_to_tokens(server: &Server) -> Vec<String> {
    let requests = server.requests().into_iter().filter(|request| request.line == "POST /token");
    requests.map(|request| request.body.split("&redirect").next().unwrap().to_owned()).collect()
}

fn sent_to_api(server: &Server) -> Vec<String> {
    let requests = server.requests().into_iter().filter(|request| request.line != "POST /token");
    requests.map(|request| request.header("authorization").unwrap_or_default().to_owned()).collect()
}

const OF_CODE: &str = "grant_type=authorization_code&code=code";
const OF_REFRESH: &str = "grant_type=refresh_token&refresh_token=again-1";

#[tokio::test]
async fn the_code_of_one_user_gives_another_user_no_kept_token() {
    let server = server(json!(3600), |_| Answer::json("{}")).await;
    let runner = runner(model(&[1, 1]), &toolset(&server), &TestClock::new());
    signed_in(&runner, "ana", "code").await;
    signed_in(&runner, "ben", "code").await;
    // The token endpoint decides: a code can be used once.
    assert_eq!(sent_to_tokens(&server), [OF_CODE, OF_CODE]);
    assert_eq!(sent_to_api(&server), ["Bearer access-1", "Bearer access-2"]);
}

#[tokio::test]
async fn a_token_that_expires_within_the_invocation_is_refreshed() {
    let clock = TestClock::new();
    let of_api = clock.clone();
    // Some servers write the number as a string.
    let server = server(json!("3599"), move |_| {
        let now = pleach::Clock::now(&of_api);
        of_api.jump_to(now + 3590.0);
        Answer::json("{}")
    });
    let server = server.await;
    // The call lasts as long as the token.
    let toolset = builder(&server, flows(&server)).credential_for("oauth", oauth2(client()));
    let toolset = toolset.timeout(Duration::from_secs(86_400)).build().unwrap();
    let runner = runner(model(&[2, 1]), &toolset, &clock);
    assert_eq!(signed_in(&runner, "ana", "code").await.last(), Some(&json!({})));
    assert_eq!(sent_to_tokens(&server), [OF_CODE, OF_REFRESH]);
    // The new refresh token is kept for the next run.
    drain(runner.run("ana", "s1", "again")).await;
    assert_eq!(sent_to_tokens(&server)[2], "grant_type=refresh_token&refresh_token=again-2");
    assert_eq!(sent_to_api(&server), ["Bearer access-1", "Bearer access-2", "Bearer access-3"]);
}

#[tokio::test]
async fn a_token_is_kept_before_the_api_answers() {
    let count = std::sync::atomic::AtomicU32::new(0);
    let server = server(json!(3600), move |_| match count.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
        0 => Answer::Bytes(Vec::new()),
        _ => Answer::json("{}"),
    });
    let server = server.await;
    let runner = runner(model(&[1, 1]), &toolset(&server), &TestClock::new());
    let responses = signed_in(&runner, "ana", "code").await;
    assert!(responses.last().unwrap()["error"].as_str().unwrap().contains("the connection broke"), "{responses:?}");
    let (responses, questions, _) = drain(runner.run("ana", "s1", "again")).await;
    assert_eq!((responses.last(), questions.len()), (Some(&json!({})), 0));
    assert_eq!(sent_to_tokens(&server), [OF_CODE]);
}

#[tokio::test]
async fn a_token_that_a_server_refuses_is_refreshed() {
    let server = server(Value::Null, |request| match request.header("authorization") {
        Some("Bearer access-1") => Answer::of("401 Unauthorized", "text/plain", b""),
        _ => Answer::json("{}"),
    });
    let server = server.await;
    let runner = runner(model(&[2]), &toolset(&server), &TestClock::new());
    assert_eq!(signed_in(&runner, "ana", "code").await.last(), Some(&json!({})));
    assert_eq!(sent_to_tokens(&server), [OF_CODE, OF_REFRESH]);
    assert_eq!(sent_to_api(&server), ["Bearer access-1", "Bearer access-2"]);
}

#[tokio::test]
async fn a_configured_token_is_refreshed_or_fails_the_call() {
    let server = server(json!(3600), |_| Answer::json("{}")).await;
    let expired = |more: Value| {
        let mut fields = json!({"access_token": "old", "expires_at": 5});
        fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        builder(&server, flows(&server)).credential_for("oauth", oauth2(fields)).build().unwrap()
    };
    let expected = "there is no credential for the security scheme `oauth`: the configured token has expired";
    assert_eq!(call(&expired(json!({})), "f", json!({})).await, json!({"error": expected}));
    let again = json!({"client_id": "app", "client_secret": "s", "refresh_token": "wrong"});
    let response = call(&expired(again), "f", json!({})).await;
    assert!(response["error"].as_str().unwrap().ends_with("400 Bad Request: invalid_grant"), "{response}");
    assert_eq!(sent_to_api(&server), Vec::<String>::new());
}

#[tokio::test]
async fn a_configured_token_is_refreshed_with_the_refresh_token_that_came_last() {
    // A token that expires sooner than a call may take is requested again each time.
    let server = server(json!(5), |_| Answer::json("{}")).await;
    let fields = json!({"client_id": "app", "client_secret": "s", "access_token": "old", "expires_at": 5, "refresh_token": "again-0"});
    let toolset = builder(&server, flows(&server)).credential_for("oauth", oauth2(fields)).build().unwrap();
    for _ in 0..2 {
        assert_eq!(call(&toolset, "f", json!({})).await, json!({}));
    }
    assert_eq!(
        sent_to_tokens(&server),
        ["again-0", "again-1"].map(|token| format!("grant_type=refresh_token&refresh_token={token}"))
    );
    assert_eq!(sent_to_api(&server), ["Bearer access-1", "Bearer access-2"]);
}

#[tokio::test]
async fn a_program_gets_a_token_for_the_scopes_of_an_operation() {
    let server = server(Value::Null, |_| Answer::json("{}")).await;
    let flow = json!({"clientCredentials": {"tokenUrl": format!("{}/token", server.url()), "scopes": {"read": "", "write": "", "admin": ""}}});
    let mut document = document(json!({
        "/a": {"get": {"operationId": "a", "security": [{"one": ["read"]}]}},
        "/b": {"get": {"operationId": "b", "security": [{"two": ["read", "write"]}]}},
    }));
    let scheme = json!({"type": "oauth2", "flows": flow});
    document["components"] = json!({"securitySchemes": {"one": scheme, "two": scheme}});
    let toolset =
        OpenApiToolset::builder(document).base_url(server.url()).credential(oauth2(client())).build().unwrap();
    for name in ["a", "b", "a"] {
        assert_eq!(call(&toolset, name, json!({})).await, json!({}));
    }
    let scopes = ["read", "read%20write"].map(|scopes| format!("grant_type=client_credentials&scope={scopes}"));
    assert_eq!(sent_to_tokens(&server), scopes);
    assert_eq!(sent_to_api(&server), ["Bearer access-1", "Bearer access-2", "Bearer access-1"]);
}

#[tokio::test]
async fn a_document_does_not_choose_where_secrets_go() {
    let server = server(Value::Null, |_| Answer::json("{}")).await;
    let own = format!("{}/token", server.url());
    let code = |authorization: &str, token: &str, refresh: Value| json!({"authorizationCode": {"authorizationUrl": authorization, "tokenUrl": token, "refreshUrl": refresh, "scopes": {}}});
    let sign_in = "https://id.example.com/auth?tenant=1";
    let build = |flows: Value| builder(&server, flows).credential_for("oauth", oauth2(client()));
    for (flows, expected) in [
        (
            code(sign_in, "https://evil.example/t", Value::Null),
            "the `tokenUrl` of `oauth` leads to `evil.example`, which is not the server of the API: give the address by `.token_url(\"oauth\", …)`",
        ),
        (code(sign_in, &own, json!("https://evil.example/t")), "the `refreshUrl` of `oauth` leads to `evil.example`"),
        (code(sign_in, "/token", Value::Null), "the `tokenUrl` of `oauth` cannot be read"),
        (code(sign_in, "http://evil.example/t", Value::Null), "gets secrets, so it must begin with `https://`"),
        (
            code("javascript:alert(1)", &own, Value::Null),
            "`oauth` has an `authorizationUrl` that does not begin with `https://`",
        ),
        (json!({"clientCredentials": {"tokenUrl": "https://evil.example/t"}}), "leads to `evil.example`"),
        (json!({"implicit": {"authorizationUrl": sign_in}}), "`oauth` is OAuth2 without a sign-in for users"),
    ] {
        let error = build(flows).build().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let elsewhere = || build(code(sign_in, "https://evil.example/t", Value::Null));
    elsewhere().token_url("oauth", own.as_str()).build().unwrap();
    for (url, expected) in [
        ("http://id.example.com/t", "the URL of `.token_url(…)` for the OpenAPI document `pet_store` gets secrets"),
        ("token", "cannot be read"),
    ] {
        let error = elsewhere().token_url("oauth", url).build().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let two = elsewhere().token_url("oauth", own.as_str()).token_url("auth", own.as_str());
    let error = two.build().unwrap_err().to_string();
    assert!(error.contains("no chosen operation has the OAuth2 scheme `auth` of `.token_url(…)`"), "{error}");
}

#[tokio::test]
async fn a_credential_belongs_to_the_client_and_the_address() {
    let server = server(Value::Null, |_| Answer::json("{}")).await;
    let mut keys = Vec::new();
    for (id, path) in [("app", ""), ("other", ""), ("app", "/v2"), ("app", "")] {
        let mut own = client();
        own["client_id"] = id.into();
        let toolset = builder(&server, flows(&server)).base_url(format!("{}{path}", server.url()));
        let toolset = toolset.credential_for("oauth", oauth2(own)).build().unwrap();
        let (_, questions, _) = drain(runner(model(&[1]), &toolset, &TestClock::new()).run("ana", "s1", "go")).await;
        keys.push(questions[0].payload.as_ref().unwrap()["credentialKey"].clone());
    }
    assert!(keys[0] == keys[3] && keys[0] != keys[1] && keys[0] != keys[2] && keys[1] != keys[2], "{keys:?}");
}
