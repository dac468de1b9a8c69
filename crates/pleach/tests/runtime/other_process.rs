//! A request for a session on which another process works, as its heartbeats show.

use std::sync::Arc;
use std::time::Duration;

use pleach::model::LlmResponse;
use pleach::prelude::*;
use pleach::{
    CallbackContext, GetSessionConfig, Hook, InvocationContext, InvocationId, LoopAgent, Node, ParallelAgent, Plugin,
    Run, RunConfig, RunEnd, RunProgress, RunRequest, Runner, SequentialAgent,
};

use crate::graph_transfers::answering;
use crate::support::{key, rerun, trace};
use crate::world::World;

const BEAT: Duration = Duration::from_secs(2);
const S: (&str, &str) = ("ana", "s1");

/// A body that works for a minute and stores nothing in the meantime.
fn slow() -> Workflow {
    rerun("work", async |_: Context| {
        tokio::time::sleep(Duration::from_secs(60)).await;
        Ok("done")
    })
}

fn fail(message: &'static str) -> Result<(), Fail> {
    Err(NodeError::value(message).into())
}

fn process(world: &World, root: impl Node) -> Runner {
    world.builder().root(root).heartbeat(BEAT).build().unwrap()
}

async fn output(run: Run) -> String {
    run.output::<String>().await.unwrap()
}

/// The invocation on which another process works, by which a request was refused.
async fn refused(run: Run) -> InvocationId {
    match run.output::<String>().await {
        Err(RunError::Busy { invocation: Some(invocation), .. }) => invocation,
        other => panic!("{other:?}"),
    }
}

/// Polls a run for some time and drops it, as a process that is killed.
async fn kill(mut run: Run, after: Duration) {
    let killed = tokio::time::timeout(after, async { while run.next().await.is_some() {} }).await;
    assert!(killed.is_err(), "the run was at work");
}

#[tokio::test(start_paused = true)]
async fn a_message_does_not_cut_off_the_run_of_another_process() {
    let world = World::new();
    let (first, second) = (process(&world, slow()), process(&world, slow()));
    let run = first.run("ana", "s1", "one").detach();
    let invocation = run.invocation_id().await.unwrap();
    tokio::time::sleep(BEAT * 10).await;
    let stored = world.stored_events().await;
    assert_eq!(refused(second.run("ana", "s1", "two")).await, invocation);
    let named = RunRequest::new(S).message("two").invocation_id("another");
    assert_eq!(refused(second.start(named)).await, invocation);
    assert_eq!(world.stored_events().await, stored, "nothing of the message is stored");
    // The same message under the id of the invocation is not a new one.
    let again = second.start(RunRequest::new(S).message("one").invocation_id(invocation.clone()));
    assert!(matches!(again.output::<String>().await.unwrap_err(), RunError::Unfinished { .. }));
    assert_eq!(run.output::<String>().await.unwrap(), "done");
    assert_eq!(output(second.run("ana", "s1", "two")).await, "done");
}

#[tokio::test(start_paused = true)]
async fn a_queued_message_waits_for_the_run_of_another_process() {
    let world = World::new();
    let (first, second) = (process(&world, slow()), process(&world, slow()));
    let run = first.run("ana", "s1", "one").detach();
    run.invocation_id().await.unwrap();
    let queued = || second.start(RunRequest::new(S).message("two").queue(true));
    assert_eq!(output(queued()).await, "done");
    assert_eq!(run.end(), Some(RunEnd::Done));
    // A waiting message keeps its place before later ones, and does not stand for the run of the session.
    let run = first.run("ana", "s1", "three").detach();
    run.invocation_id().await.unwrap();
    let (one, two) = (queued().detach(), queued().detach());
    tokio::time::sleep(BEAT * 2).await;
    assert!(matches!(second.status(S).await.unwrap().progress, RunProgress::RunsElsewhere));
    assert_eq!(run.output::<String>().await.unwrap(), "done");
    assert_eq!(one.output::<String>().await.unwrap(), "done");
    assert_eq!(two.output::<String>().await.unwrap(), "done");
}

#[tokio::test(start_paused = true)]
async fn a_message_that_waits_for_another_process_can_be_aborted_or_cut() {
    let world = World::new();
    let (first, second) = (process(&world, slow()), process(&world, slow()));
    let run = first.run("ana", "s1", "one").detach();
    run.invocation_id().await.unwrap();
    let waiting = || second.start(RunRequest::new(S).message("two").queue(true)).detach();
    let queued = waiting();
    tokio::time::sleep(BEAT).await;
    queued.abort();
    assert!(matches!(queued.await.unwrap_err(), RunError::Aborted));
    let queued = waiting();
    tokio::time::sleep(BEAT / 2).await;
    let before = tokio::time::Instant::now();
    queued.cut();
    assert!(matches!(queued.await.unwrap_err(), RunError::Cut { .. }));
    assert_eq!(before.elapsed(), Duration::ZERO, "it does not wait for its next look");
    let queued = waiting();
    tokio::time::sleep(BEAT).await;
    second.drain(Duration::ZERO).await;
    assert!(matches!(queued.await.unwrap_err(), RunError::Cut { .. }));
    assert_eq!(run.output::<String>().await.unwrap(), "done");
}

#[tokio::test(start_paused = true)]
async fn a_message_is_accepted_once_a_killed_process_is_silent_for_three_heartbeats() {
    let world = World::new();
    let (first, second) = (process(&world, slow()), process(&world, slow()));
    kill(first.run("ana", "s1", "one"), BEAT * 2).await;
    refused(second.run("ana", "s1", "two")).await;
    tokio::time::sleep(BEAT * 3).await;
    assert!(matches!(second.status(S).await.unwrap().progress, RunProgress::Unfinished));
    assert_eq!(output(second.run("ana", "s1", "two")).await, "done");
}

/// A user who stops an answer can ask again at once, at any process.
#[tokio::test(start_paused = true)]
async fn a_run_that_was_cut_off_holds_no_message_back() {
    for at_other in [false, true] {
        let world = World::new();
        let (first, second) = (process(&world, slow()), process(&world, slow()));
        let run = first.run("ana", "s1", "one").detach();
        run.invocation_id().await.unwrap();
        tokio::time::sleep(BEAT * 2).await;
        run.cut();
        run.await.unwrap();
        let next = if at_other { &second } else { &first };
        assert_eq!(output(next.run("ana", "s1", "two")).await, "done", "{at_other}");
    }
}

/// The log does not show that a run was dropped, but the process that dropped it remembers.
#[tokio::test(start_paused = true)]
async fn a_dropped_run_holds_no_message_of_its_own_process_back() {
    let world = World::new();
    let runner = process(&world, slow());
    kill(runner.run("ana", "s1", "one"), BEAT * 2).await;
    assert_eq!(output(runner.run("ana", "s1", "two")).await, "done");
    // Another process has resumed the run since, so it is at work there.
    kill(runner.run("ana", "s1", "three"), BEAT * 2).await;
    let other = process(&world, slow());
    let invocation = other.status(S).await.unwrap().invocation.unwrap();
    let resumed = other.resume("ana", "s1", invocation.clone()).detach();
    resumed.invocation_id().await.unwrap();
    tokio::time::sleep(BEAT * 2).await;
    assert_eq!(refused(runner.run("ana", "s1", "four")).await, invocation);
    assert_eq!(resumed.output::<String>().await.unwrap(), "done");
}

/// A plugin whose hook before the run fails.
#[derive(Debug)]
struct Failing;

impl Plugin for Failing {
    fn name(&self) -> &str {
        "failing"
    }

    fn before_run<'a>(&'a self, _: &'a InvocationContext) -> Hook<'a, Option<Content>> {
        Some(Box::pin(async { Err(NodeError::value("not today").into()) }))
    }
}

fn says(name: &str) -> LlmAgent {
    LlmAgent::builder(name).model(answering(|_| LlmResponse::text("hello"))).build().unwrap()
}

fn shell(kind: &str) -> Arc<dyn Node> {
    let (one, two) = (says("one"), says("two"));
    match kind {
        "sequential" => Arc::new(SequentialAgent::builder("all").sub_agent(one).sub_agent(two).build().unwrap()),
        "parallel" => Arc::new(ParallelAgent::builder("all").sub_agent(one).sub_agent(two).build().unwrap()),
        _ => Arc::new(LoopAgent::builder("all").max_iterations(2).sub_agent(one).sub_agent(two).build().unwrap()),
    }
}

/// Each of these runs ends without an event that proves its end, so the Runner notes the end.
#[tokio::test(start_paused = true)]
async fn a_run_that_has_ended_or_waits_holds_no_message_back() {
    let silent_end = || {
        let mut wf = Workflow::builder("wf");
        let first = wf.node("first", async || "x");
        let last = wf.add(FunctionNode::new("last", async || None::<String>));
        wf.edge(START, first).edge(first, last);
        wf.build().unwrap()
    };
    let beside_question = || {
        let mut wf = Workflow::builder("wf");
        let asks = FunctionNode::new("asks", async |ctx: Context| ctx.ask::<String>("q", "Which?").await);
        let asks = wf.add(asks.rerun_on_resume(true));
        let unit = wf.add(FunctionNode::new("unit", async || ()));
        wf.edge(START, asks).edge(START, unit);
        wf.build().unwrap()
    };
    let after_agent = || {
        let agent = LlmAgent::builder("one").model(answering(|_| LlmResponse::text("hello")));
        agent.after_agent(async |_: CallbackContext| Ok::<_, NodeError>(None::<Content>)).build().unwrap()
    };
    let roots: [(&str, Arc<dyn Node>); 10] = [
        ("a value", Arc::new(rerun("value", async |_: Context| Ok("x")))),
        ("a question", Arc::new(rerun("asks", async |ctx: Context| Ok(ctx.ask::<String>("q", "Which?").await?)))),
        ("nothing", Arc::new(rerun("nothing", async |_: Context| Ok(())))),
        ("a failure", Arc::new(rerun("fails", async |_: Context| fail("no")))),
        ("a last node without a value", Arc::new(silent_end())),
        ("a unit beside a question", Arc::new(beside_question())),
        ("a callback after the agent", Arc::new(after_agent())),
        ("a sequential agent", shell("sequential")),
        ("a parallel agent", shell("parallel")),
        ("a loop agent", shell("loop")),
    ];
    for (what, root) in roots {
        for resumable in [false, true] {
            let world = World::new();
            let process = || {
                let builder = world.builder().root(Arc::clone(&root)).heartbeat(BEAT).resumable(resumable);
                builder.build().unwrap()
            };
            let (first, second) = (process(), process());
            let ended = trace(first.run("ana", "s1", "one")).await;
            let before = second.status(S).await.unwrap();
            assert!(
                !matches!(
                    before.progress,
                    RunProgress::RunsElsewhere | RunProgress::Unfinished | RunProgress::MayBeDone
                ),
                "{what}: {before:?}"
            );
            let lines = trace(second.run("ana", "s1", "two")).await;
            assert!(!lines.iter().any(|line| line.contains("Busy")), "{what}, {resumable}: {lines:?}");
            assert_eq!(lines.len(), ended.len(), "{what}, {resumable}: {lines:?} {ended:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_a_plugin_failed_holds_no_message_back() {
    let world = World::new();
    let first = world.builder().root(slow()).heartbeat(BEAT).plugin(Failing).build().unwrap();
    assert!(first.run("ana", "s1", "one").output::<String>().await.is_err());
    assert_eq!(output(process(&world, slow()).run("ana", "s1", "two")).await, "done");
}

/// The end is noted, so a resume does not run the node again, and a repeated request learns that it is done.
#[tokio::test(start_paused = true)]
async fn an_end_that_is_noted_is_not_run_again() {
    let world = World::new();
    let root = || FunctionNode::new("unit", async || ());
    let (first, second) = (process(&world, root()), process(&world, root()));
    let request = || RunRequest::new(S).message("one").invocation_id("i");
    trace(first.start(request())).await;
    let stored = world.stored_events().await;
    assert!(matches!(second.status(S).await.unwrap().progress, RunProgress::Done));
    for mut run in [second.start(request()), second.resume("ana", "s1", "i")] {
        while run.next().await.is_some() {}
        assert_eq!(run.end(), Some(RunEnd::Done));
    }
    assert_eq!(world.stored_events().await, stored);
}

/// A run that continues after a caught failure still works on its session.
#[tokio::test(start_paused = true)]
async fn a_body_that_works_after_a_caught_failure_keeps_its_session() {
    let root = || {
        rerun("work", async |ctx: Context| {
            let failed = ctx.step("charge", async || fail("declined")).await;
            assert!(failed.is_err());
            tokio::time::sleep(Duration::from_secs(60)).await;
            Ok("done")
        })
    };
    let world = World::new();
    let (first, second) = (process(&world, root()), process(&world, root()));
    let run = first.run("ana", "s1", "one").detach();
    run.invocation_id().await.unwrap();
    tokio::time::sleep(BEAT * 5).await;
    refused(second.run("ana", "s1", "two")).await;
    assert_eq!(run.output::<String>().await.unwrap(), "done");
}

/// Asks, or works for a minute.
fn asks_or_works() -> Workflow {
    rerun("work", async |ctx: Context| {
        if ctx.user_content().is_some_and(|content| content.text() == "ask") {
            return Ok(ctx.ask::<String>("q", "Which?").await?);
        }
        tokio::time::sleep(Duration::from_secs(60)).await;
        Ok("done".to_owned())
    })
}

#[tokio::test(start_paused = true)]
async fn an_answer_or_a_resume_of_an_earlier_invocation_does_not_cut_off_the_run_of_another_process() {
    let world = World::new();
    let (first, second) = (process(&world, asks_or_works()), process(&world, asks_or_works()));
    trace(first.run("ana", "s1", "ask")).await;
    let asked = second.status(S).await.unwrap().invocation.unwrap();
    let run = first.run("ana", "s1", "work").detach();
    let working = run.invocation_id().await.unwrap();
    tokio::time::sleep(BEAT * 5).await;
    assert_eq!(refused(second.answer(S, "q", "this").unwrap()).await, working);
    assert_eq!(refused(second.resume("ana", "s1", asked)).await, working);
    assert_eq!(run.output::<String>().await.unwrap(), "done");
    assert_eq!(output(second.answer(S, "q", "this").unwrap()).await, "this");
}

#[tokio::test(start_paused = true)]
async fn a_part_of_the_history_suffices_to_notice_the_run_of_another_process() {
    let world = World::new();
    let (first, second) = (process(&world, slow()), process(&world, slow()));
    let run = first.run("ana", "s1", "one").detach();
    let working = run.invocation_id().await.unwrap();
    tokio::time::sleep(BEAT * 5).await;
    let mut config = RunConfig::default();
    config.get_session_config = GetSessionConfig::recent(0);
    assert_eq!(refused(second.start(RunRequest::new(S).message("two").config(config))).await, working);
    assert_eq!(run.output::<String>().await.unwrap(), "done");
}

#[tokio::test(start_paused = true)]
async fn a_copy_or_a_rewound_session_accepts_messages_at_once() {
    let world = World::new();
    let (first, second) = (process(&world, slow()), process(&world, slow()));
    assert_eq!(output(first.run("ana", "s1", "one")).await, "done");
    let run = first.run("ana", "s1", "two").detach();
    let working = run.invocation_id().await.unwrap();
    let stored = world.sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    let last = stored.events.last().unwrap().id().clone();
    let copy = second.fork("ana", "s1", last, None).await.unwrap();
    assert_eq!(output(second.run("ana", copy.id().as_str(), "next")).await, "done");
    run.cut();
    run.await.unwrap();
    second.rewind("ana", "s1", working).await.unwrap();
    assert_eq!(output(first.run("ana", "s1", "three")).await, "done");
}

/// Without heartbeats nothing shows that another process works, so the message takes the session, as in google-adk.
#[tokio::test(start_paused = true)]
async fn without_heartbeats_a_message_takes_the_session() {
    let world = World::new();
    let (first, second) = (world.process(slow()), world.process(slow()));
    let run = first.run("ana", "s1", "one").detach();
    run.invocation_id().await.unwrap();
    assert_eq!(output(second.run("ana", "s1", "two")).await, "done");
    let lost = run.await.unwrap_err();
    assert!(matches!(&lost, RunError::Session(error) if error.is_stale()), "{lost}");
}
