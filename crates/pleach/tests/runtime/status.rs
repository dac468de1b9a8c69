//! The status of sessions, and the sessions that a process resumes when it starts.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use pleach::prelude::*;
use pleach::testkit::{FaultPlan, FaultySessions, Operation};
use pleach::{Event, GetSessionConfig, ListUnfinished, Node, RunProgress, SessionKey, SessionServiceExt as _};
use pleach_contract::TestClock;

use crate::gated::Gated;
use crate::replay::{Sessions, play, process};
use crate::support::trace;

/// A workflow that asks, fails or works forever, depending on the message, and then returns a number.
fn root() -> Workflow {
    let mut wf = Workflow::builder("wf");
    let first = wf.node("first", async |Input(word): Input<String>| word);
    let second = FunctionNode::new("second", async |ctx: Context, Input(word): Input<String>| {
        match word.as_str() {
            "ask" => drop(ctx.ask::<bool>("q", "?").await?),
            "fail" => return Err(Fail::msg("broken")),
            "hang" => std::future::pending().await,
            _ => {}
        }
        Ok(1)
    });
    let second = wf.add(second.rerun_on_resume(true));
    wf.edge(START, first).edge(first, second);
    wf.build().unwrap()
}

fn name(progress: &RunProgress) -> String {
    match progress {
        RunProgress::Failed { error, path } => format!("failed {path}: {error}"),
        other => format!("{other:?}").to_lowercase(),
    }
}

async fn status(runner: &Runner, session: &str) -> String {
    name(&runner.status(("ana", session)).await.unwrap().progress)
}

/// Polls a run until its first event and drops it.
async fn cut(runner: &Runner, session: &str) {
    let mut run = runner.run("ana", session, "hang");
    run.next().await.unwrap().unwrap();
}

#[tokio::test]
async fn the_status_of_a_session_is_that_of_its_last_invocation() {
    for resumable in [false, true] {
        let sessions = Sessions::default();
        let here = process(root(), &sessions, resumable);
        play(here.run("ana", "done", "go")).await;
        play(here.run("ana", "ask", "ask")).await;
        trace(here.run("ana", "fail", "fail")).await;
        cut(&here, "cut").await;
        let working = here.run("ana", "works", "hang").detach();
        working.invocation_id().await.unwrap();
        let aborted = here.run("ana", "aborted", "hang").detach();
        aborted.invocation_id().await.unwrap();
        aborted.abort();
        aborted.await.unwrap();

        let there = process(root(), &sessions, resumable);
        for (session, expected) in [
            ("done", "done"),
            ("ask", "waiting"),
            ("fail", "failed wf@1/second@1: broken"),
            ("cut", "unfinished"),
            ("works", "runshere"),
            ("aborted", "aborted"),
        ] {
            assert_eq!(status(&here, session).await, expected, "{resumable}");
            let elsewhere = if session == "works" { "unfinished" } else { expected };
            assert_eq!(status(&there, session).await, elsewhere, "{resumable}");
        }
        let asks = there.status(("ana", "ask")).await.unwrap();
        assert_eq!((asks.questions.len(), asks.questions[0].id.as_str()), (1, "q"));
        assert_eq!(asks.invocation.unwrap(), asks.questions[0].invocation_id);

        // The status follows the later message, and the question stays open.
        play(there.run("ana", "ask", "go")).await;
        let later = there.status(("ana", "ask")).await.unwrap();
        assert_eq!((name(&later.progress), later.questions.len()), ("done".to_owned(), 1));
        working.cut();
    }
}

#[tokio::test]
async fn the_status_of_a_session_stores_and_announces_nothing() {
    let sessions = Sessions::default();
    let runner = process(root(), &sessions, true);
    play(runner.run("ana", "s1", "ask")).await;
    let before = runner.status(("ana", "s1")).await.unwrap().last_update_time;
    let mut follow = runner.follow(("ana", "s1"), None).await.unwrap();
    while follow.next().await.is_some() {}
    assert_eq!(follow.status(), pleach::FollowStatus::NotHere);
    assert_eq!(runner.status(("ana", "s1")).await.unwrap().last_update_time.to_bits(), before.to_bits());
    play(runner.answer("s1", "q", true).unwrap()).await;
    assert_eq!(status(&runner, "s1").await, "done");
}

#[tokio::test]
async fn a_session_without_a_message_is_new_and_one_of_another_root_has_changed() {
    let sessions = Sessions::default();
    let runner = process(root(), &sessions, false);
    runner.sessions().create_session(pleach::CreateSession::new("t", "ana").with_session_id("s1")).await.unwrap();
    assert_eq!(status(&runner, "s1").await, "new");
    cut(&runner, "s2").await;
    let other = process(FunctionNode::new("other", async || 1), &sessions, false);
    let RunProgress::Changed { error, path } = other.status(("ana", "s2")).await.unwrap().progress else { panic!() };
    assert_eq!((error.class(), path.as_str()), ("WorkflowChangedError", "other@1"), "{error}");
    // The invocation is listed, but recovery does not resume it.
    let listed = other.unfinished(ListUnfinished::new()).await.unwrap().items;
    assert!(matches!(&listed[..], [one] if matches!(one.progress, RunProgress::Changed { .. })), "{listed:?}");
    assert!(!listed[0].progress.can_resume());
    let signal = other.signal(("ana", "s2"), "x", 1).await.unwrap_err();
    assert_eq!(signal.code(), "WorkflowChangedError", "{signal}");
}

/// A process with a clock that the test sets.
fn process_at(clock: &TestClock, root: impl Node, sessions: &Sessions) -> Runner {
    let runner = Runner::builder("t").root(root).sessions(std::sync::Arc::clone(&sessions.stored));
    runner.clock(clock.clone()).build().unwrap()
}

#[tokio::test]
async fn a_process_resumes_invocations_that_were_cut_off_and_have_been_idle() {
    let (sessions, clock) = (Sessions::default(), TestClock::starting_at(UNIX_EPOCH + Duration::from_secs(1_000)));
    let first = process_at(&clock, root(), &sessions);
    for session in ["a", "b"] {
        cut(&first, session).await;
        play(first.run("ana", &*format!("{session}-done"), "go")).await;
        trace(first.run("ana", &*format!("{session}-fail"), "fail")).await;
        clock.jump_to(2_000.0);
    }
    let at = |seconds: u64| UNIX_EPOCH + Duration::from_secs(seconds);
    let ids = |items: &[pleach::SessionStatus]| -> Vec<String> {
        items.iter().map(|item| item.session.session_id.to_string()).collect()
    };
    // The nodes succeed now.
    let mut wf = Workflow::builder("wf");
    let one = wf.node("first", async |Input(word): Input<String>| word);
    let two = wf.add(FunctionNode::new("second", async |Input(word): Input<String>| word).rerun_on_resume(true));
    wf.edge(START, one).edge(one, two);
    let runner = process_at(&clock, wf.build().unwrap(), &sessions);
    let all = runner.unfinished(ListUnfinished::new()).await.unwrap();
    assert_eq!((ids(&all.items), all.next), (["a", "a-fail", "b", "b-fail"].map(str::to_owned).to_vec(), None));
    assert_eq!(
        ids(&runner.unfinished(ListUnfinished::new().idle_since(at(1_500))).await.unwrap().items),
        ["a", "a-fail"]
    );
    assert_eq!(ids(&runner.unfinished(ListUnfinished::new().since(at(1_500))).await.unwrap().items), ["b", "b-fail"]);

    let (mut pages, mut request) = (Vec::new(), ListUnfinished::new().limit(1));
    loop {
        let page = runner.unfinished(request.clone()).await.unwrap();
        pages.push(page.items.len());
        match page.next {
            Some(next) => request = request.after(next),
            None => break,
        }
    }
    assert_eq!(pages, [1, 1, 1, 1], "invocations that have ended take no place on a page");

    let resumed = runner.resume_unfinished(ListUnfinished::new().idle_since(at(1_500)).limit(1)).await.unwrap();
    assert_eq!(resumed.len(), 1);
    for run in resumed {
        run.await.unwrap();
    }
    assert_eq!([status(&runner, "a").await, status(&runner, "b").await], ["done", "unfinished"]);
    assert!(status(&runner, "a-fail").await.starts_with("failed"));
}

/// No event shows that nodes without a result have completed. Even so, recovery loops do not run them again and again.
#[tokio::test]
async fn an_invocation_that_may_be_done_is_not_listed_as_unfinished() {
    for (resumable, expected) in [(false, "maybedone"), (true, "done")] {
        let sessions = Sessions::default();
        let mut quiet = Workflow::builder("wf");
        let (a, b) = (quiet.node("a", async || 1), quiet.node("b", async || ()));
        quiet.edge(START, a).edge(a, b);
        let quiet = process(quiet.build().unwrap(), &sessions, resumable);
        play(quiet.run("ana", "quiet", "go")).await;
        assert_eq!(status(&quiet, "quiet").await, expected);
        let says = async |ctx: Context| ctx.emit(Event::message("hi")).await;
        let says = process(FunctionNode::new("says", says), &sessions, resumable);
        play(says.run("ana", "says", "go")).await;
        assert_eq!(status(&says, "says").await, expected);
        let listed = says.unfinished(ListUnfinished::new()).await.unwrap().items;
        assert!(listed.iter().all(|item| !matches!(item.progress, RunProgress::Unfinished)), "{listed:?}");
    }
}

/// A run that is cut off before its join is not "maybe done", so recovery continues it.
#[tokio::test]
async fn a_run_that_is_cut_off_before_its_join_is_unfinished() {
    let sessions = Sessions::default();
    let mut wf = Workflow::builder("wf");
    let (a, b) = (wf.node("a", async || 1), wf.node("b", async || 2));
    let both = wf.join("both", (a, b));
    wf.edge(START, (a, b));
    let runner = process(wf.build_to(both).unwrap(), &sessions, false);
    let mut run = runner.run("ana", "s1", "go");
    for _ in 0..2 {
        run.next().await.unwrap().unwrap();
    }
    drop(run);
    assert_eq!(status(&runner, "s1").await, "unfinished");
}

/// A workflow of a node that fails in a step, with a retry policy for each.
fn failing(node: Option<RetryConfig>, step: Option<RetryConfig>) -> Workflow {
    let node = node.unwrap_or_else(|| RetryConfig::attempts(1));
    let step = step.map_or_else(|| Step::new("charge"), |policy| Step::new("charge").retry(policy));
    let mut wf = Workflow::builder("wf");
    let work = FunctionNode::new("work", move |ctx: Context| {
        let step = step.clone();
        async move { Ok::<i64, Fail>(ctx.step(step, async || Err(Fail::msg("broken"))).await?) }
    });
    let work = wf.add(work.rerun_on_resume(true).retry(node));
    wf.edge(START, work);
    wf.build().unwrap()
}

/// A process that is killed between two attempts leaves an unfinished session, not a failed one, so recovery continues it.
#[tokio::test(start_paused = true)]
async fn a_run_that_is_cut_off_between_two_attempts_is_unfinished() {
    let policy = || Some(RetryConfig::attempts(2).initial_delay(60.0).jitter(0.0));
    let roots: [(&str, &dyn Fn() -> Workflow); 2] =
        [("of a step", &|| failing(None, policy())), ("of its caller", &|| failing(policy(), None))];
    for (what, root) in roots {
        let sessions = Sessions::default();
        let runner = process(root(), &sessions, false);
        let mut run = runner.run("ana", "s1", "go");
        assert!(run.next().await.unwrap().unwrap().error_code().is_some(), "{what}");
        drop(run);
        let there = process(root(), &sessions, false);
        assert_eq!(status(&there, "s1").await, "unfinished", "{what}");
        let mut resumed = there.resume_unfinished(ListUnfinished::new()).await.unwrap();
        resumed.pop().unwrap().await.unwrap_err();
        // All attempts have failed now.
        assert_eq!(status(&there, "s1").await, "failed wf@1/work@1/charge@step-1: broken", "{what}");
        assert!(there.resume_unfinished(ListUnfinished::new()).await.unwrap().is_empty(), "{what}");
    }
}

/// A run that leaves no trace is unfinished again after a resume. Even so, one call resumes it only once.
#[tokio::test]
async fn a_call_resumes_no_session_twice() {
    let sessions = Sessions::default();
    let runner = process(FunctionNode::new("quiet", async || None::<u32>), &sessions, false);
    for session in ["a", "b"] {
        trace(runner.run("ana", session, "go")).await;
        assert_eq!(status(&runner, session).await, "unfinished");
    }
    let resumed = runner.resume_unfinished(ListUnfinished::new().limit(1)).await.unwrap();
    assert_eq!(resumed.len(), 2);
    for run in resumed {
        run.await.unwrap();
    }
}

/// The failed attempt of another lane does not hide the failure that has ended the run.
#[tokio::test(start_paused = true)]
async fn a_failure_is_final_although_another_lane_is_in_a_pause() {
    let sessions = Sessions::default();
    let root = || {
        let fails = || async || Err::<i64, _>(Fail::msg("broken"));
        let policy = |attempts| RetryConfig::attempts(attempts).initial_delay(60.0).jitter(0.0);
        let mut wf = Workflow::builder("wf");
        let a = wf.add(FunctionNode::new("a", fails()).retry(policy(1)));
        let b = wf.add(FunctionNode::new("b", fails()).retry(policy(2)));
        wf.edge(START, (a, b));
        wf.build().unwrap()
    };
    let runner = process(root(), &sessions, false);
    let events = trace(runner.run("ana", "s1", "go")).await;
    assert!(events.iter().filter(|event| event.contains("broken")).count() >= 2, "{events:?}");
    assert_eq!(status(&runner, "s1").await, "failed wf@1/a@1: broken");
    assert!(runner.resume_unfinished(ListUnfinished::new()).await.unwrap().is_empty());
}

/// The failure of a background child is a failure of its workflow, whatever the retry policy of its caller.
#[tokio::test(start_paused = true)]
async fn the_policy_of_a_caller_does_not_cover_its_background_children() {
    let sessions = Sessions::default();
    let caller = FunctionNode::new("caller", async |ctx: Context| {
        ctx.run_in_background(FunctionNode::new("child", async || Err::<i64, _>(Fail::msg("broken"))), ())?;
        Ok::<i64, Fail>(1)
    });
    let mut wf = Workflow::builder("wf");
    let caller = wf.add(caller.rerun_on_resume(true).retry(RetryConfig::attempts(3).initial_delay(0.0)));
    wf.edge(START, caller);
    let runner = process(wf.build().unwrap(), &sessions, false);
    let mut run = runner.run("ana", "s1", "go");
    let mut notes = Vec::new();
    while let Some(Ok(event)) = run.next().await {
        notes.extend(event.error_code().map(|_| event.custom_metadata().cloned()));
    }
    assert_eq!(notes, [None], "no attempt follows");
}

/// An agent that has transferred does not retry the work in which its sub-agent failed.
#[tokio::test(start_paused = true)]
async fn the_policy_of_an_agent_does_not_cover_the_agents_that_it_transfers_to() {
    let boss = || {
        let helper = LlmAgent::builder("helper").model(ScriptedModel::new()).build().unwrap();
        let model =
            ScriptedModel::calling("transfer_to_agent", serde_json::json!({"agent_name": "helper"})).repeating();
        let policy = RetryConfig::attempts(3).initial_delay(0.0);
        LlmAgent::builder("boss").model(model).sub_agent(helper).retry(policy).build().unwrap()
    };
    let mut wf = Workflow::builder("wf");
    let agent = wf.add(boss());
    wf.edge(START, agent);
    let sessions = Sessions::default();
    let roots = [process(boss(), &sessions, false), process(wf.build().unwrap(), &sessions, false)];
    for (place, runner) in roots.into_iter().enumerate() {
        let session = format!("s{place}");
        trace(runner.run("ana", &*session, "go")).await;
        let status = status(&runner, &session).await;
        assert!(status.starts_with("failed") && status.contains("helper@1"), "{status}");
    }
}

/// A further search for unfinished sessions does not read all sessions again.
#[tokio::test]
async fn sessions_that_have_ended_are_read_once_until_they_change() {
    let sessions = Sessions::default();
    let first = process(root(), &sessions, false);
    play(first.run("ana", "done", "go")).await;
    play(first.run("ana", "ask", "ask")).await;
    let plan = FaultPlan::new().fail_from(Operation::GetSession, 4);
    let faulty = FaultySessions::new(std::sync::Arc::clone(&sessions.stored), plan);
    let runner = Runner::builder("t").root(root()).sessions(faulty).build().unwrap();
    for _ in 0..3 {
        assert!(runner.unfinished(ListUnfinished::new()).await.unwrap().items.is_empty());
    }
    // The third read is of a session that has changed.
    cut(&first, "done").await;
    assert_eq!(runner.unfinished(ListUnfinished::new()).await.unwrap().items.len(), 1);
    runner.unfinished(ListUnfinished::new()).await.unwrap_err();
}

/// A process does not take over a session that another process has begun to resume since the search.
#[tokio::test(start_paused = true)]
async fn if_two_processes_recover_at_once_one_continues_each_session() {
    let (sessions, calls) = (Sessions::default(), std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0)));
    let root = || {
        let calls = std::sync::Arc::clone(&calls);
        let mut wf = Workflow::builder("wf");
        let first = wf.node("first", async |Input(word): Input<String>| word);
        let second = wf.node("second", move |Input(word): Input<String>| {
            let calls = std::sync::Arc::clone(&calls);
            async move {
                if word == "hang" {
                    calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    tokio::time::sleep(Duration::from_secs(60)).await;
                }
                word
            }
        });
        wf.edge(START, first).edge(first, second);
        wf.build().unwrap()
    };
    let clock = TestClock::running();
    let process = |sessions: std::sync::Arc<dyn pleach::SessionService>| {
        let runner = Runner::builder("t").root(root()).sessions(sessions).clock(clock.clone());
        runner.heartbeat(Duration::from_secs(20)).build().unwrap()
    };
    let stored = || std::sync::Arc::clone(&sessions.stored) as std::sync::Arc<dyn pleach::SessionService>;
    let quick = process(stored());
    cut(&quick, "a").await;
    cut(&quick, "b").await;
    calls.store(0, std::sync::atomic::Ordering::Relaxed);
    tokio::time::sleep(Duration::from_secs(90)).await;
    let plan = FaultPlan::new().clock(clock.clone()).delay(Operation::GetSession, 2, Duration::from_secs(5));
    let slow = process(std::sync::Arc::new(FaultySessions::new(stored(), plan)));
    let (late, resumed) = tokio::join!(slow.resume_unfinished(ListUnfinished::new()), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        quick.resume_unfinished(ListUnfinished::new()).await
    });
    let late = late.unwrap();
    assert_eq!(late.len(), 1, "the other session was claimed before it was read");
    for run in late {
        let stale = run.await.unwrap_err();
        assert!(matches!(&stale, RunError::Session(error) if error.is_stale()), "{stale}");
    }
    for run in resumed.unwrap() {
        run.await.unwrap();
    }
    assert_eq!(calls.load(std::sync::atomic::Ordering::Relaxed), 2);
}

/// A node without a result that was cut off in the pause of a step is unfinished, not "maybe done".
#[tokio::test(start_paused = true)]
async fn a_node_without_a_result_is_unfinished_in_the_pause_of_its_step() {
    let sessions = Sessions::default();
    let mut wf = Workflow::builder("wf");
    let work = FunctionNode::new("work", async |ctx: Context| {
        let step = Step::new("charge").retry(RetryConfig::attempts(2).initial_delay(60.0));
        ctx.step(step, async || Err::<(), _>(Fail::msg("broken"))).await
    });
    let work = wf.add(work.rerun_on_resume(true));
    wf.edge(START, work);
    let runner = process(wf.build().unwrap(), &sessions, false);
    let mut run = runner.run("ana", "s1", "go");
    run.next().await.unwrap().unwrap();
    drop(run);
    assert_eq!(status(&runner, "s1").await, "unfinished");
}

/// A retry condition may answer differently the second time. This must not reduce the number of attempts.
#[tokio::test(start_paused = true)]
async fn a_condition_is_asked_once_for_each_failure() {
    let asked = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let count = std::sync::Arc::clone(&asked);
    let policy = RetryConfig::attempts(10)
        .initial_delay(0.0)
        .when(move |_| count.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < 3);
    let sessions = Sessions::default();
    let node = FunctionNode::new("node", async || Err::<i64, _>(Fail::msg("broken"))).retry(policy);
    let runner = process(node, &sessions, false);
    let events = trace(runner.run("ana", "s1", "go")).await;
    assert_eq!(events.iter().filter(|event| event.starts_with("node@1")).count(), 4, "{events:?}");
    assert_eq!(asked.load(std::sync::atomic::Ordering::Relaxed), 4);
    assert_eq!(status(&runner, "s1").await, "failed node@1: broken");
}

/// Another message under the id of an unfinished invocation is refused instead of reported as stored.
#[tokio::test]
async fn another_message_of_an_unfinished_invocation_has_not_begun() {
    let sessions = Sessions::default();
    let runner = process(root(), &sessions, false);
    let request = |text: &str| pleach::RunRequest::new(("ana", "s1")).message(text).invocation_id("e-1");
    let mut run = runner.start(request("hang"));
    run.next().await.unwrap().unwrap();
    drop(run);
    let other = runner.start(request("go")).detach();
    other.invocation_id().await.unwrap_err();
    assert!(matches!(other.await, Err(RunError::OtherMessage { .. })));
    let same = runner.start(request("hang")).detach();
    assert_eq!(same.invocation_id().await.unwrap().as_str(), "e-1");
    assert!(matches!(same.await, Err(RunError::Unfinished { .. })));
}

/// A shell agent at the root fails without an event, as in google-adk. In a workflow its failure is stored.
#[tokio::test]
async fn a_shell_agent_in_a_workflow_has_failed() {
    let shell = || {
        let agent = LlmAgent::builder("writer").model(ScriptedModel::new()).build().unwrap();
        pleach::SequentialAgent::builder("shell").sub_agent(agent).build().unwrap()
    };
    let mut wf = Workflow::builder("wf");
    let node = wf.add(shell());
    wf.edge(START, node);
    let sessions = Sessions::default();
    let roots = [(process(shell(), &sessions, false), "a"), (process(wf.build().unwrap(), &sessions, false), "b")];
    let mut found = Vec::new();
    for (runner, session) in roots {
        trace(runner.run("ana", session, "go")).await;
        found.push(status(&runner, session).await);
    }
    assert_eq!(found[0], "unfinished");
    assert!(found[1].starts_with("failed"), "{found:?}");
}

/// Recovery reads the whole history of a session only if the newest events do not show that the session needs no work.
#[tokio::test]
async fn recovery_reads_whole_histories_only_of_sessions_that_may_be_unfinished() {
    let gated = Gated::new();
    let process = || Runner::builder("t").root(root()).sessions(std::sync::Arc::new(gated.clone())).build().unwrap();
    let here = process();
    for id in ["done", "ask", "cut", "few"] {
        for _ in 0..if id == "few" { 1 } else { 30 } {
            trace(here.run("ana", id, "go")).await;
        }
    }
    trace(here.run("ana", "ask", "ask")).await;
    cut(&here, "cut").await;
    drop(here);

    let there = process();
    gated.loads.lock().unwrap().clear();
    let found = there.unfinished(ListUnfinished::new()).await.unwrap().items;
    let found: Vec<_> =
        found.iter().map(|status| (status.session.session_id.as_str(), name(&status.progress))).collect();
    assert_eq!(found, [("cut", "unfinished".to_owned())]);
    let newest = GetSessionConfig::recent(64);
    let all = GetSessionConfig::all();
    assert_eq!(*gated.loads.lock().unwrap(), [newest, newest, newest, newest, all]);
    gated.loads.lock().unwrap().clear();
    there.unfinished(ListUnfinished::new()).await.unwrap();
    assert_eq!(*gated.loads.lock().unwrap(), [newest, all], "the process remembers the other sessions");

    // An invocation that is longer than the newest events that are read.
    let mut done = there.sessions().get_session(&SessionKey::new("t", "ana", "done"), all).await.unwrap().unwrap();
    for _ in 0..70 {
        let mut event = Event::from_author("wf");
        event.set_invocation_id(done.events.last().unwrap().invocation_id().clone());
        there.sessions().append_event(&mut done, event).await.unwrap();
    }
    gated.loads.lock().unwrap().clear();
    there.unfinished(ListUnfinished::new()).await.unwrap();
    let whole = gated.loads.lock().unwrap().iter().filter(|config| **config == all).count();
    assert_eq!(whole, 2, "cut and done");
}

/// A plugin with hooks that return nothing, as most plugins have.
#[derive(Debug)]
struct QuietPlugin;

impl pleach::Plugin for QuietPlugin {
    fn name(&self) -> &str {
        "quiet"
    }
}

/// Builds a Runner for an agent that answers at once, with a plugin or with a callback after the agent that returns nothing.
fn answering(sessions: &Sessions, after: &str, resumable: bool) -> Runner {
    let mut agent = LlmAgent::builder("helper").model(ScriptedModel::saying("hi").repeating());
    if after == "callback" {
        agent = agent.after_agent(async |_: pleach::CallbackContext| Ok::<_, NodeError>(None));
    }
    let mut runner = Runner::builder("t").root(agent.build().unwrap()).sessions(Arc::clone(&sessions.stored));
    if after == "plugin" {
        runner = runner.plugin(QuietPlugin);
    }
    runner.resumable(resumable).build().unwrap()
}

#[tokio::test]
async fn an_agent_with_plugins_is_done_once_it_has_answered() {
    for (after, resumable) in [("nothing", false), ("plugin", false), ("plugin", true), ("callback", true)] {
        let sessions = Sessions::default();
        let here = answering(&sessions, after, resumable);
        let request = || RunRequest::new(("ana", "s")).invocation_id("i").message("hello");
        assert_eq!(here.start(request()).reply().await.unwrap(), "hi", "{after}");
        let there = answering(&sessions, after, resumable);
        for runner in [&here, &there] {
            assert_eq!(status(runner, "s").await, "done", "{after}, resumable {resumable}");
            assert!(runner.unfinished(ListUnfinished::new()).await.unwrap().items.is_empty(), "{after}");
        }
        assert!(there.start(request()).reply().await.is_ok(), "{after}: the invocation is done");
    }
}

/// A plugin whose hook after an agent waits until it is let go.
#[derive(Debug)]
struct SlowPlugin(Arc<tokio::sync::Notify>);

impl pleach::Plugin for SlowPlugin {
    fn name(&self) -> &str {
        "slow"
    }

    fn after_agent<'a>(
        &'a self,
        _: &'a pleach::AgentSpec,
        _: &'a pleach::CallbackContext,
    ) -> pleach::Hook<'a, Option<Content>> {
        Some(Box::pin(async {
            self.0.notified().await;
            Ok(None)
        }))
    }
}

#[tokio::test(start_paused = true)]
async fn heartbeats_show_that_a_hook_after_an_agent_still_runs() {
    let (sessions, gate) = (Sessions::default(), Arc::new(tokio::sync::Notify::new()));
    let clock = TestClock::running();
    let process = |plugin: SlowPlugin| {
        let agent = LlmAgent::builder("helper").model(ScriptedModel::saying("hi").repeating()).build().unwrap();
        let runner = Runner::builder("t").root(agent).sessions(Arc::clone(&sessions.stored)).plugin(plugin);
        runner.clock(clock.clone()).heartbeat(Duration::from_secs(2)).build().unwrap()
    };
    let (here, there) = (process(SlowPlugin(Arc::clone(&gate))), process(SlowPlugin(Arc::default())));
    let run = here.run("ana", "s", "hello").detach();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(status(&there, "s").await, "runselsewhere");
    gate.notify_one();
    run.await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(status(&there, "s").await, "done");
}
