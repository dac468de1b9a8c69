//! Rules for google-adk's *v1* layout (`DatabaseSessionService`), which keeps ids verbatim and times in microseconds.

use pleach_core::{micros, seconds};
use pleach_session::{CreateSession, GetSessionConfig, SessionError, SessionService, SessionServiceExt as _};
use serde_json::json;

use super::{CREATED, created, event, ids, key, loaded};

/// Every spelling of an id, blank, padded or plain, is a separate session.
// S30
pub async fn v1_case_2_3_4_5_an_id_is_kept_as_it_is(service: &dyn SessionService) {
    let spellings = ["", "   ", " pad ", "pad"];
    for id in spellings {
        let session = created(service, &key(id), json!({"id": id})).await;
        assert_eq!(session.id().as_str(), id);
        let request = CreateSession::new("app", "user").with_session_id(id);
        let error = service.create_session(request).await.unwrap_err();
        assert!(matches!(error, SessionError::AlreadyExists(_)), "{error}");
    }
    for id in spellings {
        assert_eq!(loaded(service, &key(id)).await.state["id"], id);
    }
    service.delete_session(&key(" pad")).await.unwrap();
    assert!(service.get_session(&key(" pad "), GetSessionConfig::all()).await.unwrap().is_some());
}

/// A filter 0.4 µs later than an event still finds it.
pub async fn v1_case_45_the_time_of_a_filter_is_rounded(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({})).await;
    service.append_event(&mut session, event("e1", 4.0)).await.unwrap();
    for (after, expected) in [(4.000_000_4, 1), (4.000_001, 0)] {
        let config = GetSessionConfig::after(CREATED + after);
        let found = service.get_session(&key("s"), config).await.unwrap().unwrap();
        assert_eq!(found.events.len(), expected, "{after}");
    }
}

/// The order of the appends does not matter; the newest events are the last ones by time and id.
// S48
pub async fn v1_case_46_47_events_are_in_order_of_time_and_id(service: &dyn SessionService) {
    let mut session = created(service, &key("s"), json!({})).await;
    for (id, time) in [("c", 3.0), ("b", 1.0), ("e", 2.0), ("d", 2.0), ("a", 1.0)] {
        service.append_event(&mut session, event(id, time)).await.unwrap();
    }
    let back = loaded(service, &key("s")).await;
    assert_eq!(ids(&back), ["a", "b", "d", "e", "c"]);
    assert_eq!(back.last_update_time(), CREATED + 1.0);
    let newest = service.get_session(&key("s"), GetSessionConfig::recent(3)).await.unwrap().unwrap();
    assert_eq!(ids(&newest), ["d", "e", "c"]);
}

/// The event's own time is exact. The session's time is rounded as in Python. Only years 1 to 9999 are allowed.
// S49
pub async fn v1_case_49_50_51_54_times_are_whole_microseconds(service: &dyn SessionService) {
    let times = [1_760_000_000.123_456_7, 1_760_000_000.999_999_6, -1.5, 0.0, 7_258_118_400.0, -62_135_596_800.0];
    for (number, time) in times.into_iter().enumerate() {
        let key = key(&format!("s{number}"));
        let mut session = created(service, &key, json!({})).await;
        let mut event = event("e1", 0.0);
        event.set_timestamp(time);
        service.append_event(&mut session, event).await.unwrap();
        let back = loaded(service, &key).await;
        assert_eq!((back.events[0].timestamp(), back.last_update_time()), (time, seconds(micros(time))));
        assert_eq!(back, session);
    }
    for time in [f64::NAN, f64::INFINITY, 1e12, -1e12] {
        let mut session = loaded(service, &key("s0")).await;
        let mut event = event("e2", 0.0);
        event.set_timestamp(time);
        let error = service.append_event(&mut session, event).await.unwrap_err();
        assert!(matches!(&error, SessionError::Unstorable { field, .. } if field == "timestamp"), "{error}");
    }
}
