//! Settled sessions: if one process has found that a session needs no work, later processes do not read that session.

use std::sync::Arc;

use pleach::prelude::*;
use pleach::testkit::{FaultPlan, FaultySessions, Operation};
use pleach::{InMemorySessionService, ListUnfinished, Node, SessionKey};

use crate::support::trace;

/// A workflow that asks, works forever or returns a number, depending on the message.
fn root(extra: bool) -> Workflow {
    let mut wf = Workflow::builder("wf");
    let body = async |ctx: Context, Input(word): Input<String>| {
        match word.as_str() {
            "ask" => drop(ctx.ask::<bool>("q", "?").await?),
            "hang" => std::future::pending().await,
            _ => {}
        }
        Ok::<u32, Fail>(1)
    };
    let first = wf.node("first", async |Input(word): Input<String>| word);
    let second = wf.add(FunctionNode::new("second", body).rerun_on_resume(true).description("counts"));
    wf.edge(START, first).edge(first, second);
    if extra {
        let third = wf.node("third", async |Input(n): Input<u32>| n + 1);
        wf.edge(second, third);
    }
    wf.build().unwrap()
}

/// A new process and its calls of the store.
fn process(root: impl Node, stored: &Arc<InMemorySessionService>, plan: FaultPlan) -> (Runner, FaultySessions) {
    let sessions = FaultySessions::new(Arc::clone(stored), plan);
    (Runner::builder("t").root(root).sessions(sessions.clone()).build().unwrap(), sessions)
}

async fn found(runner: &Runner) -> Vec<String> {
    let items = runner.unfinished(ListUnfinished::new()).await.unwrap().items;
    items.iter().map(|status| format!("{} {:?}", status.session.session_id, status.progress)).collect()
}

/// Sessions that are done, that wait, and that were cut off.
async fn played() -> Arc<InMemorySessionService> {
    let stored = Arc::new(InMemorySessionService::new());
    let (runner, _) = process(root(false), &stored, FaultPlan::new());
    for id in ["d1", "d2", "d3"] {
        trace(runner.run("ana", id, "go")).await;
    }
    trace(runner.run("ana", "asks", "ask")).await;
    let mut run = runner.run("ana", "cut", "hang");
    run.next().await.unwrap().unwrap();
    stored
}

#[tokio::test]
async fn a_second_process_reads_only_what_may_be_unfinished() {
    let stored = played().await;
    let (first, calls) = process(root(false), &stored, FaultPlan::new());
    assert_eq!(found(&first).await, ["cut Unfinished"]);
    assert_eq!(calls.calls(Operation::GetSession), 5);

    let (second, calls) = process(root(false), &stored, FaultPlan::new());
    assert_eq!(found(&second).await, ["cut Unfinished"]);
    assert_eq!(calls.calls(Operation::GetSession), 1, "the one that was cut off");
    assert_eq!(calls.calls(Operation::NoteSettled), 0, "nothing new was found");

    // A session that has changed is read again.
    trace(first.run("ana", "d2", "ask")).await;
    let mut run = first.run("ana", "d3", "hang");
    run.next().await.unwrap().unwrap();
    drop(run);
    let (third, calls) = process(root(false), &stored, FaultPlan::new());
    assert_eq!(found(&third).await, ["cut Unfinished", "d3 Unfinished"]);
    assert_eq!(calls.calls(Operation::GetSession), 3);
    // An answer changes a session as well.
    trace(third.answer(("ana", "asks"), "q", true).unwrap()).await;
    let (fourth, calls) = process(root(false), &stored, FaultPlan::new());
    assert_eq!(found(&fourth).await, ["cut Unfinished", "d3 Unfinished"]);
    assert_eq!(calls.calls(Operation::GetSession), 3);
    let (fifth, calls) = process(root(false), &stored, FaultPlan::new());
    let resumed = fifth.resume_unfinished(ListUnfinished::new()).await.unwrap();
    assert_eq!((resumed.len(), calls.calls(Operation::ListSessions)), (2, 1));
    for run in resumed {
        run.abort();
    }
}

/// A session that is deleted and created again does not keep the notes of the old session.
#[tokio::test]
async fn a_session_with_the_id_of_a_settled_one_is_read() {
    let stored = played().await;
    let (first, _) = process(root(false), &stored, FaultPlan::new());
    found(&first).await;
    first.sessions().delete_session(&SessionKey::new("t", "ana", "d1")).await.unwrap();
    let mut run = first.run("ana", "d1", "hang");
    run.next().await.unwrap().unwrap();
    drop(run);
    let (second, _) = process(root(false), &stored, FaultPlan::new());
    assert_eq!(found(&second).await, ["cut Unfinished", "d1 Unfinished"]);
}

/// Another graph may classify the same events differently, so the notes of the first graph do not apply to it.
#[tokio::test]
async fn another_program_reads_all_again() {
    let stored = played().await;
    let (first, _) = process(root(false), &stored, FaultPlan::new());
    found(&first).await;
    let (longer, calls) = process(root(true), &stored, FaultPlan::new());
    let mut listed = found(&longer).await;
    listed.sort();
    assert_eq!(calls.calls(Operation::GetSession), 5);
    assert_eq!(listed[..2], ["cut Unfinished", "d1 Unfinished"], "{listed:?}: the new node has not run");
    let (same, calls) = process(root(false), &stored, FaultPlan::new());
    found(&same).await;
    assert_eq!(calls.calls(Operation::GetSession), 1, "the notes of the first program are still there");
    // Resumable apps record more, so the notes of other apps do not apply to them.
    let sessions = FaultySessions::new(Arc::clone(&stored), FaultPlan::new());
    let resumable = Runner::builder("t").root(root(false)).sessions(sessions.clone()).resumable(true).build().unwrap();
    found(&resumable).await;
    assert_eq!(sessions.calls(Operation::GetSession), 5);
}

/// A store that cannot keep notes does not prevent recovery: the process itself remembers.
#[tokio::test]
async fn a_note_that_fails_costs_only_another_read() {
    let stored = played().await;
    let plan = FaultPlan::new().fail_from(Operation::NoteSettled, 1);
    let (runner, calls) = process(root(false), &stored, plan);
    for reads in [5, 6] {
        assert_eq!(found(&runner).await, ["cut Unfinished"]);
        assert_eq!(calls.calls(Operation::GetSession), reads);
    }
    let (next, calls) = process(root(false), &stored, FaultPlan::new());
    assert_eq!(found(&next).await, ["cut Unfinished"]);
    assert_eq!(calls.calls(Operation::GetSession), 5);
}
