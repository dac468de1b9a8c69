//! Servers that are not there, connections that break, and timeouts.

use futures_util::future::{join, join_all};
use pleach_contract::sessions::{chain, created, event, ids, loaded};
use pleach_core::SessionKey;
use pleach_session::{GetSessionConfig, SessionError, SessionService as _, SessionServiceExt as _};
use pleach_session_postgres::{PostgresOptions, PostgresSessionService};
use serde_json::json;
use sqlx::{AssertSqlSafe, PgConnection};
use tokio::sync::mpsc;

use super::{Database, is_pending, key};

/// While sessions are written, all active connections are killed again and again. Nothing acknowledged is lost, nothing
/// is stored twice, and no caller gets an error.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_connections_lose_nothing_and_store_nothing_twice() {
    let Some(database) = Database::new().await else { return };
    let service = database.open().await;
    let (acknowledged, mut answers) = mpsc::unbounded_channel();
    let expected: Vec<_> = (0..40).map(|number| format!("e{number}")).collect();
    let writers = join_all((0..8).map(|writer| {
        let (service, acknowledged) = (&service, acknowledged.clone());
        async move {
            let key = SessionKey::new("app", format!("u{writer}"), "s");
            let mut session = created(service, &key, json!({})).await;
            for number in 0..40 {
                let event = event(&format!("e{number}"), f64::from(number))
                    .with_state(format!("app:{writer}"), number)
                    .with_state("n", number);
                service.append_event(&mut session, event).await.unwrap();
                acknowledged.send(()).unwrap();
            }
            session
        }
    }));
    drop(acknowledged);
    let mut other = database.raw().await;
    let killer = async {
        let (mut count, mut killed) = (0, 0);
        while answers.recv().await.is_some() {
            count += 1;
            if count % 40 == 0 && count <= 240 {
                killed += kill(&database, &mut other).await;
            }
        }
        killed
    };
    let (sessions, killed) = join(writers, killer).await;
    assert!(killed >= 6, "only {killed} connections were hit");
    for session in sessions {
        let back = loaded(&service, session.key()).await;
        assert_eq!((ids(&back), &back.state["n"]), (expected.clone(), &json!(39)));
        assert_eq!(back.revision(), session.revision());
    }
    let state = loaded(&service, &SessionKey::new("app", "u0", "s")).await.state;
    assert!((0..8).all(|writer| state[&format!("app:{writer}")] == 39), "{state:?}");
}

/// Kills first the statements that wait, then those about to commit. Returns how many were waiting.
async fn kill(database: &Database, connection: &mut PgConnection) -> usize {
    let of_service = |condition: &str| {
        AssertSqlSafe(format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{}' AND {condition}",
            database.schema()
        ))
    };
    sqlx::raw_sql("BEGIN; SELECT 1 FROM app_states FOR UPDATE").execute(&mut *connection).await.unwrap();
    let mut waited = 0;
    while waited == 0 {
        // Inside a transaction the view always shows the same snapshot, unless it is cleared.
        sqlx::raw_sql("SELECT pg_stat_clear_snapshot()").execute(&mut *connection).await.unwrap();
        let hit = sqlx::query(of_service("wait_event_type = 'Lock'")).fetch_all(&mut *connection).await;
        waited = hit.unwrap().len();
    }
    sqlx::raw_sql("ROLLBACK").execute(&mut *connection).await.unwrap();
    sqlx::query(of_service("state <> 'idle'")).fetch_all(connection).await.unwrap();
    waited
}

#[tokio::test]
async fn idle_connections_that_were_closed_are_replaced() {
    let Some(database) = Database::new().await else { return };
    let service = database.open().await;
    let mut session = created(&service, &key("s"), json!({})).await;
    let kill = format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{}'",
        database.schema()
    );
    database.run(&kill).await;
    assert_eq!(loaded(&service, &key("s")).await, session);
    database.run(&kill).await;
    service.append_event(&mut session, event("e1", 1.0)).await.unwrap();
    assert_eq!(loaded(&service, &key("s")).await, session);
}

/// The server closes connections that are idle for too long (57P05), and the next caller does not notice.
#[tokio::test]
async fn a_connection_closed_by_idle_session_timeout_is_replaced() {
    let Some(database) = Database::new().await else { return };
    let service = PostgresSessionService::open(&format!("{}&idle_session_timeout=20", database.url())).await.unwrap();
    let mut session = created(&service, &key("s"), json!({})).await;
    let open = format!("SELECT pid::text FROM pg_stat_activity WHERE application_name = '{}'", database.schema());
    for number in 0..4_u32 {
        while !database.texts(&open).await.is_empty() {}
        service.append_event(&mut session, event(&format!("e{number}"), f64::from(number))).await.unwrap();
        while !database.texts(&open).await.is_empty() {}
        assert_eq!(loaded(&service, &key("s")).await, session);
    }
}

/// The URL sets limits.
#[tokio::test]
async fn a_url_limits_statements_locks_and_connections() {
    let Some(database) = Database::new().await else { return };
    let url = format!("{}&lock_timeout=50&connections=1", database.url());
    let service = PostgresSessionService::open(&url).await.unwrap();
    let mut session = created(&service, &key("s"), json!({})).await;
    let mut other = database.raw().await;
    sqlx::raw_sql("BEGIN; SELECT 1 FROM sessions FOR UPDATE").execute(&mut other).await.unwrap();
    let error = service.append_event(&mut session, event("e1", 1.0)).await.unwrap_err();
    assert!(matches!(error, SessionError::Locked { .. }), "{}", chain(&error));
    let url = format!("{}&statement_timeout=50", database.url());
    let service = PostgresSessionService::open(&url).await.unwrap();
    let error = service.append_event(&mut session, event("e1", 1.0)).await.unwrap_err();
    assert!(matches!(error, SessionError::Unavailable { .. }), "{}", chain(&error));
    sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
    service.append_event(&mut session, event("e1", 1.0)).await.unwrap();
}

#[tokio::test]
async fn an_absent_server_is_named_at_once() {
    let url = "postgresql://user:s3cret@127.0.0.1:1/adk";
    let error = PostgresSessionService::open(url).await.unwrap_err();
    assert!(matches!(&error, SessionError::Unavailable { what, .. } if what.contains("adk at 127.0.0.1:1")), "{error}");
    assert!(!format!("{} {error:?}", chain(&error)).contains("s3cret"));
    let error = PostgresSessionService::open(&format!("{url}?sslmode=require")).await.unwrap_err();
    assert!(matches!(error, SessionError::Unavailable { .. }), "{error}");
}

#[tokio::test]
async fn refusals_of_the_server_show_no_password() {
    let Some(database) = Database::new().await else { return };
    let url = database.url();
    let wrong = url.replace("pleach_test?", "no_such_database?");
    if wrong != url {
        let error = PostgresSessionService::open(&wrong).await.unwrap_err();
        assert!(chain(&error).contains("no_such_database"), "{}", chain(&error));
    }
    let (start, rest) = url.split_once("://").unwrap();
    let (userinfo, rest) = rest.rsplit_once('@').unwrap();
    let (user, password) = userinfo.split_once(':').unwrap_or((userinfo, ""));
    let outcome = PostgresSessionService::open(&format!("{start}://{user}:s3cret@{rest}")).await;
    // A server may trust everybody.
    if let Err(error) = outcome {
        assert!(matches!(error, SessionError::Unavailable { .. }), "{error}");
        assert!(!format!("{} {error:?}", chain(&error)).contains("s3cret"));
    }
    let debug = format!("{:?}", database.open().await);
    assert!(password.is_empty() || !debug.contains(password), "{debug}");
}

#[tokio::test]
async fn a_dropped_load_leaves_the_service_usable() {
    let Some(database) = Database::new().await else { return };
    let options = PostgresOptions::new().with_connections(2);
    let service = PostgresSessionService::open_with(&database.url(), options).await.unwrap();
    let session = created(&service, &key("s"), json!({})).await;
    for polls in 0..8 {
        let key = key("s");
        let mut load = service.get_session(&key, GetSessionConfig::all());
        for _ in 0..polls {
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            if load.as_mut().poll(&mut context).is_ready() {
                break;
            }
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(loaded(&service, &key("s")).await, session);
}

#[tokio::test]
async fn a_closed_service_is_unavailable() {
    let Some(database) = Database::new().await else { return };
    let service = database.open().await;
    let mut session = created(&service, &key("s"), json!({})).await;
    service.flush().await.unwrap();
    service.close().await.unwrap();
    service.close().await.unwrap();
    let error = service.append_event(&mut session, event("e1", 1.0)).await.unwrap_err();
    assert!(matches!(error, SessionError::Unavailable { .. }), "{error}");
    let error = service.get_session(&key("s"), GetSessionConfig::all()).await.unwrap_err();
    assert!(chain(&error).contains("closed"), "{}", chain(&error));
    assert!(service.flush().await.is_err());
    let left = format!("SELECT pid::text FROM pg_stat_activity WHERE application_name = '{}'", database.schema());
    while !database.texts(&left).await.is_empty() {}
}

/// All connections except one wait for a lock. A flush that waits for them as well does not occupy the last one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flush_waits_and_blocks_no_caller() {
    let Some(database) = Database::new().await else { return };
    let options = PostgresOptions::new().with_connections(2);
    let service = PostgresSessionService::open_with(&database.url(), options).await.unwrap();
    let mut session = created(&service, &key("s"), json!({})).await;
    let mut other = database.raw().await;
    sqlx::raw_sql("BEGIN; SELECT 1 FROM sessions FOR UPDATE").execute(&mut other).await.unwrap();
    let mut append = Box::pin(service.append_event(&mut session, event("e1", 1.0)));
    assert!(is_pending(&mut append).await);
    database.until_waiting(1).await;
    let mut flush = service.flush();
    assert!(is_pending(&mut flush).await);
    assert!(loaded(&service, &key("s")).await.events.is_empty());
    assert!(is_pending(&mut flush).await);
    sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
    flush.await.unwrap();
    assert_eq!(loaded(&service, &key("s")).await.events.len(), 1);
    append.await.unwrap();
}

/// Operations that began before the close are finished, later ones are refused, and no connection remains.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_close_finishes_what_was_begun_and_leaves_no_connection() {
    let Some(database) = Database::new().await else { return };
    let options = PostgresOptions::new().with_connections(2);
    let service = PostgresSessionService::open_with(&database.url(), options).await.unwrap();
    let mut sessions = Vec::new();
    for number in 0..8 {
        sessions.push(created(&service, &key(&format!("s{number}")), json!({})).await);
    }
    let mut other = database.raw().await;
    sqlx::raw_sql("BEGIN; SELECT 1 FROM sessions FOR UPDATE").execute(&mut other).await.unwrap();
    // Two of the appends have a connection, the others wait for one.
    let appends = sessions.iter_mut().map(|session| service.append_event(session, event("e1", 1.0)));
    let mut appends = Box::pin(join_all(appends));
    assert!(is_pending(&mut appends).await);
    let mut close = service.close();
    assert!(is_pending(&mut close).await);
    let error = service.get_session(&key("s0"), GetSessionConfig::all()).await.unwrap_err();
    assert!(chain(&error).contains("closed"), "{}", chain(&error));
    sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
    let (outcomes, closed) = join(appends, close).await;
    outcomes.into_iter().for_each(|outcome| drop(outcome.unwrap()));
    closed.unwrap();
    let left = format!("SELECT pid::text FROM pg_stat_activity WHERE application_name = '{}'", database.schema());
    while !database.texts(&left).await.is_empty() {}
}
