//! Sleeps, and questions with a deadline.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use pleach::prelude::*;
use pleach::{FunctionResponse, Question, QuestionKind, RunRequest, SessionKey};
use serde_json::{Value, json};

use crate::backends::{Backend, on_backends};
use crate::support::{rerun, trace};
use crate::world::World;

const HOUR: Duration = Duration::from_secs(3_600);

/// A workflow that sleeps for an hour several times.
fn sleeper() -> Workflow {
    rerun("wait", async |ctx: Context| {
        let mut woken = Vec::new();
        for _ in 0..3 {
            ctx.sleep(HOUR).await?;
            woken.push(ctx.step("now", async || Ok(ctx.now())).await?);
        }
        let woken: Vec<u64> = woken.windows(2).map(|two| two[1].duration_since(two[0]).unwrap().as_secs()).collect();
        Ok(woken)
    })
}

#[tokio::test(start_paused = true)]
async fn a_run_sleeps_and_is_woken() {
    let world = World::new();
    let runner = world.process(sleeper());
    let lines = trace(runner.run("ana", "s1", "go")).await;
    assert_eq!(lines, ["wf@1/wait@1: asks pleach_timer:wf@1/wait@1:1"]);
    let questions: Vec<Question> = runner.questions(("ana", "s1")).await.unwrap();
    assert_eq!((questions[0].kind, questions[0].deadline), (QuestionKind::Timer, Some(1_800_003_600.0)));
    assert!(runner.inbox("ana").await.unwrap().is_empty(), "no person can answer");
    let page = runner.inbox_page(pleach::ListQuestions::new("t").with_limit(1)).await.unwrap();
    assert!(page.items.is_empty(), "no person can answer");

    tokio::time::sleep(3 * HOUR + Duration::from_secs(2)).await;
    assert_eq!(world.stored().await.last().unwrap(), "wf@1/wait@1: [3600,3600]");
    assert_eq!(world.answers().await, vec![json!({"result": null}); 3]);
}

#[tokio::test(start_paused = true)]
async fn a_sleep_that_ended_while_no_process_was_up_ends_when_one_starts() {
    let world = World::new();
    let first = world.process(sleeper());
    trace(first.run("ana", "s1", "go")).await;
    drop(first);
    tokio::time::sleep(2 * HOUR).await;
    assert!(world.answers().await.is_empty());
    // A Runner that has not started its timers wakes no run of another process.
    let idle = world.process(sleeper());
    tokio::time::sleep(HOUR).await;
    assert!(world.answers().await.is_empty());
    idle.start_timers();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(world.answers().await.len(), 1);
    tokio::time::sleep(2 * HOUR + Duration::from_secs(5)).await;
    assert_eq!(world.stored().await.last().unwrap(), "wf@1/wait@1: [3600,3600]");
}

#[tokio::test(start_paused = true)]
async fn a_sleep_of_no_time_and_one_until_the_past_end_at_once() {
    let root = rerun("wait", async |ctx: Context| {
        ctx.sleep(Duration::ZERO).await?;
        ctx.sleep_until(ctx.now() - HOUR).await?;
        ctx.sleep_until(std::time::UNIX_EPOCH - HOUR).await?;
        Ok("awake")
    });
    let world = World::new();
    assert_eq!(trace(world.process(root).run("ana", "s1", "go")).await, [r#"wf@1/wait@1: "awake""#]);
}

/// A workflow whose question stays open for at most an hour.
fn approval() -> Workflow {
    rerun("wait", async |ctx: Context| {
        let answer: Option<bool> = ctx.ask_within("ok", "Pay?", HOUR).await?;
        Ok(match answer {
            Some(true) => "paid",
            Some(false) => "refused",
            None => "nobody answered",
        })
    })
}

#[tokio::test(start_paused = true)]
async fn an_unanswered_question_is_answered_at_its_deadline() {
    let world = World::new();
    let runner = world.process(approval());
    trace(runner.run("ana", "s1", "go")).await;
    let inbox = runner.inbox("ana").await.unwrap();
    assert_eq!((inbox.len(), inbox[0].question.deadline), (1, Some(1_800_003_600.0)));
    tokio::time::sleep(HOUR + Duration::from_secs(2)).await;
    assert_eq!(world.stored().await.last().unwrap(), r#"wf@1/wait@1: "nobody answered""#);
    // A late answer changes nothing.
    let late = trace(runner.answer("s1", "ok", true).unwrap()).await;
    assert!(late[0].starts_with("! ALREADY_ANSWERED") || late[0].contains("answered"), "{late:?}");
    assert_eq!(world.answers().await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_answer_before_the_deadline_wins_and_the_deadline_does_nothing() {
    let world = World::new();
    let runner = world.process(approval());
    trace(runner.run("ana", "s1", "go")).await;
    tokio::time::sleep(HOUR / 2).await;
    assert_eq!(trace(runner.answer("s1", "ok", true).unwrap()).await, [r#"wf@1/wait@1: "paid""#]);
    tokio::time::sleep(HOUR).await;
    assert_eq!(world.answers().await, [json!({"result": true})]);
}

#[tokio::test(start_paused = true)]
async fn a_question_has_a_default_for_its_deadline() {
    let mut wf = Workflow::builder("wf");
    let ask = wf.node("ask", async |ctx: Context| {
        RequestInput::<String>::ask("colour", "Which?").with_deadline(ctx.now() + HOUR).with_default("blue")
    });
    let paint = wf.node("paint", async |Input(colour): Input<String>| format!("painted {colour}"));
    wf.edge(START, ask).edge(ask, paint);
    let world = World::new();
    let runner = world.process(wf.build().unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    tokio::time::sleep(HOUR + Duration::from_secs(2)).await;
    assert_eq!(world.stored().await.last().unwrap(), r#"wf@1/paint@1: "painted blue""#);
}

#[tokio::test(start_paused = true)]
async fn the_first_deadline_holds_when_the_body_runs_again() {
    let root = rerun("wait", async |ctx: Context| {
        let (slow, quick) = futures::join!(ctx.ask_within::<i64>("slow", "?", HOUR), ctx.ask::<i64>("quick", "?"));
        Ok(json!([slow?, quick?]))
    });
    let world = World::new();
    let runner = world.process(root);
    trace(runner.run("ana", "s1", "go")).await;
    tokio::time::sleep(HOUR / 2).await;
    trace(runner.answer("s1", "quick", 7).unwrap()).await;
    let open = runner.questions(("ana", "s1")).await.unwrap();
    assert_eq!((open.len(), open[0].deadline), (1, Some(1_800_003_600.0)));
    tokio::time::sleep(HOUR / 2 + Duration::from_secs(2)).await;
    assert_eq!(world.stored().await.last().unwrap(), "wf@1/wait@1: [null,7]");
}

#[tokio::test(start_paused = true)]
async fn several_processes_answer_once() {
    let world = World::new();
    let all: Vec<Runner> = (0..4).map(|_| world.process(approval())).collect();
    trace(all[0].run("ana", "s1", "go")).await;
    all.iter().for_each(Runner::start_timers);
    tokio::time::sleep(2 * HOUR).await;
    assert_eq!(world.answers().await, [json!({"result": null})]);
    assert_eq!(world.stored().await.last().unwrap(), r#"wf@1/wait@1: "nobody answered""#);
}

/// A workflow whose question stays open for as many seconds as the message says.
fn patient() -> Workflow {
    rerun("wait", async |ctx: Context| {
        let limit = ctx.user_content().unwrap().text().parse().unwrap();
        let answer: Option<bool> = ctx.ask_within("ok", "Pay?", Duration::from_secs(limit)).await?;
        Ok(json!([answer]))
    })
}

/// The question is answered at most two seconds late if another process is alive.
#[tokio::test(start_paused = true)]
async fn a_question_of_an_ended_process_is_answered_within_two_seconds() {
    let world = World::new();
    let alive = world.process(patient());
    alive.start_timers();
    tokio::time::sleep(Duration::from_millis(300)).await;
    for limit in [0, 1, 2, 7, 29, 31, 95, 700] {
        let (asker, session) = (world.process(patient()), limit.to_string());
        let before = tokio::time::Instant::now();
        assert_eq!(trace(asker.run("ana", session.as_str(), limit.to_string())).await, ["wf@1/wait@1: asks ok"]);
        drop(asker);
        let waits = async |runner: &Runner| !runner.questions(("ana", session.as_str())).await.unwrap().is_empty();
        tokio::time::sleep_until(before + Duration::from_secs(limit) - Duration::from_millis(1)).await;
        assert!(limit == 0 || waits(&alive).await, "{limit} s: not before its time");
        tokio::time::sleep_until(before + Duration::from_secs(limit + 2)).await;
        assert!(!waits(&alive).await, "{limit} s: two seconds late");
    }
}

#[tokio::test(start_paused = true)]
async fn a_deadline_waits_for_the_run_that_has_the_session() {
    let root = rerun("wait", async |ctx: Context| {
        if ctx.user_content().is_some_and(|content| content.text() == "work") {
            // The run does not sleep here: it is busy.
            tokio::time::sleep(2 * HOUR).await;
            return Ok("worked");
        }
        let answer: Option<bool> = ctx.ask_within("ok", "Pay?", HOUR).await?;
        Ok(if answer.is_none() { "nobody answered" } else { "answered" })
    });
    let world = World::new();
    let runner = world.process(root);
    trace(runner.run("ana", "s1", "go")).await;
    let working = runner.run("ana", "s1", "work").detach();
    tokio::time::sleep(HOUR + Duration::from_secs(60)).await;
    assert!(world.answers().await.is_empty());
    working.await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let lines = world.stored().await;
    assert_eq!(lines[1..], [r#"wf@1/wait@1: "worked""#, r#"wf@1/wait@1: "nobody answered""#]);
}

/// An hour after the start of the clock, as a time since the epoch.
const DEADLINE: Duration = Duration::from_secs(1_800_003_600);

/// With heartbeats, a deadline does not take the session away from a process that works on a parallel lane.
#[tokio::test(start_paused = true)]
async fn a_deadline_waits_for_the_run_of_another_process_that_shows_its_work() {
    for (heartbeat, answers) in [(true, 0), (false, 1)] {
        let world = World::new();
        let root = || {
            let mut wf = Workflow::builder("wf");
            let asks = wf.node("asks", async || {
                RequestInput::<bool>::ask("ok", "Pay?")
                    .with_deadline(std::time::UNIX_EPOCH + DEADLINE)
                    .with_default(false)
            });
            // The run does not sleep here: the node works and stores nothing.
            let works = wf.node("works", async || {
                tokio::time::sleep(2 * HOUR).await;
                "worked"
            });
            wf.edge(START, asks).edge(START, works);
            wf.build().unwrap()
        };
        let process = || {
            if heartbeat {
                world.builder().root(root()).heartbeat(Duration::from_secs(60)).build().unwrap()
            } else {
                world.process(root())
            }
        };
        let (works, other) = (process(), process());
        let run = works.run("ana", "s1", "go").detach();
        run.invocation_id().await.unwrap();
        other.start_timers();
        tokio::time::sleep(HOUR + HOUR / 2).await;
        assert_eq!(world.answers().await.len(), answers, "{heartbeat}");
        if heartbeat {
            run.await.unwrap();
            tokio::time::sleep(3 * HOUR).await;
            assert_eq!(world.answers().await.len(), 1, "{:?}", world.stored().await);
        }
    }
}

/// A run that waits for its next attempt is treated as working.
#[tokio::test(start_paused = true)]
async fn a_pause_between_attempts_is_work_elsewhere() {
    let fails = || {
        let node = FunctionNode::new("fails", async || -> Result<i64> { Err(Fail::msg("broken")) });
        let retry = RetryConfig { max_delay: 3600.0, ..RetryConfig::attempts(2) }.initial_delay(3600.0).jitter(0.0);
        let mut wf = Workflow::builder("wf");
        let node = wf.add(node.retry(retry));
        wf.edge(START, node);
        wf.build().unwrap()
    };
    let world = World::new();
    let process = || world.builder().root(fails()).heartbeat(Duration::from_secs(60)).build().unwrap();
    let (here, there) = (process(), process());
    let run = here.run("ana", "s1", "go").detach();
    tokio::time::sleep(HOUR / 2).await;
    let found = there.status("s1").await.unwrap().progress;
    assert!(matches!(found, pleach::RunProgress::RunsElsewhere), "{found:?}");
    assert!(run.await.is_err());
    // The run has ended, and no process has claimed the session since.
    let found = there.status("s1").await.unwrap().progress;
    assert!(matches!(found, pleach::RunProgress::Failed { .. }), "{found:?}");
}

/// If a rewind undoes the answer of a deadline but not its question, the deadline answers again.
#[tokio::test(start_paused = true)]
async fn a_deadline_that_a_rewind_has_undone_comes_again() {
    let mut wf = Workflow::builder("wf");
    let asks = wf.node("asks", async || {
        RequestInput::<bool>::ask("ok", "Pay?").with_deadline(std::time::UNIX_EPOCH + DEADLINE).with_default(false)
    });
    let slow = wf.node("slow", async || tokio::time::sleep(Duration::from_secs(60)).await);
    let beside = wf.node("beside", async |Input(()): Input<()>| "beside");
    let both = wf.add(pleach::JoinNode::new("both"));
    wf.edge(START, asks).edge(START, slow).edge(slow, beside).edge(asks, both).edge(beside, both);
    let world = World::new();
    let runner = world.builder().root(wf.build().unwrap()).resumable(true).build().unwrap();
    trace(runner.run("ana", "s1", "go")).await;
    tokio::time::sleep(2 * HOUR).await;
    assert_eq!(world.answers().await.len(), 1);
    let status = runner.status("s1").await.unwrap();
    assert!(matches!(status.progress, pleach::RunProgress::Done), "{:?}", status.progress);

    runner.rewind_before("s1", "wf@1/beside@1").await.unwrap();
    assert_eq!(runner.questions("s1").await.unwrap().len(), 1);
    runner.start_timers();
    tokio::time::sleep(HOUR).await;
    assert_eq!(world.answers().await.len(), 2);
    let status = runner.status("s1").await.unwrap();
    assert!(matches!(status.progress, pleach::RunProgress::Done), "{:?}", status.progress);
}

#[tokio::test]
async fn a_heartbeat_of_no_time_is_refused() {
    let built = World::new().builder().root(sleeper()).heartbeat(Duration::ZERO).build();
    assert!(built.unwrap_err().to_string().contains("a heartbeat needs a period that is not zero"));
}

#[tokio::test(start_paused = true)]
async fn a_default_must_fit_and_needs_a_deadline() {
    async fn failure(ask: RequestInput) -> String {
        let root = rerun("wait", move |ctx: Context| {
            let ask = ask.clone();
            async move { Ok(ctx.ask_with(ask).await?) }
        });
        trace(World::new().process(root).run("ana", "s1", "go")).await.swap_remove(0)
    }
    let deadline = std::time::UNIX_EPOCH + Duration::from_secs(1_900_000_000);
    let number = || RequestInput::ask("n", "?").with_schema(json!({"type": "integer"}));
    let absent = failure(number().with_deadline(deadline)).await;
    assert!(absent.contains("the answer to question 'n' at its deadline does not fit its schema"), "{absent}");
    let wrong = failure(number().with_deadline(deadline).with_default("x")).await;
    assert!(wrong.contains("does not fit its schema"), "{wrong}");
    let alone = failure(number().with_default(1)).await;
    assert!(alone.contains("question 'n' has a default and no deadline"), "{alone}");
    assert!(failure(number().with_deadline(deadline).with_default(1)).await.ends_with("asks n"));
}

/// A person's answer and a default never both apply, whichever process stores them. Each process opens the database itself.
async fn if_an_answer_and_a_deadline_race_one_wins(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let world = World::at(&place).await;
    let (here, there) = (world.process(patient()), world.elsewhere(&place).await.process(patient()));
    there.start_timers();
    let (mut people, mut clocks) = (0, 0);
    // `test-all` sets 10,000.
    let races = std::env::var("PLEACH_RACES").map_or(1_000, |races| races.parse::<u64>().unwrap());
    let races = if backend == Backend::Memory { races } else { races / 10 };
    for round in 0..races {
        let session = SessionKey::new("t", "ana", format!("r{round}"));
        trace(here.run("ana", &session.session_id, "3")).await;
        // The answer comes around the deadline, from this process or from another one.
        let offset = Duration::from_micros(round % 5 * 500);
        tokio::time::sleep(Duration::from_millis(2_999) + offset).await;
        let answering = if round % 2 == 0 { &here } else { &there };
        trace(answering.answer(&session, "ok", true).unwrap()).await;
        // The loser of the race may try again later.
        tokio::time::sleep(Duration::from_secs(2)).await;
        let stored = world.sessions.get_session(&session, Default::default()).await.unwrap().unwrap();
        let answers = stored.events.iter().flat_map(|event| event.function_responses());
        let answers: Vec<&Value> = answers.filter_map(|answer| answer.response.as_ref()?.get("result")).collect();
        assert_eq!(answers.len(), 1, "round {round}: {:?}", stored.events);
        let outputs: Vec<&Value> = stored.events.iter().filter_map(|event| event.output()).collect();
        assert_eq!(outputs, [&json!([answers[0]])], "round {round}: {:?}", stored.events);
        match answers[0] {
            Value::Bool(true) => people += 1,
            Value::Null => clocks += 1,
            other => panic!("round {round}: {other}"),
        }
    }
    eprintln!("{backend:?}: {races} races, the person won {people} times and the clock {clocks} times");
    assert!(people > 0 && clocks > 0, "{people} {clocks}");
}

/// A node without a result leaves no trace of having used the default. Even so, a late answer must not apply as well.
async fn a_late_answer_does_not_replace_a_default(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let world = World::at(&place).await;
    let effects: Arc<Mutex<Vec<Option<bool>>>> = Arc::default();
    let root = || {
        let effects = Arc::clone(&effects);
        rerun("wait", move |ctx: Context| {
            let effects = Arc::clone(&effects);
            async move {
                let answer: Option<bool> = ctx.ask_within("ok", "Pay?", HOUR).await?;
                effects.lock().unwrap().push(answer);
                Ok(())
            }
        })
    };
    let (here, there) = (world.process(root()), world.elsewhere(&place).await.process(root()));
    trace(here.run("ana", "s1", "go")).await;
    tokio::time::sleep(HOUR + Duration::from_secs(2)).await;
    assert_eq!(*effects.lock().unwrap(), [None]);
    for runner in [&here, &there] {
        let late = trace(runner.answer("s1", "ok", true).unwrap()).await;
        assert!(late[0].starts_with("! AlreadyAnsweredError"), "{late:?}");
        let response = FunctionResponse::new(
            "ok",
            "adk_request_input",
            [("result".to_owned(), json!(true))].into_iter().collect(),
        );
        let message = RunRequest::new(("ana", "s1")).message(vec![Part::function_response(response)]);
        let late = trace(runner.start(message)).await;
        assert!(late[0].starts_with("! AlreadyAnsweredError"), "{late:?}");
    }
    assert_eq!(*effects.lock().unwrap(), [None]);
    assert_eq!(world.answers().await, [json!({"result": null})]);
}

on_backends! {
    #[tokio::test(start_paused = true)]
    a_late_answer_does_not_replace_a_default,
    if_an_answer_and_a_deadline_race_one_wins,
}

// Items that ask under one id must not share a deadline.
#[tokio::test(start_paused = true)]
async fn runs_that_ask_with_one_id_have_their_own_deadlines() {
    let item = FunctionNode::new("item", async |ctx: Context, Input(hours): Input<u32>| -> Result<Value> {
        let answer: Option<bool> = ctx.ask_within("ok", "?", HOUR * hours).await?;
        Ok(json!([hours, answer]))
    });
    let mut wf = Workflow::builder("wf");
    let items = wf.node("items", async || vec![1_u32, 3, 2]);
    let all = wf.parallel(item.rerun_on_resume(true));
    let last = wf.node("last", async |ctx: Context, Input(all): Input<Vec<Value>>| {
        let hours = ctx.now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() - 1_800_000_000;
        json!([hours / 3_600, all])
    });
    wf.edge(START, items).edge(items, all).edge(all, last);
    let world = World::new();
    let runner = world.process(wf.build().unwrap());
    runner.start_timers();
    trace(runner.run("ana", "s1", "go")).await;
    tokio::time::sleep(4 * HOUR).await;
    assert_eq!(world.stored().await.last().unwrap(), "wf@1/last@1: [3,[[1,null],[3,null],[2,null]]]");
}

// A Runner that has not started its timers does not wake the runs of others.
#[tokio::test(start_paused = true)]
async fn a_runner_wakes_only_its_own_runs_unless_it_starts_its_timers() {
    let world = World::new();
    let (one, other) = (world.process(sleeper()), world.process(sleeper()));
    trace(one.run("ana", "s1", "go")).await;
    drop(one);
    trace(other.run("ana", "s2", "go")).await;
    tokio::time::sleep(2 * HOUR).await;
    assert!(world.answers().await.is_empty(), "the runs of the dropped Runner are not woken");
    let mine = other.questions(("ana", "s2")).await.unwrap();
    assert_eq!(mine[0].id, "pleach_timer:wf@1/wait@1:2", "its own run was woken");
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_reader_leaves_at_the_question_is_woken_as_well() {
    let world = World::new();
    let runner = world.process(approval());
    let mut run = runner.run("ana", "s1", "go");
    run.next().await.unwrap().unwrap();
    drop(run);
    tokio::time::sleep(2 * HOUR).await;
    assert_eq!(world.stored().await.last().unwrap(), r#"wf@1/wait@1: "nobody answered""#);
}

// A dropped Runner does not fire a deadline that has waited for its run.
#[tokio::test(start_paused = true)]
async fn a_runner_that_is_gone_fires_nothing() {
    let root = node_with_work();
    let world = World::new();
    let runner = world.process(root);
    let mut run = runner.run("ana", "s1", "go");
    run.next().await.unwrap().unwrap();
    // The parallel lane continues to work while the deadline passes.
    let working = tokio::time::timeout(2 * HOUR, run.next()).await;
    assert!(working.is_err(), "the run is in progress");
    drop((run, runner));
    tokio::time::sleep(2 * HOUR).await;
    assert!(world.answers().await.is_empty());
}

/// A workflow of two lanes: one asks for an hour, and the other works forever.
fn node_with_work() -> Workflow {
    let mut wf = Workflow::builder("wf");
    let ask = wf.add(
        FunctionNode::new("ask", async |ctx: Context| ctx.ask_within::<bool>("ok", "?", HOUR).await)
            .rerun_on_resume(true),
    );
    let work = wf.node("work", async || std::future::pending::<()>().await);
    wf.edge(START, ask).edge(START, work);
    wf.build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_sleep_that_starts_during_another_call_is_refused() {
    let root = rerun("wait", async |ctx: Context| {
        let lane = async { ctx.ask::<bool>("q", "?").await };
        let sleeper = async { ctx.sleep(HOUR).await };
        Ok(futures::try_join!(lane, sleeper)?.0)
    });
    let lines = trace(World::new().process(root).run("ana", "s1", "go")).await;
    assert!(lines.iter().any(|line| line.contains("a sleep of node 'wait' begins while another call")), "{lines:?}");
}
