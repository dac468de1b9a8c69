//! W10: the open questions of an app whose sessions all wait for an answer.

use std::time::{Duration, UNIX_EPOCH};

use futures_util::future::try_join_all;
use pleach::{
    AppName, BoxError, CreateSession, Event, ListQuestions, RequestInput, Session, SessionService,
    SessionServiceExt as _,
};

use crate::events::event;
use crate::measure::{Metric, Samples, now, sample};
use crate::row::Row;
use crate::stores::{Backend, Store};

/// The number of events of a session before its question.
const PLAIN: usize = 4;
/// The number of sessions that are filled at the same time.
const TOGETHER: usize = 64;
const PAGE: usize = 20;
/// A time after every event, in seconds since the epoch.
const LATER: f64 = 4_000_000_000.0;

pub(super) fn rows() -> Vec<Row> {
    let rows = |backend: Backend| {
        [1_000, 10_000].map(|sessions| {
            let param = format!("{},sessions={sessions}", backend.name());
            Row::new("W10", param, measure(backend, sessions)).on(backend)
        })
    };
    Backend::ALL.into_iter().flat_map(rows).collect()
}

async fn measure(backend: Backend, sessions: usize) -> Result<Vec<Metric>, BoxError> {
    let store = backend.open().await?;
    let filled = fill(&store, sessions).await?;
    store.settle().await?;
    let all = || ListQuestions::new("inbox");
    let first = list(&store, all(), sessions).await?;
    let [unchanged] = sample(async || Ok([list(&store, all(), sessions).await?])).await?;
    let [page] = sample(async || Ok([list(&store, all().with_limit(PAGE), PAGE).await?])).await?;
    let [of_assignee] = sample(async || Ok([list(&store, all().with_assignee("lead"), sessions / 100).await?])).await?;
    // A search for new deadlines that finds none.
    let app = AppName::from("inbox");
    let mut place = store.sessions.new_deadlines(&app, None, LATER).await?.ok_or("no place")?.place;
    let [look] = sample(async || {
        let begin = now();
        let new = store.sessions.new_deadlines(&app, Some(&place), LATER).await?.ok_or("the place is unknown")?;
        place = new.place;
        Ok([begin.elapsed()])
    })
    .await?;
    // One session changes between two calls.
    let mut session = filled.into_iter().next().ok_or("no session")?;
    let (mut appends, mut number) = (Samples::default(), PLAIN);
    let [changed] = sample(async || {
        number += 1;
        let begin = now();
        store.sessions.append_event(&mut session, asks(number, "q")).await?;
        appends.push(crate::measure::micros(begin.elapsed()));
        Ok([list(&store, all(), sessions).await?])
    })
    .await?;
    store.sessions.close().await?;
    Ok(vec![
        Metric::micros("first", crate::measure::micros(first)),
        Metric::micros("unchanged_median", unchanged.median()),
        Metric::micros("changed_median", changed.median()),
        Metric::micros("page20_median", page.median()),
        Metric::micros("assignee_median", of_assignee.median()),
        Metric::micros("append_median", appends.median()),
        Metric::micros("look_median", look.median()),
    ])
}

async fn list(store: &Store, request: ListQuestions, expected: usize) -> Result<Duration, BoxError> {
    let begin = now();
    let found = store.sessions.list_questions(request).await?;
    let time = begin.elapsed();
    if found.items.len() == expected {
        Ok(time)
    } else {
        Err(format!("{} questions instead of {expected}", found.items.len()).into())
    }
}

fn asks(number: usize, assignee: &str) -> Event {
    let plain = event(number);
    let request: RequestInput = RequestInput::ask("manager", "Refund the order?").assign_to(assignee);
    let request = request.with_deadline(UNIX_EPOCH + Duration::from_secs_f64(LATER));
    let mut event = request.into_event("manager").with_node_path("refunds@1/manager@1");
    event.set_id(plain.id().clone());
    event.set_timestamp(plain.timestamp());
    event.set_invocation_id(plain.invocation_id().clone());
    event
}

async fn fill(store: &Store, count: usize) -> Result<Vec<Session>, BoxError> {
    let service = store.unsynced().await?;
    let mut filled = Vec::with_capacity(count);
    for begin in (0..count).step_by(TOGETHER) {
        let batch = (begin..count.min(begin + TOGETHER)).map(|number| fill_session(&*service, number));
        filled.extend(try_join_all(batch).await?);
    }
    Ok(filled)
}

async fn fill_session(service: &dyn SessionService, number: usize) -> Result<Session, BoxError> {
    let create = CreateSession::new("inbox", format!("user{}", number % 50));
    let mut session = service.create_session(create).await?;
    for index in 0..PLAIN {
        service.append_event(&mut session, event(index)).await?;
    }
    let assignee = if number.is_multiple_of(100) { "lead" } else { "clerk" };
    service.append_event(&mut session, asks(PLAIN, assignee)).await?;
    Ok(session)
}
