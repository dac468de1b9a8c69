//! Times whole invocations. Each runs in a fresh session, and all its events are stored and yielded.

use std::time::Duration;

use pleach::prelude::*;
use pleach::{BoxError, GetSessionConfig, Run, RunEvent, SessionId, SessionKey};
use serde_json::Value;

use crate::measure::{Metric, now, sample};

const APP: &str = "bench";
const USER: &str = "ana";

/// The expected result of every invocation of a row. A benchmark of wrong results is worthless.
#[derive(Debug)]
pub(crate) struct Expected {
    /// The number of events that the invocation yields.
    pub(crate) events: usize,
    /// The output of the last event.
    pub(crate) output: Value,
}

/// Reads a run to its end. Returns the number of its events and the last event.
///
/// # Errors
/// The error of the run.
pub(crate) async fn read(mut run: Run) -> Result<(usize, Option<RunEvent>), BoxError> {
    let (mut events, mut last) = (0, None);
    while let Some(event) = run.next().await {
        last = Some(event?);
        events += 1;
    }
    Ok((events, last))
}

/// Starts invocations of one root node, one after the other.
#[derive(Debug)]
pub(crate) struct Invocations {
    runner: Runner,
    expected: Expected,
    started: u64,
}

impl Invocations {
    /// Makes a Runner of a root node, with sessions in memory.
    ///
    /// # Errors
    /// The faults of the node.
    pub(crate) fn new(root: impl pleach::Node, expected: Expected) -> Result<Self, BoxError> {
        let runner = Runner::builder(APP).root(root).build()?;
        Ok(Self { runner, expected, started: 0 })
    }

    /// Measures invocations that start with the message `0`. `parts` is the number of nodes, branches or children of an invocation.
    ///
    /// # Errors
    /// An invocation that fails or has another result than expected.
    pub(crate) async fn measure(mut self, parts: usize) -> Result<Vec<Metric>, BoxError> {
        self.check().await?;
        let [times] = sample(async || Ok([self.time().await?])).await?;
        let invocation = times.median();
        Ok(vec![
            Metric::micros("per_node_median", invocation / parts as f64),
            Metric::micros("invocation_median", invocation),
            Metric::peak_rss()?,
        ])
    }

    /// Times an invocation from the call to the end of its stream, including the creation of its session. The session
    /// is then deleted, which is not timed: with thousands of sessions in memory, something else would be measured.
    async fn time(&mut self) -> Result<Duration, BoxError> {
        let session = self.next_session();
        let id = session.session_id.clone();
        let message = Message::data(0);
        let start = now();
        let (events, last) = read(self.runner.run(USER, id, message)).await?;
        let time = start.elapsed();
        let output = last.as_ref().and_then(|event| event.output());
        if events != self.expected.events || output != Some(&self.expected.output) {
            return Err(format!("{events} events, at last {output:?}, instead of {:?}", self.expected).into());
        }
        self.runner.sessions().delete_session(&session).await?;
        Ok(time)
    }

    /// Checks one invocation: the stored events must be the event of the message and all yielded events.
    async fn check(&mut self) -> Result<(), BoxError> {
        let key = self.next_session();
        self.runner.run(USER, key.session_id.clone(), Message::data(0)).output::<Value>().await?;
        let session = self.runner.sessions().get_session(&key, GetSessionConfig::all()).await?;
        let stored = session.map_or(0, |session| session.events.len());
        if stored != self.expected.events + 1 {
            return Err(format!("{stored} events stored, {} expected", self.expected.events + 1).into());
        }
        self.runner.sessions().delete_session(&key).await?;
        Ok(())
    }

    fn next_session(&mut self) -> SessionKey {
        self.started += 1;
        SessionKey::new(APP, USER, SessionId::from(format!("s{}", self.started)))
    }
}
