//! The contract of session services in the hands of someone who writes one, with the facade alone.

use std::sync::Arc;

use pleach::testkit::{StrictSessionService, session_contract, shared_session_contract};
use pleach::{
    BoxFuture, Event, InMemorySessionService, SessionHead, SessionResult, SessionService, forward_session_service,
};
use pleach_contract::sessions as rules;

/// A session service as a program may write it, over the store of another one.
#[derive(Debug, Default)]
struct Sessions {
    inner: Arc<InMemorySessionService>,
    fault: Option<Fault>,
}

/// A rule that the service breaks.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// It appends with the newest head, whatever head the writer has.
    FenceIsOpen,
    /// It reports events as stored that it does not store.
    EventsAreLost,
}

impl SessionService for Sessions {
    forward_session_service!(|this| this.inner; create_session, get_session, events_since, head_behind, list_apps,
        list_sessions, list_questions, new_deadlines, find_sessions, delete_session, claim, check_head, note_settled,
        redact_event, session_to_redact, user_state, app_state, health_check, flush, close);

    fn append<'a>(&'a self, head: &'a mut SessionHead, event: Arc<Event>) -> BoxFuture<'a, SessionResult<Arc<Event>>> {
        Box::pin(async move {
            match self.fault {
                Some(Fault::EventsAreLost) => return Ok(event),
                Some(Fault::FenceIsOpen) => {
                    let stored = self.inner.get_session(head.key(), Default::default()).await?;
                    *head = stored.map_or_else(|| head.clone(), |session| session.head);
                }
                None => {}
            }
            self.inner.append(head, event).await
        })
    }
}

async fn open() -> (Sessions, ()) {
    (Sessions::default(), ())
}

/// Opens two services on one store.
async fn open_two() -> (Vec<Sessions>, ()) {
    let inner = Arc::new(InMemorySessionService::new());
    let service = || Sessions { inner: Arc::clone(&inner), fault: None };
    (vec![service(), service()], ())
}

mod service {
    use super::*;

    session_contract!(open());
    shared_session_contract!(open_two());
}

mod strict {
    use super::*;

    session_contract!(async { (StrictSessionService::new(Sessions::default()), ()) });
}

#[tokio::test]
async fn a_service_that_breaks_a_rule_fails_its_test() {
    for fault in [None, Some(Fault::FenceIsOpen), Some(Fault::EventsAreLost)] {
        let service = move || Sessions { fault, ..Sessions::default() };
        let stale = async move { rules::case_29_the_second_writer_is_stale(&service()).await };
        let stored = async move { rules::case_55_all_bytes_survive(&service()).await };
        let failed = [fails(stale).await, fails(stored).await];
        let expected = [fault.is_some(), fault == Some(Fault::EventsAreLost)];
        assert_eq!(failed, expected, "{fault:?}");
    }
}

/// Returns true if a test panics.
async fn fails(test: impl Future<Output = ()> + Send + 'static) -> bool {
    tokio::spawn(test).await.is_err_and(|error| error.is_panic())
}
