//! Operations on state keys, and events without a time.

use std::sync::Arc;

use futures_util::future::join_all;
use pleach_core::{SessionKey, StateOp};
use pleach_session::{SessionError, SessionService, SessionServiceExt as _};
use serde_json::{Value, json};

use super::{created, event, key, loaded, object};

/// Operations apply to the stored value, not to the value that the writer has loaded. The event shows the results.
pub async fn operations_apply_to_the_stored_values(service: &dyn SessionService) {
    let state = json!({"app:n": 1, "user:max": 5, "list": ["a"], "user:set": ["x"]});
    let mut ours = created(service, &key("ours"), state).await;
    let mut theirs = loaded(service, &key("ours")).await;
    let other = created(service, &key("other"), json!({})).await;
    theirs.head = other.head;
    let before =
        event("t1", 1.0).with_state("app:n", 10).with_state("user:max", 7).with_state("user:set", json!(["y"]));
    service.append_event(&mut theirs, before).await.unwrap();
    let sent = event("o1", 2.0)
        .with_state_op("app:n", StateOp::Add(2.into()))
        .with_state_op("app:n", StateOp::Add(3.into()))
        .with_state_op("app:new", StateOp::Min(4.into()))
        .with_state_op("user:max", StateOp::Max(6.into()))
        .with_state_op("user:set", StateOp::Union(vec![json!("x"), json!("y")]))
        .with_state_op("user:first", StateOp::SetIfAbsent(json!({"by": "ours"})))
        .with_state_op("list", StateOp::Push(vec![json!("b")]))
        .with_state_op("temp:t", StateOp::Add(1.into()))
        .with_state("plain", 1)
        .with_state_op("plain", StateOp::Add(1.into()));
    let stored = service.append_event(&mut ours, sent).await.unwrap();
    let results = object(json!({
        "app:n": 15, "app:new": 4, "user:max": 7, "user:set": ["y", "x"], "user:first": {"by": "ours"},
        "list": ["a", "b"], "plain": 2,
    }));
    assert_eq!(*stored.actions().state_delta(), results);
    assert!(stored.actions().state_ops().is_empty() && stored.actions().has_resolved_state_ops());
    let back = loaded(service, &key("ours")).await;
    assert_eq!(back.state, results);
    assert_eq!(back.events, [stored]);
    let mut with_temp = results;
    with_temp.insert("temp:t".to_owned(), json!(1));
    assert_eq!(ours.state, with_temp);
}

/// Operations of one writer or of several are applied in order. Null and an absent key are both treated as no value.
pub async fn operations_are_applied_in_order(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({"null": null, "user:null": null})).await;
    for round in 1..=3 {
        let sent = event(&format!("e{round}"), f64::from(round))
            .with_state_op("null", StateOp::Add(round.into()))
            .with_state_op("user:null", StateOp::Push(vec![json!(round)]))
            .with_state_op("app:once", StateOp::SetIfAbsent(json!(round)));
        service.append_event(&mut session, sent).await.unwrap();
    }
    let expected = object(json!({"null": 6, "user:null": [1, 2, 3], "app:once": 1}));
    assert_eq!(session.state, expected);
    assert_eq!(loaded(service, &key("s")).await.state, expected);
}

/// As after a lost reply: the second append succeeds, with the results of the first one.
pub async fn a_repeated_append_applies_its_operations_once(service: &dyn SessionService) {
    let session = created(service, &key("s"), json!({"app:n": 1})).await;
    let mut sent = event("e1", 1.0).with_state("k", 1).with_state_op("app:n", StateOp::Add(1.into()));
    // As the Runner sends it, with the expected result.
    sent.actions_mut().state_delta_mut().insert("app:n".to_owned(), json!(2));
    let sent = Arc::new(sent);
    let mut head = session.head.clone();
    let stored = service.append(&mut head, sent.clone()).await.unwrap();
    for mut again in [session.head.clone(), head.clone()] {
        let repeated = service.append(&mut again, sent.clone()).await.unwrap();
        assert_eq!((&repeated, &again), (&stored, &head));
        assert!(repeated.actions().has_resolved_state_ops());
    }
    let other = Arc::new(event("e1", 1.0).with_state("k", 2).with_state_op("app:n", StateOp::Add(1.into())));
    let error = service.append(&mut session.head.clone(), other).await.unwrap_err();
    assert!(matches!(error, SessionError::EventAlreadyExists { .. }), "{error}");
    let mut late = loaded(service, &key("s")).await;
    assert_eq!((&late.state["app:n"], late.events.len()), (&json!(2), 1));
    service.append_event(&mut late, event("e2", 2.0).with_state("app:n", 10)).await.unwrap();
    service.append(&mut session.head.clone(), sent).await.unwrap();
    assert_eq!(loaded(service, &key("s")).await.state["app:n"], 10);
}

/// A storage may return a large float as an integer. The same append is still recognised, and a different one still
/// differs.
pub async fn a_repeated_append_is_recognised_by_the_values_of_its_numbers(service: &dyn SessionService) {
    let sent = |time: f64, large: f64| {
        let event = event("e1", time).with_state("large", json!([large, {"n": 1e300}, -0.0]));
        event.with_state_op("app:sum", StateOp::Add(serde_json::Number::from_f64(2e16).unwrap()))
    };
    let mut timeless = event("e2", 0.0).with_state("large", 1e16);
    timeless.clear_timestamp();
    let mut session = created(service, &key("s"), json!({})).await;
    for (event, other) in [(sent(1.0, 1e16), Some(sent(1.0, 2e16))), (timeless, None)] {
        let mut head = session.head.clone();
        service.append(&mut head, Arc::new(event.clone())).await.unwrap();
        let mut again = session.head.clone();
        service.append(&mut again, Arc::new(event)).await.unwrap();
        assert_eq!(again, head);
        if let Some(other) = other {
            let error = service.append(&mut again, Arc::new(other)).await.unwrap_err();
            assert!(matches!(error, SessionError::EventAlreadyExists { .. }), "{error}");
        }
        session = loaded(service, &key("s")).await;
    }
    assert_eq!(session.state["app:sum"].as_f64(), Some(2e16));
}

/// The items that are already in a list stay unchanged.
pub async fn a_union_keeps_the_stored_items(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({"user:tags": ["a", "a", 1]})).await;
    let sent = event("e1", 1.0).with_state_op("user:tags", StateOp::Union(vec![json!("b"), json!("a"), json!("b")]));
    service.append_event(&mut session, sent).await.unwrap();
    assert_eq!(session.state["user:tags"], json!(["a", "a", 1, "b"]));
    assert_eq!(loaded(service, &key("s")).await.state, session.state);
}

/// The error names the key but shows no value. The session is unchanged and still usable.
pub async fn an_operation_that_does_not_fit_stores_nothing(service: &dyn SessionService) {
    let state = json!({"app:text": "secret", "user:full": u64::MAX, "object": {}, "float": f64::MAX});
    let mut session = created(service, &key("s"), state).await;
    let before = session.clone();
    for (name, op) in [
        ("app:text", StateOp::Add(1.into())),
        ("user:full", StateOp::Add(1.into())),
        ("object", StateOp::Push(vec![json!(1)])),
        ("float", StateOp::Add(serde_json::Number::from_f64(f64::MAX).unwrap())),
    ] {
        let sent = event("e1", 1.0).with_state("app:other", 1).with_state_op(name, op);
        let error = service.append_event(&mut session, sent).await.unwrap_err();
        assert!(matches!(&error, SessionError::StateOperation { state_key, .. } if state_key == name), "{error}");
        assert!(error.to_string().contains(name) && !error.to_string().contains("secret"), "{error}");
        assert_eq!((&session, &loaded(service, &key("s")).await), (&before, &before));
    }
    service.append_event(&mut session, event("e1", 1.0)).await.unwrap();
    // A float that some storages write as an integer remains a float.
    service.append_event(&mut session, event("e2", 2.0).with_state("app:big", 1e20)).await.unwrap();
    service
        .append_event(&mut session, event("e3", 3.0).with_state_op("app:big", StateOp::Add(1.into())))
        .await
        .unwrap();
    service
        .append_event(&mut session, event("e4", 4.0).with_state_op("app:big", StateOp::Set(json!(7))))
        .await
        .unwrap();
    assert_eq!(session.events[2].actions().state_delta()["app:big"], json!(1e20));
    assert_eq!(loaded(service, &key("s")).await.state["app:big"], 7);
}

/// The comparison of revisions applies to operations as well.
pub async fn a_stale_append_applies_no_operation(service: &dyn SessionService) {
    let mut stale = created(service, &key("s"), json!({"app:n": 1})).await;
    let mut first = stale.clone();
    service.append_event(&mut first, event("e1", 1.0)).await.unwrap();
    let sent = event("e2", 2.0).with_state_op("app:n", StateOp::Add(1.into()));
    assert!(service.append_event(&mut stale, sent.clone()).await.unwrap_err().is_stale());
    assert_eq!(loaded(service, &key("s")).await.state["app:n"], 1);
    service.append_with_reload(&mut stale, sent.clone(), 1).await.unwrap();
    assert_eq!(stale.state["app:n"], 2);
    service.delete_session(&key("s")).await.unwrap();
    let error = service.append_event(&mut stale, sent).await.unwrap_err();
    assert!(matches!(error, SessionError::NotFound(_)), "{error}");
    assert_eq!(object(json!({"n": 2})), service.app_state(&"app".into()).await.unwrap());
}

/// 64 sessions with 50 additions each to the same keys, for two users in turn, add up to 3,200.
pub async fn additions_of_many_sessions_are_all_applied(service: &dyn SessionService) {
    join_all((0..64).map(|writer| async move {
        let key = SessionKey::new("app", format!("u{}", writer % 2), format!("s{writer}"));
        let mut session = created(service, &key, json!({})).await;
        for round in 1..=50_i32 {
            let sent = event(&format!("e{round}"), f64::from(round))
                .with_state_op("app:n", StateOp::Add(1.into()))
                .with_state_op("user:n", StateOp::Add(1.into()));
            service.append_event(&mut session, sent).await.unwrap();
            assert!(session.state["app:n"].as_i64() >= Some(round.into()), "{}", session.state["app:n"]);
        }
    }))
    .await;
    assert_eq!(service.app_state(&"app".into()).await.unwrap(), object(json!({"n": 3200})));
    for user in ["u0", "u1"] {
        assert_eq!(service.user_state(&"app".into(), &user.into()).await.unwrap(), object(json!({"n": 1600})));
    }
}

/// Other writers set other keys of the same rows meanwhile, in the order that makes two rows wait for each other.
pub async fn operations_and_plain_deltas_do_not_block_each_other(service: &dyn SessionService) {
    join_all((0..16).map(|writer| async move {
        let mut session = created(service, &key(&format!("s{writer}")), json!({})).await;
        for round in 1..=20 {
            let sent = event(&format!("e{round}"), f64::from(round));
            let sent = match writer % 4 {
                0 => sent.with_state(format!("app:{writer}"), round).with_state(format!("user:{writer}"), round),
                1 => sent.with_state_op("app:n", StateOp::Add(1.into())).with_state("user:last", writer),
                2 => sent.with_state_op("user:n", StateOp::Add(1.into())).with_state("app:last", writer),
                _ => sent.with_state_op("app:list", StateOp::Push(vec![json!(writer)])),
            };
            service.append_event(&mut session, sent).await.unwrap();
        }
    }))
    .await;
    let (app, user) = ("app".into(), "user".into());
    let (app, user) = (service.app_state(&app).await.unwrap(), service.user_state(&app, &user).await.unwrap());
    assert_eq!((&app["n"], &user["n"], &app["0"], &user["12"]), (&json!(80), &json!(80), &json!(20), &json!(20)));
    assert_eq!(app["list"].as_array().map(Vec::len), Some(80));
}

/// App and user state can be read without loading a session, even after the session was deleted.
pub async fn app_and_user_state_are_read_without_a_session(service: &dyn SessionService) {
    let (app, user) = ("app".into(), "user".into());
    assert!(service.app_state(&app).await.unwrap().is_empty());
    created(service, &key("s"), json!({"app:a": 1, "app:b": null, "user:u": 2, "own": 3})).await;
    created(service, &SessionKey::new("other", "user", "s"), json!({"app:a": "other"})).await;
    assert_eq!(service.app_state(&app).await.unwrap(), object(json!({"a": 1, "b": null})));
    assert_eq!(service.user_state(&app, &user).await.unwrap(), object(json!({"u": 2})));
    service.delete_session(&key("s")).await.unwrap();
    assert_eq!(service.app_state(&app).await.unwrap(), object(json!({"a": 1, "b": null})));
    assert!(service.app_state(&"nobody\0".into()).await.unwrap().is_empty());
}

/// The time is not 1970, and is later than the stored events. The same event again is recognised.
pub async fn an_event_without_a_time_gets_one(service: &dyn SessionService) {
    let far = 4_000_000_000.0 - super::CREATED;
    for (id, before) in [("now", 1.0), ("far", far)] {
        let mut session = created(service, &key(id), json!({})).await;
        service.append_event(&mut session, event("e1", before)).await.unwrap();
        let head = session.head.clone();
        let last = session.last_update_time();
        let mut timeless = event("e2", 0.0).with_state("k", Value::Null);
        timeless.clear_timestamp();
        let stored = service.append_event(&mut session, timeless.clone()).await.unwrap();
        assert!(stored.timestamp() > last, "{} after {last}", stored.timestamp());
        let back = loaded(service, &key(id)).await;
        assert_eq!((&back.events[1], back.last_update_time()), (&stored, stored.timestamp()));
        assert_eq!(service.append(&mut head.clone(), Arc::new(timeless)).await.unwrap(), stored);
        assert_eq!(loaded(service, &key(id)).await, back);
    }
}

/// For times so far in the future an `f64` does not distinguish every microsecond, and no two events may share a time.
pub async fn events_after_a_far_time_keep_their_order(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({})).await;
    service.append_event(&mut session, event("far", 9e10 - super::CREATED)).await.unwrap();
    for number in (0..20).rev() {
        let mut timeless = event(&format!("e{number:02}"), 0.0);
        timeless.clear_timestamp();
        let before = session.revision();
        service.append_event(&mut session, timeless).await.unwrap();
        assert!(session.revision() > before);
        service.claim(&mut session.head, super::CREATED).await.unwrap();
    }
    let back = loaded(service, &key("s")).await;
    assert_eq!((super::ids(&back), &back.head), (super::ids(&session), &session.head));
    assert_eq!(back.events, session.events);
}
