//! Compares the stored sessions with the replies to the workers.

use std::collections::BTreeMap;

use pleach::{Event, GetSessionConfig, ListQuestions, ListSessions, Map, Session, SessionService, open_questions};
use pleach_tests::worker::{COUNT, Report, Step, own_count, place, replay};
use serde_json::Value;

use crate::database::Database;

/// The end of a worker.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The worker got the answer to each of its appends.
    Good,
    /// The worker was killed. In each session one append may have been in progress, which may be stored or not.
    Killed,
}

/// The contents of all sessions.
pub(crate) struct Stored {
    pub(crate) sessions: Vec<Session>,
    /// The state in all scopes after all events.
    pub(crate) state: Map,
}

/// The numbers of the events of each writer in each session.
type Numbers = BTreeMap<(String, String), Vec<usize>>;

/// Checks a database that only workers have written to, like [`check_service`]. In addition, the tables must have the
/// same contents for other programs, and nothing else.
pub(crate) async fn check(database: &Database, keys: usize, reports: &[Vec<Report>], end: End) -> Stored {
    database.settle().await;
    let service = database.open().await;
    let stored = check_service(&*service, keys, reports, end).await;
    service.close().await.unwrap();
    database.check_integrity().await;
    check_tables(database, &stored).await;
    stored
}

/// Checks the sessions. Every acknowledged event must be stored once and unchanged, in the order of its writer. No
/// other event may be stored. The state must follow from the stored deltas.
pub(crate) async fn check_service(
    service: &dyn SessionService,
    keys: usize,
    reports: &[Vec<Report>],
    end: End,
) -> Stored {
    let listed = service.list_sessions(ListSessions::new("app").with_user("user")).await.unwrap().sessions;
    let mut stored = Stored { sessions: Vec::new(), state: Map::new() };
    let (mut numbers, mut counts) = (Numbers::new(), Vec::new());
    for session in listed {
        let session = service.get_session(session.key(), GetSessionConfig::all()).await.unwrap().unwrap();
        counts.extend(check_history(&session, keys, &mut numbers));
        stored.state.extend(replay(session.id().as_str(), events_of(&session)));
        stored.sessions.push(session);
    }
    // Each counting event has added one, and no two events have the same count.
    counts.sort_unstable();
    assert_eq!(counts, (1..=counts.len() as u64).collect::<Vec<_>>());
    counts.last().map(|last| stored.state.insert(COUNT.to_owned(), (*last).into()));
    for session in &stored.sessions {
        assert_eq!(session.state, own_view(session, &stored.state), "the state of {}", session.key());
    }
    let user = service.user_state(&"app".into(), &"user".into()).await.unwrap();
    assert_eq!(user, scope("user:", &stored.state));
    check_answers(&numbers, &acknowledged(reports), end);
    check_inbox(service, &stored).await;
    stored
}

/// Checks that the projection of open questions agrees with the histories.
async fn check_inbox(service: &dyn SessionService, stored: &Stored) {
    let open = stored.sessions.iter().flat_map(|session| {
        open_questions(&session.events).into_iter().map(|question| (session.key().clone(), question))
    });
    let mut open: Vec<_> = open.collect();
    open.sort_by(|(left, asked), (right, later)| {
        asked.asked_at.total_cmp(&later.asked_at).then_with(|| left.cmp(right))
    });
    let listed = service.list_questions(ListQuestions::new("app")).await.unwrap().items;
    let listed: Vec<_> = listed.into_iter().map(|item| (item.session, item.question)).collect();
    assert_eq!(listed, open);
}

/// Compares each event with the event that follows from its id and position, and records its number under its writer. Returns
/// the counts after the counting events.
fn check_history(session: &Session, keys: usize, numbers: &mut Numbers) -> Vec<u64> {
    let (mut own, mut counts) = (0, Vec::new());
    for (place, event) in session.events.iter().enumerate() {
        let step = Step::of_id(&event.id().to_string()).expect("only workers append");
        assert_eq!(step.session, session.id().as_str());
        let mut expected = step.event(keys, place);
        expected.actions_mut().take_state_ops();
        if step.counts() {
            own += 1;
            let count = event.actions().state_delta()[COUNT].as_u64().unwrap();
            counts.push(count);
            expected.actions_mut().set_state(COUNT, count);
            expected.actions_mut().set_state(own_count(&step.session), own);
        }
        assert_eq!(**event, expected, "event {place} of {}", session.key());
        numbers.entry((step.writer, step.session)).or_default().push(step.number);
    }
    assert_eq!(session.events.len(), place(session.last_update_time()), "the time of {}", session.key());
    counts
}

/// The numbers of the events whose append was acknowledged.
fn acknowledged(reports: &[Vec<Report>]) -> Numbers {
    let mut numbers = Numbers::new();
    for report in reports.iter().flatten() {
        if let Report::Stored(step) = report {
            numbers.entry((step.writer.clone(), step.session.clone())).or_default().push(step.number);
        }
    }
    numbers
}

fn check_answers(stored: &Numbers, acknowledged: &Numbers, end: End) {
    if end == End::Good {
        assert_eq!(stored, acknowledged);
        return;
    }
    for (whose, stored) in stored {
        let known = acknowledged.get(whose).map_or(0, Vec::len);
        let all: Vec<_> = (0..stored.len()).collect();
        assert_eq!(*stored, all, "the events of {whose:?}");
        assert!((known..=known + 1).contains(&stored.len()), "{} for {known} answers of {whose:?}", stored.len());
    }
    let lost: Vec<_> = acknowledged.keys().filter(|whose| !stored.contains_key(*whose)).collect();
    assert!(lost.is_empty(), "no event of {lost:?} is stored");
}

/// The state that a session has: its own keys and the shared keys.
fn own_view(session: &Session, all: &Map) -> Map {
    let own = replay(session.id().as_str(), events_of(session));
    let shared = all.iter().filter(|(key, _)| key.contains(':'));
    own.into_iter().chain(shared.map(|(key, value)| (key.clone(), value.clone()))).collect()
}

fn events_of(session: &Session) -> impl Iterator<Item = &Event> {
    session.events.iter().map(AsRef::as_ref)
}

/// The keys with this prefix, with the prefix removed.
fn scope(prefix: &str, state: &Map) -> Map {
    let entries = state.iter().filter_map(|(key, value)| Some((key.strip_prefix(prefix)?.to_owned(), value.clone())));
    entries.collect()
}

/// Compares the tables with the sessions that the service returned.
async fn check_tables(database: &Database, stored: &Stored) {
    let tables = database.rows([
        "SELECT app_name, CAST(state AS TEXT) FROM app_states",
        "SELECT user_id, CAST(state AS TEXT) FROM user_states",
        "SELECT id, CAST(state AS TEXT) FROM sessions",
        "SELECT session_id, id FROM events ORDER BY session_id, timestamp",
    ]);
    let [app, user, sessions, events] = tables.await;
    let expected = |name, prefix| (name, object(scope(prefix, &stored.state)));
    if !stored.sessions.is_empty() {
        assert_eq!(states(&app), [expected("app", "app:")]);
        assert_eq!(states(&user), [expected("user", "user:")]);
    }
    let sessions: BTreeMap<_, _> = states(&sessions).into_iter().collect();
    let shown = stored.sessions.iter().map(|session| {
        let own = replay(session.id().as_str(), events_of(session)).into_iter().filter(|(key, _)| !key.contains(':'));
        (session.id().as_str(), object(own.collect()))
    });
    assert_eq!(sessions, shown.collect());
    let mut shown: Vec<_> = stored.sessions.iter().collect();
    shown.sort_by_key(|session| session.id().clone());
    let shown = shown
        .into_iter()
        .flat_map(|session| session.events.iter().map(|event| [session.id().to_string(), event.id().to_string()]));
    assert_eq!(events, shown.collect::<Vec<_>>());
}

fn states(rows: &[Vec<String>]) -> Vec<(&str, Value)> {
    rows.iter().map(|row| (row[0].as_str(), serde_json::from_str(&row[1]).unwrap())).collect()
}

fn object(map: Map) -> Value {
    Value::Object(map)
}
