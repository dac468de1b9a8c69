//! Selects: the first of several answers, times and signals.

use std::time::Duration;

use pleach::prelude::*;
use pleach::{QuestionKind, RunError, SignalOutcome};
use serde_json::{Value, json};

use crate::support::{rerun, trace};
use crate::world::World;

const HOUR: Duration = Duration::from_secs(3_600);

/// A workflow that selects from a decision, an hour and a signal.
fn approval() -> Workflow {
    rerun("wait", async |ctx: Context| {
        let next = ctx
            .select()
            .ask("ok", "Pay?", |yes: bool| json!({ "decided": yes }))
            .sleep(HOUR, || json!("late"))
            .signal("cancel", |reason: String| json!({ "cancelled": reason }))
            .await?;
        Ok(next)
    })
}

async fn waiting(world: &World) -> Runner {
    let runner = world.process(approval());
    let asked = trace(runner.run("ana", "s1", "go")).await;
    let (timer, signal) = ("pleach_timer:wf@1/wait@1:1-1", "pleach_signal:wf@1/wait@1:1-2");
    assert_eq!(asked, [format!("wf@1/wait@1: asks ok, asks {timer}, asks {signal}")]);
    runner
}

/// Returns the number of open questions and the line of the last stored event.
async fn end(world: &World, runner: &Runner) -> (usize, String) {
    let open = runner.questions(("ana", "s1")).await.unwrap().len();
    (open, world.stored().await.last().unwrap().clone())
}

#[tokio::test(start_paused = true)]
async fn an_answer_withdraws_the_time_and_the_signal() {
    let world = World::new();
    let runner = waiting(&world).await;
    let kinds: Vec<QuestionKind> =
        runner.questions(("ana", "s1")).await.unwrap().into_iter().map(|question| question.kind).collect();
    assert_eq!(kinds, [QuestionKind::UserInput, QuestionKind::Timer, QuestionKind::Signal]);
    assert_eq!(runner.inbox("ana").await.unwrap().len(), 1, "a person can answer one of them");
    assert_eq!(trace(runner.answer("s1", "ok", true).unwrap()).await, [r#"wf@1/wait@1: {"decided":true}"#]);
    tokio::time::sleep(2 * HOUR).await;
    assert_eq!(end(&world, &runner).await, (0, r#"wf@1/wait@1: {"decided":true}"#.to_owned()));
    assert_eq!(world.answers().await.len(), 1);
    let late = runner.signal("s1", "cancel", "too late").await.unwrap_err();
    assert!(matches!(late, RunError::NoReceiver { .. }), "{late}");
}

#[tokio::test(start_paused = true)]
async fn a_time_withdraws_the_question() {
    let world = World::new();
    let runner = waiting(&world).await;
    tokio::time::sleep(HOUR + Duration::from_secs(2)).await;
    assert_eq!(end(&world, &runner).await, (0, r#"wf@1/wait@1: "late""#.to_owned()));
    let late = runner.answer("s1", "ok", true).unwrap().output::<Value>().await.unwrap_err();
    assert!(matches!(late, RunError::AlreadyAnswered { .. }), "{late}");
    assert_eq!(world.answers().await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_signal_withdraws_the_others() {
    let world = World::new();
    let runner = waiting(&world).await;
    // A payload that does not fit is not stored, and the error names the field.
    let unfit = runner.signal("s1", "cancel", 7).await.unwrap_err();
    assert!(matches!(&unfit, RunError::Message(_)) && unfit.to_string().contains("signal 'cancel'"), "{unfit}");
    let SignalOutcome::Delivered(run) = runner.signal("s1", "cancel", "changed my mind").await.unwrap() else {
        panic!("not delivered")
    };
    assert_eq!(run.output::<Value>().await.unwrap(), json!({"cancelled": "changed my mind"}));
    tokio::time::sleep(2 * HOUR).await;
    assert_eq!(end(&world, &runner).await.0, 0);
    assert_eq!(world.answers().await.len(), 1);
}

/// With two Runners, the later answer gets an error.
#[tokio::test]
async fn if_an_answer_and_a_signal_race_one_wins() {
    for _ in 0..50 {
        let world = World::new();
        let (first, second) = (waiting(&world).await, world.process(approval()));
        let answer = async { first.answer("s1", "ok", true).unwrap().output::<Value>().await };
        let signal = async {
            match second.signal("s1", "cancel", "no").await? {
                SignalOutcome::Delivered(run) => run.output::<Value>().await,
                other => panic!("{other:?}"),
            }
        };
        let (answer, signal) = tokio::join!(answer, signal);
        assert_eq!(world.answers().await.len(), 1, "{answer:?} {signal:?}");
        assert!(answer.is_ok() != signal.is_ok(), "{answer:?} {signal:?}");
    }
}

/// A workflow that asks the same question again each hour.
fn reminders() -> Workflow {
    rerun("wait", async |ctx: Context| {
        let mut reminders = 0;
        loop {
            let select = ctx.select().ask("ok", "Pay?", Some::<bool>).sleep(HOUR, || None);
            match select.await? {
                Some(yes) => return Ok(json!([yes, reminders])),
                None => reminders += 1,
            }
        }
    })
}

#[tokio::test(start_paused = true)]
async fn a_loop_asks_the_same_question_again_after_each_time() {
    let world = World::new();
    let first = world.process(reminders());
    trace(first.run("ana", "s1", "go")).await;
    tokio::time::sleep(2 * HOUR + Duration::from_secs(5)).await;
    assert_eq!(world.answers().await.len(), 2);
    drop(first);
    // The decisions of selects are read from the log, including in another process.
    let second = world.process(reminders());
    assert_eq!(second.inbox("ana").await.unwrap().len(), 1);
    assert_eq!(second.questions(("ana", "s1")).await.unwrap().len(), 2);
    assert_eq!(trace(second.answer("s1", "ok", true).unwrap()).await, ["wf@1/wait@1: [true,2]"]);
    assert_eq!(end(&world, &second).await.0, 0);
}

#[tokio::test(start_paused = true)]
async fn branches_that_cannot_be_selected_are_named_in_the_error() {
    let nothing = rerun("wait", async |ctx: Context| Ok(ctx.select::<Value>().await?));
    let twice = rerun("wait", async |ctx: Context| {
        Ok(ctx.select().ask("q", "?", |value: Value| value).ask("q", "?", |value: Value| value).await?)
    });
    let blank = rerun("wait", async |ctx: Context| Ok(ctx.wait_for_signal::<Value>(" ").await?));
    let reserved = rerun("wait", async |ctx: Context| Ok(ctx.ask::<Value>("pleach_timer:x", "?").await?));
    let beside = rerun("wait", async |ctx: Context| {
        let waits = async { ctx.select().sleep(HOUR, || json!(1)).await };
        let (asked, waited) = tokio::try_join!(ctx.ask::<Value>("q", "?"), waits)?;
        Ok(json!([asked, waited]))
    });
    for (root, text) in [
        (nothing, "has no branch"),
        (twice, "two branches with the id 'q'"),
        (blank, "waits for a signal with a blank name"),
        (reserved, "begins with 'pleach_timer:'"),
        (beside, "a select of node 'wait' begins while another call"),
    ] {
        let world = World::new();
        let lines = trace(world.process(root).run("ana", "s1", "go")).await;
        let last = lines.last().unwrap();
        assert!(last.starts_with("! ValueError") && last.contains(text), "{text}: {lines:?}");
    }
}

/// A workflow that selects one of two signals and then asks a question.
fn two_signals() -> Workflow {
    rerun("wait", async |ctx: Context| {
        let begin: bool = ctx.ask("begin", "Begin?").await?;
        let select = ctx.select().signal("a", |a: u32| json!({ "a": a }));
        let first = select.signal("b", |b: u32| json!({ "b": b })).await?;
        let x: u32 = ctx.ask("x", "?").await?;
        Ok(json!([begin, first, x]))
    })
}

// A signal that is kept later for an earlier branch does not replace the decision.
#[tokio::test]
async fn a_select_that_a_kept_signal_has_decided_stays_decided() {
    let world = World::new();
    let runner = world.process(two_signals());
    trace(runner.run("ana", "s1", "go")).await;
    assert!(matches!(runner.signal("s1", "b", 1).await.unwrap(), SignalOutcome::Kept));
    trace(runner.answer("s1", "begin", true).unwrap()).await;
    assert!(matches!(runner.signal("s1", "a", 2).await.unwrap(), SignalOutcome::Kept));
    let output: Value = world.process(two_signals()).answer("s1", "x", 3).unwrap().output().await.unwrap();
    assert_eq!(output, json!([true, {"b": 1}, 3]));
}

#[tokio::test]
async fn if_two_signals_are_kept_the_one_that_was_stored_first_wins() {
    let world = World::new();
    let runner = world.process(two_signals());
    trace(runner.run("ana", "s1", "go")).await;
    for (name, payload) in [("b", 1), ("a", 2)] {
        assert!(matches!(runner.signal("s1", name, payload).await.unwrap(), SignalOutcome::Kept));
    }
    trace(runner.answer("s1", "begin", true).unwrap()).await;
    assert_eq!(runner.answer("s1", "x", 3).unwrap().output::<Value>().await.unwrap(), json!([true, {"b": 1}, 3]));
}

// The answer to the second select does not decide the first one.
#[tokio::test]
async fn an_answer_decides_the_select_that_asked() {
    let root = || {
        rerun("wait", async |ctx: Context| {
            let begin: bool = ctx.ask("approve", "Begin?").await?;
            let mut notes = Vec::new();
            loop {
                let select = ctx.select().ask("approve", "Approve?", |yes: bool| json!(yes));
                match select.signal("note", |note: String| json!(note)).await? {
                    note @ Value::String(_) => notes.push(note),
                    Value::Bool(false) => notes.push(json!("again")),
                    yes => return Ok(json!([begin, notes, yes])),
                }
            }
        })
    };
    let world = World::new();
    let runner = world.process(root());
    trace(runner.run("ana", "s1", "go")).await;
    assert!(matches!(runner.signal("s1", "note", "one").await.unwrap(), SignalOutcome::Kept));
    for answer in [true, false] {
        assert!(matches!(
            runner.answer("s1", "approve", answer).unwrap().output::<Value>().await,
            Err(RunError::Waiting(_))
        ));
    }
    let again = world.process(root());
    let output: Value = again.answer("s1", "approve", true).unwrap().output().await.unwrap();
    assert_eq!(output, json!([true, ["one", "again"], true]));
    assert!(again.questions("s1").await.unwrap().is_empty());
}

// The question must not have the deadline of the withdrawn question.
#[tokio::test(start_paused = true)]
async fn a_question_that_a_select_asks_again_has_a_deadline_of_its_own() {
    let world = World::new();
    let runner = world.process(rerun("wait", async |ctx: Context| {
        let mut notes = 0;
        loop {
            let question = RequestInput::ask("ok", "?").with_deadline(ctx.now() + HOUR).with_default(false);
            let select = ctx.select().ask_with(question, |answer: Value| answer);
            match select.signal("note", |note: String| json!(note)).await? {
                Value::String(_) => notes += 1,
                answer => return Ok(json!([answer, notes])),
            }
        }
    }));
    trace(runner.run("ana", "s1", "go")).await;
    tokio::time::sleep(HOUR - Duration::from_secs(60)).await;
    assert!(matches!(runner.signal("s1", "note", "wait").await.unwrap(), SignalOutcome::Delivered(_)));
    tokio::time::sleep(HOUR / 2).await;
    assert_eq!(runner.questions("s1").await.unwrap().len(), 2);
    // The deadline of the closed question is not kept.
    assert_eq!(runner.load().deadlines, 1);
    tokio::time::sleep(HOUR).await;
    assert_eq!(end(&world, &runner).await, (0, "wf@1/wait@1: [false,1]".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_select_waits_until_a_point_in_time() {
    for from_now in [HOUR, Duration::ZERO] {
        let world = World::new();
        let runner = world.process(rerun("wait", move |ctx: Context| async move {
            let end = std::time::UNIX_EPOCH + Duration::from_secs(1_800_000_000) + from_now;
            Ok(ctx.select().ask("ok", "Pay?", |_: bool| "decided").sleep_until(end, || "late").await?)
        }));
        trace(runner.run("ana", "s1", "go")).await;
        tokio::time::sleep(from_now.saturating_sub(Duration::from_secs(60))).await;
        assert_eq!(world.answers().await.len(), 0, "{from_now:?}");
        tokio::time::sleep(Duration::from_secs(62)).await;
        assert_eq!(end(&world, &runner).await, (0, r#"wf@1/wait@1: "late""#.to_owned()), "{from_now:?}");
    }
}
