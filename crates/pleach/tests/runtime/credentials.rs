//! Storing and loading credentials.
// S85

use std::sync::{Arc, Mutex};

use pleach::prelude::*;
use pleach::{AuthConfig, AuthCredential, AuthDocument, CredentialService};
use pleach::{InMemoryCredentialService, InMemorySessionService, SessionKey, SessionStateCredentialService};
use serde_json::{Value, json};

/// A config of an OAuth2 client with a secret, without a key of its own.
fn config(exchanged: Value) -> AuthConfig {
    AuthConfig::new(json!({
        "authScheme": {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "https://t"}}},
        "rawAuthCredential": {"authType": "oauth2", "oauth2": {"clientId": "c", "clientSecret": "hush"}},
        "exchangedAuthCredential": exchanged,
    }))
}

fn token(token: &str) -> Value {
    json!({"authType": "oauth2", "oauth2": {"clientId": "c", "clientSecret": "hush", "accessToken": token}})
}

fn credential(oauth2: Value) -> AuthCredential {
    AuthCredential { oauth2: Some(AuthDocument::new(oauth2)), ..AuthCredential::of("oauth2") }
}

fn loaded(access_token: &str) -> Option<AuthCredential> {
    Some(credential(json!({"client_id": "c", "client_secret": "hush", "access_token": access_token})))
}

/// An action of a run on its credential service.
#[derive(Clone)]
enum Call {
    Save(AuthConfig),
    Load(AuthConfig),
    Set(&'static str, Value),
    /// Reads the credential that the client has sent, as if it were loaded.
    Response(AuthConfig),
}

use Call::{Load, Response, Save, Set};

/// Sessions and credentials that outlive a run.
struct Host<C> {
    credentials: Arc<C>,
    sessions: Arc<InMemorySessionService>,
}

type Loads = Vec<Option<AuthCredential>>;

impl<C: CredentialService> Host<C> {
    fn new(credentials: C) -> Self {
        Self { credentials: Arc::new(credentials), sessions: Arc::new(InMemorySessionService::new()) }
    }

    /// Plays the steps in one run and returns the loaded credentials.
    async fn play(&self, user: &str, session: &str, steps: Vec<Call>) -> std::result::Result<Loads, RunError> {
        let loads = Arc::new(Mutex::new(Loads::new()));
        let seen = Arc::clone(&loads);
        let node = move |ctx: Context| {
            let (steps, seen) = (steps.clone(), Arc::clone(&seen));
            async move {
                for step in steps {
                    match step {
                        Save(config) => ctx.save_credential(&config).await?,
                        Load(config) => {
                            let loaded = ctx.load_credential(&config).await?;
                            seen.lock().unwrap().push(loaded);
                        }
                        Response(config) => seen.lock().unwrap().push(ctx.get_auth_response(&config)),
                        Set(key, value) => ctx.state().set(key, value)?,
                    }
                }
                Ok::<_, NodeError>(())
            }
        };
        let mut workflow = Workflow::builder("w");
        let node = workflow.node("n", node);
        workflow.edge(START, node);
        let runner = Runner::builder("t").root(workflow.build().unwrap()).sessions(Arc::clone(&self.sessions));
        let runner = runner.credentials(Arc::clone(&self.credentials)).build().unwrap();
        let mut run = runner.run(user, session, "go");
        while let Some(event) = run.next().await {
            event?;
        }
        let loads = loads.lock().unwrap().clone();
        Ok(loads)
    }

    /// The stored state of ana's first session.
    async fn state(&self) -> Value {
        let key = SessionKey::new("t", "ana", "s1");
        let session = self.sessions.get_session(&key, Default::default()).await.unwrap().unwrap();
        json!(session.state)
    }
}

#[tokio::test]
async fn s85_in_memory_credentials_belong_to_the_user_of_the_app() {
    let host = Host::new(InMemoryCredentialService::new());
    let loads = host.play("ana", "s1", vec![Load(config(Value::Null)), Save(config(token("a")))]).await.unwrap();
    assert_eq!(loads, [None]);
    let load = vec![Load(config(Value::Null))];
    assert_eq!(host.play("ana", "s2", load.clone()).await.unwrap(), [loaded("a")]);
    assert_eq!(host.play("bob", "s1", load).await.unwrap(), [None]);
    assert_eq!(host.state().await, json!({}));
}

#[tokio::test]
async fn s85_configs_without_a_key_do_not_share_one() {
    let host = Host::new(InMemoryCredentialService::new());
    let key = |name: &str, exchanged: Value| {
        let scheme = json!({"type": "apiKey", "in": "header", "name": name});
        AuthConfig::new(json!({"authScheme": scheme, "exchangedAuthCredential": exchanged}))
    };
    let saved = json!({"authType": "apiKey", "apiKey": "one"});
    let steps = vec![Save(key("A", saved)), Load(key("A", Value::Null)), Load(key("B", Value::Null))];
    let loads = host.play("ana", "s1", steps).await.unwrap();
    assert_eq!(loads, [Some(AuthCredential::api_key("one")), None]);
}

#[tokio::test]
async fn s85_saving_nothing_forgets_a_credential() {
    let steps = vec![Save(config(token("a"))), Save(config(Value::Null)), Load(config(Value::Null))];
    let host = Host::new(InMemoryCredentialService::new());
    assert_eq!(host.play("ana", "s1", steps.clone()).await.unwrap(), [None]);
    let host = Host::new(SessionStateCredentialService);
    assert_eq!(host.play("ana", "s1", steps).await.unwrap(), [None]);
}

#[tokio::test]
async fn s85_the_session_keeps_a_credential_without_the_clients_secret() {
    let host = Host::new(SessionStateCredentialService);
    let steps = vec![Save(config(token("a"))), Load(config(Value::Null))];
    assert_eq!(host.play("ana", "s1", steps).await.unwrap(), [loaded("a")]);
    let key = "adk_oauth2_5a125766a52fdff6_oauth2_48f4a01b9d909876";
    let kept = json!({"auth_type": "oauth2", "oauth2": {"client_id": "c", "access_token": "a"}});
    assert_eq!(host.state().await, json!({ key: kept }));

    // A later run of the session finds the credential, another session does not.
    let load = vec![Load(config(Value::Null))];
    assert_eq!(host.play("ana", "s1", load.clone()).await.unwrap(), [loaded("a")]);
    assert_eq!(host.play("ana", "s2", load).await.unwrap(), [None]);
}

#[tokio::test]
async fn s85_the_secret_belongs_to_its_config_alone() {
    let host = Host::new(SessionStateCredentialService);
    let kept = json!({"auth_type": "oauth2", "oauth2": {"client_secret": "planted", "access_token": "a"}});
    let public = |raw: Value| {
        let scheme = json!({"type": "oauth2", "flows": {}});
        Load(AuthConfig::new(json!({"authScheme": scheme, "rawAuthCredential": raw, "credentialKey": "k"})))
    };
    let steps = vec![
        Set("k", kept),
        public(json!({"authType": "oauth2", "oauth2": {"clientId": "c"}})),
        public(json!({"authType": "oauth2"})),
        Set("k", json!({"authType": "apiKey", "apiKey": "x"})),
        public(json!({"authType": "oauth2", "oauth2": {"clientSecret": "hush"}})),
    ];
    let loads = host.play("ana", "s1", steps).await.unwrap();
    let planted = json!({"client_secret": "planted", "access_token": "a"});
    let expected =
        [Some(credential(json!({"access_token": "a"}))), Some(credential(planted)), Some(AuthCredential::api_key("x"))];
    assert_eq!(loads, expected);
}

#[tokio::test]
async fn s85_an_invalid_credential_is_ignored_or_refused() {
    let host = Host::new(SessionStateCredentialService);
    let load = || {
        let scheme = json!({"type": "apiKey", "in": "header", "name": "A"});
        Load(AuthConfig::new(json!({"authScheme": scheme, "credentialKey": "k"})))
    };
    let steps = vec![Set("k", json!("a token")), load(), Set("k", json!({"other": 1})), load()];
    assert_eq!(host.play("ana", "s1", steps).await.unwrap(), [None, None]);
    let error = host.play("ana", "s1", vec![Save(config(json!({"oauth2": "hush"})))]).await.unwrap_err();
    assert_eq!(error.code(), "ValidationError");
    assert!(!error.to_string().contains("hush"), "{error}");
}

#[tokio::test]
async fn s85_headers_keep_their_names() {
    let host = Host::new(SessionStateCredentialService);
    let http = json!({"scheme": "x", "credentials": {"token": "t"}, "additionalHeaders": {"someKey": "1"}});
    let exchanged = json!({"authType": "http", "http": http});
    let loads = host.play("ana", "s1", vec![Save(config(exchanged)), Load(config(Value::Null))]).await.unwrap();
    let loaded = loads[0].clone().unwrap().http.unwrap();
    let expected = json!({"scheme": "x", "credentials": {"token": "t"}, "additional_headers": {"someKey": "1"}});
    assert_eq!(loaded.as_value(), &expected);
}

#[tokio::test]
async fn s85_a_clients_response_gets_the_configs_oauth_client() {
    let host = Host::new(SessionStateCredentialService);
    let response = || {
        let mut config = config(Value::Null).into_value();
        config["credential_key"] = json!("k");
        Response(AuthConfig::new(config))
    };
    let sent = |token: &str| {
        let oauth2 = json!({"client_id": "other", "client_secret": "planted", "access_token": token});
        json!({"auth_type": "oauth2", "oauth2": oauth2})
    };
    let steps = vec![response(), Set("k", sent("kept")), response(), Set("temp:k", sent("new")), response()];
    assert_eq!(host.play("ana", "s1", steps).await.unwrap(), [None, loaded("kept"), loaded("new")]);
}
