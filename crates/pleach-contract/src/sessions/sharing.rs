//! Several services on one store, as in several processes.
// S35, S66

use futures_util::future::join_all;
use pleach_core::SessionKey;
use pleach_session::{SessionService, SessionServiceExt as _};
use serde_json::json;

use super::{created, event, ids, key, loaded};

/// Revisions are compared in the store, not in the service.
pub async fn s35_a_writer_in_another_service_is_noticed<S: SessionService>(services: &[S]) {
    let (ours, theirs) = (&services[0], &services[1]);
    let mut mine = created(ours, &key("s"), json!({})).await;
    let mut foreign = loaded(theirs, &key("s")).await;
    theirs.append_event(&mut foreign, event("e1", 0.0)).await.unwrap();
    assert!(ours.append_event(&mut mine, event("e2", 1.0)).await.unwrap_err().is_stale());
    mine = loaded(ours, &key("s")).await;
    ours.append_event(&mut mine, event("e2", 1.0)).await.unwrap();
    assert_eq!(ids(&loaded(theirs, &key("s")).await), ["e1", "e2"]);
}

/// Services write their own keys to app and user state, in new sessions and in events, and none is lost.
pub async fn s66_6_7_services_write_shared_state_at_once_and_lose_nothing<S: SessionService>(services: &[S]) {
    assert!(services.len() > 1, "the rule is about several services");

    join_all(services.iter().enumerate().flat_map(|(owner, service)| {
        (0..4).map(move |writer| async move {
            let key = SessionKey::new("app", format!("u{writer}"), format!("s{owner}"));
            let own = format!("{owner}-{writer}");
            let mut session = created(service, &key, json!({ format!("app:made-{own}"): 1 })).await;
            for number in 0..20 {
                let event = event(&format!("e{number}"), f64::from(number))
                    .with_state(format!("app:{own}"), number)
                    .with_state(format!("user:{own}"), number);
                service.append_event(&mut session, event).await.unwrap();
            }
        })
    }))
    .await;
    let state = loaded(&services[0], &SessionKey::new("app", "u0", "s0")).await.state;
    assert_eq!(state.len(), services.len() * (4 + 4 + 1));
    assert!(state.iter().all(|(key, value)| *value == if key.contains("made") { 1 } else { 19 }), "{state:?}");
}
