//! Operations end at their deadline, whatever they wait for.

use std::time::Duration;

use futures_util::future::join;
use pleach_contract::sessions::{chain, created, event, loaded};
use pleach_session::{GetSessionConfig, SessionError, SessionService as _, SessionServiceExt as _};
use pleach_session_postgres::{PostgresOptions, PostgresSessionService};
use serde_json::json;
use tokio::time::timeout;

use super::proxy::Proxy;
use super::{Database, key};

/// This is long enough for any machine. An operation without a deadline would never end.
const AGES: Duration = Duration::from_secs(60);

fn impatient() -> PostgresOptions {
    PostgresOptions::new().with_acquire_timeout(Duration::from_secs(3))
}

fn check(error: &SessionError) {
    assert!(matches!(error, SessionError::Unavailable { what, .. } if what.contains("127.0.0.1")), "{error}");
    assert!(chain(error).contains("in time"), "{}", chain(error));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_server_and_its_connections_are_given_up() {
    let Some(database) = Database::new().await else { return };
    let proxy = Proxy::of(&database).await;
    let service = PostgresSessionService::open_with(proxy.url(), impatient()).await.unwrap();
    let mut session = created(&service, &key("s"), json!({})).await;
    proxy.fall_silent();
    // The first load uses the existing connection, the others use new ones.
    let outcome = timeout(AGES, service.get_session(&key("s"), GetSessionConfig::all())).await.unwrap();
    check(&outcome.unwrap_err());
    let sent = event("e1", 1.0);
    check(&timeout(AGES, service.append_event(&mut session, sent.clone())).await.unwrap().unwrap_err());
    check(&timeout(AGES, service.health_check()).await.unwrap().unwrap_err());
    check(&timeout(AGES, PostgresSessionService::open_with(proxy.url(), impatient())).await.unwrap().unwrap_err());
    proxy.speak();
    service.append_event(&mut session, sent).await.unwrap();
    assert_eq!(loaded(&service, &key("s")).await, session);
}

/// An append that was given up may be stored once the lock is free; repeating it shows whether it was.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_row_is_waited_for_until_the_deadline() {
    let Some(database) = Database::new().await else { return };
    let service = PostgresSessionService::open_with(&database.url(), impatient()).await.unwrap();
    let mut session = created(&service, &key("s"), json!({})).await;
    let before = session.clone();
    let mut other = database.raw().await;
    sqlx::raw_sql("BEGIN; SELECT 1 FROM sessions FOR UPDATE").execute(&mut other).await.unwrap();
    let sent = event("e1", 1.0).with_state("k", 1);
    check(&timeout(AGES, service.append_event(&mut session, sent.clone())).await.unwrap().unwrap_err());
    assert_eq!(session, before);
    service.health_check().await.unwrap();
    sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
    service.append_event(&mut session, sent).await.unwrap();
    assert_eq!(loaded(&service, &key("s")).await, session);
    assert_eq!(session.events.len(), 1);
}

/// The only connection is lent to a caller with a longer timeout.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_is_waited_for_until_the_deadline() {
    let Some(database) = Database::new().await else { return };
    let options = PostgresOptions::new().with_connections(1).with_acquire_timeout(AGES);
    let service = PostgresSessionService::open_with(&database.url(), options).await.unwrap();
    let mut session = created(&service, &key("s"), json!({})).await;
    let mut other = database.raw().await;
    sqlx::raw_sql("BEGIN; SELECT 1 FROM sessions FOR UPDATE").execute(&mut other).await.unwrap();
    let append = service.append_event(&mut session, event("e1", 1.0));
    let check = async {
        database.until_waiting(1).await;
        let error = service.health_check().await.unwrap_err();
        assert!(chain(&error).contains("no connection became free in time"), "{}", chain(&error));
        sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
    };
    let (outcome, ()) = join(append, check).await;
    outcome.unwrap();
    assert_eq!(loaded(&service, &key("s")).await, session);
}

/// The longest duration also works as a timeout: it is a very late deadline.
#[tokio::test]
async fn any_duration_is_a_timeout() {
    let Some(database) = Database::new().await else { return };
    let options = PostgresOptions::new().with_acquire_timeout(Duration::MAX);
    let service = PostgresSessionService::open_with(&database.url(), options).await.unwrap();
    created(&service, &key("s"), json!({})).await;
}
