//! Clients of several Runners that share a store. They run, answer, resume, abort, drop, detach and drain the same invocations at once.
//!
//! The log must look like one execution, even though the clients race: each node completes once, each state operation
//! applies once, and the outcome follows from the recorded answer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pleach::prelude::*;
use pleach::{
    AbortSignal, AnswerOptions, App, Event, InvocationId, RetryConfig, Run, RunEnd, RunRequest, SessionKey,
    SessionService, connect,
};
use pleach_tests::dice::{Dice, steps};
use tokio::time::timeout;

use crate::database::Backend;

const SEED: u64 = 11;
const RUNNERS: usize = 3;
const SESSIONS: usize = 3;
/// The number of steps after which a client uses other invocations.
const STEPS_OF_INVOCATION: usize = 6;
const CLIENTS: usize = 6;
/// The limit for a run. A run that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A workflow that counts in shared state, and starts a background child that counts as well. Then it asks, and doubles
/// the answer in a dynamic child.
fn workflow() -> Workflow<Dynamic, i64> {
    let mut wf = Workflow::builder("wf");
    let begin = FunctionNode::new("begin", async |ctx: Context| {
        ctx.emit(Event::message("beginning")).await?;
        ctx.state().add("app:begun", 1)?;
        let child = FunctionNode::new("aside", async |ctx: Context| {
            tokio::task::yield_now().await;
            ctx.state().add("app:aside", 1)?;
            Ok::<_, NodeError>("aside")
        });
        ctx.run_in_background(child, ())?;
        Ok::<_, NodeError>(1)
    });
    let begin = wf.add(begin.rerun_on_resume(true));
    let ask = wf.node("ask", async || RequestInput::<i64>::ask("q", "how many?"));
    let double = FunctionNode::new("double", async |ctx: Context, Input(n): Input<i64>| {
        let child = FunctionNode::new("child", async |ctx: Context, Input(n): Input<i64>| {
            tokio::task::yield_now().await;
            ctx.state().push("user:seen", n)?;
            Ok::<_, NodeError>(n * 2)
        });
        ctx.run(&child, n).await
    });
    let double = wf.add(double.rerun_on_resume(true));
    let end = wf.node("end", async |Input(n): Input<i64>| n + 1);
    // A lane in parallel with the question, which fails every second time.
    let failures = Arc::new(AtomicUsize::new(0));
    let lane = FunctionNode::new("lane", move |ctx: Context| {
        let fails = failures.fetch_add(1, Ordering::Relaxed) % 2 == 1;
        async move {
            ctx.state().add("app:lane", 1)?;
            tokio::task::yield_now().await;
            if fails { Err(NodeError::value("down")) } else { Ok(()) }
        }
    });
    let lane = wf.add(lane.retry(RetryConfig { max_attempts: 100, initial_delay: 0.0, ..RetryConfig::default() }));
    wf.edge(START, begin).edge(begin.dynamic(), ask.dynamic()).edge(ask, double).edge(double, end);
    wf.edge(START, lane.dynamic());
    wf.build_to(end).unwrap()
}

fn key(session: usize) -> SessionKey {
    SessionKey::new("storm", "ana", format!("s{session}"))
}

fn invocation(session: usize, number: usize) -> InvocationId {
    format!("s{session}-i{number}").into()
}

fn runner(sessions: Arc<dyn SessionService>, resumable: bool) -> Runner {
    let app = App::new("storm", workflow()).unwrap().resumable(resumable);
    Runner::app(app).sessions(sessions).build().unwrap()
}

fn start(runner: &Runner, session: usize, id: &InvocationId) -> Run {
    runner.start(RunRequest::new(key(session)).message("go").invocation_id(id.clone()))
}

fn answer(runner: &Runner, session: usize, id: &InvocationId, value: i64, options: AnswerOptions) -> Run {
    runner.answer_with(key(session), [((id.clone(), "q"), value)], options).unwrap()
}

/// Checks that an error is one that a run may get while others run.
fn check_error(error: &RunError) {
    let is_expected = matches!(
        error,
        RunError::Busy { .. }
            | RunError::AlreadyAnswered { .. }
            | RunError::UnknownQuestion { .. }
            | RunError::UnknownInvocation { .. }
            | RunError::Unfinished { .. }
            | RunError::InvocationAborted { .. }
            | RunError::Draining
            | RunError::Followed { .. }
            | RunError::Aborted
            | RunError::Cut { .. }
            | RunError::SessionNotFound(_)
            | RunError::UnknownSession { .. }
    ) || matches!(error, RunError::Session(error) if error.is_stale());
    assert!(is_expected, "{error:?}: {error}");
}

async fn read(mut run: Run, at_most: usize) {
    for _ in 0..at_most {
        match timeout(PATIENCE, run.next()).await.expect("a run hangs") {
            Some(Ok(_)) => {}
            Some(Err(error)) => return check_error(&error),
            None => return,
        }
        if at_most == 1 {
            tokio::task::yield_now().await;
        }
    }
}

async fn client(runners: Vec<Runner>, mut dice: Dice, steps: usize) {
    for step in 0..steps {
        let runner = dice.one_of(&runners);
        let session = dice.below(SESSIONS);
        let id = invocation(session, step / STEPS_OF_INVOCATION + dice.below(2));
        // The answer is one of two values. The first stored answer wins, unless a later one replaces it before it is
        // used.
        let value = dice.below(2) as i64;
        let options = AnswerOptions::new().queue(dice.below(3) == 0).only_if_open(dice.below(4) == 0);
        let signal = AbortSignal::new();
        let aborts = dice.below(60) == 0;
        let run = match dice.below(5) {
            0 | 1 => start(runner, session, &id),
            2 | 3 => answer(runner, session, &id, value, options),
            _ => {
                let request = RunRequest::new(key(session)).invocation_id(id.clone());
                runner.start(if aborts { request.abort_signal(signal.clone()) } else { request })
            }
        };
        match dice.below(6) {
            0 | 1 => read(run, usize::MAX).await,
            2 => read(run, 1 + dice.below(4)).await,
            3 => {
                let detached = run.detach();
                if let Ok(Ok(mut follow)) = timeout(PATIENCE, detached.follow(None)).await {
                    while let Some(event) = timeout(PATIENCE, follow.next()).await.expect("a follower hangs") {
                        if let Err(error) = event {
                            check_error(&error);
                        }
                    }
                }
                if let Err(error) = timeout(PATIENCE, detached).await.expect("a detached run hangs") {
                    check_error(&error);
                }
            }
            4 => {
                let detached = run.detach();
                if dice.below(2) == 0 {
                    tokio::task::yield_now().await;
                    detached.cut();
                }
            }
            _ if aborts => {
                signal.abort();
                read(run, usize::MAX).await;
            }
            _ => match timeout(PATIENCE, run.output::<i64>()).await.expect("a run hangs") {
                Ok(output) => assert!(output == 1 || output == 3, "{output}"),
                Err(RunError::Waiting(_)) => {}
                Err(error) => check_error(&error),
            },
        }
    }
}

/// Runs, answers and resumes until the invocation has ended. Returns its output unless it was aborted.
async fn finish(runner: &Runner, session: usize, id: &InvocationId) -> Option<i64> {
    for _ in 0..10 {
        let run = start(runner, session, id);
        match timeout(PATIENCE, run.output::<i64>()).await.expect("a run hangs at the end") {
            Ok(output) => return Some(output),
            Err(RunError::InvocationAborted { .. } | RunError::Aborted) => return None,
            Err(RunError::Waiting(_)) => {
                let run = answer(runner, session, id, 0, AnswerOptions::new());
                match timeout(PATIENCE, run.output::<i64>()).await.expect("an answer hangs at the end") {
                    Ok(output) => return Some(output),
                    Err(error) => check_error(&error),
                }
            }
            Err(RunError::Unfinished { .. }) => {
                let mut run = runner.start(RunRequest::new(key(session)).invocation_id(id.clone()));
                while let Some(event) = timeout(PATIENCE, run.next()).await.expect("a resume hangs at the end") {
                    if let Err(error) = event {
                        check_error(&error);
                    }
                }
                assert_ne!(run.end(), Some(RunEnd::Elsewhere), "no other process is left");
            }
            Err(error) => panic!("{id}: {error:?}"),
        }
    }
    panic!("{id} does not end")
}

async fn play(services: Vec<Arc<dyn SessionService>>, steps: usize, resumable: bool) {
    let mut dice = Dice::of_environment(SEED);
    let runners: Vec<Runner> = services.iter().cloned().map(|service| runner(service, resumable)).collect();
    let clients = (0..CLIENTS)
        .map(|_| tokio::spawn(client(runners.clone(), Dice::new(dice.number()), steps)))
        .collect::<Vec<_>>();
    for client in clients {
        client.await.unwrap();
    }
    for runner in &runners {
        let drained = runner.drain(PATIENCE).await;
        // A client may have cut off a run that is still ending.
        assert!(drained.runs.iter().all(|run| run.end.is_some()), "{drained:?}");
    }
    let runner = runner(Arc::clone(&services[0]), resumable);
    let mut outputs = BTreeMap::new();
    for session in 0..SESSIONS {
        for number in 0..=steps / STEPS_OF_INVOCATION + 1 {
            let id = invocation(session, number);
            outputs.insert(id.clone(), finish(&runner, session, &id).await);
        }
    }
    assert!(runner.inbox("ana").await.unwrap().is_empty());
    check(&*services[0], &outputs, resumable).await;
}

async fn check(service: &dyn SessionService, outputs: &BTreeMap<InvocationId, Option<i64>>, resumable: bool) {
    let (mut begun, mut aside, mut seen, mut lane) = (0, 0, 0, 0);
    for session in 0..SESSIONS {
        let stored = service.get_session(&key(session), Default::default()).await.unwrap().unwrap();
        let mut given: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        // Resumable apps store outputs again where google-adk does. Such an echo names no run.
        let is_output =
            |event: &&Arc<Event>| event.output().is_some() && (!resumable || event.node_info().output_for().is_some());
        for event in stored.events.iter().filter(is_output) {
            *given.entry((event.invocation_id().as_str(), event.path().as_str())).or_default() += 1;
            begun += usize::from(event.path().name() == "begin");
            aside += usize::from(event.path().name() == "aside");
            seen += usize::from(event.path().name() == "child");
        }
        lane += stored.events.iter().filter(|event| event.actions().state_delta().contains_key("app:lane")).count();
        let twice: Vec<_> = given.iter().filter(|(_, count)| **count > 1).collect();
        let log = || {
            let own = stored
                .events
                .iter()
                .filter(|event| twice.iter().any(|((id, _), _)| *id == event.invocation_id().as_str()));
            own.map(|event| serde_json::to_string(&**event).unwrap()).collect::<Vec<_>>().join("\n")
        };
        assert!(twice.is_empty(), "nodes completed twice: {twice:?}\n{}", log());
        for (id, output) in outputs.iter().filter(|(id, _)| id.as_str().starts_with(&format!("s{session}-"))) {
            let Some(output) = output else { continue };
            let own =
                |event: &&Arc<Event>| is_output(event) && event.invocation_id() == id && event.path().name() == "end";
            let end: Vec<_> = stored.events.iter().filter(own).collect();
            assert_eq!(end.len(), 1, "{id}");
            assert_eq!(end[0].output().and_then(|output| output.as_i64()), Some(*output), "{id}");
        }
    }
    let app = service.app_state(&"storm".into()).await.unwrap();
    let count = |key: &str| app.get(key).and_then(|value| value.as_u64()).unwrap_or_default() as usize;
    assert_eq!(
        (count("begun"), count("aside"), count("lane")),
        (begun, aside, lane),
        "an operation was lost or applied twice"
    );
    let user = service.user_state(&"storm".into(), &"ana".into()).await.unwrap();
    let pushed = user.get("seen").and_then(|seen| seen.as_array()).map_or(0, Vec::len);
    assert_eq!(pushed, seen, "an operation was lost or applied twice");
}

async fn on(backend: Backend, short: usize) {
    for resumable in [false, true] {
        let Some(database) = backend.database().await else { return };
        let mut services = Vec::new();
        for _ in 0..RUNNERS {
            services.push(database.open().await);
        }
        play(services, steps(short), resumable).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_storm_of_clients_in_memory_is_one_execution_of_each_invocation() {
    for resumable in [false, true] {
        let service = connect("memory:").await.unwrap();
        play(vec![service; RUNNERS], steps(60), resumable).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_storm_of_clients_in_sqlite_is_one_execution_of_each_invocation() {
    on(Backend::SqliteLite, 60).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_storm_of_clients_in_postgres_is_one_execution_of_each_invocation() {
    on(Backend::Postgres, 40).await;
}
