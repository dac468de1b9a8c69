//! W15: a node that makes a chain of steps. It is measured with and without the comparison of the revision before each
//! closure.

use std::sync::Arc;

use pleach::prelude::*;
use pleach::{BoxError, BoxFuture, SessionError, SessionHead, SessionService};

use crate::measure::{Metric, now, sample};
use crate::row::Row;
use crate::stores::Backend;

const STEPS: usize = 100;

type Answer<T> = Result<T, SessionError>;

/// A service that does not compare revisions.
#[derive(Debug)]
struct Unchecked(Arc<dyn SessionService>);

pub(super) fn rows() -> Vec<Row> {
    let row = |backend: Backend| Row::new("W15", backend.name().to_owned(), measure(backend)).on(backend);
    Backend::ALL.into_iter().map(row).collect()
}

async fn measure(backend: Backend) -> Result<Vec<Metric>, BoxError> {
    let store = backend.open().await?;
    let runner = |sessions: Arc<dyn SessionService>| Runner::builder("bench").root(steps()?).sessions(sessions).build();
    let with = runner(Arc::clone(&store.sessions))?;
    let without = runner(Arc::new(Unchecked(Arc::clone(&store.sessions))))?;
    let mut started = 0;
    // Both are measured in turns, so disturbances of the machine affect them alike.
    let [checked, unchecked] = sample(async || {
        let mut times = [std::time::Duration::ZERO; 2];
        for (time, runner) in times.iter_mut().zip([&with, &without]) {
            started += 1;
            let begin = now();
            runner.run("ana", format!("s{started}"), Message::data(0)).output::<usize>().await?;
            *time = begin.elapsed();
        }
        Ok(times)
    })
    .await?;
    let per_step = |times: f64| times / STEPS as f64;
    Ok(vec![
        Metric::micros("step_median", per_step(checked.median())),
        Metric::micros("step_without_check_median", per_step(unchecked.median())),
    ])
}

fn steps() -> Result<Workflow, BuildError> {
    let mut wf = Workflow::builder("steps");
    let node = FunctionNode::new("steps", async |ctx: Context| {
        for number in 0..STEPS {
            ctx.step(format!("s{number}"), async || Ok::<u32, Fail>(1)).await?;
        }
        Ok::<usize, Fail>(STEPS)
    });
    let node = wf.add(node.rerun_on_resume(true));
    wf.edge(START, node);
    wf.build()
}

impl SessionService for Unchecked {
    pleach::forward_session_service!(|this| this.0; create_session, get_session, events_since, list_sessions,
        find_sessions, delete_session, append, claim, user_state);

    fn check_head<'a>(&'a self, _: &'a SessionHead) -> BoxFuture<'a, Answer<()>> {
        Box::pin(std::future::ready(Ok(())))
    }
}
