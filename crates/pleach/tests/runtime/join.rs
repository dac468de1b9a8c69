//! One invocation with many callers. Callers of one Runner share a run, and callers of another Runner execute nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::join_all;
use pleach::model::{LlmResponse, ScriptedModel};
use pleach::prelude::*;
use pleach::{
    AbortSignal, AgentMode, Detached, FunctionCall, InMemorySessionService, LlmAgent, Node, Run, RunEnd, RunRequest,
    SessionError, SessionService,
};
use pleach_contract::{CountedIds, TestClock};
use serde_json::json;

use crate::gated::Gated;
use crate::script::{rest, scripted_runner};
use crate::support::{key, stored, trace};

const NODES: usize = 20;

fn chain(bodies: &Arc<AtomicUsize>) -> Workflow<Dynamic, usize> {
    let mut wf = Workflow::builder("wf");
    let mut last = None;
    for number in 0..NODES {
        let bodies = Arc::clone(bodies);
        let node = wf.node(format!("n{number}"), move || {
            bodies.fetch_add(1, Ordering::Relaxed);
            async move { number }
        });
        match last {
            None => wf.edge(START, node),
            Some(before) => wf.edge(before, node.dynamic()),
        };
        last = Some(node);
    }
    wf.build_to(last.unwrap()).unwrap()
}

fn over(root: impl Node, sessions: impl SessionService) -> Runner {
    Runner::builder("t").root(root).sessions(sessions).clock(TestClock::skipping()).build().unwrap()
}

fn start(runner: &Runner, text: &str) -> Run {
    runner.start(RunRequest::new(("ana", "s1")).message(text).invocation_id("mine"))
}

async fn events(runner: &Runner) -> usize {
    runner.sessions().get_session(&key(), Default::default()).await.unwrap().unwrap().events.len()
}

#[tokio::test]
async fn eight_callers_of_one_runner_share_one_run() {
    let bodies = Arc::default();
    let runner = over(chain(&bodies), InMemorySessionService::new());
    let outputs = join_all((0..8).map(|_| start(&runner, "go").output::<usize>())).await;
    assert!(outputs.iter().all(|output| *output.as_ref().unwrap() == NODES - 1), "{outputs:?}");
    assert_eq!((bodies.load(Ordering::Relaxed), events(&runner).await), (NODES, NODES + 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn callers_on_other_threads_see_the_same_events() {
    for _ in 0..20 {
        let bodies = Arc::default();
        let runner = over(chain(&bodies), InMemorySessionService::new());
        let callers = (0..8).map(|_| tokio::spawn(trace(start(&runner, "go"))));
        let traces: Vec<Vec<String>> = join_all(callers).await.into_iter().map(Result::unwrap).collect();
        // A caller that comes after the end gets only the result.
        let (seen, late): (Vec<_>, Vec<_>) = traces.into_iter().partition(|lines| !lines.is_empty());
        assert!(seen.iter().all(|lines| lines.len() == NODES && *lines == seen[0]), "{seen:?}");
        assert!(!seen.is_empty() && late.len() < 8);
        assert_eq!((bodies.load(Ordering::Relaxed), events(&runner).await), (NODES, NODES + 1));
    }
}

async fn two_runners(here: Runner, there: Runner, bodies: &AtomicUsize) {
    let runs = (0..8).map(|number| start(if number % 2 == 0 { &here } else { &there }, "go"));
    let outcomes = join_all(runs.map(|run| tokio::spawn(run.output::<usize>()))).await;
    let outcomes: Vec<_> = outcomes.into_iter().map(Result::unwrap).collect();
    let won = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    assert!(won >= 4, "{outcomes:?}");
    for error in outcomes.into_iter().filter_map(Result::err) {
        let lost = matches!(&error, RunError::Unfinished { .. })
            || matches!(&error, RunError::Session(error) if error.is_stale());
        assert!(lost, "{error:?}");
    }
    assert_eq!((bodies.load(Ordering::Relaxed), events(&here).await), (NODES, NODES + 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_loser_of_two_runners_has_executed_nothing() {
    for _ in 0..20 {
        let (bodies, sessions) = (Arc::default(), Arc::new(InMemorySessionService::new()));
        let [here, there] = [(); 2].map(|()| over(chain(&bodies), Arc::clone(&sessions)));
        two_runners(here, there, &bodies).await;
    }
}

#[cfg(feature = "sqlite")]
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_loser_of_two_runners_has_executed_nothing_in_sqlite() {
    use pleach::{SqliteLayout, SqliteOptions, SqliteSessionService};
    for layout in [SqliteLayout::Lite, SqliteLayout::V1] {
        for _ in 0..3 {
            let folder = tempfile::tempdir().unwrap();
            let options = SqliteOptions::new().with_layout(layout);
            let open = || SqliteSessionService::open_with(folder.path().join("s.db"), options.clone());
            let (bodies, first, second) = (Arc::default(), open().await.unwrap(), open().await.unwrap());
            two_runners(over(chain(&bodies), first), over(chain(&bodies), second), &bodies).await;
        }
    }
}

/// Both Runners have loaded the same history. A resume stores nothing before its first node has run.
#[tokio::test]
async fn if_two_runners_resume_at_once_one_runs() {
    let (sessions, bodies) = (Gated::new(), Arc::new(AtomicUsize::new(0)));
    let root = || {
        let bodies = Arc::clone(&bodies);
        FunctionNode::new("n", move || {
            let count = bodies.fetch_add(1, Ordering::Relaxed);
            async move { if count == 0 { Err(Fail::msg("no")) } else { Ok(count) } }
        })
    };
    let [here, there] = [(); 2].map(|()| over(root(), sessions.clone()));
    start(&here, "go").output::<usize>().await.unwrap_err();
    let held = sessions.after.acquire().await.unwrap();
    let runs = [&here, &there].map(|runner| tokio::spawn(runner.resume("ana", "s1", "mine").output::<usize>()));
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    drop(held);
    let mut outcomes = Vec::new();
    for run in runs {
        outcomes.push(run.await.unwrap());
    }
    let lost: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.as_ref().err()).collect();
    assert!(matches!(lost[..], [RunError::Session(SessionError::Stale { .. })]), "{outcomes:?}");
    assert_eq!(bodies.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn callers_who_ask_for_the_message_see_it() {
    let runner = over(chain(&Arc::default()), InMemorySessionService::new());
    let mut first = start(&runner, "go");
    first.next().await.unwrap().unwrap();
    let echoed = RunRequest::new("s1").message("go").invocation_id("mine").yield_user_message(true);
    let (mut echoed, mut resumed) = (runner.start(echoed), runner.resume("ana", "s1", "mine"));
    for _ in 0..2 {
        echoed.next().await.unwrap().unwrap();
    }
    resumed.next().await.unwrap().unwrap();
    let [first, echoed, resumed] = [first, echoed, resumed].map(trace);
    let (first, (echoed, resumed)) = tokio::join!(first, async { tokio::join!(echoed, resumed) });
    assert_eq!((first.len(), &first, &first), (NODES - 1, &echoed, &resumed));
}

#[tokio::test]
async fn a_run_continues_while_one_of_its_callers_reads() {
    let (script, runner) = scripted_runner(InMemorySessionService::new());
    let (mut first, mut second) = (start(&runner, "go"), start(&runner, "go"));
    script.later("one");
    first.next().await.unwrap().unwrap();
    assert_eq!(second.next().await.unwrap().unwrap().text(), "one");
    // The first caller is held and never polled again. A third caller comes and leaves.
    let mut third = start(&runner, "go");
    third.next().await.unwrap().unwrap();
    script.later("two");
    assert_eq!(second.next().await.unwrap().unwrap().text(), "two");
    drop(third);
    script.later("three");
    assert_eq!(second.next().await.unwrap().unwrap().text(), "three");
    assert_eq!(first.next().await.unwrap().unwrap().text(), "two");
    drop(first);
    script.end("done");
    assert_eq!(second.output::<String>().await.unwrap(), "done");
}

#[tokio::test]
async fn a_waiting_caller_takes_over_when_the_first_one_is_dropped() {
    let (script, runner) = scripted_runner(InMemorySessionService::new());
    let mut first = start(&runner, "go");
    script.later("one");
    first.next().await.unwrap().unwrap();
    let second = tokio::spawn(start(&runner, "go").output::<String>());
    let reading = tokio::spawn(async move {
        let _ = tokio::time::timeout(std::time::Duration::ZERO, first.next()).await;
        first
    });
    drop(reading.await.unwrap());
    script.end("done");
    assert_eq!(second.await.unwrap().unwrap(), "done");
}

#[tokio::test]
async fn the_last_caller_who_leaves_cancels_the_run() {
    let sessions = Arc::new(InMemorySessionService::new());
    let (script, runner) = scripted_runner(Arc::clone(&sessions));
    let (mut first, mut second) = (start(&runner, "go"), start(&runner, "go"));
    script.later("one");
    first.next().await.unwrap().unwrap();
    second.next().await.unwrap().unwrap();
    first.close().await.unwrap();
    drop(second);
    assert!(runner.drain(std::time::Duration::ZERO).await.runs.is_empty());
    assert_eq!(stored(&sessions).await, ["n@1: says one"]);
}

#[tokio::test]
async fn one_abort_ends_the_run_for_all_callers() {
    let (script, runner) = scripted_runner(InMemorySessionService::new());
    let signal = AbortSignal::new();
    let mut first = start(&runner, "go");
    script.later("one");
    first.next().await.unwrap().unwrap();
    let request = RunRequest::new("s1").message("go").invocation_id("mine").abort_signal(signal.clone());
    let second = tokio::spawn(runner.start(request).output::<String>());
    tokio::task::yield_now().await;
    signal.abort();
    let seal = ": INVOCATION_ABORTED: Invocation was aborted by client.";
    assert_eq!(trace(first).await, [seal]);
    assert!(matches!(second.await.unwrap(), Err(RunError::Aborted)));
    assert!(matches!(start(&runner, "go").output::<String>().await, Err(RunError::Aborted)));
    assert_eq!(events(&runner).await, 3);
}

#[tokio::test]
async fn all_callers_get_the_same_failure_and_a_start_does_not_run_it_again() {
    let (script, runner) = scripted_runner(InMemorySessionService::new());
    script.fail();
    let failures = join_all((0..3).map(|_| start(&runner, "go").output::<String>())).await;
    let again = start(&runner, "go").output::<String>().await;
    for failure in failures.into_iter().chain([again]) {
        let error = failure.unwrap_err();
        let RunError::Node { error: failed, path } = &error else { panic!("{error:?}") };
        assert_eq!((failed.class(), failed.message(), path.to_string().as_str()), ("Exception", "broken", "n@1"));
    }
    assert_eq!(events(&runner).await, 2);
    script.end("done");
    assert_eq!(runner.resume("ana", "s1", "mine").output::<String>().await.unwrap(), "done");
    assert_eq!(start(&runner, "go").output::<String>().await.unwrap(), "done");
    assert_eq!(events(&runner).await, 3);
}

#[tokio::test]
async fn a_finished_invocation_returns_its_output_and_stores_nothing() {
    for resumable in [false, true] {
        let (bodies, sessions) = (Arc::default(), Arc::new(InMemorySessionService::new()));
        let builder = Runner::builder("t").root(chain(&bodies)).sessions(Arc::clone(&sessions));
        let runner = builder.clock(TestClock::skipping()).ids(CountedIds::new()).resumable(resumable).build().unwrap();
        start(&runner, "go").output::<usize>().await.unwrap();
        let before = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
        assert_eq!(start(&runner, "go").output::<usize>().await.unwrap(), NODES - 1);
        assert_eq!(start(&runner, "go").detach().output::<usize>().await.unwrap(), NODES - 1);
        assert_eq!(trace(start(&runner, "go")).await, [] as [&str; 0]);
        let after = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
        assert_eq!((&before, bodies.load(Ordering::Relaxed)), (&after, NODES));
        assert_eq!(runner.resume("ana", "s1", "mine").output::<usize>().await.unwrap(), NODES - 1);
        assert_eq!(bodies.load(Ordering::Relaxed), NODES);
    }
}

#[tokio::test]
async fn a_waiting_invocation_returns_its_questions_and_stores_nothing() {
    for resumable in [false, true] {
        let mut wf = Workflow::builder("wf");
        let first = wf.node("first", async || 1);
        let ask = wf.node("ask", async || RequestInput::<String>::ask("q1", "Fine?"));
        wf.edge(START, first).edge(first, ask.dynamic());
        let sessions = Arc::new(InMemorySessionService::new());
        let builder = Runner::builder("t").root(wf.build_to(ask).unwrap()).sessions(Arc::clone(&sessions));
        let runner = builder.clock(TestClock::skipping()).ids(CountedIds::new()).resumable(resumable).build().unwrap();
        let asked = join_all((0..3).map(|_| start(&runner, "go").output::<String>())).await;
        let before = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
        let again = start(&runner, "go").output::<String>().await;
        for waiting in asked.into_iter().chain([again]) {
            assert!(matches!(&waiting, Err(RunError::Waiting(open)) if open[0].id == "q1"), "{waiting:?}");
        }
        let after = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
        assert_eq!(before, after);
    }
}

#[tokio::test]
async fn another_message_under_the_same_invocation_id_is_refused() {
    let (script, runner) = scripted_runner(InMemorySessionService::new());
    let mut first = start(&runner, "go");
    script.later("one");
    first.next().await.unwrap().unwrap();
    let refused = async || {
        let error = start(&runner, "other").output::<String>().await.unwrap_err();
        let RunError::OtherMessage { session, invocation } = &error else { panic!("{error:?}") };
        assert_eq!((session, invocation.as_str(), error.code()), (&key(), "mine", "ValueError"));
        error.to_string()
    };
    let text = "invocation mine of session t/ana/s1 already exists with a different message. Send the same message, or use a \
                new invocation id";
    assert_eq!(refused().await, text);
    drop(first);
    assert_eq!(refused().await, text);
    script.end("done");
    assert_eq!(runner.resume("ana", "s1", "mine").output::<String>().await.unwrap(), "done");
    // E191: once the invocation is done, its id means the old message.
    assert_eq!(start(&runner, "other").output::<String>().await.unwrap(), "done");
    assert_eq!(events(&runner).await, 3);
}

#[tokio::test]
async fn a_start_does_not_take_over_an_unfinished_invocation() {
    let (script, runner) = scripted_runner(InMemorySessionService::new());
    let mut first = start(&runner, "go");
    script.later("one");
    first.next().await.unwrap().unwrap();
    drop(first);
    let error = start(&runner, "go").output::<String>().await.unwrap_err();
    let text = "invocation mine of session t/ana/s1 has not ended, and this process is not running it. Wait if another \
                process is; otherwise call `Runner::resume`";
    assert!(matches!(&error, RunError::Unfinished { .. }), "{error:?}");
    assert_eq!((error.to_string().as_str(), error.code()), (text, "SessionBusyError"));
    assert_eq!(events(&runner).await, 2);
    script.end("done");
    assert_eq!(runner.resume("ana", "s1", "mine").output::<String>().await.unwrap(), "done");
}

#[tokio::test]
async fn detached_callers_share_one_run_as_well() {
    let (script, runner) = scripted_runner(InMemorySessionService::new());
    let runs: Vec<Detached> = (0..3).map(|_| start(&runner, "go").detach()).collect();
    for run in &runs {
        assert_eq!(run.invocation_id().await.unwrap().as_str(), "mine");
    }
    let mut follows = Vec::new();
    for run in &runs {
        follows.push(run.follow(None).await.unwrap());
    }
    script.say("one").await;
    script.end("done");
    for follow in &mut follows {
        assert_eq!(rest(follow).await, [": says go", "n@1: says one", "n@1: \"done\""]);
    }
    for mut run in runs {
        (&mut run).await.unwrap();
        assert_eq!(run.end(), Some(RunEnd::Done));
        assert_eq!(run.output::<String>().await.unwrap(), "done");
    }
}

/// Callers on other threads come and leave, and one stays.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_caller_that_stays_gets_the_whole_run() {
    for round in 0..100 {
        let mut wf = Workflow::builder("wf");
        let mut last = None;
        for number in 0..NODES {
            let node = wf.node(format!("n{number}"), move || async move {
                tokio::task::yield_now().await;
                number
            });
            match last {
                None => wf.edge(START, node),
                Some(before) => wf.edge(before, node.dynamic()),
            };
            last = Some(node);
        }
        let runner = over(wf.build_to(last.unwrap()).unwrap(), InMemorySessionService::new());
        let mut stays = start(&runner, "go");
        stays.next().await.unwrap().unwrap();
        let leaving = (0..8).map(|caller| {
            let mut run = start(&runner, "go");
            tokio::spawn(async move {
                for _ in 0..(caller * 3 + round) % NODES {
                    if run.next().await.is_none() {
                        break;
                    }
                }
            })
        });
        let leaving: Vec<_> = leaving.collect();
        let stays = tokio::spawn(trace(stays));
        assert_eq!(stays.await.unwrap().len(), NODES - 1);
        join_all(leaving).await.into_iter().for_each(Result::unwrap);
    }
}

/// The node has one of its two answers. A resume would run it again, but a start runs nothing.
#[tokio::test]
async fn a_start_does_not_run_an_invocation_that_waits_for_more_answers() {
    let runs = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&runs);
    let root = FunctionNode::new("n", move |ctx: Context| {
        seen.fetch_add(1, Ordering::Relaxed);
        async move {
            let first: String = ctx.ask("q1", "First?").await?;
            let second: String = ctx.ask("q2", "Second?").await?;
            Ok::<_, NodeError>(first + &second)
        }
    });
    let runner = over(root.rerun_on_resume(true), InMemorySessionService::new());
    start(&runner, "go").output::<String>().await.unwrap_err();
    runner.answer("s1", "q1", "a").unwrap().output::<String>().await.unwrap_err();
    let (before, stored) = (runs.load(Ordering::Relaxed), events(&runner).await);
    let waiting = start(&runner, "go").output::<String>().await;
    assert!(matches!(&waiting, Err(RunError::Waiting(open)) if open.len() == 1 && open[0].id == "q2"), "{waiting:?}");
    assert_eq!((runs.load(Ordering::Relaxed), events(&runner).await), (before, stored));
    assert_eq!(runner.answer("s1", "q2", "b").unwrap().output::<String>().await.unwrap(), "ab");
}

/// A workflow of a resumable app stores a checkpoint after the question.
#[tokio::test]
async fn a_start_of_an_invocation_that_waits_again_returns_its_open_questions() {
    for resumable in [false, true] {
        let ask = FunctionNode::new("ask", async |ctx: Context| {
            let (a, b) = futures::join!(ctx.ask::<bool>("a", "?"), ctx.ask::<bool>("b", "?"));
            Ok::<_, NodeError>(a? && b?)
        });
        let mut wf = Workflow::builder("wf");
        let ask = wf.add(ask.rerun_on_resume(true));
        let sessions = Arc::new(InMemorySessionService::new());
        let builder = Runner::builder("t").root(wf.edge(START, ask).build().unwrap()).sessions(sessions);
        let runner = builder.clock(TestClock::skipping()).ids(CountedIds::new()).resumable(resumable).build().unwrap();
        trace(start(&runner, "go")).await;
        trace(runner.answer("s1", "a", true).unwrap()).await;
        let before = events(&runner).await;
        let error = start(&runner, "go").output::<bool>().await.unwrap_err();
        let RunError::Waiting(open) = &error else { panic!("resumable {resumable}: {error:?}") };
        assert_eq!((open.len(), open[0].id.as_str()), (1, "b"));
        assert_eq!(events(&runner).await, before);
    }
}

#[tokio::test]
async fn other_state_under_the_same_invocation_id_is_refused() {
    let (script, runner) = scripted_runner(InMemorySessionService::new());
    let with = |state: serde_json::Value| {
        let state = state.as_object().unwrap().clone();
        RunRequest::new(("ana", "s1")).invocation_id("mine").state_delta(state)
    };
    let begin = |state| runner.start(with(state).message("go"));
    let refused = async |run: Run| {
        let error = run.output::<String>().await.unwrap_err();
        let RunError::OtherState { session, invocation } = &error else { panic!("{error:?}") };
        assert_eq!((session, invocation.as_str(), error.code()), (&key(), "mine", "ValueError"));
    };
    let mut first = begin(json!({"a": 1}));
    script.later("one");
    first.next().await.unwrap().unwrap();
    // The state is refused as well while the first run is in progress.
    refused(begin(json!({"a": 2}))).await;
    refused(runner.start(with(json!({"b": 1})))).await;
    let mut joined = [begin(json!({"a": 1})), begin(json!({}))];
    for run in &mut joined {
        assert_eq!(run.next().await.unwrap().unwrap().text(), "one");
    }
    drop((first, joined));
    // The state is refused as well after the run was cut off.
    refused(begin(json!({"a": 2}))).await;
    for state in [json!({"a": 1}), json!({}), json!({"a": 1, "temp:b": 2})] {
        let error = begin(state).output::<String>().await.unwrap_err();
        assert!(matches!(&error, RunError::Unfinished { .. }), "{error:?}");
    }
    script.end("done");
    assert_eq!(runner.start(with(json!({"b": 1}))).output::<String>().await.unwrap(), "done");
    let before = events(&runner).await;
    assert_eq!(begin(json!({"a": 2})).output::<String>().await.unwrap(), "done");
    let session = runner.sessions().get_session(&key(), Default::default()).await.unwrap().unwrap();
    assert_eq!((session.events.len(), json!(session.state)), (before, json!({"a": 1, "b": 1})));
}

/// The state of a repeated start is compared with the state of the first request. It is not compared with the resume,
/// which sets no state.
#[tokio::test]
async fn r1103_a_repeated_start_joins_the_run_that_resumes_its_invocation() {
    let (script, runner) = scripted_runner(InMemorySessionService::new());
    let begin = |text: &str, state: serde_json::Value| {
        let state = state.as_object().unwrap().clone();
        runner.start(RunRequest::new(("ana", "s1")).message(text).invocation_id("mine").state_delta(state))
    };
    let mut first = begin("go", json!({"a": 1}));
    script.later("one");
    first.next().await.unwrap().unwrap();
    drop(first);
    let mut resumed = runner.resume("ana", "s1", "mine");
    script.later("two");
    assert_eq!(resumed.next().await.unwrap().unwrap().text(), "two");
    let mut again = begin("go", json!({"a": 1}));
    assert_eq!(again.next().await.unwrap().unwrap().text(), "two");
    let other = begin("other", json!({})).output::<String>().await.unwrap_err();
    assert!(matches!(&other, RunError::OtherMessage { .. }), "{other:?}");
    let other = begin("go", json!({"a": 2})).output::<String>().await.unwrap_err();
    assert!(matches!(&other, RunError::OtherState { .. }), "{other:?}");
    script.end("done");
    let outputs = futures::join!(again.output::<String>(), resumed.output::<String>());
    assert_eq!((outputs.0.unwrap(), outputs.1.unwrap()), ("done".into(), "done".into()));
}

/// While a resume loads its session, the first message is not known yet. A start with another message must not join the
/// resume, because that message would be lost.
#[tokio::test]
async fn r1103_another_message_does_not_join_a_resume_that_is_opened() {
    let (sessions, bodies) = (Gated::new(), Arc::new(AtomicUsize::new(0)));
    let root = FunctionNode::new("n", move || {
        let count = bodies.fetch_add(1, Ordering::Relaxed);
        async move { if count == 0 { Err(Fail::msg("no")) } else { Ok(count) } }
    });
    let runner = over(root, sessions.clone());
    start(&runner, "go").output::<usize>().await.unwrap_err();
    let held = sessions.after.acquire().await.unwrap();
    let requests = [runner.resume("ana", "s1", "mine"), start(&runner, "other"), start(&runner, "go")];
    let mut runs = Vec::new();
    for request in requests {
        runs.push(tokio::spawn(request.output::<usize>()));
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
    }
    drop(held);
    let [resumed, other, same] = join_all(runs).await.try_into().unwrap();
    assert_eq!((resumed.unwrap().unwrap(), same.unwrap().unwrap()), (1, 1));
    let other = other.unwrap().unwrap_err();
    assert!(matches!(&other, RunError::OtherMessage { .. }), "{other:?}");
}

/// The message of a repeated start is not compared with the message that continues the task.
#[tokio::test]
async fn r1103_a_repeated_start_joins_the_run_that_continues_its_task() {
    let says = |name: &str, model: ScriptedModel| LlmAgent::builder(name).model(model.repeating());
    let task = says("task", ScriptedModel::saying("Which?")).mode(AgentMode::Task).description("t").build().unwrap();
    let call = FunctionCall::new("1", "task", pleach::Map::from_iter([("request".to_owned(), json!("it"))]));
    let calls = ScriptedModel::new().then(LlmResponse::calls([call]));
    let runner = over(says("caller", calls).sub_agent(task).build().unwrap(), InMemorySessionService::new());
    trace(start(&runner, "go")).await;
    let mut leader = runner.run("ana", "s1", "more");
    assert_eq!(leader.next().await.unwrap().unwrap().text(), "Which?");
    assert_eq!(start(&runner, "go").next().await.unwrap().unwrap().text(), "Which?");
    let other = start(&runner, "more").next().await.unwrap().unwrap_err();
    assert!(matches!(&other, RunError::OtherMessage { .. }), "{other:?}");
}

#[tokio::test]
async fn a_blank_invocation_id_is_refused() {
    let bodies = Arc::default();
    let runner = over(chain(&bodies), InMemorySessionService::new());
    for id in ["", " \t"] {
        let request = || RunRequest::new(("ana", "s1")).message("go").invocation_id(id);
        runner.start(request()).output::<usize>().await.unwrap();
        let error = runner.resume("ana", "s1", id).output::<usize>().await.unwrap_err();
        assert!(matches!(error, RunError::BlankId("invocation")), "{error:?}");
    }
    assert_eq!((bodies.load(Ordering::Relaxed), events(&runner).await), (2 * NODES, 2 * (NODES + 1)));
    let session = runner.sessions().get_session(&key(), Default::default()).await.unwrap().unwrap();
    assert!(session.events.iter().all(|event| !event.invocation_id().as_str().trim().is_empty()));
}

/// A plugin that answers every run before it begins.
#[derive(Debug)]
struct AnsweringPlugin;

impl pleach::Plugin for AnsweringPlugin {
    fn name(&self) -> &str {
        "answers"
    }

    fn before_run<'a>(&'a self, _: &'a pleach::InvocationContext) -> pleach::Hook<'a, Option<pleach::Content>> {
        Some(Box::pin(async { Ok(Some(pleach::Content::model("no"))) }))
    }
}

#[tokio::test]
async fn an_invocation_that_a_plugin_ended_returns_its_end_and_stores_nothing() {
    for resumable in [false, true] {
        let bodies = Arc::default();
        let builder = Runner::builder("t").root(chain(&bodies)).sessions(InMemorySessionService::new());
        let runner = builder.clock(TestClock::skipping()).resumable(resumable).plugin(AnsweringPlugin).build().unwrap();
        assert_eq!(trace(start(&runner, "go")).await, [": says no"]);
        let before = events(&runner).await;
        let mut again = start(&runner, "go");
        assert!(again.next().await.is_none());
        assert_eq!(again.end(), Some(RunEnd::Done));
        let error = start(&runner, "go").output::<usize>().await.unwrap_err();
        assert!(matches!(error, RunError::NoOutput), "{error:?}");
        assert_eq!((bodies.load(Ordering::Relaxed), events(&runner).await), (0, before), "{resumable}");
    }
}
