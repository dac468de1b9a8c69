//! PgBouncer in front of the server, in each of its modes.

use futures_util::future::join_all;
use pleach_contract::own_tests::Pooler;
use pleach_contract::sessions::{asks, created, event, ids, loaded};
use pleach_core::StateOp;
use pleach_session::{
    CreateSession, GetSessionConfig, ListQuestions, SessionError, SessionService as _, SessionServiceExt as _,
};
use pleach_session_postgres::{PostgresOptions, PostgresSessionService};
use serde_json::json;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _};

use super::{Database, is_pending, key};

const TRANSACTION: &str = "pool_mode = transaction";
/// One session of the server is used for all connections.
const ONE_SESSION: &str = "pool_mode = transaction\ndefault_pool_size = 1";

/// Returns a database and a pooler in front of it; `None` if there is no server or no PgBouncer.
async fn pooled(lines: &str) -> Option<(Database, Pooler)> {
    let database = Database::new().await?;
    let pooler = Pooler::for_test(&database.schema, lines)?;
    Some((database, pooler))
}

async fn open(url: &str) -> PostgresSessionService {
    PostgresSessionService::open(url).await.unwrap()
}

/// Calls the operations that may depend on a session of the server: appends with shared state, with operations and with
/// a question, a claim, a load, and a listing of questions.
async fn use_all(service: &PostgresSessionService, id: &str) {
    let mut session = created(service, &key(id), json!({"n": 0, "user:u": 1})).await;
    service.append_event(&mut session, event("e1", 1.0).with_state("app:a", 1)).await.unwrap();
    let adds = event("e2", 2.0).with_state_op("app:sum", StateOp::Add(1.into()));
    service.append_event(&mut session, adds).await.unwrap();
    service.claim(&mut session.head, 1_760_000_100.0).await.unwrap();
    service.append_event(&mut session, asks("e3", 3.0, id, Some("lead"))).await.unwrap();
    assert_eq!(ids(&loaded(service, &key(id)).await), ["e1", "e2", "e3"]);
    // The id is taken by another event. The connection stays usable after the error.
    let taken = service.append_event(&mut session, event("e1", 1.0).with_message("other")).await;
    assert!(matches!(taken, Err(SessionError::EventAlreadyExists { .. })), "{taken:?}");
    let open = service.list_questions(ListQuestions::new("app")).await.unwrap();
    assert!(open.items.iter().any(|item| item.question.id == id), "{open:?}");
}

/// Returns what other users of the pooler find in the server's sessions.
async fn left_behind(pooler: &Pooler, database: &Database) -> Vec<String> {
    let mut connection = PgConnection::connect_with(&options(&pooler.url(&database.schema))).await.unwrap();
    let text = "SELECT 'statement ' || statement FROM pg_prepared_statements \
                UNION ALL SELECT 'lock ' || classid FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid() \
                UNION ALL SELECT 'setting ' || name || '=' || setting FROM pg_settings WHERE source = 'session' \
                    AND name NOT IN ('application_name', 'client_encoding', 'DateStyle', 'TimeZone', 'IntervalStyle')";
    let rows = sqlx::raw_sql(text).fetch_all(&mut connection).await.unwrap();
    rows.iter().map(|row| row.try_get(0).unwrap()).collect()
}

/// Returns the options of a connection that starts without anything that a pooler refuses.
fn options(url: &str) -> PgConnectOptions {
    let url = url.split_once('?').map_or(url, |(url, _)| url);
    url.parse::<PgConnectOptions>().unwrap().extra_float_digits(None)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pooler_in_transaction_mode_is_found_and_its_sessions_are_left_as_they_were() {
    let Some((database, pooler)) = pooled(ONE_SESSION).await else { return };
    let url = pooler.url(&database.schema);
    let service = open(&url).await;
    use_all(&service, "s").await;
    let questions =
        "SELECT relname::text FROM pg_class WHERE relname LIKE 'pleach_events_%' AND pg_table_is_visible(oid)";
    assert_eq!(database.texts(questions).await.len(), 1, "the index is built through the pooler");
    assert_eq!(left_behind(&pooler, &database).await, [""; 0]);
    assert_eq!(loaded(&database.open().await, &key("s")).await, loaded(&service, &key("s")).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_url_can_announce_a_pooler_with_the_parameters_of_other_drivers() {
    for (round, word) in
        ["pooler=transaction", "pgbouncer=true", "statement-cache-capacity=0", "prepared_statement_cache_size=0"]
            .into_iter()
            .enumerate()
    {
        let Some((database, pooler)) = pooled(ONE_SESSION).await else { return };
        use_all(&open(&format!("{}&{word}", pooler.url(&database.schema))).await, &format!("s{round}")).await;
        // The parameter is also valid without a pooler.
        use_all(&open(&format!("{}&{word}", database.url())).await, &format!("t{round}")).await;
        assert_eq!(left_behind(&pooler, &database).await, [""; 0], "{word}");
    }
}

/// Several services, as in several processes, share two sessions of the server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn services_behind_a_pooler_neither_lose_nor_repeat_events() {
    let Some((database, pooler)) = pooled("pool_mode = transaction\ndefault_pool_size = 2").await else { return };
    let url = pooler.url(&database.schema);
    let services = join_all((0..3).map(|_| open(&url))).await;
    let names: Vec<String> = (0..12).map(|number| format!("s{number}")).collect();
    let write = |(number, name): (usize, &String)| {
        let (service, key) = (&services[number % services.len()], key(name));
        async move {
            let mut session = created(service, &key, json!({})).await;
            for round in 0..15_u32 {
                let event = event(&format!("e{round}"), f64::from(round)).with_state("n", round);
                let event = event.with_state_op("app:sum", StateOp::Add(1.into()));
                service.append_event(&mut session, event).await.unwrap();
                assert_eq!(loaded(service, &key).await.events.len(), round as usize + 1);
            }
        }
    };
    join_all(names.iter().enumerate().map(write)).await;
    let direct = database.open().await;
    for name in &names {
        let session = loaded(&direct, &key(name)).await;
        assert_eq!(ids(&session), (0..15).map(|round| format!("e{round}")).collect::<Vec<_>>());
        assert_eq!(session.state["app:sum"], 12 * 15);
    }
    let stale = join_all(services.iter().map(|service| async {
        let mut session = loaded(&direct, &key("s0")).await;
        service.append_event(&mut session, event("last", 99.0)).await
    }))
    .await;
    // The same event from three callers is stored once.
    assert!(stale.iter().all(Result::is_ok), "{stale:?}");
    assert_eq!(loaded(&direct, &key("s0")).await.events.len(), 16);
}

/// The pooler lends its sessions one after another, and may close each after one transaction.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pooler_may_rotate_sessions_and_end_them_after_each_transaction() {
    for more in ["server_round_robin = 1\nmin_pool_size = 3", "server_lifetime = 0", "server_idle_timeout = 1"] {
        let Some((database, pooler)) = pooled(&format!("{TRANSACTION}\n{more}")).await else { return };
        let service = open(&pooler.url(&database.schema)).await;
        assert!(format!("{service:?}").contains("pooling: Transaction"), "{service:?}");
        use_all(&service, "s").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pooler_that_is_restarted_is_waited_for() {
    let Some((database, mut pooler)) = pooled(TRANSACTION).await else { return };
    let service = open(&pooler.url(&database.schema)).await;
    let mut session = created(&service, &key("s"), json!({})).await;
    let mut expected = Vec::new();
    for round in 0..6_u32 {
        let id = format!("e{round}");
        // The pooler is killed while it is idle, and during an append.
        if round % 2 == 0 {
            pooler.take_down();
            pooler.bring_up().unwrap();
        }
        let mut append = service.append(&mut session.head, event(&id, f64::from(round)).into());
        if round % 2 == 1 {
            assert!(is_pending(&mut append).await);
            tokio::task::block_in_place(|| {
                pooler.take_down();
                pooler.bring_up().unwrap();
            });
        }
        append.await.unwrap();
        expected.push(id);
        session = loaded(&service, &key("s")).await;
        assert_eq!(ids(&session), expected);
    }
}

/// If a caller goes away, its append is completed and no transaction stays open.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropped_futures_leave_no_transaction_open_behind_a_pooler() {
    let Some((database, pooler)) = pooled(ONE_SESSION).await else { return };
    let service = open(&pooler.url(&database.schema)).await;
    let mut session = created(&service, &key("s"), json!({})).await;
    for round in 1..=20_u32 {
        let adds = event(&format!("e{round}"), f64::from(round)).with_state_op("app:sum", StateOp::Add(1.into()));
        let mut append = service.append(&mut session.head, adds.into());
        assert!(is_pending(&mut append).await);
        drop(append);
        let key = key("s");
        let mut load = service.get_session(&key, GetSessionConfig::all());
        assert!(is_pending(&mut load).await);
        drop(load);
        session = loaded(&service, &key).await;
        assert_eq!(ids(&session).len(), round as usize);
        assert_eq!(session.state["app:sum"], round);
    }
    service.flush().await.unwrap();
    let open = format!(
        "SELECT query FROM pg_stat_activity WHERE state LIKE 'idle in transaction%' AND application_name = '{}'",
        database.schema()
    );
    assert_eq!(database.texts(&open).await, [""; 0]);
}

/// If a pooler ignores the settings with which connections start, the tables could be created in another schema.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_that_a_pooler_drops_are_set_in_each_transaction() {
    for mode in ["transaction", "session"] {
        let lines = format!("pool_mode = {mode}\nignore_startup_parameters = options");
        let Some((database, pooler)) = pooled(&lines).await else { return };
        let service = open(&format!("{}&lock_timeout=20", pooler.url(&database.schema))).await;
        use_all(&service, "s").await;
        let tables = "SELECT relname::text FROM pg_class WHERE relname = 'sessions' AND pg_table_is_visible(oid)";
        assert_eq!(database.texts(tables).await, ["sessions"]);
        let mut other = database.raw().await;
        sqlx::raw_sql("BEGIN; SELECT 1 FROM sessions FOR UPDATE").execute(&mut other).await.unwrap();
        let mut session = loaded(&service, &key("s")).await;
        let waits = service.append_event(&mut session, event("e9", 9.0)).await;
        assert!(matches!(waits, Err(SessionError::Locked { .. })), "{waits:?}");
        drop(other);
        let only_read = PostgresOptions::new().with_read_only(true);
        let only_read = PostgresSessionService::open_with(&pooler.url(&database.schema), only_read).await.unwrap();
        assert_eq!(loaded(&only_read, &key("s")).await.events.len(), 3);
        let made = only_read.create_session(CreateSession::new("app", "user")).await;
        assert!(matches!(made, Err(SessionError::ReadOnly { .. })), "{made:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_through_a_pooler_in_session_mode_have_sessions_of_their_own() {
    for more in ["", "&pooler=session", "&pooler=none", "&pgbouncer=false"] {
        // The pooler resets a session between two clients. This query does not reset the search path, which the pooler
        // has set itself.
        let Some((database, pooler)) = pooled("pool_mode = session\nserver_reset_query = DEALLOCATE ALL").await else {
            return;
        };
        let url = format!("{}{more}", pooler.url_without_options());
        let services = [open(&url).await, open(&url).await];
        assert!(format!("{services:?}").contains("pooling: Session"), "{services:?}");
        use_all(&services[0], "s").await;
        use_all(&services[1], "t").await;
        assert_eq!(loaded(&database.open().await, &key("t")).await.events.len(), 3);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_error_for_a_pooler_in_statement_mode_names_the_pooler_and_the_mode() {
    let Some((database, pooler)) = pooled("pool_mode = statement").await else { return };
    for more in ["", "&pooler=transaction", "&pgbouncer=true"] {
        let error = PostgresSessionService::open(&format!("{}{more}", pooler.url(&database.schema))).await.unwrap_err();
        assert!(matches!(error, SessionError::Unsupported { .. }), "{error:?}");
        assert!(error.to_string().contains("PgBouncer") && error.to_string().contains("`statement`"), "{error}");
    }
    let error = PostgresSessionService::open(&format!("{}?pooler=statement", "postgres://h/db")).await.unwrap_err();
    assert!(error.to_string().contains("`pooler=statement` is not possible"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_setting_is_named_with_the_remedy() {
    let Some((database, pooler)) = pooled(TRANSACTION).await else { return };
    let url = pooler.url(&database.schema);
    let error = PostgresSessionService::open(&format!("{url}&pooler=session")).await.unwrap_err();
    assert!(error.to_string().contains("ignore_startup_parameters"), "{error}");
    for more in ["", "&pooler=transaction"] {
        let error = PostgresSessionService::open(&format!("{url}&idle_session_timeout=5000{more}")).await.unwrap_err();
        assert!(error.to_string().contains("`idle_session_timeout` applies to a session"), "{error}");
    }
}

/// The URL says that connections have sessions, but the server shows that they do not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_prepared_statement_reveals_the_pooler() {
    let Some((database, pooler)) = pooled(ONE_SESSION).await else { return };
    let url = format!("{}&pooler=session", pooler.url_without_options());
    let service = open(&url).await;
    assert!(format!("{service:?}").contains("pooling: Session"), "{service:?}");
    // Another program with the same driver leaves these statements in the session.
    let mut other = PgConnection::connect_with(&options(&pooler.url_without_options())).await.unwrap();
    for number in 1..30 {
        let text = format!("PREPARE sqlx_s_{number} AS SELECT 1");
        // The service has prepared some of them itself.
        let _ = sqlx::raw_sql(AssertSqlSafe(text)).execute(&mut other).await;
    }
    use_all(&service, "s").await;
    assert!(format!("{service:?}").contains("pooling: Transaction"), "{service:?}");
    assert_eq!(loaded(&database.open().await, &key("s")).await.events.len(), 3);
}

/// The URL says that connections have sessions, and no statement has shown yet that they do not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_build_through_an_undetected_pooler_leaves_no_lock_and_no_setting() {
    for lines in [ONE_SESSION, "pool_mode = transaction\ndefault_pool_size = 3\nserver_round_robin = 1"] {
        let Some((database, pooler)) = pooled(lines).await else { return };
        let service = open(&format!("{}&pooler=session", pooler.url_without_options())).await;
        use_all(&service, "s").await;
        let questions =
            "SELECT relname::text FROM pg_class WHERE relname LIKE 'pleach_events_%' AND pg_table_is_visible(oid)";
        assert_eq!(database.texts(questions).await.len(), 1, "the index is built");
        // The pooler lends its sessions in turn.
        for _ in 0..6 {
            let left = left_behind(&pooler, &database).await;
            let left: Vec<_> = left.iter().filter(|left| !left.starts_with("statement")).collect();
            assert!(left.is_empty(), "{left:?}");
        }
        let locks = "SELECT 'lock ' || classid FROM pg_locks WHERE locktype = 'advisory' AND classid = 1685221744
            AND pid IN (SELECT pid FROM pg_stat_activity WHERE application_name = 'test')";
        assert_eq!(database.texts(locks).await, [""; 0]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_services_build_the_index_through_a_pooler_at_once() {
    let Some((database, pooler)) = pooled("pool_mode = transaction\ndefault_pool_size = 4").await else { return };
    let url = pooler.url(&database.schema);
    let services = join_all((0..4).map(|_| open(&url))).await;
    let mut session = created(&services[0], &key("s"), json!({})).await;
    services[0].append_event(&mut session, asks("e1", 1.0, "q", None)).await.unwrap();
    let listed = join_all(services.iter().map(|service| service.list_questions(ListQuestions::new("app")))).await;
    assert!(listed.iter().all(|listed| listed.as_ref().is_ok_and(|listed| listed.items.len() == 1)), "{listed:?}");
    let sound = "SELECT c.relname::text FROM pg_index i JOIN pg_class c ON c.oid = indexrelid
        WHERE c.relname LIKE 'pleach_events_%' AND pg_table_is_visible(c.oid) AND indisvalid";
    assert_eq!(database.texts(sound).await.len(), 1);
}

/// Only newer versions of PgBouncer keep prepared statements in transaction mode.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pooler_that_keeps_prepared_statements_is_used_like_one_that_does_not() {
    for (number, count) in [0, 100].into_iter().enumerate() {
        if !Pooler::has_version(21) {
            return;
        }
        let lines = format!("{ONE_SESSION}\nmax_prepared_statements = {count}");
        let Some((database, pooler)) = pooled(&lines).await else { return };
        use_all(&open(&pooler.url(&database.schema)).await, &format!("s{number}")).await;
    }
}
