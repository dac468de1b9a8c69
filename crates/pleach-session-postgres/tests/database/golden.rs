//! A database google-adk wrote, and what google-adk itself reads from it.
// S130, S131

use pleach_core::SessionKey;
use pleach_session::SessionServiceExt as _;
use pleach_testkit::contract::{event, loaded};
use pleach_testkit::golden;
use sqlx::{AssertSqlSafe, PgConnection};

use super::Place;

/// Plays a plain dump: statements, and rows behind `COPY … FROM stdin`.
pub(crate) async fn load(place: &Place) {
    let mut connection = place.raw().await;
    let mut lines = include_str!("../golden/adk_postgres.sql").lines();
    let mut statements = String::new();
    while let Some(line) = lines.next() {
        let line = line.replace("public.", &format!("{}.", place.schema));
        if !line.starts_with("COPY ") {
            statements.push_str(&line);
            statements.push('\n');
            continue;
        }
        run(&mut connection, std::mem::take(&mut statements)).await;
        let rows: Vec<&str> = lines.by_ref().take_while(|row| *row != "\\.").collect();
        let mut copy = connection.copy_in_raw(&line).await.unwrap();
        copy.send(rows.join("\n").into_bytes()).await.unwrap();
        copy.finish().await.unwrap();
    }
    run(&mut connection, statements).await;
}

async fn run(connection: &mut PgConnection, statements: String) {
    sqlx::raw_sql(AssertSqlSafe(statements)).execute(connection).await.unwrap();
}

#[tokio::test]
async fn s131_a_database_of_google_adk_reads_as_google_adk_reads_it() {
    let Some(place) = Place::new().await else { return };
    load(&place).await;
    let service = place.open().await;
    golden::check_file(&service, "adk_postgres.sql").await;
}

#[tokio::test]
async fn s131_its_sessions_are_appended_to() {
    let Some(place) = Place::new().await else { return };
    load(&place).await;
    let service = place.open().await;
    let mut session = loaded(&service, &SessionKey::new("shop", "alice", "s-chat")).await;
    let delta = event("ours", 99.0).with_state("step", 2).with_state("app:theme", "light").with_state("user:new", 1);
    service.append_event(&mut session, delta).await.unwrap();
    let back = loaded(&service, session.key()).await;
    assert_eq!(back, session);
    // What the delta does not name has still its digits.
    let exact = "SELECT (state -> 'big_int')::text FROM sessions WHERE user_id = 'alice' AND id = 's-chat' AND app_name = 'shop'";
    assert_eq!(place.texts(exact).await, ["9223372036854775807"]);
}
