//! One session among healthy sessions has odd values, as google-adk and other writers of its tables may leave them.
//! Everything works for the healthy sessions, and the odd values keep their bytes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use pleach::prelude::*;
use pleach::testkit::TestClock;
use pleach::{
    CreateSession, GetSessionConfig, ListQuestions, ListSessions, ListUnfinished, Session, SessionKey, SessionService,
    SessionServiceExt as _, connect,
};
use pleach_tests::dice::{Dice, steps};
use serde_json::{Value, json};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Row as _, SqliteConnection};
use tempfile::TempDir;

const SEED: u64 = 33;
const HOUR: Duration = Duration::from_secs(3_600);
const APP: &str = "app";
const HEALTHY: [&str; 3] = ["asks", "done", "waits"];

/// A database file in one of google-adk's layouts.
struct Place {
    folder: TempDir,
    scheme: &'static str,
}

impl Place {
    fn new(scheme: &'static str) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), scheme }
    }

    fn file(&self) -> String {
        self.folder.path().join("sessions.sqlite").to_str().unwrap().to_owned()
    }

    async fn open(&self) -> Arc<dyn SessionService> {
        connect(&format!("{}:///{}", self.scheme, self.file())).await.unwrap()
    }

    /// A connection as another program opens it.
    async fn raw(&self) -> SqliteConnection {
        SqliteConnectOptions::new().filename(self.file()).connect().await.unwrap()
    }

    async fn run(&self, sql: &str) {
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut self.raw().await).await.unwrap();
    }

    async fn texts(&self, sql: &str) -> Vec<String> {
        let rows = sqlx::query(AssertSqlSafe(sql)).fetch_all(&mut self.raw().await).await.unwrap();
        rows.iter().map(|row| row.try_get::<Option<String>, _>(0).unwrap().unwrap_or_default()).collect()
    }

    /// All rows of the odd session, byte for byte.
    async fn odd_rows(&self) -> Vec<String> {
        let rows = "SELECT hex(state) || typeof(create_time) || hex(create_time) || typeof(update_time) || hex(update_time)
            FROM sessions WHERE id = 'odd'
            UNION ALL SELECT hex(id) || hex(timestamp) || hex(coalesce(event_data, 'NULL')) FROM events WHERE session_id = 'odd'";
        self.texts(rows).await
    }
}

/// JSON text that Python's `json` writes but that is odd for other readers, or an ordinary number.
fn odd_value(dice: &mut Dice) -> String {
    let deep = 130 + dice.below(600);
    match dice.below(12) {
        0 => "9".repeat(310 + dice.below(200)),
        1 => format!("-{}", "9".repeat(401)),
        2 => format!("{}{}", "[".repeat(deep), "]".repeat(deep)),
        3 => format!("{}1{}", "{\"a\": ".repeat(deep), "}".repeat(deep)),
        4 => (*dice.one_of(&[r#""\ud83d""#, r#""x\udc00y""#, r#""\ude00\ud83d""#])).to_owned(),
        5 => "NaN".to_owned(),
        6 => (*dice.one_of(&["Infinity", "-Infinity"])).to_owned(),
        7 => (*dice.one_of(&[r#""\u0000""#, r#""a\u0000b""#])).to_owned(),
        8 => (*dice.one_of(&["1e400", "1000000000000000000000000000000"])).to_owned(),
        9 => format!("[{}, {}]", odd_value(dice), odd_value(dice)),
        10 => format!("{{\"good\": 1, \"bad\": {}}}", odd_value(dice)),
        _ => format!("{{{}: 1}}", dice.one_of(&[r#""\ud800""#, r#""\u0000""#])),
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The value of a time column, usually a valid one.
fn odd_time(dice: &mut Dice) -> &'static str {
    let odd = [
        "'junk'",
        "''",
        "'now'",
        "x'00ff'",
        "9e999",
        "-9e999",
        "1e18",
        "'2025-99-99 00:00:00.000000'",
        "'2025-02-30 00:00:00.000000'",
        "'2024-02-29 23:59:59.999999'",
        "'2025-10-09T08:53:20+02:00'",
        "'NaN'",
    ];
    if dice.below(2) == 0 { "1760000000.5" } else { dice.one_of::<&str>(&odd) }
}

/// The document of an event of the odd session.
fn odd_event(dice: &mut Dice, id: usize) -> String {
    let odd = odd_value(dice);
    let head = format!("\"id\": \"odd-{id}\", \"invocation_id\": \"i1\", \"timestamp\": 1760000000.25");
    let call = |args: &str| {
        format!(
            "{{{head}, \"author\": \"n\", \"long_running_tool_ids\": [\"q\"], \"content\": {{\"role\": \"model\", \"parts\": [{{\"function_call\": \
             {{\"id\": \"q\", \"name\": \"adk_request_input\", \"args\": {args}}}}}]}}}}"
        )
    };
    match dice.below(8) {
        0 => call(&format!("{{\"message\": \"?\", \"payload\": {odd}}}")),
        1 => call(&format!("{{\"message\": {odd}, \"deadline\": 9e9}}")),
        2 => call(&format!("{{\"message\": \"?\", \"deadline\": {odd}, \"default\": {odd}}}")),
        3 => format!(
            "{{{head}, \"author\": \"user\", \"content\": {{\"role\": \"user\", \"parts\": [{{\"function_response\": {{\"id\": \"q\", \
             \"name\": \"adk_request_input\", \"response\": {{\"result\": {odd}}}}}}}]}}}}"
        ),
        4 => format!("{{{head}, \"author\": \"n\", \"output\": {odd}}}"),
        5 => format!("{{{head}, \"author\": \"n\", \"actions\": {{\"state_delta\": {{\"k\": {odd}}}}}}}"),
        6 => format!(
            "{{\"id\": \"odd-{id}\", \"author\": \"n\", \"timestamp\": {odd}, \"actions\": {{\"rewind_before_invocation_id\": \"i0\"}}}}"
        ),
        _ => (*dice.one_of(&["{damaged", "[]", "", "{\"actions\": null, \"long_running_tool_ids\": [\"q\"]}"]))
            .to_owned(),
    }
}

/// Writes the odd session, and odd keys into the states that all sessions share. Returns the values of these keys.
async fn write_odd(place: &Place, dice: &mut Dice) -> [String; 2] {
    let state = match dice.below(6) {
        0 => (*dice.one_of(&["null", "[]", "{damaged", "NaN", ""])).to_owned(),
        1 => "{}".to_owned(),
        _ => format!("{{\"good\": 1, \"k\": {}, \"\\ud800\": {}}}", odd_value(dice), odd_value(dice)),
    };
    let (created, updated) = (odd_time(dice), odd_time(dice));
    let shared = [odd_value(dice), odd_value(dice)];
    let [of_app, of_user] =
        shared.each_ref().map(|odd| quoted(&format!("{{\"good\": 1, \"count\": 0, \"odd\": {odd}}}")));
    let mut sql = format!(
        "INSERT INTO sessions VALUES ('app', 'ana', 'odd', {}, {created}, {updated});
        UPDATE app_states SET state = {of_app}; UPDATE user_states SET state = {of_user};",
        quoted(&state)
    );
    for id in 0..dice.below(5) {
        let document = quoted(&odd_event(dice, id));
        sql +=
            &format!("INSERT INTO events VALUES ('odd-{id}', 'app', 'ana', 'odd', 'i1', 1760000000.25, {document});");
    }
    place.run(&sql).await;
    shared
}

/// A workflow that counts in the shared states and acts as the message says.
fn workflow() -> Workflow {
    let mut wf = Workflow::builder("wf");
    let node = FunctionNode::new("work", async |ctx: Context, Input(word): Input<String>| {
        ctx.state().add("app:count", 1)?;
        ctx.state().add("user:count", 1)?;
        match &*word {
            "waits" => Ok(format!("{:?}", ctx.ask_within::<bool>("when", "Now?", HOUR).await?)),
            "asks" => Ok(format!("{}", ctx.ask::<bool>("ok", "Well?").await?)),
            word => Ok::<_, NodeError>(format!("has {word}")),
        }
    });
    let node = wf.add(node.rerun_on_resume(true));
    wf.edge(START, node);
    wf.build().unwrap()
}

fn runner(sessions: &Arc<dyn SessionService>, clock: &TestClock) -> Runner {
    Runner::builder(APP).root(workflow()).sessions(Arc::clone(sessions)).clock(Arc::new(clock.clone())).build().unwrap()
}

fn key(id: &str) -> SessionKey {
    SessionKey::new(APP, "ana", id)
}

async fn loaded(sessions: &dyn SessionService, id: &str) -> Session {
    sessions.get_session(&key(id), GetSessionConfig::all()).await.unwrap().unwrap()
}

/// Checks that every session is listed once, in one page or in several, and that no healthy session has a fault.
async fn check_listings(sessions: &dyn SessionService, case: &str) {
    let all: BTreeSet<&str> = HEALTHY.into_iter().chain(["odd"]).collect();
    for request in
        [ListSessions::new(APP), ListSessions::new(APP).with_user("ana"), ListSessions::new(APP).without_state()]
    {
        for limit in [1, 2, 3, 4, 100] {
            let (mut found, mut next, mut pages) = (Vec::new(), Some(request.clone().with_limit(limit)), 0);
            while let Some(request) = next.take() {
                let page = sessions.list_sessions(request.clone()).await.unwrap();
                assert!(page.faults.iter().all(|fault| fault.session == key("odd")), "{case}: {:?}", page.faults);
                next = page.next.map(|next| request.with_after(next));
                found.extend(page.sessions);
                pages += 1;
                assert!(pages < 10, "{case}: the pages do not end");
            }
            let ids: Vec<&str> = found.iter().map(|session| session.id().as_str()).collect();
            assert_eq!((ids.len(), ids.iter().copied().collect::<BTreeSet<_>>()), (4, all.clone()), "{case}: {ids:?}");
            for session in found.iter().filter(|session| session.id().as_str() != "odd" && request.with_state) {
                let whole = loaded(sessions, session.id().as_str()).await;
                assert_eq!((&session.state, &session.head), (&whole.state, &whole.head), "{case}");
            }
        }
    }
}

async fn questions(sessions: &dyn SessionService) -> Vec<String> {
    let listed = sessions.list_questions(ListQuestions::new(APP).with_limit(100)).await.unwrap().items;
    let healthy = listed.iter().filter(|item| item.session.session_id.as_str() != "odd");
    healthy.map(|item| item.question.id.clone()).collect()
}

async fn check(scheme: &'static str, seed: u64) {
    let case = format!("PLEACH_FUZZ_SEED={seed} {scheme}");
    let (place, mut dice) = (Place::new(scheme), Dice::new(seed));
    let (sessions, clock) = (place.open().await, TestClock::new());
    let first = runner(&sessions, &clock);
    for id in HEALTHY {
        clock.advance(Duration::from_secs(1)).await;
        let mut run = first.run("ana", id, id);
        while let Some(event) = run.next().await {
            event.unwrap();
        }
    }
    // The service may have loaded the sessions before.
    if dice.below(2) == 0 {
        questions(&*sessions).await;
    }
    drop(first);
    let before: Vec<Session> = futures_util::future::join_all(HEALTHY.map(|id| loaded(&*sessions, id))).await;
    let shared = write_odd(&place, &mut dice).await;
    let rows = place.odd_rows().await;

    let sessions = if dice.below(2) == 0 { place.open().await } else { sessions };
    check_listings(&*sessions, &case).await;
    for session in &before {
        let now = loaded(&*sessions, session.id().as_str()).await;
        assert_eq!((&now.events, &now.head), (&session.events, &session.head), "{case}");
        assert_eq!(now.state["app:good"], json!(1), "{case}");
    }
    let asked = questions(&*sessions).await;
    assert!(asked.iter().any(|id| id == "ok") && asked.iter().any(|id| id.contains("when")), "{case}: {asked:?}");
    let place_of_log = sessions.new_deadlines(&APP.into(), None, 0.0).await.unwrap().unwrap().place;

    let other = runner(&sessions, &clock);
    assert!(other.inbox("ana").await.unwrap().iter().any(|item| item.question.id == "ok"), "{case}");
    let unfinished = other.unfinished(ListUnfinished::new()).await.unwrap();
    assert!(unfinished.items.iter().all(|status| status.session == key("odd")), "{case}");
    assert_eq!(other.run("ana", "new", "new").output::<String>().await.unwrap(), "has new", "{case}");
    let fork = loaded(&*sessions, "done").await;
    let last = fork.events.last().unwrap().id().clone();
    other.fork("ana", "done", &*last.to_string(), Some("copy".into())).await.unwrap();
    assert_eq!(other.answer("asks", "ok", true).unwrap().output::<String>().await.unwrap(), "true", "{case}");
    assert_eq!(other.run("ana", "asks", "more").output::<String>().await.unwrap(), "has more", "{case}");
    sessions.new_deadlines(&APP.into(), Some(&place_of_log), 0.0).await.unwrap();

    // The timers of the healthy session fire.
    other.start_timers();
    let awake = async {
        while !loaded(&*sessions, "waits").await.events.iter().any(|event| event.output() == Some(&json!("None"))) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    clock.advance(HOUR + Duration::from_secs(1)).await;
    tokio::time::timeout(Duration::from_secs(60), clock.run(awake)).await.expect(&case);

    // A session of another user, created with a state of its own.
    sessions
        .create_session(CreateSession::new(APP, "ben").with_state(map(json!({"user:n": 1, "app:n": 2}))))
        .await
        .unwrap();
    let mut done = loaded(&*sessions, "done").await;
    sessions.append_event(&mut done, Event::message("x").with_state("app:n", 3).with_state("user:n", 3)).await.unwrap();

    // The odd values are unchanged.
    assert_eq!(place.odd_rows().await, rows, "{case}");
    for (table, odd) in [("app_states", &shared[0]), ("user_states", &shared[1])] {
        let state = place.texts(&format!("SELECT state FROM {table} WHERE state LIKE '%odd%'")).await;
        assert!(state[0].contains(&format!("\"odd\":{odd}")) && state[0].contains("\"n\":3"), "{case}: {state:?}");
    }
    // Loading the odd session may fail, but the error must name it.
    let odd = sessions.get_session(&key("odd"), GetSessionConfig::all()).await;
    if let Err(error) = odd {
        assert!(error.is_of_one_session() && error.to_string().contains("app/ana/odd"), "{case}: {error}");
    }
    other.resume_unfinished(ListUnfinished::new()).await.unwrap();
    sessions.delete_session(&key("odd")).await.unwrap();
    assert_eq!(place.odd_rows().await, [""; 0], "{case}");
}

fn map(value: Value) -> pleach::Map {
    value.as_object().cloned().unwrap()
}

#[tokio::test]
async fn one_odd_session_hides_no_other_one() {
    let first = Dice::of_environment(SEED).number();
    let seeds = match std::env::var("PLEACH_FUZZ_SEED") {
        Ok(seed) => vec![seed.parse().unwrap()],
        Err(_) => (0..steps(12) as u64).map(|round| first.wrapping_add(round)).collect(),
    };
    for seed in seeds {
        for scheme in ["sqlite", "sqlite+aiosqlite"] {
            check(scheme, seed).await;
        }
    }
}
