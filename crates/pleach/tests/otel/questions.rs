//! Questions that open and close, in one process and in several.

use pleach::AbortSignal;
use pleach::prelude::*;
use serde_json::json;

use crate::collector::{Collector, World, finish};

fn asking() -> impl pleach::Node {
    FunctionNode::new("asks", async |ctx: Context| {
        let first: String = ctx.ask("a", "?").await?;
        let second: String = ctx.ask("b", "?").await?;
        Ok::<_, NodeError>(first + &second)
    })
    .rerun_on_resume(true)
}

fn counts(collector: &Collector) -> [Vec<String>; 3] {
    ["pleach.questions.opened", "pleach.questions.closed", "pleach.questions.open"].map(|name| collector.lines(name))
}

#[tokio::test]
async fn a_question_opens_when_it_is_asked_and_closes_when_it_is_answered() {
    let world = World::new();
    let first = world.process();
    finish(first.runner(asking()).run("ana", "s1", "go")).await;
    let one = ["pleach.question.kind=user_input 1"];
    assert_eq!(counts(&first), [vec![one[0].to_owned()], vec![], vec![one[0].to_owned()]]);
    drop(first);

    // Another process answers the first question; the run then asks the second one.
    let second = world.process();
    let runner = second.runner(asking());
    finish(runner.answer(("ana", "s1"), "a", "x").unwrap()).await;
    let line = |count: i64| vec![format!("pleach.question.kind=user_input {count}")];
    assert_eq!(counts(&second), [line(1), line(1), line(0)]);
    // Repeating the answer changes nothing.
    finish(runner.answer(("ana", "s1"), "a", "x").unwrap()).await;
    assert_eq!(counts(&second), [line(1), line(1), line(0)]);
    finish(runner.answer(("ana", "s1"), "b", "y").unwrap()).await;
    assert_eq!(counts(&second), [line(1), line(2), line(-1)]);
}

#[tokio::test]
async fn an_answer_that_does_not_fit_closes_nothing() {
    let collector = Collector::start();
    let asks = async || RequestInput::<i64>::ask("n", "How many?");
    let runner = collector.runner(FunctionNode::new("asks", asks));
    finish(runner.run("ana", "s1", "go")).await;
    finish(runner.answer(("ana", "s1"), "n", "many").unwrap()).await;
    assert_eq!(counts(&collector)[1], [] as [&str; 0]);
    finish(runner.answer(("ana", "s1"), "n", 3).unwrap()).await;
    assert_eq!(counts(&collector)[2], ["pleach.question.kind=user_input 0"]);
}

#[tokio::test]
async fn kinds_of_questions_are_counted_apart() {
    let collector = Collector::start();
    let mut wf = Workflow::builder("wf");
    let read = wf.node("read", async || json!({"city": "Oslo"}));
    let pay = tool("pay", "Pays.", async |Args(args): Args<pleach::Map>| args.len()).require_confirmation();
    let (pay, ask) = (wf.tool(pay), wf.node("ask", async || RequestInput::<String>::ask("q", "?")));
    wf.edge(START, read.dynamic()).edge(read.dynamic(), pay).edge(START, ask);
    finish(collector.runner(wf.build().unwrap()).run("ana", "s1", "go")).await;
    let expected = ["pleach.question.kind=confirmation 1", "pleach.question.kind=user_input 1"];
    assert_eq!(counts(&collector)[2], expected);
}

#[tokio::test]
async fn an_invocation_that_is_aborted_closes_its_questions() {
    let collector = Collector::start();
    let abort = AbortSignal::new();
    let mut wf = Workflow::builder("wf");
    let ask = wf.node("ask", async || RequestInput::<String>::ask("q", "?"));
    let slow = wf.node("slow", std::future::pending::<i64>);
    wf.edge(START, ask).edge(START, slow);
    let runner = collector.runner(wf.build().unwrap());
    let request = RunRequest::new(("ana", "s1")).message("go").abort_signal(abort.clone());
    let mut run = runner.start(request);
    run.next().await.unwrap().unwrap();
    assert_eq!(counts(&collector)[2], ["pleach.question.kind=user_input 1"]);
    abort.abort();
    finish(run).await;
    assert_eq!(counts(&collector)[2], ["pleach.question.kind=user_input 0"]);
}

#[tokio::test]
async fn an_invocation_that_waits_and_is_aborted_closes_its_questions() {
    let collector = Collector::start();
    let mut wf = Workflow::builder("wf");
    let ask = wf.node("ask", async || RequestInput::<String>::ask("q", "?"));
    wf.edge(START, ask);
    let runner = collector.runner(wf.build().unwrap());
    finish(runner.run("ana", "s1", "go")).await;
    assert_eq!(counts(&collector)[2], ["pleach.question.kind=user_input 1"]);
    assert!(runner.abort(("ana", "s1")).await.unwrap());
    assert_eq!(counts(&collector)[2], ["pleach.question.kind=user_input 0"]);
}
