//! Creating and deleting sessions.
// S30, S33

use pleach_core::{SessionId, SessionKey, Uuid};
use pleach_session::{CreateSession, GetSessionConfig, SessionError, SessionService, SessionServiceExt as _};
use serde_json::json;

use super::{created, event, ids, key, loaded, object};

/// A session without an id gets a UUID, no events, and a time.
pub async fn case_1_a_session_without_id_gets_a_uuid(service: &dyn SessionService) {
    let session = service.create_session(CreateSession::new("app", "user")).await.unwrap();
    let uuid = Uuid::parse_str(session.id().as_str()).unwrap();
    assert_eq!(uuid.to_string(), session.id().as_str());
    assert_eq!(uuid.get_version_num(), 4);
    assert!(session.events.is_empty() && session.last_update_time() > 1.7e9);
    assert_eq!(loaded(service, session.key()).await, session);
}

/// An empty or blank id is treated as absent.
pub async fn case_2_3_a_blank_id_is_replaced(service: &dyn SessionService) {
    for blank in ["", "   "] {
        let request = CreateSession::new("app", "user").with_session_id(blank);
        let session = service.create_session(request).await.unwrap();
        assert!(Uuid::parse_str(session.id().as_str()).is_ok(), "{}", session.id());
    }
}

/// The session is found under both spellings.
pub async fn case_4_5_blanks_around_an_id_are_cut_off(service: &dyn SessionService) {
    let session = created(service, &key(" pad "), json!({})).await;
    assert_eq!(session.id().as_str(), "pad");
    for spelling in [" pad ", "pad", "pad  "] {
        assert_eq!(loaded(service, &key(spelling)).await.id().as_str(), "pad");
    }
    service.delete_session(&key("\tpad")).await.unwrap();
    let gone = service.get_session(&key("pad"), GetSessionConfig::all()).await.unwrap();
    assert_eq!(gone, None);
}

/// The second create changes nothing.
pub async fn case_6_7_an_id_in_use_is_refused_and_its_state_ignored(service: &dyn SessionService) {
    let first = created(service, &key("s"), json!({"a": 1})).await;
    let request = CreateSession::new("app", "user")
        .with_session_id("s")
        .with_state(object(json!({"a": 2, "user:x": 1, "app:y": 1})));
    let error = service.create_session(request).await.unwrap_err();
    assert!(matches!(&error, SessionError::AlreadyExists(taken) if *taken == key("s")), "{error}");
    assert_eq!(error.code(), "AlreadyExistsError");
    assert_eq!(loaded(service, &key("s")).await, first);
}

/// App, user and id together identify a session.
// S1
pub async fn case_8_the_same_id_for_others_is_another_session(service: &dyn SessionService) {
    let keys =
        [("app", "user"), ("app", "other"), ("other", "user")].map(|(app, user)| SessionKey::new(app, user, "same"));
    for (number, key) in keys.iter().enumerate() {
        let mut session = created(service, key, json!({"n": number})).await;
        service.append_event(&mut session, event(&format!("e{number}"), 1.0)).await.unwrap();
    }
    for (number, key) in keys.iter().enumerate() {
        let session = loaded(service, key).await;
        assert_eq!(session.state, object(json!({"n": number})));
        assert_eq!(ids(&session), [format!("e{number}")]);
    }
}

/// Deleting a missing session succeeds. A deleted id starts empty again, and user state outlives the session.
pub async fn case_14_16_delete_and_create_again(service: &dyn SessionService) {
    service.delete_session(&key("missing")).await.unwrap();
    let mut session = created(service, &key("s"), json!({"own": 1, "user:kept": 1})).await;
    service.append_event(&mut session, event("e1", 1.0)).await.unwrap();
    service.delete_session(&key("s")).await.unwrap();
    assert_eq!(service.get_session(&key("s"), GetSessionConfig::all()).await.unwrap(), None);
    let again = created(service, &key("s"), json!({})).await;
    assert_eq!(again.state, object(json!({"user:kept": 1})));
    let mut again = loaded(service, &key("s")).await;
    assert!(again.events.is_empty());
    service.append_event(&mut again, event("e1", 2.0)).await.unwrap();
    assert_eq!(ids(&loaded(service, &key("s")).await), ["e1"]);
}

/// U+0000 is refused the same way everywhere.
// S47
pub async fn case_62_create_refuses_nul_and_names_the_field(service: &dyn SessionService) {
    let state = object(json!({"user:ok": 1, "a": {"b": ["x", "y\u{0}"]}}));
    let request = CreateSession::new("app", "user").with_session_id("s").with_state(state);
    let error = service.create_session(request).await.unwrap_err();
    assert!(matches!(&error, SessionError::Unstorable { field, .. } if field == "state.a.b[1]"), "{error}");
    let request = CreateSession::new("app", "us\u{0}er").with_session_id("s");
    let error = service.create_session(request).await.unwrap_err();
    assert!(matches!(&error, SessionError::Unstorable { field, .. } if field == "user_id"), "{error}");
    assert_eq!(service.get_session(&key("s"), GetSessionConfig::all()).await.unwrap(), None);
    assert!(service.user_state(&"app".into(), &"user".into()).await.unwrap().is_empty());
}

/// Quotes, slashes, emoji and wildcards are taken literally.
pub async fn case_66_any_text_is_an_id(service: &dyn SessionService) {
    let odd = ["a/b", "a'b", "a\"b\\", "50%_", "😀 é", "{}[]", "a\nb", "NULL", "1", "1.0"];
    for id in odd {
        let key = SessionKey::new(format!("app {id}"), format!("user {id}"), id);
        let mut session = created(service, &key, json!({id: id, "user:k": id})).await;
        let delta = event(id, 1.0).with_state(format!("app:{id}"), id);
        service.append_event(&mut session, delta).await.unwrap();
        let back = loaded(service, &key).await;
        assert_eq!(back, session);
        assert_eq!(ids(&back), [id]);
        assert_eq!(back.state[&format!("app:{id}")], id);
        let found = service.find_sessions(&key.app_name, &SessionId::from(id)).await.unwrap();
        assert_eq!(found, [key]);
    }
}
