//! Processes whose run waits in the middle of a node.

use std::future::Future;

use pleach::prelude::*;
use serde_json::Value;

use crate::database::Database;

/// A process: a Runner with a connection of its own, whose workflow `wf` has the single node `wait`.
pub(crate) async fn process<F, Fut>(database: &Database, body: F) -> Runner
where
    F: Fn(Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Value>> + Send + 'static,
{
    let mut wf = Workflow::builder("wf");
    let node = wf.add(FunctionNode::new("wait", body).rerun_on_resume(true));
    wf.edge(START, node);
    Runner::builder("t").root(wf.build().unwrap()).sessions(database.open().await).build().unwrap()
}

/// Runs to the first pause in a process that then ends without being closed, like a killed process.
pub(crate) async fn pause(process: Runner) {
    let mut run = process.run("ana", "s1", "go");
    while let Some(event) = run.next().await {
        event.unwrap();
    }
}
