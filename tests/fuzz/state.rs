//! Makes random state operations in every scope, of several sessions and users, on every backend, and compares the
//! results with the model.

use std::sync::Arc;

use pleach::{
    CreateSession, Event, GetSessionConfig, Map, Session, SessionError, SessionKey, SessionService,
    SessionServiceExt as _, StateOp, connect,
};
use pleach_tests::dice::{Dice, steps};
use serde_json::{Number, Value, json};

use crate::database::Backend;
use crate::model::{Values, apply, same, same_map, without_exponent};

const SEED: u64 = 10;
const SESSIONS: [(&str, &str); 4] = [("ana", "s1"), ("ana", "s2"), ("ben", "s1"), ("ben", "s2")];

/// The expected values by scope and key: `app:k`, `ana/user:k` and `ana/s1/k`.
struct Model {
    values: Values,
    /// Whether values are stored as `jsonb` of Postgres, which keeps no exponent: a float of 1e16 or more is read as an integer.
    is_jsonb: bool,
}

impl Model {
    fn place(key: &SessionKey, state_key: &str) -> String {
        match state_key.split_once(':') {
            Some(("app", _)) => state_key.to_owned(),
            Some(_) => format!("{}/{state_key}", key.user_id),
            None => format!("{}/{}/{state_key}", key.user_id, key.session_id),
        }
    }

    /// Applies changes in order. If one does not fit, changes nothing and returns `None`.
    fn append(&mut self, key: &SessionKey, changes: &[(String, StateOp)]) -> Option<Map> {
        let (mut next, mut delta) = (self.values.clone(), Map::new());
        for (at, (state_key, op)) in changes.iter().enumerate() {
            let is_set_later = |(key, op): &(String, StateOp)| key == state_key && matches!(op, StateOp::Set(_));
            if changes[at + 1..].iter().any(is_set_later) {
                // A later set replaces this change, so it does not matter whether the change fits.
                continue;
            }
            let place = Self::place(key, state_key);
            let value = apply(op, next.get(&place).cloned().unwrap_or_default())?;
            next.insert(place, if self.is_jsonb { without_exponent(&value) } else { value.clone() });
            delta.insert(state_key.clone(), value);
        }
        self.values = next;
        Some(delta)
    }

    fn view(&self, key: &SessionKey) -> Map {
        let own = format!("{}/{}/", key.user_id, key.session_id);
        let users = format!("{}/user:", key.user_id);
        let shown = self.values.iter().filter_map(|(place, value)| {
            let name = match place.strip_prefix(&own) {
                Some(name) => name.to_owned(),
                None if place.starts_with(&users) => place.split_once('/')?.1.to_owned(),
                None if place.starts_with("app:") => place.clone(),
                None => return None,
            };
            Some((name, value.clone()))
        });
        shown.collect()
    }
}

fn number(dice: &mut Dice) -> Number {
    const INTEGERS: [i64; 7] = [0, 1, -1, 7, i64::MAX, i64::MIN, 9_007_199_254_740_993];
    const FLOATS: [f64; 7] = [0.5, -2.25, 1e-7, 1e300, -1e300, f64::MAX, 123_456.789];
    match dice.below(8) {
        0 => Number::from(u64::MAX),
        1 => Number::from(u64::MAX - 1),
        2 | 3 => Number::from_f64(*dice.one_of(&FLOATS)).unwrap(),
        4 => Number::from(*dice.one_of(&INTEGERS)),
        _ => Number::from(dice.below(100)),
    }
}

fn value(dice: &mut Dice, levels: usize) -> Value {
    match dice.below(if levels == 0 { 5 } else { 8 }) {
        0 => Value::Null,
        1 => json!(dice.below(2) == 0),
        2 => json!(*dice.one_of(&["", "a", "\u{1f600} ' \" \\", "0", "null"])),
        3 | 4 => number(dice).into(),
        5 => (0..dice.below(4)).map(|_| value(dice, levels - 1)).collect(),
        _ => (0..dice.below(3)).map(|at| (format!("k{at}"), value(dice, levels - 1))).collect::<Map>().into(),
    }
}

fn items(dice: &mut Dice) -> Vec<Value> {
    (0..dice.below(4)).map(|_| value(dice, 2)).collect()
}

fn operation(dice: &mut Dice, key: &str) -> StateOp {
    // Most operations fit the type of the key, so not every operation is refused.
    let kind = if dice.below(20) == 0 { dice.below(9) } else { usize::from(key.ends_with('l')) * 4 + dice.below(5) };
    match kind {
        0 | 1 => StateOp::Add(number(dice)),
        2 => StateOp::Max(number(dice)),
        3 => StateOp::Min(number(dice)),
        4 if dice.below(3) > 0 => StateOp::SetIfAbsent(Value::Null),
        4 => StateOp::Set(Value::Null),
        5 | 6 => StateOp::Push(items(dice)),
        7 => StateOp::Union(items(dice)),
        _ if dice.below(4) == 0 => StateOp::Set(value(dice, 3)),
        _ => StateOp::SetIfAbsent(items(dice).into()),
    }
}

fn changes(dice: &mut Dice) -> Vec<(String, StateOp)> {
    let keys = ["n", "user:n", "app:n", "l", "user:l", "app:l", "app:", "user:\u{fc}n", "a'b\"cn"];
    let mut changes: Vec<(String, StateOp)> = Vec::new();
    for _ in 0..=dice.below(3) {
        let key = (*dice.one_of(&keys)).to_owned();
        let op = operation(dice, &key);
        // Two numbers of one event may have a sum in range, although the first addition alone is not.
        let is_second_sum = matches!(op, StateOp::Add(_)) && changes.iter().any(|(known, _)| *known == key);
        if !is_second_sum {
            changes.push((key, op));
        }
    }
    changes
}

/// An event with the changes. A set is written as a value or as an operation.
fn event(dice: &mut Dice, changes: &[(String, StateOp)]) -> Event {
    changes.iter().fold(Event::message("x"), |event, (key, op)| match op {
        StateOp::Set(value) if dice.below(2) == 0 => event.with_state(key, value.clone()),
        op => event.with_state_op(key, op.clone()),
    })
}

async fn play(service: &dyn SessionService, is_jsonb: bool, steps: usize) {
    let mut dice = Dice::of_environment(SEED);
    let mut model = Model { values: Values::new(), is_jsonb };
    let mut sessions = Vec::new();
    for (user, id) in SESSIONS {
        let request = CreateSession::new("fuzz", user).with_session_id(id);
        sessions.push(service.create_session(request).await.unwrap());
    }
    let (mut stored, mut refused) = ([0; SESSIONS.len()], 0);
    for step in 0..steps {
        let at = dice.below(sessions.len());
        let changes = changes(&mut dice);
        let event = event(&mut dice, &changes);
        let session = &mut sessions[at];
        let before = session.clone();
        let appended = service.append_event(session, event).await;
        match (appended, model.append(before.key(), &changes)) {
            (Ok(event), Some(delta)) => {
                let shown = event.actions().state_delta();
                assert!(same_map(shown, &delta), "step {step}, {changes:?}: {shown:?} instead of {delta:?}");
                let own = delta.iter().all(|(key, value)| session.state.get(key).is_some_and(|seen| same(seen, value)));
                assert!(own, "step {step}: the caller's session does not show {delta:?}");
                stored[at] += 1;
            }
            (Err(SessionError::StateOperation { .. }), None) => {
                assert_eq!(*session, before, "step {step}: a refused append changed the session");
                refused += 1;
            }
            (appended, expected) => panic!("step {step}, {changes:?}: {appended:?} instead of {expected:?}"),
        }
        if step % 16 == 0 || step + 1 == steps {
            sessions[at] = check(service, &before, &model, stored[at], step).await;
        }
    }
    for (session, stored) in sessions.iter().zip(stored) {
        check(service, session, &model, stored, steps).await;
    }
    assert!(steps < 100 || refused > 0, "no operation was refused");
}

async fn check(service: &dyn SessionService, session: &Session, model: &Model, stored: usize, step: usize) -> Session {
    let loaded = service.get_session(session.key(), GetSessionConfig::all()).await.unwrap().unwrap();
    let expected = model.view(session.key());
    assert!(same_map(&loaded.state, &expected), "step {step}: {:?} instead of {expected:?}", loaded.state);
    assert_eq!(loaded.events.len(), stored, "step {step}");
    loaded
}

#[tokio::test]
async fn operations_in_memory_do_what_the_model_does() {
    let service: Arc<dyn SessionService> = connect("memory:").await.unwrap();
    play(&*service, false, steps(2_000)).await;
}

async fn on(backend: Backend, short: usize) {
    let Some(database) = backend.database().await else { return };
    play(&*database.open().await, backend == Backend::Postgres, steps(short)).await;
}

#[tokio::test]
async fn operations_in_sqlite_do_what_the_model_does() {
    on(Backend::SqliteLite, 1_000).await;
    on(Backend::SqliteV1, 1_000).await;
}

#[tokio::test]
async fn operations_in_postgres_do_what_the_model_does() {
    on(Backend::Postgres, 400).await;
}
