//! W15: a node that makes a chain of steps, with and without the comparison of the revision before each closure.

use std::sync::Arc;

use pleach::prelude::*;
use pleach::{
    AppName, BoxError, BoxFuture, CreateSession, Event, GetSessionConfig, ListSessions, ListSessionsResponse, Map,
    Session, SessionError, SessionHead, SessionId, SessionKey, SessionService, Since, UserId,
};

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
    // Both are measured in turns, so they have the same noise.
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
    fn create_session(&self, request: CreateSession) -> BoxFuture<'_, Answer<Session>> {
        self.0.create_session(request)
    }

    fn get_session<'a>(
        &'a self,
        key: &'a SessionKey,
        config: GetSessionConfig,
    ) -> BoxFuture<'a, Answer<Option<Session>>> {
        self.0.get_session(key, config)
    }

    fn events_since<'a>(&'a self, head: &'a SessionHead) -> BoxFuture<'a, Answer<Option<Since>>> {
        self.0.events_since(head)
    }

    fn list_sessions(&self, request: ListSessions) -> BoxFuture<'_, Answer<ListSessionsResponse>> {
        self.0.list_sessions(request)
    }

    fn find_sessions<'a>(&'a self, app: &'a AppName, id: &'a SessionId) -> BoxFuture<'a, Answer<Vec<SessionKey>>> {
        self.0.find_sessions(app, id)
    }

    fn delete_session<'a>(&'a self, key: &'a SessionKey) -> BoxFuture<'a, Answer<()>> {
        self.0.delete_session(key)
    }

    fn append<'a>(&'a self, head: &'a mut SessionHead, event: Arc<Event>) -> BoxFuture<'a, Answer<Arc<Event>>> {
        self.0.append(head, event)
    }

    fn claim<'a>(&'a self, head: &'a mut SessionHead, time: f64) -> BoxFuture<'a, Answer<()>> {
        self.0.claim(head, time)
    }

    fn check_head<'a>(&'a self, _: &'a SessionHead) -> BoxFuture<'a, Answer<()>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn user_state<'a>(&'a self, app: &'a AppName, user: &'a UserId) -> BoxFuture<'a, Answer<Map>> {
        self.0.user_state(app, user)
    }
}
