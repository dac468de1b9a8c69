//! Tests of Runners with separate services on one database, as in several processes. They cover the order of events
//! after a far future time, answers that race, and one message that answers questions from every kind of node.

use std::sync::Arc;

use pleach::prelude::*;
use pleach::{CreateSession, FollowOptions, GetSessionConfig, SessionKey, SessionServiceExt as _};
use serde_json::{Value, json};

use crate::database::Backend;

const BACKENDS: [Backend; 4] = [Backend::SqliteLite, Backend::SqliteV1, Backend::Postgres, Backend::PooledPostgres];

fn over(root: impl pleach::Node, sessions: Arc<dyn SessionService>) -> Runner {
    Runner::builder("t").root(root).sessions(sessions).auto_create_session(true).build().unwrap()
}

async fn events(runner: &Runner, session: &str) -> Vec<Arc<Event>> {
    let key = SessionKey::new("t", "ana", session);
    runner.sessions().get_session(&key, GetSessionConfig::all()).await.unwrap().unwrap().events
}

/// One event has a far future time. It is stored before the run or emitted in it.
#[tokio::test]
async fn runs_and_followers_keep_the_order_of_appends_after_a_far_future_time() {
    let root = || {
        FunctionNode::new("n", async |ctx: Context| -> Result<i64> {
            for number in 0..30 {
                let mut event = Event::message(number.to_string());
                event.set_timestamp(if number == 3 { 9e10 } else { 0.0 });
                ctx.emit(event).await?;
            }
            Ok(1)
        })
    };
    for backend in BACKENDS {
        let Some(database) = backend.database().await else { continue };
        let (here, elsewhere) = (over(root(), database.open().await), over(root(), database.open().await));
        let mut session =
            here.sessions().create_session(CreateSession::new("t", "ana").with_session_id("s")).await.unwrap();
        let mut far = Event::message("far").with_author("other");
        far.set_timestamp(9e10);
        here.sessions().append_event(&mut session, far).await.unwrap();
        let run = here.run("ana", "s", "go").detach();
        let mut follow = run.follow(None).await.unwrap();
        run.await.unwrap();
        let mut shown = Vec::new();
        while let Some(event) = follow.next().await {
            shown.push(event.unwrap().id().clone());
        }
        let stored: Vec<_> = events(&elsewhere, "s").await.iter().map(|event| event.id().clone()).collect();
        assert_eq!((shown.len(), &shown), (33, &stored), "{backend:?}");
        // A client of another process that has seen the first ten events.
        let options = FollowOptions::new().after(Some(stored[9].clone()));
        let mut follow = elsewhere.follow_with(("ana", "s"), options).await.unwrap();
        let mut rest = Vec::new();
        while let Some(event) = follow.next().await {
            rest.push(event.unwrap().id().clone());
        }
        assert_eq!(rest, stored[10..], "{backend:?}");
    }
}

/// If two answers race, one of them is stored and used. The other one is refused with a typed error, or it came first
/// and was replaced before a run used it.
#[tokio::test]
async fn if_answers_race_from_two_runners_one_is_taken() {
    let root = || {
        let mut wf = Workflow::builder("wf");
        let ask = wf.node("ask", async || RequestInput::<i64>::ask("q", "?"));
        let take = wf.node("take", async |Input(n): Input<i64>| 10 * n);
        wf.edge(START, ask).edge(ask, take);
        wf.build_to(take).unwrap()
    };
    for backend in BACKENDS {
        let Some(database) = backend.database().await else { continue };
        let (one, two) = (over(root(), database.open().await), over(root(), database.open().await));
        for round in 0..12 {
            let session = format!("s{round}");
            one.run("ana", session.as_str(), "go").output::<i64>().await.unwrap_err();
            let answer = |runner: &Runner, n: i64| {
                let run = runner.answer(("ana", session.as_str()), "q", n).unwrap();
                async move { (n, run.output::<i64>().await) }
            };
            let same = round % 2 == 0;
            let (first, second) = tokio::join!(answer(&one, 1), answer(&two, if same { 1 } else { 2 }));
            let mut taken = Vec::new();
            for (n, outcome) in [first, second] {
                match outcome {
                    Ok(output) => {
                        assert_eq!(output, 10 * n, "{backend:?} {round}: the caller's own answer was taken");
                        taken.push(n);
                    }
                    Err(RunError::AlreadyAnswered { .. }) if !same => {}
                    // The other answer came after this one was stored, and continued the invocation.
                    Err(RunError::Session(error)) if error.is_stale() => {}
                    // The other Runner stored the same answer a moment earlier and runs the invocation.
                    Err(RunError::Unfinished { .. }) if same => {}
                    Err(error) => panic!("{backend:?} {round}: {error}"),
                }
            }
            assert!(!taken.is_empty(), "{backend:?} {round}");
            let outputs: Vec<Value> =
                events(&one, &session).await.iter().filter_map(|event| event.output().cloned()).collect();
            let wanted = json!(10 * taken[0]);
            assert!(outputs.last() == Some(&wanted), "{backend:?} {round}: {outputs:?}");
            assert_eq!(outputs.iter().filter(|output| **output == wanted).count(), 1, "{backend:?} {round}");
            // The answer that was taken is final.
            let late = one.answer(("ana", session.as_str()), "q", 3).unwrap().output::<i64>().await;
            assert!(matches!(late, Err(RunError::AlreadyAnswered { .. })), "{backend:?} {round}: {late:?}");
            assert_eq!(answer(&two, taken[0]).await.1.unwrap(), 10 * taken[0]);
        }
    }
}

/// A workflow whose questions are in a nested workflow, in two lanes of a parallel worker and in a dynamic child.
fn asks_everywhere() -> Workflow {
    let mut inner = Workflow::builder("inner");
    let nested = inner.node("nested", async || RequestInput::<i64>::ask("n", "?"));
    let passes = inner.node("passes", async |Input(n): Input<i64>| n);
    inner.edge(START, nested).edge(nested, passes);
    let items = || FunctionNode::new("items", async || vec![1, 2]);
    let item = FunctionNode::new("item", async |ctx: Context, Input(n): Input<i64>| -> Result<i64> {
        Ok(n * ctx.ask::<i64>(&format!("w{n}"), "?").await?)
    });
    let caller = FunctionNode::new("caller", async |ctx: Context| -> Result<i64> {
        let child = FunctionNode::new("child", async |ctx: Context, Input(_): Input<Value>| -> Result<i64> {
            Ok(1 + ctx.ask::<i64>("d", "?").await?)
        });
        Ok(ctx.run(&child.rerun_on_resume(true), Value::Null).await?)
    });
    let mut wf = Workflow::builder("wf");
    let inner = wf.add(inner.build_to(passes).unwrap());
    let items = wf.add(items());
    let work = wf.parallel(item.rerun_on_resume(true));
    let caller = wf.add(caller.rerun_on_resume(true));
    let all = wf.join("all", (inner, work, caller));
    wf.edge(START, (inner, items, caller)).edge(items, work);
    wf.build_to(all).unwrap()
}

/// Questions are asked in several kinds of nodes. For each of them, repeating the answer changes nothing, and other
/// answers are refused.
#[tokio::test]
async fn one_message_answers_questions_of_nested_parallel_and_dynamic_runs() {
    for backend in BACKENDS {
        let Some(database) = backend.database().await else { continue };
        let (one, two) =
            (over(asks_everywhere(), database.open().await), over(asks_everywhere(), database.open().await));
        one.run("ana", "s", "go").output::<Value>().await.unwrap_err();
        let mut open: Vec<String> = two.questions("s").await.unwrap().into_iter().map(|asked| asked.id).collect();
        open.sort();
        assert_eq!(open, ["d", "n", "w1", "w2"], "{backend:?}");
        let answers = [("w2", 7), ("n", 5), ("d", 3), ("w1", 6)];
        let output = two.answer_all("s", answers).unwrap().output::<Value>().await.unwrap();
        assert_eq!(output, json!({"inner": 5, "item": [6, 14], "caller": 4}), "{backend:?}");
        let before = events(&one, "s").await.len();
        assert_eq!(one.answer_all("s", answers).unwrap().output::<Value>().await.unwrap(), output, "{backend:?}");
        for (id, n) in answers {
            let late = one.answer("s", id, n + 1).unwrap().output::<Value>().await;
            assert!(matches!(&late, Err(RunError::AlreadyAnswered { id: named, .. }) if named == id), "{id}: {late:?}");
        }
        assert_eq!(events(&one, "s").await.len(), before, "{backend:?}");
    }
}
