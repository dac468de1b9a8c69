//! The session contract, without and with the strict wrapper, and rules of the in-memory service only.

mod memory {
    use pleach_session_inmemory::InMemorySessionService;

    async fn open() -> (InMemorySessionService, ()) {
        (InMemorySessionService::new(), ())
    }

    pleach_contract::session_contract!(open());
}

mod strict {
    use pleach_contract::StrictSessionService;
    use pleach_session_inmemory::InMemorySessionService;

    async fn open() -> (StrictSessionService<InMemorySessionService>, ()) {
        (StrictSessionService::new(InMemorySessionService::new()), ())
    }

    pleach_contract::session_contract!(open());
}

mod memory_only {
    use std::sync::Arc;

    use pleach_contract::sessions::{CREATED, created, event, ids, loaded};
    use pleach_core::SessionKey;
    use pleach_session::{GetSessionConfig, SessionError, SessionService as _, SessionServiceExt as _};
    use pleach_session_inmemory::InMemorySessionService;
    use serde_json::json;

    fn key() -> SessionKey {
        SessionKey::new("app", "user", "s")
    }

    #[tokio::test]
    async fn case_46_events_keep_their_append_order_whatever_their_times() {
        let service = InMemorySessionService::new();
        let mut session = created(&service, &key(), json!({})).await;
        for (id, time) in [("third", 3.0), ("first", 1.0), ("second", 2.0)] {
            service.append_event(&mut session, event(id, time)).await.unwrap();
        }
        let back = loaded(&service, &key()).await;
        assert_eq!(ids(&back), ["third", "first", "second"]);
        assert_eq!(back.last_update_time(), CREATED + 2.0);
        // The search from the end stops at the first event that is too old (S31).
        let config = GetSessionConfig::after(CREATED + 2.0);
        let cut = service.get_session(&key(), config).await.unwrap().unwrap();
        assert_eq!(ids(&cut), ["second"]);
    }

    #[tokio::test]
    async fn a_load_shares_the_events() {
        let service = InMemorySessionService::new();
        let mut session = created(&service, &key(), json!({})).await;
        let stored = service.append_event(&mut session, event("e1", 1.0)).await.unwrap();
        assert!(Arc::ptr_eq(&stored, &loaded(&service, &key()).await.events[0]));
    }

    #[tokio::test]
    async fn a_head_of_another_service_is_not_one_of_ours() {
        let (ours, theirs) = (InMemorySessionService::new(), InMemorySessionService::new());
        let mut foreign = created(&theirs, &key(), json!({})).await;
        let error = ours.append_event(&mut foreign, event("e1", 1.0)).await.unwrap_err();
        assert!(matches!(error, SessionError::NotFound(_)), "{error}");
        assert!(loaded(&theirs, &key()).await.events.is_empty());
    }

    #[tokio::test]
    async fn s33_a_head_of_a_deleted_session_never_fits_its_successor() {
        let service = InMemorySessionService::new();
        let mut old = created(&service, &key(), json!({})).await;
        service.delete_session(&key()).await.unwrap();
        created(&service, &key(), json!({})).await;
        let error = service.append_event(&mut old, event("e1", 1.0)).await.unwrap_err();
        assert!(error.is_stale(), "{error}");
    }

    /// Another thread finds the session as soon as it exists. The creator has not seen that thread's event, so its
    /// append is refused.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn s36_a_created_session_is_that_before_any_append() {
        const ROUNDS: usize = 5_000;
        fn keys() -> impl Iterator<Item = SessionKey> {
            (0..ROUNDS).map(|round| SessionKey::new("app", "user", format!("s{round}")))
        }
        let service = Arc::new(InMemorySessionService::new());
        let theirs = tokio::spawn({
            let service = Arc::clone(&service);
            async move {
                for key in keys() {
                    let mut found = loop {
                        match service.get_session(&key, GetSessionConfig::all()).await.unwrap() {
                            Some(found) => break found,
                            None => std::hint::spin_loop(),
                        }
                    };
                    service.append_event(&mut found, event("theirs", 1.0)).await.ok();
                }
            }
        });
        let mut stored = Vec::new();
        for key in keys() {
            let mut session = created(&*service, &key, json!({})).await;
            stored.push(service.append_event(&mut session, event("ours", 1.0)).await.is_ok());
        }
        theirs.await.unwrap();
        for (key, is_stored) in keys().zip(stored) {
            let history = ids(&loaded(&*service, &key).await);
            assert_eq!(history[0] == "ours", is_stored, "{history:?}");
        }
    }
}
