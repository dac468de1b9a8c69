//! Operations on sessions with long or unusual histories.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use pleach::prelude::*;
use pleach::{
    BoxError, Content, CreateSession, FunctionResponse, GetSessionConfig, Map, Part, Session, SessionServiceExt as _,
    effective_events, open_questions,
};

use super::growth::growth;
use super::values::{with_calls, with_keys, with_path};
use crate::events::event;
use crate::measure::now;
use crate::row::Row;
use crate::stores::Backend;
use crate::workloads::w1_chain::add_one;

pub(super) fn rows() -> Vec<Row> {
    let pure = vec![
        growth("questions_of_events", 500, async |count| questions(asked(count))),
        growth("questions_of_one_event", 500, async |calls| questions(vec![with_calls(calls)])),
        growth("answered_questions", 500, async |count| questions(answered(count))),
        growth("rewinds", 500, async |count| {
            let events = shared(rewound(count));
            let begin = now();
            black_box(effective_events(&events));
            Ok(begin.elapsed())
        }),
        growth("run_behind_a_long_path", 500, async |segments| run_behind(vec![with_path(segments)]).await),
        growth("run_behind_branches", 500, async |count| run_behind(branches(count)).await),
        growth("run_behind_invocations", 500, async |count| run_behind(invocations(count)).await),
        growth("run_behind_questions", 500, async |count| run_behind(asked(count)).await),
        growth("run_behind_answers", 500, async |count| run_behind(answered(count)).await),
        growth("run_behind_rewinds", 500, async |count| run_behind(rewound(count)).await),
        growth("answer_in_a_loop", 200, answer_loop),
        growth("answer_behind_children", 200, answer_children),
    ];
    let stored = Backend::ALL.into_iter().flat_map(|backend| {
        let row = |name: &str, row: Row| Row { param: format!("{name},{}", backend.name()), ..row }.on(backend);
        [
            row("append_keys", growth("", 500, async move |keys| append_keys(backend, keys).await)),
            row("append_to_keys", growth("", 500, async move |keys| append_to_keys(backend, keys).await)),
            row("append_to_events", growth("", 200, async move |count| append_to_events(backend, count).await)),
            row("delete_events", growth("", 200, async move |count| delete_events(backend, count).await)),
        ]
    });
    pure.into_iter().chain(stored).collect()
}

fn shared(events: Vec<Event>) -> Vec<Arc<Event>> {
    events.into_iter().map(Arc::new).collect()
}

fn questions(events: Vec<Event>) -> Result<Duration, BoxError> {
    let events = shared(events);
    let begin = now();
    black_box(open_questions(&events));
    Ok(begin.elapsed())
}

/// The `number`-th event of a session: `event` with an id, time and invocation of its own.
fn placed(number: usize, mut event: Event) -> Event {
    let place = crate::events::event(number);
    event.set_id(place.id().clone());
    event.set_timestamp(place.timestamp());
    event.set_invocation_id(format!("e-{number}"));
    event
}

fn asked(count: usize) -> Vec<Event> {
    let ask = |number| {
        let request: RequestInput = RequestInput::ask(format!("question{number}"), "Refund?");
        placed(number, request.into_event("ask").with_node_path(format!("refunds@1/ask@{}", number + 1)))
    };
    (0..count).map(ask).collect()
}

fn answered(count: usize) -> Vec<Event> {
    let mut events = asked(count);
    for number in 0..count {
        let response = FunctionResponse::new(format!("question{number}"), "adk_request_input", Map::new());
        let content = Content::new("user", [Part::function_response(response)]);
        let mut answer = placed(count + number, Event::from_author("user").with_content(content));
        answer.set_invocation_id(format!("e-{number}"));
        events.push(answer);
    }
    events
}

fn invocations(count: usize) -> Vec<Event> {
    (0..count).map(|number| placed(number, event(number))).collect()
}

fn rewound(count: usize) -> Vec<Event> {
    let mut events = Vec::with_capacity(2 * count);
    for number in 0..count {
        events.push(placed(2 * number, event(number)));
        let mut rewind = placed(2 * number + 1, Event::from_author("user"));
        rewind.actions_mut().set_rewind_before_invocation_id(Some(format!("e-{}", 2 * number)));
        events.push(rewind);
    }
    events
}

fn branches(count: usize) -> Vec<Event> {
    (0..count).map(|number| placed(number, event(number).with_branch(format!("lane@1.b{number}@1")))).collect()
}

/// Times a run of one node in a session that already has these events.
async fn run_behind(events: Vec<Event>) -> Result<Duration, BoxError> {
    let mut wf = Workflow::builder("one");
    let node = wf.node("add", add_one);
    wf.edge(START, node);
    let runner = Runner::builder("bench").root(wf.build()?).build()?;
    let create = CreateSession::new("bench", "ana").with_session_id("s");
    let mut session = runner.sessions().create_session(create).await?;
    for (number, event) in events.into_iter().enumerate() {
        runner.sessions().append_event(&mut session, placed(number, event)).await?;
    }
    let begin = now();
    runner.run("ana", "s", Message::data(0)).output::<i64>().await?;
    Ok(begin.elapsed())
}

/// Times an answer to a node that is reached after a loop of `turns` rounds.
async fn answer_loop(turns: usize) -> Result<Duration, BoxError> {
    let turns = i64::try_from(turns)?;
    let mut wf = Workflow::builder("rounds");
    let round = wf.node("round", move |Input(number): Input<i64>| async move {
        Output::of(number + 1).route(if number + 1 < turns { "again" } else { "enough" })
    });
    let ask = wf.add(FunctionNode::new("ask", ask).rerun_on_resume(true));
    wf.edge(START, round).route(round, "again", round).route(round, "enough", ask);
    answer(wf.build()?, 0).await
}

/// Times an answer to a node that awaits `count` children before it asks.
async fn answer_children(count: usize) -> Result<Duration, BoxError> {
    let mut wf = Workflow::builder("family");
    let parent = wf.add(
        FunctionNode::new("parent", move |ctx: Context, Input(number): Input<i64>| async move {
            for child in 0..count {
                let _: i64 = ctx.run(&FunctionNode::new(format!("c{child}"), add_one), number).await?;
            }
            ask(ctx, Input(number)).await
        })
        .rerun_on_resume(true),
    );
    wf.edge(START, parent);
    answer(wf.build()?, 0).await
}

async fn ask(ctx: Context, Input(number): Input<i64>) -> pleach::Result<i64> {
    let _: bool = ctx.ask("approval", "Go on?").await?;
    Ok(number)
}

async fn answer(root: Workflow, input: i64) -> Result<Duration, BoxError> {
    let runner = Runner::builder("bench").root(root).build()?;
    let waiting = runner.run("ana", "s", Message::data(input)).output::<i64>().await;
    let Err(RunError::Waiting(_)) = waiting else {
        return Err(format!("the run did not wait: {waiting:?}").into());
    };
    let begin = now();
    runner.answer(("ana", "s"), "approval", true)?.output::<i64>().await?;
    Ok(begin.elapsed())
}

async fn with_session(backend: Backend) -> Result<(crate::stores::Store, Session), BoxError> {
    let store = backend.open().await?;
    let session = store.sessions.create_session(CreateSession::new("bench", "ana")).await?;
    Ok((store, session))
}

/// Times the append of one event that sets `keys` keys.
async fn append_keys(backend: Backend, keys: usize) -> Result<Duration, BoxError> {
    let (store, mut session) = with_session(backend).await?;
    let event = placed(0, with_keys(keys));
    let begin = now();
    store.sessions.append_event(&mut session, event).await?;
    let time = begin.elapsed();
    store.sessions.close().await?;
    Ok(time)
}

/// Times the append of one event that sets one key of a session with `keys` other keys.
async fn append_to_keys(backend: Backend, keys: usize) -> Result<Duration, BoxError> {
    let (store, mut session) = with_session(backend).await?;
    store.sessions.append_event(&mut session, placed(0, with_keys(keys))).await?;
    let begin = now();
    store.sessions.append_event(&mut session, placed(1, event(1))).await?;
    let time = begin.elapsed();
    store.sessions.close().await?;
    Ok(time)
}

/// Times the append of one event after `count` others.
async fn append_to_events(backend: Backend, count: usize) -> Result<Duration, BoxError> {
    let (store, mut session) = filled(backend, count).await?;
    let begin = now();
    store.sessions.append_event(&mut session, placed(count, event(count))).await?;
    let time = begin.elapsed();
    let loaded = store.sessions.get_session(session.key(), GetSessionConfig::all()).await?;
    let stored = loaded.map_or(0, |session| session.events.len());
    store.sessions.close().await?;
    if stored == count + 1 { Ok(time) } else { Err(format!("{stored} events stored instead of {}", count + 1).into()) }
}

async fn delete_events(backend: Backend, count: usize) -> Result<Duration, BoxError> {
    let (store, session) = filled(backend, count).await?;
    let begin = now();
    store.sessions.delete_session(session.key()).await?;
    let time = begin.elapsed();
    store.sessions.close().await?;
    Ok(time)
}

async fn filled(backend: Backend, count: usize) -> Result<(crate::stores::Store, Session), BoxError> {
    let (store, mut session) = with_session(backend).await?;
    let service = store.unsynced().await?;
    for number in 0..count {
        service.append_event(&mut session, placed(number, event(number))).await?;
    }
    Ok((store, session))
}
