//! Loading and listing.
// S31, S32

use std::sync::Arc;

use pleach_core::{Session, SessionId, SessionKey};
use pleach_session::{GetSessionConfig, ListSessions, ListSessionsResponse, SessionService, SessionServiceExt as _};
use serde_json::json;

use super::{CREATED, created, event, ids, key, loaded, object};

/// Changing a returned session does not change the stored one.
pub async fn s4_s5_a_returned_session_is_an_independent_copy(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({"list": [1]})).await;
    assert!(session.events.is_empty());
    service.append_event(&mut session, event("e1", 1.0)).await.unwrap();
    let mut copy = loaded(service, &key("s")).await;
    assert_eq!(copy, session);
    copy.state["list"] = json!("spoiled");
    Arc::make_mut(&mut copy.events[0]).set_author("spoiled");
    copy.events.clear();
    assert_eq!(loaded(service, &key("s")).await, session);
}

/// Missing sessions and states are returned as empty.
pub async fn case_11_12_15_missing_things_are_not_errors(service: &dyn SessionService) {
    created(service, &key("s"), json!({})).await;
    for key in [
        SessionKey::new("none", "user", "s"),
        SessionKey::new("app", "none", "s"),
        SessionKey::new("app", "user", "none"),
    ] {
        assert_eq!(service.get_session(&key, GetSessionConfig::all()).await.unwrap(), None);
    }
    for request in [ListSessions::new("none"), ListSessions::new("app").with_user("none")] {
        let answer = service.list_sessions(request).await.unwrap();
        assert!(answer.sessions.is_empty() && answer.next.is_none());
    }
    assert!(service.user_state(&"app".into(), &"none".into()).await.unwrap().is_empty());
    assert!(service.find_sessions(&"app".into(), &"none".into()).await.unwrap().is_empty());
}

/// The empty user id does not mean "all users".
pub async fn case_13_the_empty_user_is_a_user(service: &dyn SessionService) {
    created(service, &key("s"), json!({})).await;
    let nobody = SessionKey::new("app", "", "s");
    created(service, &nobody, json!({})).await;
    let request = ListSessions::new("app").with_user("");
    let listed = service.list_sessions(request).await.unwrap().sessions;
    assert_eq!(listed.iter().map(Session::key).collect::<Vec<_>>(), [&nobody]);
    assert_eq!(service.list_sessions(ListSessions::new("app")).await.unwrap().sessions.len(), 2);
}

async fn five_events(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({"own": 1, "app:a": 1, "user:u": 1})).await;
    for number in 1..=5 {
        let event = event(&format!("e{number}"), f64::from(number));
        service.append_event(&mut session, event).await.unwrap();
    }
}

async fn wanted(service: &dyn SessionService, config: GetSessionConfig) -> Vec<String> {
    let session = service.get_session(&key("s"), config).await.unwrap().unwrap();
    assert_eq!(session.state, object(json!({"own": 1, "app:a": 1, "user:u": 1})));
    assert_eq!(session.last_update_time(), CREATED + 5.0);
    ids(&session)
}

/// Covers `num_recent_events`. The state is always complete.
pub async fn case_39_the_newest_events(service: &dyn SessionService) {
    five_events(service).await;
    assert!(wanted(service, GetSessionConfig::recent(0)).await.is_empty());
    assert_eq!(wanted(service, GetSessionConfig::recent(2)).await, ["e4", "e5"]);
    for all in [GetSessionConfig::recent(99), GetSessionConfig::recent(usize::MAX), GetSessionConfig::all()] {
        assert_eq!(wanted(service, all).await, ["e1", "e2", "e3", "e4", "e5"]);
    }
}

/// `after_timestamp` is inclusive.
pub async fn case_41_42_43_44_events_after_a_time(service: &dyn SessionService) {
    five_events(service).await;
    let after = |seconds| GetSessionConfig::after(CREATED + seconds);
    assert_eq!(wanted(service, after(4.0)).await, ["e4", "e5"]);
    assert_eq!(wanted(service, after(4.5)).await, ["e5"]);
    assert!(wanted(service, after(100.0)).await.is_empty());
    for early in [0.0, -1.0] {
        assert_eq!(wanted(service, GetSessionConfig::after(early)).await.len(), 5);
    }
    assert_eq!(wanted(service, after(1.5).with_recent(2)).await, ["e4", "e5"]);
    assert_eq!(wanted(service, after(4.5).with_recent(3)).await, ["e5"]);
}

/// The order is by update time, then user, then id. The state is merged, and there are no events.
pub async fn case_48_sessions_are_listed_oldest_activity_first(service: &dyn SessionService) {
    for (user, id) in [("u2", "a"), ("u1", "b"), ("u1", "a")] {
        created(service, &SessionKey::new("app", user, id), json!({"user:name": user, "app:x": 1})).await;
    }
    let mut first = loaded(service, &SessionKey::new("app", "u1", "a")).await;
    service.append_event(&mut first, event("e", 5.0).with_state("own", 1)).await.unwrap();
    let listed = service.list_sessions(ListSessions::new("app")).await.unwrap();
    let order: Vec<_> = listed.sessions.iter().map(|session| session.key().to_string()).collect();
    assert_eq!(order, ["app/u1/b", "app/u2/a", "app/u1/a"]);
    assert!(listed.sessions.iter().all(|session| session.events.is_empty()));
    assert_eq!(listed.sessions[1].state, object(json!({"user:name": "u2", "app:x": 1})));
    assert_eq!(listed.sessions[2].state, object(json!({"user:name": "u1", "app:x": 1, "own": 1})));
    assert_eq!(listed.sessions[2].revision(), first.revision());
    assert_eq!(listed.sessions[2].last_update_time(), CREATED + 5.0);
    let request = ListSessions::new("app").with_user("u2");
    assert_eq!(service.list_sessions(request).await.unwrap().sessions.len(), 1);
    let without = service.list_sessions(ListSessions::new("app").without_state()).await.unwrap();
    assert!(without.sessions.iter().all(|session| session.state.is_empty()));
    let heads = |listed: &ListSessionsResponse| -> Vec<_> {
        let head = |session: &Session| (session.key().clone(), session.revision(), session.last_update_time());
        listed.sessions.iter().map(head).collect()
    };
    assert_eq!(heads(&without), heads(&listed));
}

/// Pages add up to the whole list.
pub async fn s32_a_listing_can_be_paged(service: &dyn SessionService) {
    for number in 0..7 {
        created(service, &SessionKey::new("app", format!("u{}", number % 2), format!("s{number}")), json!({})).await;
    }
    let whole = service.list_sessions(ListSessions::new("app")).await.unwrap();
    assert_eq!((whole.sessions.len(), whole.next), (7, None));
    let mut paged = Vec::new();
    let mut request = ListSessions::new("app").with_limit(3);
    loop {
        let page = service.list_sessions(request.clone()).await.unwrap();
        assert!(page.sessions.len() <= 3);
        paged.extend(page.sessions);
        let Some(next) = page.next else { break };
        request = request.with_after(next);
    }
    assert_eq!(paged, whole.sessions);
}

/// There are more events than a single read or write can carry.
pub async fn case_111_a_long_history_comes_back_in_order(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({})).await;
    for number in 0..600_u32 {
        let event = event(&format!("e{number:03}"), 1.0 + f64::from(number)).with_state("n", number);
        service.append_event(&mut session, event).await.unwrap();
    }
    let back = loaded(service, &key("s")).await;
    assert_eq!(back, session);
    let config = GetSessionConfig::recent(300);
    let recent = service.get_session(&key("s"), config).await.unwrap().unwrap();
    assert_eq!(recent.events, session.events[300..]);
    let config = GetSessionConfig::after(CREATED + 51.0).with_recent(500);
    let recent = service.get_session(&key("s"), config).await.unwrap().unwrap();
    assert_eq!(recent.events, session.events[100..]);
}

/// Several users have a session with the same id.
pub async fn find_sessions_names_every_user_with_that_id(service: &dyn SessionService) {
    for (app, user, id) in [("app", "u2", "s"), ("app", "u1", "s"), ("app", "u1", "t"), ("other", "u1", "s")] {
        created(service, &SessionKey::new(app, user, id), json!({})).await;
    }
    let found = service.find_sessions(&"app".into(), &SessionId::from("s")).await.unwrap();
    assert_eq!(found, ["u1", "u2"].map(|user| SessionKey::new("app", user, "s")));
}

/// An app whose sessions were all deleted is left out, although its state stays.
pub async fn apps_with_sessions_are_listed_in_order(service: &dyn SessionService) {
    assert!(service.list_apps().await.unwrap().is_empty());
    for (app, id) in [("shop", "s"), ("Shop", "s"), ("é", "s"), ("shop", "t"), ("gone", "s")] {
        created(service, &SessionKey::new(app, "u", id), json!({"app:k": 1})).await;
    }
    service.delete_session(&SessionKey::new("gone", "u", "s")).await.unwrap();
    assert_eq!(service.list_apps().await.unwrap(), ["Shop", "shop", "é"]);
}
