//! The rules of state: scopes, deltas and the values that may be stored.
// R160–R163, S10–S20

use pleach_core::{Map, Scope, apply, merge_view, split_delta, take_temp};
use proptest::collection::btree_map;
use proptest::prelude::*;
use serde_json::{Value, json};

fn map(value: Value) -> Map {
    value.as_object().expect("the test gives an object").clone()
}

// S10, S11 and edge cases 24–28.
#[test]
fn prefixes_decide_the_scope() {
    for (key, expected) in [
        ("app:theme", (Scope::App, "theme")),
        ("user:name", (Scope::User, "name")),
        ("temp:x", (Scope::Temp, "x")),
        ("app:", (Scope::App, "")),
        ("user:", (Scope::User, "")),
        ("temp:", (Scope::Temp, "")),
        ("app:user:x", (Scope::App, "user:x")),
        ("app:temp:z", (Scope::App, "temp:z")),
        ("APP:x", (Scope::Session, "APP:x")),
        (" app:x", (Scope::Session, " app:x")),
        ("app", (Scope::Session, "app")),
        ("custom:k", (Scope::Session, "custom:k")),
        ("", (Scope::Session, "")),
    ] {
        assert_eq!(Scope::split(key), expected, "{key:?}");
        assert_eq!(expected.0.key(expected.1), key);
    }
}

// S12 and edge cases 20, 21: top-level values are replaced, and null is a value.
#[test]
fn applying_replaces_whole_values() {
    let mut state = map(json!({"a": {"x": 1}, "b": 1}));
    apply(&mut state, &map(json!({"a": {"y": 2}, "b": null, "c": [1]})));
    assert_eq!(Value::from(state), json!({"a": {"y": 2}, "b": null, "c": [1]}));
}

// S14
#[test]
fn temporary_keys_are_taken_out() {
    let mut delta = map(json!({"temp:t": 2, "k": 1, "app:temp:z": 3}));
    assert_eq!(take_temp(&mut delta), Some(map(json!({"temp:t": 2}))));
    assert_eq!(Value::from(delta.clone()), json!({"k": 1, "app:temp:z": 3}));
    assert_eq!(take_temp(&mut delta), None);
}

// S20: a session key that looks prefixed does not win.
#[test]
fn app_and_user_values_win_in_the_view() {
    let view = merge_view(map(json!({"a": 1, "user:n": "old"})), &map(json!({"t": 2})), &map(json!({"n": "new"})));
    assert_eq!(Value::from(view), json!({"a": 1, "app:t": 2, "user:n": "new"}));
}

fn any_key() -> impl Strategy<Value = String> {
    let prefix = prop_oneof![Just(""), Just("app:"), Just("user:"), Just("temp:"), Just("APP:"), Just("app:temp:")];
    (prefix, "[a-c]{0,2}").prop_map(|(prefix, name)| format!("{prefix}{name}"))
}

fn any_map() -> impl Strategy<Value = Map> {
    let value = prop_oneof![
        Just(Value::Null),
        any::<i8>().prop_map(Value::from),
        "[a-z]{0,3}".prop_map(Value::from),
        any::<bool>().prop_map(|flag| json!({"flag": [flag]})),
    ];
    btree_map(any_key(), value, 0..8).prop_map(|map| map.into_iter().collect())
}

proptest! {
    #[test]
    fn split_and_merge_are_inverse(mut state in any_map()) {
        let split = split_delta(state.clone());
        let view = merge_view(split.session, &split.app, &split.user);
        let temp = take_temp(&mut state).unwrap_or_default();
        prop_assert_eq!(&view, &state);
        prop_assert!(split.temp.into_iter().map(|(key, value)| (Scope::Temp.key(&key), value)).eq(temp));
    }

    #[test]
    fn temporary_keys_never_survive(mut delta in any_map()) {
        let split = split_delta(delta.clone());
        let is_temp = |key: &String| key.starts_with("temp:");
        prop_assert!(!split.session.keys().any(is_temp));
        let view = merge_view(split.session, &split.app, &split.user);
        prop_assert!(!view.keys().any(is_temp));
        take_temp(&mut delta);
        prop_assert!(!delta.keys().any(is_temp));
    }
}
