//! Tokens of OAuth2: codes of sign-ins, tokens that expire, and programs that sign in on their own.

use std::time::{Duration, UNIX_EPOCH};

use pleach::openapi::OpenApiToolset;
use pleach::prelude::*;
use pleach::{AuthCredential, AuthDocument, InMemoryCredentialService};
use pleach_contract::TestClock;
use serde_json::{Value, json};

use crate::server::{Answer, Request, Server};
use crate::support::{call, document, drain};

/// Starts a server with an API and a token endpoint. The API accepts `access-1`, `access-2` and so on, in this order.
async fn api() -> Server {
    let count = std::sync::atomic::AtomicU32::new(0);
    Server::start(move |request| {
        let number = || count.load(std::sync::atomic::Ordering::SeqCst);
        if request.line == "POST /token" {
            if request.body.contains("wrong") {
                let body = r#"{"error": "invalid_grant", "error_description": "hush-code"}"#;
                return Answer::of("400 Bad Request", "application/json", body.as_bytes());
            }
            count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            let token = json!({"access_token": format!("access-{}", number()), "refresh_token": "hush-again", "expires_in": 3600});
            return Answer::json(&token.to_string());
        }
        if request.header("authorization") == Some(&format!("Bearer access-{}", number())) {
            Answer::json("{}")
        } else {
            Answer::of("401 Unauthorized", "text/plain", b"")
        }
    })
    .await
}

fn toolset(server: &Server, flow: &str, client: Value) -> OpenApiToolset {
    let mut document = document(json!({"/a": {"get": {"operationId": "f"}}}));
    document["security"] = json!([{"oauth": ["read"]}]);
    let flows = json!({flow: {
        "authorizationUrl": "https://id.example.com/auth", "tokenUrl": format!("{}/token", server.url()), "scopes": {"read": "", "write": ""},
    }});
    document["components"] = json!({"securitySchemes": {"oauth": {"type": "oauth2", "flows": flows}}});
    let client = AuthCredential { oauth2: Some(AuthDocument::new(client)), ..AuthCredential::of("oauth2") };
    OpenApiToolset::builder(document).base_url(server.url()).credential_for("oauth", client).build().unwrap()
}

fn client() -> Value {
    json!({"client_id": "app", "client_secret": "hush-secret", "redirect_uri": "https://app.example.com/back"})
}

fn to_token_endpoint(server: &Server) -> Vec<Request> {
    server.requests().into_iter().filter(|request| request.line == "POST /token").collect()
}

/// Runs the agent, answers its question with a code and returns the last response and all events.
async fn signed_in(runner: &Runner, code: &str) -> (Value, String) {
    let (_, questions, mut all) = drain(runner.run("ana", "s1", "go")).await;
    let mut config = questions[0].payload.clone().unwrap();
    let back = format!("https://app.example.com/back?state=x&code={code}");
    config["exchangedAuthCredential"]["oauth2"]["authResponseUri"] = back.into();
    let (responses, questions, events) = drain(runner.answer(("ana", "s1"), &questions[0], config).unwrap()).await;
    assert_eq!(questions.len(), 0);
    all.push_str(&events);
    (responses.last().unwrap().clone(), all)
}

fn runner(model: ScriptedModel, toolset: &OpenApiToolset) -> Runner {
    let agent = LlmAgent::builder("helper").model(model).toolset(toolset.clone()).build().unwrap();
    Runner::builder("demo").root(agent).credentials(InMemoryCredentialService::new()).build().unwrap()
}

#[tokio::test]
async fn a_code_becomes_a_token_once() {
    let server = api().await;
    let mut public = client();
    public.as_object_mut().unwrap().remove("client_secret");
    for (client, has_secret) in [(client(), true), (public, false)] {
        let server = if has_secret { &server } else { &api().await };
        let toolset = toolset(server, "authorizationCode", client);
        let model = ScriptedModel::calling("f", json!({})).then_call("f", json!({})).then_text("Done.");
        let runner = runner(model.then_call("f", json!({})).then_text("Again."), &toolset);
        let (response, all) = signed_in(&runner, "hush-code").await;
        assert_eq!(response, json!({}));
        let requests = to_token_endpoint(server);
        assert_eq!(requests.len(), 1, "one code is one token, for all calls");
        let request = &requests[0];
        let begin = "grant_type=authorization_code&code=hush-code&redirect_uri=https%3A%2F%2Fapp.example.com%2Fback";
        assert!(request.body.starts_with(begin), "{}", request.body);
        let basic = request.header("authorization");
        assert_eq!(basic, has_secret.then_some("Basic YXBwOmh1c2gtc2VjcmV0"));
        // A client without a secret proves with a verifier that it began the sign-in.
        assert_eq!(request.body.contains("&code_verifier=") && request.body.contains("&client_id=app"), !has_secret);
        assert!(!all.contains("hush-") && !all.contains("access-1"), "{all}");
        // The credential service keeps the token for the next run.
        assert_eq!(runner.run("ana", "s1", "again").reply().await.unwrap(), "Again.");
        assert_eq!(to_token_endpoint(server).len(), 1);
    }
}

#[tokio::test]
async fn a_code_that_is_refused_is_asked_for_again() {
    let server = api().await;
    let toolset = toolset(&server, "authorizationCode", client());
    let model = ScriptedModel::calling("f", json!({})).then_text("No.").then_call("f", json!({})).then_text("Yes.");
    let runner = runner(model, &toolset);
    let (response, all) = signed_in(&runner, "wrong").await;
    let expected = "no token could be had for the security scheme `oauth`: the token endpoint answered 400 Bad Request: invalid_grant";
    assert_eq!(response, json!({"error": expected}));
    assert!(!all.contains("hush-"), "{all}");
    assert_eq!(signed_in(&runner, "hush-code").await.0, json!({}));
}

#[tokio::test]
async fn a_token_that_has_expired_is_refreshed() {
    let server = api().await;
    let clock = TestClock::starting_at(UNIX_EPOCH + Duration::from_secs(1_000));
    let toolset = toolset(&server, "authorizationCode", client());
    let model = ScriptedModel::calling("f", json!({})).then_text("One.").then_call("f", json!({})).then_text("Two.");
    let agent = LlmAgent::builder("helper").model(model).toolset(toolset).build().unwrap();
    let service = InMemoryCredentialService::new();
    let runner = Runner::builder("demo").root(agent).credentials(service).clock(clock.clone()).build().unwrap();
    assert_eq!(signed_in(&runner, "hush-code").await.0, json!({}));
    clock.jump_to(10_000.0);
    assert_eq!(runner.run("ana", "s1", "again").reply().await.unwrap(), "Two.");
    let bodies: Vec<String> = to_token_endpoint(&server).into_iter().map(|request| request.body).collect();
    assert_eq!((bodies.len(), bodies[1].as_str()), (2, "grant_type=refresh_token&refresh_token=hush-again"));
    assert_eq!(server.requests().last().unwrap().header("authorization"), Some("Bearer access-2"));
}

#[tokio::test]
async fn a_program_signs_in_itself() {
    let server = api().await;
    let toolset = toolset(&server, "clientCredentials", client());
    for _ in 0..2 {
        assert_eq!(call(&toolset, "f", json!({})).await, json!({}));
    }
    let requests = to_token_endpoint(&server);
    assert_eq!((requests.len(), requests[0].body.as_str()), (1, "grant_type=client_credentials&scope=read"));

    let mut in_body = client();
    in_body["token_endpoint_auth_method"] = "client_secret_post".into();
    in_body["client_id"] = "wrong".into();
    let toolset = self::toolset(&server, "clientCredentials", in_body);
    let response = call(&toolset, "f", json!({})).await;
    assert!(response["error"].as_str().unwrap().ends_with("invalid_grant"), "{response}");
    assert!(to_token_endpoint(&server)[1].body.ends_with("&client_id=wrong&client_secret=hush-secret"));
}
