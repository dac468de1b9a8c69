//! State and its scopes.
// S10–S21

use pleach_core::SessionKey;
use pleach_session::{CreateSession, SessionError, SessionService, SessionServiceExt as _};
use serde_json::{Value, json};

use super::{created, event, key, loaded, object};

/// `temp:` keys are in the object, but neither in the event nor in the store.
// S14
pub async fn case_18_temp_keys_reach_the_object_and_not_the_store(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({})).await;
    let delta = event("e1", 1.0).with_state("temp:t", 2).with_state("k", 1);
    let stored = service.append_event(&mut session, delta).await.unwrap();
    assert_eq!(session.state, object(json!({"temp:t": 2, "k": 1})));
    assert_eq!(*stored.actions().state_delta(), object(json!({"k": 1})));
    assert_eq!(session.events, std::slice::from_ref(&stored));
    let back = loaded(service, &key("s")).await;
    assert_eq!(back.state, object(json!({"k": 1})));
    assert_eq!(back.events, [stored]);
    let only_temp = event("e2", 2.0).with_state("temp:t", 3);
    service.append_event(&mut session, only_temp).await.unwrap();
    assert_eq!(session.state, object(json!({"temp:t": 3, "k": 1})));
    assert!(loaded(service, &key("s")).await.events[1].actions().state_delta().is_empty());
}

/// Initial `temp:` keys are neither stored nor returned.
// S13
pub async fn case_19_26_temp_keys_of_a_new_session_are_dropped(service: &dyn SessionService) {
    let session = created(service, &key("s"), json!({"temp:t": 1, "temp:": 2, "a": 1})).await;
    assert_eq!(session.state, object(json!({"a": 1})));
    assert_eq!(loaded(service, &key("s")).await, session);
}

/// A delta replaces values at the top level; null is a value.
// S12
pub async fn case_20_21_a_delta_replaces_whole_values_and_keeps_null(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({"a": {"x": 1}, "list": [1, 2], "b": 1})).await;
    let delta = json!({"a": {"y": 2}, "list": [3], "b": null, "user:b": null});
    let event = event("e1", 1.0).with_state_map(object(delta.clone()));
    service.append_event(&mut session, event).await.unwrap();
    assert_eq!(session.state, object(delta));
    assert_eq!(loaded(service, &key("s")).await.state, session.state);
}

/// A later append does not save a change that was made only to the object.
// S5
pub async fn case_22_only_a_delta_changes_the_stored_state(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({})).await;
    session.state.insert("d".to_owned(), json!(1));
    service.append_event(&mut session, event("e1", 1.0)).await.unwrap();
    assert!(loaded(service, &key("s")).await.state.is_empty());
}

/// A scope's prefix is exact, and only one prefix is removed.
// S10, S11
pub async fn case_24_25_27_28_scopes_go_by_prefix(service: &dyn SessionService) {
    let delta = json!({
        "": 1, "app:": 2, "user:": 3, "APP:x": 4, " app:x": 5, "app": 6, "custom:k": 7,
        "app:user:x": 8, "app:temp:z": 9, "user:a": 10, "a": 11,
    });
    let mut session = created(service, &key("s"), json!({})).await;
    let event = event("e1", 1.0).with_state_map(object(delta.clone()));
    service.append_event(&mut session, event).await.unwrap();
    assert_eq!(loaded(service, &key("s")).await.state, object(delta));
    let other_user = created(service, &SessionKey::new("app", "other", "s"), json!({})).await;
    assert_eq!(other_user.state, object(json!({"app:": 2, "app:user:x": 8, "app:temp:z": 9})));
    let user_state = service.user_state(&"app".into(), &"user".into()).await.unwrap();
    assert_eq!(user_state, object(json!({"": 3, "a": 10})));
}

/// The same holds next to keys that are later merged over them.
pub async fn case_57_integers_of_64_bits_are_exact(service: &dyn SessionService) {
    let numbers = json!({
        "max": i64::MAX, "min": i64::MIN, "unsigned": u64::MAX, "big\"key": 1_i64 << 62,
        "float": 1.0, "small": 1e-7, "huge": f64::MAX, "third": 0.1 + 0.2,
    });
    let mut session = created(service, &key("s"), numbers.clone()).await;
    service.append_event(&mut session, event("e1", 1.0).with_state("k", 1)).await.unwrap();
    let mut expected = object(numbers);
    expected.insert("k".to_owned(), json!(1));
    assert_eq!(loaded(service, &key("s")).await.state, expected);
}

/// There are seventy levels: 35 objects with an array each.
pub async fn case_112_deep_state_survives(service: &dyn SessionService) {
    let deep = (0..35).fold(json!("core"), |inner, _| json!({ "in": [inner] }));
    let session = created(service, &key("s"), json!({"deep": deep})).await;
    assert_eq!(loaded(service, &key("s")).await.state, session.state);
}

/// A value nested too deep to be parsed again is refused at once, and the error names it.
// S47
pub async fn s47_state_nested_too_deep_is_refused_by_name(service: &dyn SessionService) {
    let nested = |levels| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    let mut session = created(service, &key("s"), json!({})).await;
    let before = session.clone();
    let error = service.append_event(&mut session, event("e1", 1.0).with_state("deep", nested(200))).await.unwrap_err();
    let named = "actions.state_delta.deep";
    assert!(matches!(&error, SessionError::Unstorable { field, .. } if field == named), "{error}");
    let state = object(json!({"app:ok": 1, "deep": nested(200)}));
    let request = CreateSession::new("app", "user").with_session_id("t").with_state(state);
    let error = service.create_session(request).await.unwrap_err();
    assert!(matches!(&error, SessionError::Unstorable { field, .. } if field.starts_with("state.deep")), "{error}");
    assert_eq!((&session, &loaded(service, &key("s")).await), (&before, &before));
    service.append_event(&mut session, event("e1", 1.0).with_state("deep", nested(120))).await.unwrap();
    assert_eq!(loaded(service, &key("s")).await, session);
}

/// App and user state outlive sessions, and a loaded session does not see later changes.
pub async fn s21_app_and_user_state_are_shared_and_stay(service: &dyn SessionService) {
    let mut first = created(service, &key("one"), json!({"app:a": 1, "user:u": 1})).await;
    let second = created(service, &key("two"), json!({"user:v": 1})).await;
    assert_eq!(second.state, object(json!({"app:a": 1, "user:u": 1, "user:v": 1})));
    let delta = event("e1", 1.0).with_state("app:a", 2).with_state("user:w", Value::Null);
    service.append_event(&mut first, delta).await.unwrap();
    // Changes of others are not in the object: S21.
    assert_eq!(first.state, object(json!({"app:a": 2, "user:u": 1, "user:w": null})));
    service.delete_session(&key("one")).await.unwrap();
    let expected = object(json!({"app:a": 2, "user:u": 1, "user:v": 1, "user:w": null}));
    assert_eq!(loaded(service, &key("two")).await.state, expected);
}
