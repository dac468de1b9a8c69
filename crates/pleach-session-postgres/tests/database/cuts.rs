//! Lost answers and restarting servers, where it is unknown whether the append was stored.

use std::time::Duration;

use pleach_contract::sessions::{created, event, ids, loaded};
use pleach_core::StateOp;
use pleach_session::{CreateSession, GetSessionConfig, SessionError, SessionService as _, SessionServiceExt as _};
use pleach_session_postgres::{PostgresOptions, PostgresSessionService};
use serde_json::json;

use super::proxy::Proxy;
use super::{Database, key};

/// The wire is cut at every answer of an append in turn, including the one that says "committed". The caller sees a
/// success each time, and the event is stored once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s34_an_append_whose_answer_is_lost_is_stored_once() {
    let Some(database) = Database::new().await else { return };
    let proxy = Proxy::of(&database).await;
    let options = PostgresOptions::new().with_connections(1);
    let service = PostgresSessionService::open_with(proxy.url(), options).await.unwrap();
    let mut session = created(&service, &key("s"), json!({"n": -1})).await;
    let mut expected = Vec::new();
    for round in 0..24_u32 {
        // Every other round begins with a new connection, whose greetings can be lost as well.
        if round % 2 == 0 {
            proxy.hang_up();
        }
        proxy.lose_answer_after(i64::from(round / 2));
        let id = format!("e{round}");
        let event = event(&id, f64::from(round)).with_state("n", round).with_state("app:n", round);
        // Every third event adds to a stored value, which takes more round trips.
        let event = if round % 3 == 0 { event.with_state_op("app:sum", StateOp::Add(1.into())) } else { event };
        service.append_event(&mut session, event).await.unwrap();
        proxy.lose_no_answer();
        expected.push(id);
        assert_eq!(session.state["app:sum"], round / 3 + 1);
        assert_eq!(loaded(&service, &key("s")).await, session);
    }
    assert_eq!(ids(&session), expected);
    assert!(proxy.lost() >= 6, "only {} answers were lost", proxy.lost());
}

/// The wire is cut after any byte of the requests, or before any answer. The append is repeated, no event is stored
/// twice, and each addition is applied once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s34_appends_that_are_cut_anywhere_are_stored_once() {
    let Some(database) = Database::new().await else { return };
    let number = |variable: &str| std::env::var(variable).ok().and_then(|number| number.parse::<u64>().ok());
    let rounds = number("PLEACH_FUZZ_STEPS").unwrap_or(80);
    let mut dice = number("PLEACH_FUZZ_SEED").unwrap_or(12);
    let proxy = Proxy::of(&database).await;
    let options = PostgresOptions::new().with_connections(1);
    let service = PostgresSessionService::open_with(proxy.url(), options).await.unwrap();
    let mut session = created(&service, &key("s"), json!({})).await;
    let (mut expected, mut cuts) = (Vec::new(), 0);
    for round in 0..rounds {
        // Knuth's constants choose the position of the cut.
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let position = i64::try_from(dice >> 33).unwrap();
        if round % 3 == 0 {
            proxy.lose_answer_after(position % 4);
        } else {
            proxy.cut_requests_after(position % 1_500);
        }
        let id = format!("e{round}");
        let mut event = event(&id, round as f64).with_state("n", round);
        if dice >> 63 == 0 {
            event = event.with_state_op("app:sum", StateOp::Add(1.into()));
        } else {
            event = event.with_state_op("app:sum", StateOp::Add(1.into())).with_state_op("sum", StateOp::Add(1.into()));
        }
        service.append_event(&mut session, event).await.unwrap();
        cuts += usize::from(proxy.has_cut());
        proxy.cut_no_request();
        proxy.lose_no_answer();
        expected.push(id);
        let loaded = loaded(&service, &key("s")).await;
        assert_eq!(loaded, session, "round {round}");
        assert_eq!(loaded.state["app:sum"], expected.len() as u64, "round {round}");
    }
    assert_eq!(ids(&session), expected);
    assert!(rounds < 80 || (cuts > 10 && proxy.lost() > 5), "{cuts} requests were cut, {} answers lost", proxy.lost());
}

/// The same for a new session: its creation is not taken for another caller's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s30_a_create_whose_answer_is_lost_succeeds() {
    let Some(database) = Database::new().await else { return };
    let proxy = Proxy::of(&database).await;
    let service = PostgresSessionService::open(proxy.url()).await.unwrap();
    for round in 0..6 {
        proxy.hang_up();
        proxy.lose_answer_after(round);
        let session = created(&service, &key(&format!("s{round}")), json!({"a": round, "user:b": round})).await;
        proxy.lose_no_answer();
        assert_eq!(loaded(&service, session.key()).await, session);
    }
    assert!(proxy.lost() >= 2, "only {} answers were lost", proxy.lost());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_restarts_is_waited_for() {
    let Some(database) = Database::new().await else { return };
    let proxy = Proxy::of(&database).await;
    let service = PostgresSessionService::open(proxy.url()).await.unwrap();
    let mut session = created(&service, &key("s"), json!({})).await;
    for round in 0..3_u32 {
        proxy.take_down();
        let append = service.append_event(&mut session, event(&format!("e{round}"), f64::from(round)));
        let restart = async {
            proxy.until_refused(2).await;
            proxy.bring_up();
        };
        tokio::join!(append, restart).0.unwrap();
        assert_eq!(loaded(&service, &key("s")).await, session);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stays_away_is_named_and_the_append_can_be_repeated() {
    let Some(database) = Database::new().await else { return };
    let proxy = Proxy::of(&database).await;
    let options = PostgresOptions::new().with_acquire_timeout(Duration::from_secs(3));
    let service = PostgresSessionService::open_with(proxy.url(), options).await.unwrap();
    let mut session = created(&service, &key("s"), json!({})).await;
    let before = session.clone();
    proxy.take_down();
    let event = event("e1", 1.0).with_state("k", 1);
    let error = service.append_event(&mut session, event.clone()).await.unwrap_err();
    assert!(matches!(&error, SessionError::Unavailable { what, .. } if what.contains("127.0.0.1")), "{error}");
    assert!(service.health_check().await.is_err());
    assert_eq!(session, before);
    proxy.bring_up();
    service.health_check().await.unwrap();
    service.append_event(&mut session, event).await.unwrap();
    assert_eq!(loaded(&service, &key("s")).await, session);
}

/// A delete whose answer was lost is sent again. Another session that was created with the same id in the meantime
/// is not deleted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s33_a_delete_that_is_repeated_spares_the_next_session() {
    let Some(database) = Database::new().await else { return };
    let proxy = Proxy::of(&database).await;
    let service = PostgresSessionService::open(proxy.url()).await.unwrap();
    let others = database.open().await;
    proxy.go_down_with_answers();
    let mut spared = 0;
    for round in 0..12 {
        let key = key(&format!("s{round}"));
        created(&others, &key, json!({"first": true})).await;
        proxy.hang_up();
        proxy.lose_answer_after(round);
        let mut delete = service.delete_session(&key);
        let meanwhile = async {
            proxy.until_refused(1).await;
            let gone = others.get_session(&key, GetSessionConfig::all()).await.unwrap().is_none();
            if gone {
                let next = CreateSession::new("app", "user").with_session_id(&key.session_id);
                others.create_session(next).await.unwrap();
                spared += 1;
            }
            proxy.lose_no_answer();
            proxy.bring_up();
            gone
        };
        let made_again = tokio::select! {
            outcome = &mut delete => { outcome.unwrap(); false }
            made_again = meanwhile => { delete.await.unwrap(); made_again }
        };
        let found = others.get_session(&key, GetSessionConfig::all()).await.unwrap().is_some();
        assert_eq!(found, made_again, "round {round}");
    }
    assert!(spared >= 1, "no delete was carried out before its answer was lost");
}
