//! The checkpoints that shell agents of resumable apps store.

use std::sync::Arc;

use pleach::prelude::*;
use pleach::{InMemorySessionService, LoopAgent, Map, Node, RunRequest, SequentialAgent};

use crate::support::{key, runner_of_app, trace};

fn step(name: &str) -> LlmAgent {
    LlmAgent::builder(name).model(ScriptedModel::saying("Done.").repeating()).build().unwrap()
}

async fn checkpoints(sessions: &InMemorySessionService) -> Vec<Map> {
    let session = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    session.events.iter().filter_map(|event| event.actions().agent_state().cloned()).collect()
}

/// Cuts a run off after each event and continues it. The checkpoints must equal the checkpoints of the uncut run.
async fn cut_everywhere<N: Node>(root: impl Fn() -> N, expected: usize) {
    let (whole, sessions) = runner_of_app(root(), true);
    let lines = trace(whole.run("ana", "s1", "go")).await;
    let stored = checkpoints(&sessions).await;
    assert_eq!(stored.len(), expected, "{stored:#?}");
    for cut in 1..=lines.len() {
        let (runner, sessions): (_, Arc<InMemorySessionService>) = runner_of_app(root(), true);
        let mut run = runner.run("ana", "s1", "go");
        let mut invocation = None;
        for _ in 0..cut {
            invocation = Some(run.next().await.unwrap().unwrap().invocation_id().clone());
        }
        drop(run);
        trace(runner.start(RunRequest::new(key()).invocation_id(invocation.unwrap()))).await;
        assert_eq!(checkpoints(&sessions).await, stored, "cut {cut}");
    }
}

#[tokio::test]
async fn l179_a_resume_stores_no_checkpoint_again() {
    cut_everywhere(|| SequentialAgent::builder("seq").sub_agent(step("a")).sub_agent(step("b")).build().unwrap(), 2)
        .await;
    let rounds =
        || LoopAgent::builder("rounds").sub_agent(step("a")).sub_agent(step("b")).max_iterations(2).build().unwrap();
    cut_everywhere(rounds, 4).await;
}
