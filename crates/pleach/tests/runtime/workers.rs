//! Parallel workers and confirmations.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use pleach::ParallelWorker;
use pleach::prelude::*;
use serde_json::{Value, json};

use crate::support::{runner, trace};

#[tokio::test]
async fn e137_e139_items_run_on_branches_of_their_own_and_outputs_keep_their_order() {
    let mut wf = Workflow::builder("wf");
    let work = wf.parallel(FunctionNode::new("work", async |Input(n): Input<i64>| n * 10));
    wf.edge(START, work);
    let (runner, _) = runner(wf.build_to(work).unwrap());
    let lines = trace(runner.run("ana", "s1", "[3,1]")).await;
    assert_eq!(lines, ["wf@1/work@1/work@1 [work@1]: 30", "wf@1/work@1/work@2 [work@2]: 10", "wf@1/work@1: [30,10]"]);
    assert_eq!(runner.run("ana", "s2", "7").output::<Vec<i64>>().await.unwrap(), [70]);
    assert_eq!(trace(runner.run("ana", "s3", "[]")).await, ["wf@1/work@1: []"]);
}

#[tokio::test]
async fn e142_an_item_that_asks_stops_the_hand_out_and_only_it_runs_again() {
    let calls = Arc::new(AtomicU32::new(0));
    let seen = Arc::clone(&calls);
    let item = FunctionNode::new("item", move |ctx: Context, Input(n): Input<i64>| {
        let calls = Arc::clone(&seen);
        async move {
            calls.fetch_add(1, Ordering::Relaxed);
            if n == 2 { ctx.ask::<Value>("q2", "Two?").await } else { Ok(json!(n * 10)) }
        }
    });
    let worker = ParallelWorker::new(item.rerun_on_resume(true)).max_workers(1);
    let mut wf = Workflow::builder("wf");
    let work = wf.add(worker);
    wf.edge(START, work.dynamic());
    let (runner, _) = runner(wf.build().unwrap());
    let lines = trace(runner.run("ana", "s1", "[1,2,3]")).await;
    assert_eq!(lines, ["wf@1/item@1/item@1 [item@1]: 10", "wf@1/item@1/item@2 [item@2]: asks q2"]);
    let lines = trace(runner.answer("s1", "q2", "ans").unwrap()).await;
    assert_eq!(
        lines,
        ["wf@1/item@1/item@2 [item@2]: \"ans\"", "wf@1/item@1/item@3 [item@3]: 30", "wf@1/item@1: [10,\"ans\",30]"]
    );
    assert_eq!(calls.load(Ordering::Relaxed), 4);
}

#[tokio::test]
async fn e71_a_retried_worker_replays_the_items_that_completed() {
    let calls = Arc::new(AtomicU32::new(0));
    let seen = Arc::clone(&calls);
    let item = FunctionNode::new("item", move |Input(n): Input<u32>| {
        let calls = Arc::clone(&seen);
        async move { if calls.fetch_add(1, Ordering::Relaxed) == 1 { Err(Fail::msg("flaky")) } else { Ok(n) } }
    });
    let worker = ParallelWorker::new(item).max_workers(1).retry(RetryConfig::attempts(2));
    let (runner, _) = runner(worker);
    assert_eq!(runner.run("ana", "s1", "[1,2,3]").output::<Vec<u32>>().await.unwrap(), [1, 2, 3]);
    assert_eq!(calls.load(Ordering::Relaxed), 4);
}

fn gated() -> Workflow {
    let pay =
        FunctionNode::new("pay", async |Input(n): Input<i64>| n).confirm_if(|_, input| input.to_value() != json!(1));
    let mut wf = Workflow::builder("wf");
    let amount = wf.node("amount", async |Input(n): Input<i64>| n);
    let (pay, done) = (wf.add(pay), wf.node("done", async |Input(v): Input<Value>| v));
    wf.edge(START, amount).edge(amount, pay).edge(pay.gives::<Value>(), done);
    wf.build().unwrap()
}

#[tokio::test]
async fn e184_a_gated_call_runs_when_approved_and_gives_an_error_value_when_rejected() {
    let (runner, _) = runner(gated());
    let id = "wf_tool_confirmation:wf@1/pay@1";
    for (session, answer, output) in [
        ("s1", json!({"confirmed": true}), json!(5)),
        ("s2", json!({"confirmed": false}), json!({"error": "This tool call is rejected."})),
        ("s3", json!({"foo": 1}), json!({"error": "This tool call is rejected."})),
    ] {
        assert_eq!(trace(runner.run("ana", session, "5")).await[1], format!("wf@1/pay@1: asks {id}"));
        assert_eq!(runner.answer(session, id, answer).unwrap().output::<Value>().await.unwrap(), output);
    }
    assert_eq!(runner.run("ana", "s4", "1").output::<i64>().await.unwrap(), 1, "the condition did not ask");
    trace(runner.run("ana", "s5", "5")).await;
    assert!(trace(runner.answer("s5", id, true).unwrap()).await[0].starts_with("! WorkflowDataError"));
}

#[test]
fn e143_e185_limits_and_gates_that_cannot_work_are_faults() {
    let node = || FunctionNode::new("node", async || 1);
    let fault = |add: &dyn Fn(&mut pleach::WorkflowBuilder)| {
        let mut wf = Workflow::builder("wf");
        add(&mut wf);
        wf.build().unwrap_err().rule()
    };
    let workers = |wf: &mut pleach::WorkflowBuilder| {
        let node = wf.add(ParallelWorker::new(node()).max_workers(0));
        wf.edge(START, node.dynamic());
    };
    assert_eq!(fault(&workers), "max_workers_below_one");
    let gate = |wf: &mut pleach::WorkflowBuilder| {
        let node = wf.add(node().require_confirmation().rerun_on_resume(false));
        wf.edge(START, node);
    };
    assert_eq!(fault(&gate), "confirmation_needs_rerun");
}

#[tokio::test]
async fn items_typed_as_text_get_the_raw_text_and_a_message_without_text_is_one_item() {
    let texts = || {
        let mut wf = Workflow::builder("wf");
        let work = wf.parallel(FunctionNode::new("work", async |Input(text): Input<String>| text));
        wf.edge(START, work);
        runner(wf.build_to(work).unwrap()).0
    };
    for (message, items) in [
        ("12", vec!["12"]),
        ("\"q\"", vec!["\"q\""]),
        ("{\"a\":1}", vec!["{\"a\":1}"]),
        ("[\"1\",\"b\"]", vec!["1", "b"]),
    ] {
        assert_eq!(texts().run("ana", "s1", message).output::<Vec<String>>().await.unwrap(), items);
    }
    let mut wf = Workflow::builder("wf");
    let work = wf.parallel(FunctionNode::new("work", async |Input(message): Input<Content>| message.parts().len()));
    wf.edge(START, work);
    let (runner, _) = runner(wf.build_to(work).unwrap());
    let parts = vec![Part::text("[1,2]"), Part::bytes("image/png", b"x".to_vec())];
    assert_eq!(runner.run("ana", "s1", parts).output::<Vec<usize>>().await.unwrap(), [2]);
}
