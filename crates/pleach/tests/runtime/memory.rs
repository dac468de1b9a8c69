//! Memory through the facade: sessions and memory in one file.
// S82

use pleach::prelude::*;
use pleach::{SqliteMemoryService, SqliteSessionService};

/// Returns the texts of earlier sessions that match the question, and adds this session to the memory.
async fn recall(ctx: Context, Input(question): Input<String>) -> Result<Vec<String>, NodeError> {
    let memories = ctx.search_memory(question).await?;
    ctx.add_session_to_memory().await?;
    Ok(memories.iter().map(|memory| memory.content.text()).collect())
}

async fn run(path: &std::path::Path, session: &str, message: &str) -> Vec<String> {
    let mut workflow = Workflow::builder("w");
    let recall = workflow.node("recall", recall);
    workflow.edge(START, recall);
    let sessions = SqliteSessionService::open(path).await.unwrap();
    let memory = SqliteMemoryService::open(path).await.unwrap();
    let runner =
        Runner::builder("t").root(workflow.build().unwrap()).sessions(sessions).memory(memory).build().unwrap();
    runner.run("ana", session, message).output().await.unwrap()
}

#[tokio::test]
async fn s82_a_later_session_recalls_an_earlier_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("adk.sqlite");
    assert_eq!(run(&path, "s1", "I like green tea").await, [""; 0]);
    assert_eq!(run(&path, "s2", "Which tea?").await, ["I like green tea"]);
}
