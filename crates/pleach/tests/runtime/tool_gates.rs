//! Confirmations and credentials of tool calls: ask, pause, answer, continue.
//!
//! Unless a comment gives another source, google-adk 2.13.0 printed the expected values for the same tools.
// R129, R130, R510, R511, R852, R920, R931

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pleach::prelude::*;
use pleach::{
    AnswerOptions, AuthConfig, AuthCredential, FunctionCall, FunctionResponse, Hook, InMemorySessionService,
    InvocationContext, Plugin, RunRequest, SessionServiceExt as _,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{key, runner, stored, trace};
use crate::tools::{Add, Spy, add, fed, first, spied};

const SURE: &str = "wf_tool_confirmation:wf@1/add@1";
const OWN: &str = "wf_tool_confirmation:wf@1/own@1";
const AUTH: &str = "wf_auth:wf@1/secret@1";

/// The call with which the last stored event asks.
async fn asked(sessions: &InMemorySessionService) -> FunctionCall {
    let session = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    let event = session.events.last().unwrap();
    let ids: Vec<&str> = event.interrupt_ids().into_iter().collect();
    let call = event.function_calls().next().unwrap().clone();
    assert_eq!(ids, [call.id.as_deref().unwrap()]);
    assert!(event.actions().requested_auth_configs().is_empty());
    assert!(event.actions().requested_tool_confirmations().is_empty());
    call
}

/// The whole session as JSON text, as a client might get it.
async fn everything(sessions: &InMemorySessionService) -> String {
    let session = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    format!("{} {}", serde_json::to_string(&session.events).unwrap(), serde_json::to_string(&session.state).unwrap())
}

/// Answers as a client does that does not know this crate.
fn reply(runner: &Runner, id: &str, response: Value) -> pleach::Run {
    let response = FunctionResponse::new(id, "adk_request_input", response.as_object().unwrap().clone());
    runner.start(RunRequest::new(("ana", "s1")).message(vec![Part::function_response(response)]))
}

#[tokio::test]
async fn r130_r852_a_gated_call_waits_for_consent() {
    let (runner, sessions) = runner(fed(json!(5), add().require_confirmation()));
    let lines = trace(runner.run("ana", "s1", "go")).await;
    assert_eq!(lines[1], format!("wf@1/add@1: asks {SURE}"));
    let schema = json!({
        "additionalProperties": false,
        "description": "Represents a tool confirmation configuration.",
        "properties": {
            "hint": {"default": "", "title": "Hint", "type": "string"},
            "confirmed": {"default": false, "title": "Confirmed", "type": "boolean"},
            "payload": {"anyOf": [{}, {"type": "null"}], "default": null, "title": "Payload"},
        },
        "title": "ToolConfirmation",
        "type": "object",
    });
    let args = json!({
        "interruptId": SURE,
        "payload": {"tool_name": "add", "args": {"x": 5}},
        "message": "Please approve or reject the tool call add() by responding with a FunctionResponse with an expected ToolConfirmation payload.",
        "response_schema": schema,
    });
    let call = asked(&sessions).await;
    assert_eq!((call.name.as_deref(), json!(call.args)), (Some("adk_request_input"), args));

    let bad = trace(runner.answer("s1", SURE, true).unwrap()).await;
    assert!(bad[0].starts_with("! WorkflowDataError: the answer to question"), "{bad:?}");
    let lines = trace(reply(&runner, SURE, json!({"confirmed": true}))).await;
    assert_eq!(lines, ["wf@1/add@1: {\"sum\":7}"]);
}

#[tokio::test]
async fn e184_r853_a_rejected_call_is_an_error_that_plugins_see() {
    for answer in [json!({"confirmed": false}), json!({"foo": 1}), json!({"response": "{\"confirmed\": true}"})] {
        let notes = Arc::default();
        let (runner, _) = spied(fed(json!(5), add().require_confirmation()), [Spy::new("a", &notes)]);
        trace(runner.run("ana", "s1", "go")).await;
        let lines = trace(reply(&runner, SURE, answer)).await;
        assert_eq!(lines, ["wf@1/add@1: {\"error\":\"This tool call is rejected.\"}"]);
        let expected = [
            "before a add {\"x\":5}",
            "before a add {\"x\":5} confirmed false",
            "after a {\"x\":5} {\"error\":\"This tool call is rejected.\"}",
        ];
        assert_eq!(*notes.lock().unwrap(), expected);
    }
}

#[tokio::test]
async fn r852_a_condition_picks_the_calls_that_need_consent() {
    #[derive(Deserialize)]
    struct X {
        x: i64,
    }
    let picky = || add().confirm_if(|_, args: &X| args.x > 3);
    let (free, _) = runner(fed(json!(3), picky()));
    assert_eq!(trace(free.run("ana", "s1", "go")).await[1], "wf@1/add@1: {\"sum\":5}");
    let (gated, _) = runner(fed(json!(4), picky()));
    assert_eq!(trace(gated.run("ana", "s1", "go")).await[1], format!("wf@1/add@1: asks {SURE}"));
    // If the arguments cannot be read, the call needs consent. This differs from google-adk, which calls the condition
    // with the raw arguments.
    let (unread, _) = runner(fed(json!("four"), picky()));
    assert_eq!(trace(unread.run("ana", "s1", "go")).await[1], format!("wf@1/add@1: asks {SURE}"));
}

#[tokio::test]
async fn temporary_values_are_not_shown_in_requests_for_consent() {
    #[derive(Deserialize, schemars::JsonSchema)]
    struct Pay {
        #[serde(rename = "temp:pin")]
        pin: String,
        cents: i64,
    }
    let pay = tool("pay", "", async |Args(pay): Args<Pay>| pay.pin.len() as i64 + pay.cents).require_confirmation();
    let mut wf = Workflow::builder("wf");
    let pin = wf.node("pin", async || pleach::Output::of(5).state("temp:pin", "1234"));
    let pay = wf.tool(pay);
    let cents = wf.node("cents", async |Input(cents): Input<i64>| json!({"cents": cents}));
    wf.edge(START, pin).edge(pin, cents).edge(cents.dynamic(), pay);
    let (runner, sessions) = runner(wf.build().unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    let args = asked(&sessions).await.args.unwrap();
    assert_eq!(args["payload"]["args"], json!({"cents": 5}));
    assert!(!everything(&sessions).await.contains("1234"));
}

/// A tool that asks for consent itself and returns the answer.
fn own() -> FunctionTool {
    tool("own", "", async |Args(a): Args<Add>, ctx: ToolContext| -> Result<Value, NodeError> {
        let Some(answer) = ctx.tool_confirmation() else {
            ctx.state().set("asked", true)?;
            ctx.request_confirmation("sure?", Some(json!({"n": a.x})))?;
            ctx.emit(Event::message("about to ask")).await?;
            return Ok(json!({"pending": 1}));
        };
        Ok(json!({"confirmed": answer.confirmed, "payload": answer.payload, "x": a.x}))
    })
}

#[tokio::test]
async fn r852_a_tool_asks_for_consent_itself() {
    for (answer, given) in [
        (json!({"confirmed": true, "payload": {"a": 1}}), json!({"confirmed": true, "payload": {"a": 1}, "x": 5})),
        (json!({"confirmed": false}), json!({"confirmed": false, "payload": null, "x": 5})),
    ] {
        let (runner, sessions) = runner(fed(json!(5), own()));
        trace(runner.run("ana", "s1", "go")).await;
        // Events that the tool emits do not carry its request.
        let question = format!("wf@1/own@1: asks {}", OWN);
        assert_eq!(stored(&sessions).await[1..], ["wf@1/own@1: state {\"asked\":true}".to_owned(), question]);
        let args = asked(&sessions).await.args.unwrap();
        let payload = json!({"tool_name": "own", "args": {"x": 5}, "confirmation_payload": {"n": 5}});
        assert_eq!((args["message"].as_str(), &args["payload"]), (Some("sure?"), &payload));
        assert_eq!(trace(reply(&runner, OWN, answer)).await, [format!("wf@1/own@1: {given}")]);
    }
}

#[tokio::test]
async fn r852_a_failed_call_asks_for_nothing() {
    let fails = tool("fails", "", async |ctx: ToolContext| -> Result<(), NodeError> {
        ctx.request_confirmation("x", None)?;
        ctx.request_credential(api_key())?;
        ctx.state().set("w", 1)?;
        Err(NodeError::value("v"))
    });
    let (runner, sessions) = runner(first(fails));
    let lines = trace(runner.run("ana", "s1", "{}")).await;
    assert_eq!(lines, ["wf@1/fails@1: state {\"w\":1}, ValueError: v", "! ValueError: v"]);
    let all = everything(&sessions).await;
    assert!(!all.contains("sure") && !all.contains("adk_request"), "{all}");
}

#[tokio::test]
async fn requests_belong_to_tool_calls() {
    let node = FunctionNode::new("node", async |ctx: Context| -> Result<(), NodeError> {
        ctx.request_confirmation("sure?", None)
    });
    let lines = trace(runner(node).0.run("ana", "s1", "go")).await;
    let expected = "node@1: ValueError: request_confirmation requires function_call_id: it is for tool calls only.";
    assert_eq!(lines[0], expected);
}

/// The config of an API key, including a key of the agent's own.
fn api_key() -> AuthConfig {
    AuthConfig::new(json!({
        "authScheme": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "rawAuthCredential": {"authType": "apiKey", "apiKey": "agentsecret"},
    }))
}

/// A tool that needs a credential and returns it.
fn secret(config: AuthConfig) -> FunctionTool {
    tool("secret", "", move |ctx: ToolContext| {
        let config = config.clone();
        async move {
            match ctx.get_auth_response(&config) {
                Some(credential) => {
                    serde_json::to_value(credential).map_err(|error| NodeError::value(error.to_string()))
                }
                None => ctx.request_credential(config).map(|()| json!("no credential yet")),
            }
        }
    })
}

#[tokio::test]
async fn r129_a_request_shows_the_client_no_secret_of_the_agent() {
    let (runner, sessions) = runner(first(secret(api_key())));
    assert_eq!(trace(runner.run("ana", "s1", "{}")).await, [format!("wf@1/secret@1: asks {AUTH}")]);
    let config = json!({
        "authScheme": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "rawAuthCredential": {"authType": "apiKey"},
        "credentialKey": "adk_apiKey_9a46dad5a84303f3_apiKey_396de6d857206243",
    });
    let message = "Please provide your API key for X-Key.";
    let args = json!({"functionCallId": AUTH, "authConfig": config, "message": message});
    let call = asked(&sessions).await;
    assert_eq!((call.name.as_deref(), json!(call.args)), (Some("adk_request_credential"), args));
    assert!(!everything(&sessions).await.contains("agentsecret"));
}

#[tokio::test]
async fn r129_every_kind_of_secret_stays_with_the_agent() {
    let raw = json!({
        "authType": "http",
        "http": {
            "scheme": "basic",
            "credentials": {"username": "u", "password": "hush1", "token": "hush2"},
            "additionalHeaders": {"X": "hush3"},
        },
        // google-adk sends these secrets along; pleach does not.
        "oauth2": {"clientId": "c", "clientSecret": "hush4", "accessToken": "hush5", "refreshToken": "hush6", "codeVerifier": "hush7"},
        "serviceAccount": {"scopes": ["s"], "serviceAccountCredential": {"privateKey": "hush8"}},
    });
    let config = AuthConfig::new(json!({
        "authScheme": {"type": "http", "scheme": "basic"},
        "rawAuthCredential": raw,
        "exchangedAuthCredential": raw,
    }));
    let (runner, sessions) = runner(first(secret(config)));
    trace(runner.run("ana", "s1", "{}")).await;
    let args = asked(&sessions).await.args.unwrap();
    let shown = json!({
        "authType": "http",
        "http": {"scheme": "basic", "credentials": {"username": "u"}},
        "oauth2": {"clientId": "c"},
        "serviceAccount": {"scopes": ["s"]},
    });
    assert_eq!(
        (&args["authConfig"]["rawAuthCredential"], &args["authConfig"]["exchangedAuthCredential"]),
        (&shown, &shown)
    );
    assert_eq!(args["message"], "Please provide your authentication credentials.");
    // The verifier of an agent's own sign-in is kept in the state, as google-adk keeps a verifier that it made.
    let all = everything(&sessions).await.replace("hush7", "verifier");
    assert!(!all.contains("hush"), "{all}");
}

#[tokio::test]
async fn r931_e186_a_credential_comes_in_several_forms() {
    let filled = json!({
        "authScheme": {"type": "apiKey", "in": "header", "name": "Other"},
        "exchangedAuthCredential": {"authType": "apiKey", "apiKey": "K3"},
        "credentialKey": "evil",
    });
    for (answer, api_key_given) in [
        (json!({"result": "K1"}), "K1"),
        (json!({"result": 5}), "5"),
        (json!({"authType": "apiKey", "apiKey": "K2"}), "K2"),
        (filled, "K3"),
        // google-adk reads these answers as numbers first and loses their text.
        (json!({"result": "12345678901234567890123"}), "12345678901234567890123"),
        (json!({"result": "1e5"}), "1e5"),
    ] {
        let (runner, sessions) = runner(first(secret(api_key())));
        trace(runner.run("ana", "s1", "{}")).await;
        let lines = trace(reply(&runner, AUTH, answer)).await;
        let given = json!(AuthCredential::api_key(api_key_given));
        assert_eq!(lines, [format!("wf@1/secret@1: {given}")]);
        let session = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
        assert_eq!(session.state, pleach::Map::new(), "credentials are not stored");
        let answer = json!(session.events.iter().find_map(|event| event.function_responses().next()));
        assert_eq!(answer["response"], json!({"result": "[redacted credential]"}), "the stored answer is redacted");
    }
}

/// A tool that asks for a credential and then, with the credential, for consent.
fn asks_twice() -> FunctionTool {
    tool("secret", "", async |ctx: ToolContext| -> Result<Value, NodeError> {
        let Some(credential) = ctx.get_auth_response(&api_key()) else {
            return ctx.request_credential(api_key()).map(|()| Value::Null);
        };
        if ctx.tool_confirmation().is_none() {
            return ctx.request_confirmation("sure?", None).map(|()| Value::Null);
        }
        Ok(json!(credential.api_key.map(|key| key.len())))
    })
}

const SURE_OF_SECRET: &str = "wf_tool_confirmation:wf@1/secret@1";

/// The process that took the answer keeps it as long as the invocation needs it.
#[tokio::test]
async fn a_credential_lasts_through_later_questions_and_is_never_stored() {
    let (runner, sessions) = runner(first(asks_twice()));
    trace(runner.run("ana", "s1", "{}")).await;
    let lines = trace(runner.answer("s1", AUTH, "hush-1234").unwrap()).await;
    assert_eq!(lines, [format!("wf@1/secret@1: asks {SURE_OF_SECRET}")]);
    let lines = trace(reply(&runner, SURE_OF_SECRET, json!({"confirmed": true}))).await;
    assert_eq!(lines, ["wf@1/secret@1: 9"]);
    let all = everything(&sessions).await;
    assert!(!all.contains("hush"), "{all}");
}

/// The stored answer is redacted. The process that has the credential can still compare a repeated answer.
#[tokio::test]
async fn repeating_a_credential_stores_nothing_and_another_one_is_refused_once_the_first_was_used() {
    let (runner, sessions) = runner(first(asks_twice()));
    let count = async || sessions.get_session(&key(), Default::default()).await.unwrap().unwrap().events.len();
    trace(runner.run("ana", "s1", "{}")).await;
    trace(runner.answer("s1", AUTH, "hush-1234").unwrap()).await;
    let before = count().await;
    let lines = trace(runner.answer("s1", AUTH, "hush-1234").unwrap()).await;
    assert!(lines.iter().all(|line| !line.starts_with('!')), "{lines:?}");
    assert_eq!(count().await, before, "the open question is not stored again");
    let only_open = AnswerOptions::new().only_if_open(true);
    let again = runner.answer_with("s1", [(AUTH, "hush-1234")], only_open).unwrap().output::<Value>().await;
    assert!(matches!(again, Err(RunError::AlreadyAnswered { .. })), "{again:?}");
    // No run has completed with the credential yet, so another one replaces it.
    trace(runner.answer("s1", AUTH, "hush-12").unwrap()).await;
    let lines = trace(reply(&runner, SURE_OF_SECRET, json!({"confirmed": true}))).await;
    assert_eq!(lines, ["wf@1/secret@1: 7"]);
    let before = count().await;
    let late = runner.answer("s1", AUTH, "hush-other").unwrap().output::<Value>().await;
    assert!(matches!(late, Err(RunError::AlreadyAnswered { .. })), "{late:?}");
    assert_eq!(count().await, before);
    let all = everything(&sessions).await;
    assert!(!all.contains("hush"), "{all}");
}

/// Another process only knows that there was an answer, so it asks again.
#[tokio::test]
async fn another_process_asks_for_the_credential_again() {
    let (runner, sessions) = runner(first(asks_twice()));
    trace(runner.run("ana", "s1", "{}")).await;
    trace(runner.answer("s1", AUTH, "hush-1234").unwrap()).await;
    let later = || Runner::builder("t").root(first(asks_twice())).sessions(sessions.clone()).build().unwrap();
    let other = later();
    let lines = trace(reply(&other, SURE_OF_SECRET, json!({"confirmed": true}))).await;
    assert_eq!(lines, [format!("wf@1/secret@1: asks {AUTH}")]);
    assert_eq!(trace(other.answer("s1", AUTH, "hush-2").unwrap()).await, ["wf@1/secret@1: 6"]);
    let all = everything(&sessions).await;
    assert!(!all.contains("hush"), "{all}");
}

/// A plugin that appends to the session, as another process would, while the first answer is taken.
#[derive(Debug)]
struct Rival {
    sessions: Arc<InMemorySessionService>,
    has_come: AtomicBool,
}

impl Plugin for Rival {
    fn name(&self) -> &str {
        "rival"
    }

    fn on_user_message<'a>(&'a self, _: &'a InvocationContext, message: &'a Content) -> Hook<'a, Option<Content>> {
        let answers = message.function_responses().next().is_some();
        if !answers || self.has_come.swap(true, Ordering::Relaxed) {
            return None;
        }
        Some(Box::pin(async {
            let mut session = self.sessions.get_session(&key(), Default::default()).await?.ok_or("no session")?;
            let mut event = Event::message("I was here").with_author("rival");
            event.set_id("rival");
            event.set_timestamp(session.last_update_time() + 1.0);
            self.sessions.append_event(&mut session, event).await?;
            Ok(None)
        }))
    }
}

/// If an answer was refused, its credential is not used later.
#[tokio::test]
async fn a_credential_whose_answer_was_refused_is_not_kept() {
    let sessions = Arc::new(InMemorySessionService::new());
    let rival = Rival { sessions: Arc::clone(&sessions), has_come: AtomicBool::new(false) };
    let process =
        || Runner::builder("t").root(first(asks_twice())).sessions(sessions.clone()).auto_create_session(true);
    let (loser, winner) = (process().plugin(rival).build().unwrap(), process().build().unwrap());
    trace(winner.run("ana", "s1", "{}")).await;
    // A client's message is not tried again, unlike `Runner::answer`.
    let lines = trace(reply(&loser, AUTH, json!({"result": "hush-loser"}))).await;
    assert!(lines.len() == 1 && lines[0].starts_with("! ") && lines[0].contains("tale"), "{lines:?}");
    let lines = trace(winner.answer("s1", AUTH, "hush").unwrap()).await;
    assert_eq!(lines, [format!("wf@1/secret@1: asks {SURE_OF_SECRET}")]);
    // The loser has no credential. It asks and does not use the refused one.
    let lines = trace(reply(&loser, SURE_OF_SECRET, json!({"confirmed": true}))).await;
    assert_eq!(lines, [format!("wf@1/secret@1: asks {AUTH}")]);
}

/// This covers tokens, codes and client secrets, whatever function name the client's response has.
#[tokio::test]
async fn no_part_of_an_answered_sign_in_is_stored() {
    let (runner, sessions) = runner(first(secret(oauth(json!({})))));
    trace(runner.run("ana", "s1", "{}")).await;
    let args = asked(&sessions).await.args.unwrap();
    let mut answer = args["authConfig"].clone();
    let sent = json!({"accessToken": "hush1", "refreshToken": "hush2", "authCode": "hush3", "idToken": "hush4",
        "clientSecret": "hush5", "authResponseUri": "https://r?code=hush6"});
    answer["exchangedAuthCredential"]["oauth2"].as_object_mut().unwrap().extend(sent.as_object().unwrap().clone());
    let answer = FunctionResponse::new(AUTH, "anything", answer.as_object().unwrap().clone());
    let message = vec![Part::function_response(answer)];
    let mut run = runner.start(RunRequest::new(("ana", "s1")).message(message).yield_user_message(true));
    let user = run.next().await.unwrap().unwrap();
    assert!(!serde_json::to_string(&*user).unwrap().contains("hush"));
    while let Some(event) = run.next().await {
        event.unwrap();
    }
    let session = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    let users = session.events.iter().filter(|event| event.author() == "user");
    let users = serde_json::to_string(&users.collect::<Vec<_>>()).unwrap();
    assert!(!users.contains("hush") && users.contains("[redacted credential]"), "{users}");
}

/// The event of a node named `user` must not be mistaken for an event of the user.
#[tokio::test]
async fn a_credential_for_a_node_named_user_is_not_stored() {
    let mut wf = Workflow::builder("user");
    let node = FunctionNode::new("user", async || "signed in").auth_config(api_key());
    let user = wf.add(node);
    wf.edge(START, user);
    let (runner, sessions) = runner(wf.build().unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    let question = runner.questions(("ana", "s1")).await.unwrap().remove(0);
    let answer = FunctionResponse::new(&question.id, "anything", result(json!("hush-1234")));
    let message = vec![Part::function_response(answer)];
    trace(runner.start(RunRequest::new(("ana", "s1")).message(message))).await;
    let all = everything(&sessions).await;
    assert!(!all.contains("hush"), "{all}");
}

/// A response without an id answers no question, but its content is still treated as a credential.
#[tokio::test]
async fn a_credential_without_an_id_is_not_stored() {
    let (runner, sessions) = runner(first(secret(api_key())));
    trace(runner.run("ana", "s1", "{}")).await;
    let mut answer = FunctionResponse::new("", "adk_request_credential", result(json!("hush-1234")));
    answer.id = None;
    let request = RunRequest::new(("ana", "s1")).message(vec![Part::function_response(answer)]);
    assert!(!format!("{request:?}").contains("hush"));
    trace(runner.start(request)).await;
    let all = everything(&sessions).await;
    assert!(!all.contains("hush") && all.contains("[redacted credential]"), "{all}");
}

fn result(value: Value) -> serde_json::Map<String, Value> {
    [("result".to_owned(), value)].into_iter().collect()
}

#[tokio::test]
async fn r931_an_invalid_credential_fails_the_node_and_null_is_not_an_answer() {
    let malformed = "The auth response is malformed or does not carry back the state generated for this auth request. Return the auth config from the credential request with the authorization result filled in.";
    let no_key = json!({"authScheme": {"type": "apiKey", "in": "query", "name": "k"}});
    for answer in [json!({"junk": 1}), json!({"result": true}), json!({"authType": "magic"}), no_key] {
        let (runner, _) = runner(first(secret(api_key())));
        trace(runner.run("ana", "s1", "{}")).await;
        let lines = trace(reply(&runner, AUTH, answer)).await;
        assert_eq!(lines[0], format!("wf@1/secret@1: WorkflowDataError: {malformed}"));
    }
    let (runner, _) = runner(first(secret(api_key())));
    trace(runner.run("ana", "s1", "{}")).await;
    let lines = trace(reply(&runner, AUTH, json!({"result": null}))).await;
    assert_eq!(lines, [format!("wf@1/secret@1: asks {AUTH}")]);
}

fn oauth(more: Value) -> AuthConfig {
    let flow = json!({"authorizationUrl": "https://a/auth?x=1", "tokenUrl": "https://t", "scopes": {"read all": "r", "w": "w"}});
    let mut client = json!({"clientId": "c", "clientSecret": "hush", "redirectUri": "https://r/cb?a=b c"});
    client.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    AuthConfig::new(json!({
        "authScheme": {"type": "oauth2", "flows": {"authorizationCode": flow}},
        "rawAuthCredential": {"authType": "oauth2", "oauth2": client},
    }))
}

#[tokio::test]
async fn r931_a_sign_in_must_bring_back_its_state() {
    let config = oauth(json!({"codeChallengeMethod": "S256", "audience": "aud", "nonce": "n", "prompt": "none"}));
    for honest in [true, false] {
        let (runner, sessions) = runner(first(secret(config.clone())));
        trace(runner.run("ana", "s1", "{}")).await;
        let args = asked(&sessions).await.args.unwrap();
        let mut answer = args["authConfig"].clone();
        let oauth2 = answer["exchangedAuthCredential"]["oauth2"].as_object_mut().unwrap();
        let (uri, state) =
            (oauth2["authUri"].as_str().unwrap().to_owned(), oauth2["state"].as_str().unwrap().to_owned());
        let expected = format!(
            "https://a/auth?x=1&response_type=code&client_id=c&redirect_uri=https%3A%2F%2Fr%2Fcb%3Fa%3Db+c&scope=read+all+w&state={state}&access_type=offline&prompt=none&audience=aud&nonce=n&code_challenge="
        );
        assert!(uri.starts_with(&expected) && uri.ends_with("&code_challenge_method=S256"), "{uri}");
        let session = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
        let verifier = &session.state[&format!("adk_oauth_credential:{AUTH}")]["oauth2"]["code_verifier"];
        let verifier = verifier.as_str().unwrap().to_owned();
        assert_eq!(session.state[&format!("adk_oauth_state:{AUTH}")], state);
        // Neither the secret nor the verifier is shown.
        let shown = Value::Object(args.clone()).to_string();
        assert!(!shown.contains("hush") && !shown.contains(&verifier), "{shown}");

        oauth2.insert("accessToken".into(), "tok".into());
        if !honest {
            oauth2.insert("state".into(), "other".into());
        }
        let lines = trace(reply(&runner, AUTH, answer)).await;
        if honest {
            let given: Value =
                serde_json::from_str(lines[0].split_once(": ").unwrap().1.split(", state").next().unwrap()).unwrap();
            let oauth2 = &given["oauth2"];
            let got =
                ["client_id", "client_secret", "access_token", "code_verifier"].map(|field| oauth2[field].as_str());
            assert_eq!(got, [Some("c"), Some("hush"), Some("tok"), Some(verifier.as_str())]);
        } else {
            assert!(
                lines[0].starts_with("wf@1/secret@1: WorkflowDataError: The auth response is malformed"),
                "{lines:?}"
            );
        }
    }
}

#[tokio::test]
async fn r129_the_missing_parts_of_a_sign_in_are_named() {
    let scheme = oauth(json!({})).get("auth_scheme").unwrap().clone();
    let oidc = json!({"type": "openIdConnect", "openIdConnectUrl": "https://o"});
    let client = json!({"authType": "openIdConnect", "oauth2": {"clientId": "c"}});
    for (config, expected) in [
        (oauth(json!({"clientId": null})), "Auth Scheme oauth2 requires client_id in auth_credential.oauth2."),
        (
            oauth(json!({"codeChallengeMethod": "plain"})),
            "Unsupported code_challenge_method: plain. Only 'S256' is supported.",
        ),
        (AuthConfig::new(json!({"authScheme": scheme})), "Auth Scheme oauth2 requires auth_credential."),
        (
            AuthConfig::new(json!({"authScheme": oidc, "rawAuthCredential": client})),
            "Cannot generate an auth uri for the auth scheme: it carries no OAuth2 flows.",
        ),
    ] {
        let lines = trace(runner(first(secret(config))).0.run("ana", "s1", "{}")).await;
        assert_eq!(lines[0], format!("wf@1/secret@1: ValueError: {expected}"));
    }
    // A client without a secret uses PKCE, and a client that brings its own address keeps it.
    let (public, sessions) = runner(first(secret(oauth(json!({"clientSecret": null})))));
    trace(public.run("ana", "s1", "{}")).await;
    let args = asked(&sessions).await.args.unwrap();
    assert!(
        args["authConfig"]["exchangedAuthCredential"]["oauth2"]["authUri"]
            .as_str()
            .unwrap()
            .contains("code_challenge=")
    );
    let (fixed, sessions) = runner(first(secret(oauth(json!({"authUri": "https://set"})))));
    trace(fixed.run("ana", "s1", "{}")).await;
    let args = asked(&sessions).await.args.unwrap();
    assert_eq!(args["authConfig"]["exchangedAuthCredential"]["oauth2"]["authUri"], "https://set");
}

#[tokio::test]
async fn r852_consent_comes_before_the_credential_and_both_answers_last() {
    let both = tool("both", "", async |ctx: ToolContext| -> Result<Value, NodeError> {
        if ctx.tool_confirmation().is_none() {
            ctx.request_confirmation("h", None)?;
        }
        match ctx.get_auth_response(&api_key()) {
            Some(credential) => Ok(json!(credential.api_key)),
            None => ctx.request_credential(api_key()).map(|()| Value::Null),
        }
    });
    let (runner, sessions) = runner(first(both.clone()));
    trace(runner.run("ana", "s1", "{}")).await;
    let consent = "wf_tool_confirmation:wf@1/both@1";
    let lines = trace(reply(&runner, consent, json!({"confirmed": true}))).await;
    assert_eq!(lines, ["wf@1/both@1: asks wf_auth:wf@1/both@1"]);
    // R909: another process finds both answers.
    let later = Runner::builder("t").root(first(both)).sessions(sessions).build().unwrap();
    let lines = trace(later.answer("s1", "wf_auth:wf@1/both@1", "007").unwrap()).await;
    assert_eq!(lines, ["wf@1/both@1: \"007\""]);
}

#[tokio::test]
async fn r511_a_function_node_waits_for_its_credential() {
    let node = || {
        FunctionNode::new("secret", async |ctx: Context| {
            ctx.get_auth_response(&api_key()).and_then(|credential| credential.api_key)
        })
    };
    let mut wf = Workflow::builder("wf");
    let secret = wf.add(node().auth_config(api_key()));
    wf.edge(START, secret);
    let (runner, sessions) = runner(wf.build().unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    assert_eq!(asked(&sessions).await.name.as_deref(), Some("adk_request_credential"));
    assert!(!everything(&sessions).await.contains("agentsecret"));
    assert_eq!(trace(reply(&runner, AUTH, json!({"result": "K1"}))).await, ["wf@1/secret@1: \"K1\""]);

    let mut wf = Workflow::builder("wf");
    let secret = wf.add(node().auth_config(api_key()).rerun_on_resume(false));
    wf.edge(START, secret);
    let fault = wf.build().unwrap_err();
    assert_eq!((fault.rule(), fault.class()), ("auth_needs_rerun", "WorkflowConfigurationError"));
}
