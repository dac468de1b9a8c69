//! The credentials that are sent with a call.

use pleach::openapi::{OpenApiToolset, OpenApiToolsetBuilder};
use pleach::prelude::*;
use pleach::{AuthCredential, AuthDocument, InMemoryCredentialService};
use serde_json::{Value, json};

use crate::server::{Answer, Request, Server};
use crate::support::{call, document, drain, runner};

/// A document with one operation that has these security requirements.
fn secured(security: Value) -> Value {
    let mut document = document(json!({"/a": {"get": {"operationId": "f"}}}));
    document["security"] = security;
    document["components"] = json!({"securitySchemes": {
        "header": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "query": {"type": "apiKey", "in": "query", "name": "key"},
        "cookie": {"type": "apiKey", "in": "cookie", "name": "sid"},
        "basic": {"type": "http", "scheme": "Basic"},
        "bearer": {"type": "http", "scheme": "bearer"},
        "digest": {"type": "http", "scheme": "digest"},
        "tls": {"type": "mutualTLS"},
        "oidc": {"type": "openIdConnect", "openIdConnectUrl": "https://id.example.com"},
        "oauth": {"type": "oauth2", "flows": {"authorizationCode": {
            "authorizationUrl": "https://id.example.com/auth", "tokenUrl": "https://id.example.com/token", "scopes": {"read": ""},
        }}},
        "machine": {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "https://id.example.com/token", "scopes": {}}}},
    }});
    document
}

fn http(credentials: Value) -> AuthCredential {
    AuthCredential {
        http: Some(AuthDocument::new(json!({"scheme": "x", "credentials": credentials}))),
        ..AuthCredential::of("http")
    }
}

fn oauth2(fields: Value) -> AuthCredential {
    AuthCredential { oauth2: Some(AuthDocument::new(fields)), ..AuthCredential::of("oauth2") }
}

/// Calls the operation and returns the request.
async fn sent(security: Value, configure: impl Fn(OpenApiToolsetBuilder) -> OpenApiToolsetBuilder) -> Request {
    let server = Server::start(|_| Answer::json("{}")).await;
    let toolset = configure(OpenApiToolset::builder(secured(security)).base_url(server.url())).build().unwrap();
    assert_eq!(call(&toolset, "f", json!({})).await, json!({}));
    server.request()
}

fn fault(security: Value, configure: impl Fn(OpenApiToolsetBuilder) -> OpenApiToolsetBuilder) -> String {
    configure(OpenApiToolset::builder(secured(security))).build().unwrap_err().to_string()
}

#[tokio::test]
async fn configured_credentials_are_sent_where_the_scheme_says() {
    let key = || AuthCredential::api_key("a b");
    let header = async |scheme: &str, credential: AuthCredential, header: &str| {
        let request = sent(json!([{scheme: []}]), |builder| builder.credential(credential.clone())).await;
        request.header(header).map(str::to_owned)
    };
    assert_eq!(header("header", key(), "x-key").await.as_deref(), Some("a b"));
    // Cookies, user names and passwords are not percent-encoded.
    assert_eq!(header("cookie", AuthCredential::api_key("a=%/+"), "cookie").await.as_deref(), Some("sid=a=%/+"));
    let basic = http(json!({"username": "ana", "password": "~~~?>"}));
    assert_eq!(header("basic", basic, "authorization").await.as_deref(), Some("Basic YW5hOn5+fj8+"));
    for scheme in ["bearer", "oauth", "oidc", "machine"] {
        for credential in [http(json!({"token": "t"})), oauth2(json!({"access_token": "t"}))] {
            assert_eq!(header(scheme, credential, "authorization").await.as_deref(), Some("Bearer t"), "{scheme}");
        }
    }
    let request = sent(json!([{"query": []}]), |builder| builder.credential(key())).await;
    assert_eq!(request.line, "GET /a?key=a%20b");
    let both = sent(json!([{"header": [], "bearer": []}]), |builder| {
        builder.credential_for("header", key()).credential_for("bearer", http(json!({"token": "t"})))
    });
    let both = both.await;
    assert_eq!((both.header("x-key"), both.header("authorization")), (Some("a b"), Some("Bearer t")));
}

#[tokio::test]
async fn the_first_alternative_that_can_be_met_is_taken() {
    let key = |builder: OpenApiToolsetBuilder| builder.credential(AuthCredential::api_key("k"));
    let request = sent(json!([{"bearer": []}, {"tls": []}, {"header": []}]), key).await;
    assert_eq!((request.header("x-key"), request.header("authorization")), (Some("k"), None));
    // An optional credential is not asked for, but is sent if there is one.
    let request = sent(json!([{}, {"header": []}]), |builder| builder).await;
    assert_eq!(request.header("x-key"), None);
    assert_eq!(sent(json!([{}, {"header": []}]), key).await.header("x-key"), Some("k"));
    assert_eq!(sent(json!([{"digest": []}]), |builder| builder.ignore_security()).await.header("authorization"), None);
}

#[test]
fn security_that_cannot_be_met_is_a_fault() {
    for (security, expected) in [
        (
            json!([{"digest": []}, {"tls": []}]),
            "`digest` is the HTTP scheme `digest`, which is not supported; `tls` is mutual TLS",
        ),
        (json!([{"unknown": []}]), "there is no security scheme `unknown`"),
        (json!([{"oidc": []}]), "`oidc` is OpenID Connect, whose addresses the document does not have"),
        (
            json!([{"oauth": []}]),
            "give the client that users sign in to, or a token, by `.credential_for(\"oauth\", …)`",
        ),
        (json!([{"machine": []}]), "`machine` is OAuth2: give the client, with id and secret, or a token"),
        (json!({}), "the value must be a list"),
    ] {
        let error = fault(security, |builder| builder);
        assert!(error.contains(expected), "{error}");
    }
    let wrong = |builder: OpenApiToolsetBuilder| builder.credential_for("header", http(json!({"token": "hush"})));
    assert!(fault(json!([{"header": []}]), wrong).contains("another kind than the security scheme `header`"));
    let unknown = |builder: OpenApiToolsetBuilder| builder.credential_for("heder", AuthCredential::api_key("hush"));
    assert!(fault(json!([{"header": []}]), unknown).contains("no chosen operation has the security scheme `heder`"));
}

#[tokio::test]
async fn a_model_does_not_send_credentials() {
    let mut document = secured(json!([{"header": []}, {"query": []}]));
    document["paths"]["/a"]["get"]["parameters"] = json!([
        {"name": "x-key", "in": "header", "required": true}, {"name": "key", "in": "query"}, {"name": "other", "in": "query"},
    ]);
    let toolset = OpenApiToolset::builder(document).build().unwrap();
    let schema = crate::support::schema_of(&toolset, "f");
    assert_eq!(schema, json!({"type": "object", "properties": {"other": {}}}));
}

/// Answers the questions of a run in turn and returns the last response and all events.
async fn answered(runner: &Runner, answers: &[Value]) -> (Value, String) {
    let (mut responses, mut questions, mut all) = drain(runner.run("ana", "s1", "go")).await;
    for answer in answers {
        assert_eq!(questions.len(), 1);
        let events;
        (responses, questions, events) =
            drain(runner.answer(("ana", "s1"), &questions[0], answer.clone()).unwrap()).await;
        all.push_str(&events);
    }
    assert_eq!(questions.len(), 0);
    (responses.last().unwrap().clone(), all)
}

#[tokio::test]
async fn several_credentials_are_asked_for_one_after_another() {
    let server = Server::start(|_| Answer::json("{}")).await;
    let toolset = OpenApiToolset::builder(secured(json!([{"header": [], "query": []}]))).base_url(server.url());
    let model = ScriptedModel::calling("f", json!({})).then_text("Done.");
    let runner = runner(&model, &toolset.build().unwrap());
    let (response, all) = answered(&runner, &[json!("hush-1"), json!("hush-2")]).await;
    assert_eq!(response, json!({}));
    let request = server.request();
    assert_eq!((request.header("x-key"), request.line.as_str()), (Some("hush-1"), "GET /a?key=hush-2"));
    assert!(!all.contains("hush"), "{all}");
}

#[tokio::test]
async fn a_client_answers_with_a_token() {
    let server = Server::start(|_| Answer::json("{}")).await;
    let toolset = OpenApiToolset::builder(secured(json!([{"bearer": ["read"]}]))).base_url(server.url());
    let model = ScriptedModel::calling("f", json!({})).then_text("Done.");
    let runner = runner(&model, &toolset.build().unwrap());
    let answer = json!({"authType": "http", "http": {"scheme": "bearer", "credentials": {"token": "hush-t"}}});
    answered(&runner, &[answer]).await;
    assert_eq!(server.request().header("authorization"), Some("Bearer hush-t"));
}

#[tokio::test]
async fn a_sign_in_shows_the_address_and_takes_the_token() {
    let server = Server::start(|_| Answer::json("{}")).await;
    let client =
        oauth2(json!({"client_id": "c1", "client_secret": "hush-secret", "redirect_uri": "https://app.example.com"}));
    let toolset = OpenApiToolset::builder(secured(json!([{"oauth": ["read"]}]))).base_url(server.url());
    let toolset = toolset.credential_for("oauth", client).token_url("oauth", "https://id.example.com/token");
    let toolset = toolset.build().unwrap();
    let model = ScriptedModel::calling("f", json!({})).then_text("Done.");
    let runner = runner(&model, &toolset);
    let (_, questions, asked) = drain(runner.run("ana", "s1", "go")).await;
    assert!(
        asked.contains("https://id.example.com/auth?response_type=code&client_id=c1") && !asked.contains("hush"),
        "{asked}"
    );
    let payload = questions[0].payload.clone().unwrap();
    let mut config = payload.clone();
    config["exchangedAuthCredential"]["oauth2"]["accessToken"] = "hush-token".into();
    let (_, questions, all) = drain(runner.answer(("ana", "s1"), &questions[0], config).unwrap()).await;
    assert_eq!(questions.len(), 0);
    assert_eq!(server.request().header("authorization"), Some("Bearer hush-token"));
    assert!(!all.contains("hush-"), "{all}");
}

/// Starts a server that accepts the keys in `good`.
async fn choosy(good: &'static [&'static str]) -> Server {
    let takes = move |request: &Request| request.header("x-key").is_some_and(|key| good.contains(&key));
    let answer = move |request: &Request| {
        if takes(request) { Answer::json("{}") } else { Answer::of("401 Unauthorized", "text/plain", b"who are you?") }
    };
    Server::start(answer).await
}

#[tokio::test]
async fn a_credential_is_kept_for_later_runs_and_forgotten_when_it_is_refused() {
    let server = choosy(&["good-1"]).await;
    let toolset = OpenApiToolset::builder(secured(json!([{"header": []}]))).base_url(server.url()).build().unwrap();
    let model = ScriptedModel::calling("f", json!({})).then_text("No.");
    let model = model.then_call("f", json!({})).then_text("Yes.").then_call("f", json!({})).then_text("Yes.");
    let agent = LlmAgent::builder("helper").model(model).toolset(toolset).build().unwrap();
    let credentials = std::sync::Arc::new(InMemoryCredentialService::new());
    let runner = Runner::builder("demo").root(agent).credentials(credentials).build().unwrap();
    let (response, _) = answered(&runner, &[json!("bad-key")]).await;
    assert_eq!((&response["status"], &response["body"]), (&json!(401), &json!("who are you?")));
    // The refused key is asked for again, the accepted key is not.
    assert_eq!(answered(&runner, &[json!("good-1")]).await.0, json!({}));
    assert_eq!(answered(&runner, &[]).await.0, json!({}));
    let keys: Vec<_> = server.requests().iter().map(|request| request.header("x-key").unwrap().to_owned()).collect();
    assert_eq!(keys, ["bad-key", "good-1", "good-1"]);
}

#[tokio::test]
async fn a_credential_of_one_server_is_not_sent_to_another() {
    let (one, other) = (choosy(&["hush-1"]).await, choosy(&["hush-1"]).await);
    let toolset = |server: &Server, prefix: &str| {
        OpenApiToolset::builder(secured(json!([{"header": []}]))).prefix(prefix).base_url(server.url()).build().unwrap()
    };
    let model = ScriptedModel::calling("a_f", json!({})).then_call("b_f", json!({})).then_text("Done.");
    let agent = LlmAgent::builder("helper").model(model).toolset(toolset(&one, "a")).toolset(toolset(&other, "b"));
    let credentials = InMemoryCredentialService::new();
    let runner = Runner::builder("demo").root(agent.build().unwrap()).credentials(credentials).build().unwrap();
    let (_, questions, _) = drain(runner.run("ana", "s1", "go")).await;
    let (_, questions, _) = drain(runner.answer(("ana", "s1"), &questions[0], json!("hush-1")).unwrap()).await;
    assert_eq!((questions.len(), one.requests().len(), other.requests().len()), (1, 1, 0));
}

#[tokio::test]
async fn a_call_that_waits_for_approval_and_a_credential_gets_both() {
    let server = Server::start(|_| Answer::json("{}")).await;
    let toolset = OpenApiToolset::builder(secured(json!([{"header": []}]))).base_url(server.url());
    let model = ScriptedModel::calling("f", json!({})).then_text("Done.");
    let runner = runner(&model, &toolset.require_confirmation().build().unwrap());
    let (response, all) = answered(&runner, &[json!({"confirmed": true}), json!("hush-1")]).await;
    assert_eq!(response, json!({}));
    assert_eq!(server.request().header("x-key"), Some("hush-1"));
    assert!(!all.contains("hush"), "{all}");
}

#[tokio::test]
async fn a_client_answers_with_a_credential_and_no_headers() {
    let server = Server::start(|_| Answer::json("{}")).await;
    let toolset = OpenApiToolset::builder(secured(json!([{"header": []}]))).base_url(server.url());
    let toolset = toolset.header("x-user", "ana").build().unwrap();
    let runner = runner(&ScriptedModel::calling("f", json!({})).then_text("Done."), &toolset);
    let headers = json!({"X-User": "bob", "Host": "internal", "Content-Length": "99"});
    answered(&runner, &[json!({"authType": "apiKey", "apiKey": " k\n", "http": {"additionalHeaders": headers}})]).await;
    let request = server.request();
    assert_eq!((request.header("x-user"), request.header("x-key")), (Some("ana"), Some("k")));
    assert_eq!(
        (request.header("host"), request.header("content-length")),
        (server.url().strip_prefix("http://"), None)
    );
}

#[tokio::test]
async fn a_program_sends_each_header_once() {
    let with = |headers: Value| {
        let mut credential = http(json!({"token": "hush"}));
        credential.http =
            Some(AuthDocument::new(json!({"credentials": {"token": "hush"}, "additional_headers": headers})));
        credential
    };
    let bearer = json!([{"bearer": []}]);
    let sent = sent(bearer.clone(), |builder| builder.credential(with(json!({"X-Tenant": "t1"})))).await;
    assert_eq!(sent.header("x-tenant"), Some("t1"));
    for (headers, expected) in [
        (json!({"Host": "internal"}), "its header `Host` cannot be sent: the request sets it itself"),
        (json!({"X-Tenant": 1}), "its header `X-Tenant` is not a text"),
        (json!({"X-User": "bob"}), "its header `x-user` is also set by `.header(…)`"),
    ] {
        let error = fault(bearer.clone(), |builder| builder.credential(with(headers.clone())).header("x-user", "ana"));
        assert!(error.contains(expected) && !error.contains("hush"), "{error}");
    }
    let error = fault(bearer, |builder| builder.header("Authorization", "Bearer hush"));
    assert!(error.contains("`.header(…)` sets `authorization`, which a credential sets as well"), "{error}");
    let error = fault(json!([{"basic": [], "bearer": []}]), |builder| builder);
    assert!(error.contains("two schemes that are needed together are sent in the header `authorization`"), "{error}");
    let made = |_| async { Ok([("x-key", "own")]) };
    let toolset = OpenApiToolset::builder(secured(json!([{"header": []}]))).credential(AuthCredential::api_key("hush"));
    let toolset = toolset.base_url("http://127.0.0.1:1").header_provider(made).build().unwrap();
    let response = call(&toolset, "f", json!({})).await;
    assert!(response["error"].as_str().unwrap().starts_with("the header `x-key` would be sent by a credential and"));
}

#[tokio::test]
async fn a_general_credential_goes_to_one_place() {
    let key = |builder: OpenApiToolsetBuilder| builder.credential(AuthCredential::api_key("hush"));
    let error = fault(json!([{"header": [], "query": []}]), key);
    assert!(error.contains("`.credential(…)` fits `header` and `query`, which are needed together"), "{error}");
    let mut document = secured(json!([{"header": []}]));
    document["paths"]["/b"] = json!({"get": {"operationId": "g", "servers": [{"url": "https://evil.example"}]}});
    let build = |document: &Value| key(OpenApiToolset::builder(document.clone())).build();
    let error = build(&document).unwrap_err().to_string();
    assert!(error.contains("would be sent to `https://pets.example.com` and `https://evil.example`"), "{error}");
    document["paths"]["/b"]["get"]["security"] = json!([]);
    build(&document).unwrap();
}

#[tokio::test]
async fn a_key_that_a_server_did_not_accept_is_not_kept() {
    let server = Server::start(|_| Answer::of("403 Forbidden", "text/plain", b"")).await;
    let toolset = OpenApiToolset::builder(secured(json!([{"header": []}]))).base_url(server.url()).build().unwrap();
    let model = ScriptedModel::calling("f", json!({})).then_text("No.").then_call("f", json!({})).then_text("No.");
    let agent = LlmAgent::builder("helper").model(model).toolset(toolset).build().unwrap();
    let runner = Runner::builder("demo").root(agent).credentials(InMemoryCredentialService::new()).build().unwrap();
    for key in ["one", "other"] {
        answered(&runner, &[json!(key)]).await;
    }
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn an_answer_that_cannot_be_used_has_a_reason() {
    let server = Server::start(|_| Answer::json("{}")).await;
    for (scheme, answer, expected) in [
        ("header", json!("a\nb"), "it has characters that no header may have, such as line breaks"),
        (
            "header",
            json!({"authType": "http", "http": {"credentials": {"token": "t"}}}),
            "it is of another kind, or empty",
        ),
        ("cookie", json!("a;b"), "it has characters that no cookie may have"),
        ("basic", json!({"authType": "http", "http": {"credentials": {"username": "a:b"}}}), "its user name has a `:`"),
    ] {
        let toolset = OpenApiToolset::builder(secured(json!([{scheme: []}]))).base_url(server.url()).build().unwrap();
        let model = ScriptedModel::calling("f", json!({})).then_call("f", json!({})).then_text("Done.");
        let runner = runner(&model, &toolset);
        let (_, questions, _) = drain(runner.run("ana", "s1", "go")).await;
        let (responses, questions, _) = drain(runner.answer(("ana", "s1"), &questions[0], answer).unwrap()).await;
        let expected = format!("the credential for the security scheme `{scheme}` cannot be used: {expected}");
        // The next call of the model asks again.
        assert_eq!((&responses[0], questions.len()), (&json!({"error": expected}), 1));
    }
}

#[tokio::test]
async fn an_alternative_that_fails_leaves_the_others() {
    let server = Server::start(|_| Answer::json("{}")).await;
    let expired = || oauth2(json!({"access_token": "hush", "expires_at": 1}));
    let build = |security: Value| {
        let builder = OpenApiToolset::builder(secured(security)).credential_for("bearer", expired());
        builder.base_url(server.url()).build().unwrap()
    };
    let model = ScriptedModel::calling("f", json!({})).then_text("Done.");
    let runner = runner(&model, &build(json!([{"bearer": []}, {"header": []}])));
    answered(&runner, &[json!("k")]).await;
    assert_eq!(server.request().header("x-key"), Some("k"));
    // A call that should have had a credential is not sent without one.
    let response = call(&build(json!([{}, {"bearer": []}])), "f", json!({})).await;
    let expected = "there is no credential for the security scheme `bearer`: the configured token has expired";
    assert_eq!((response, server.requests().len()), (json!({"error": expected}), 1));
}
