//! [`ResumeProperty`]: plays a conversation whole and with every crash, and compares.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use pleach_context::Node;
use pleach_core::{AppName, BoxError};
use pleach_runner::{Message, RunnerBuilder};
use pleach_session::SessionService;

use super::case::{Case, Played};
use super::crash::{CrashPoint, CrashTime, Write};
use super::failure::{Difference, ResumeFailure, ResumeFault};
use super::settings::Settings;
use crate::{Effects, ScriptedHuman, Trace};

/// The property that a run which is cut off anywhere, and continued by a new Runner over the same sessions, ends as the run that
/// nothing cut off.
///
/// [`check`](Self::check) plays the conversation once whole. Then it plays it anew for each write of the store, three times: a
/// process is cut off before the write is stored, when it is stored and its caller does not know, and when it is handed out. A new
/// Runner over the same store continues. In the end these must be the same:
///
/// - how each message of the user ended: done, waiting, or failed with which error;
/// - the outputs of every node and step, and the state;
/// - the questions that were asked: how often, with which text, payload and assignee, and whether with a deadline;
/// - the routes that were taken, and the runs of nodes and steps that wrote something;
/// - the [`Effects`], each of which may be done again only until its result is stored.
///
/// No run may give two outputs, and the store must hold each event that it has acknowledged. Two runs that nothing cuts off are
/// compared first, with their writes: a handler that uses chance or the machine's clock outside of a step shows there.
///
/// The clock of the runs shows the same time until something has waited by it. Pauses between retries, and time-outs, last as long as tokio's runtime
/// makes them: with `#[tokio::test(start_paused = true)]` they take no real time. Sleeps of the run, and deadlines of questions that the person leaves
/// open, take none in any case.
///
/// The model of an agent must answer by what it is asked, because a process that is cut off asks it again:
/// [`ModelByTurn`](crate::ModelByTurn), `ScriptedModel::new().then(ScriptedReply::with(f)).repeating()`, or a type of your own.
pub struct ResumeProperty {
    settings: Settings,
}

/// What [`ResumeProperty::check`] has played.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ResumeReport {
    /// The points at which runs were cut off.
    pub crashes: Vec<CrashPoint>,
    /// The events of the run that nothing cut off.
    pub trace: Trace,
}

impl ResumeProperty {
    /// The property of a node: a workflow, an agent, a function node.
    pub fn new(root: impl Node) -> Self {
        let root = Arc::new(root);
        Self::app(move |name| RunnerBuilder::new(name).root(Arc::clone(&root)))
    }

    /// The property of an app. The function makes the builder of each process, with the app's name that it gets. What it sets of
    /// sessions, clock and ids is replaced, and heartbeats are off: there is one process at a time.
    ///
    /// ```
    /// # use pleach_context::Node;
    /// # use pleach_runner::RunnerBuilder;
    /// # use pleach_testing::ResumeProperty;
    /// # fn example(workflow: fn() -> std::sync::Arc<dyn Node>) -> ResumeProperty {
    /// struct Rates(f64);
    /// ResumeProperty::app(move |name| RunnerBuilder::new(name).root(workflow()).provide(Rates(0.5)).resumable(true))
    /// # }
    /// ```
    pub fn app(app: impl Fn(AppName) -> RunnerBuilder + Send + Sync + 'static) -> Self {
        Self { settings: Settings::new(app) }
    }

    /// Adds a message of the user.
    #[must_use]
    pub fn input(mut self, message: impl Into<Message>) -> Self {
        self.settings.inputs.push(message.into());
        self
    }

    /// Adds messages of the user, sent one after the other in one session.
    #[must_use]
    pub fn inputs(mut self, messages: impl IntoIterator<Item = impl Into<Message>>) -> Self {
        self.settings.inputs.extend(messages.into_iter().map(Into::into));
        self
    }

    /// Sets the person that answers questions. Each run begins with the whole script.
    #[must_use]
    pub fn human(mut self, human: &ScriptedHuman) -> Self {
        self.settings.human = human.anew();
        self
    }

    /// Sets where the code under test records what it does. It is empty when each run begins. The run that nothing cuts off must record
    /// something in it, else the check fails with [`ResumeFault::NoEffects`].
    #[must_use]
    pub fn effects(mut self, effects: &Effects) -> Self {
        self.settings.effects = effects.clone();
        self.settings.reads_effects = true;
        self
    }

    /// Sets the store: the function opens it for each process. It must be empty in the beginning; each run has an app of its own
    /// in it. Without this it is process memory.
    #[must_use]
    pub fn sessions<S, E, F>(mut self, open: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        S: SessionService,
        E: Into<BoxError>,
        F: Future<Output = Result<S, E>> + Send + 'static,
    {
        self.settings.open = Some(Arc::new(move || {
            let opening = open();
            Box::pin(async move { Ok(Arc::new(opening.await.map_err(Into::into)?) as Arc<dyn SessionService>) })
        }));
        self
    }

    /// Allows that messages fail: the same ones must fail, with the same errors. Without this the run that nothing cuts off must not fail, so that
    /// a mistake of the test is not taken for a workflow that survives.
    #[must_use]
    pub fn may_fail(mut self) -> Self {
        self.settings.may_fail = true;
        self
    }

    /// Does not compare the outputs of a node or step, named by its path without run ids, such as `shop/order/charge`, a state key, such as
    /// `state:token`, or a question, such as `question:ship`: what differs in each run on purpose.
    #[must_use]
    pub fn ignore(mut self, place: impl Into<String>) -> Self {
        self.settings.ignored.push(place.into());
        self
    }

    /// Plays and compares all runs.
    ///
    /// # Errors
    /// The first run that does not hold: where it was cut off, what differs, and its events.
    ///
    /// # Cancel safety
    /// Dropping the future ends the check. What was played stays in the store.
    pub async fn check(&self) -> Result<ResumeReport, ResumeFailure> {
        if self.settings.inputs.is_empty() {
            let fault = ResumeFault::Setup("the property has no message of the user: call `.input(…)`".into());
            return Err(ResumeFailure::new(None, fault, Trace::of(&[])));
        }
        let live = self.play(0, None).await?;
        if let Some(error) = live.failure.clone().filter(|_| !self.settings.may_fail) {
            return Err(ResumeFailure::new(None, ResumeFault::Failed(error), live.trace));
        }
        if live.writes.is_empty() {
            let fault = ResumeFault::Setup("the run has written nothing to its store".into());
            return Err(ResumeFailure::new(None, fault, live.trace));
        }
        if self.settings.reads_effects && !live.has_effects {
            return Err(ResumeFailure::new(None, ResumeFault::NoEffects, live.trace));
        }
        let again = self.play(1, None).await?;
        let mut differences = live.outcome.differences(&again.outcome);
        if differences.is_empty() {
            let count = live.writes.len().max(again.writes.len());
            differences.extend((1..=count).find_map(|write| unlike(write, &live.writes, &again.writes)));
        }
        if !differences.is_empty() {
            return Err(ResumeFailure::new(None, ResumeFault::NotReproducible(differences), again.trace));
        }
        let mut crashes = Vec::new();
        for (index, write) in live.writes.iter().enumerate() {
            for time in [CrashTime::Before, CrashTime::Unseen, CrashTime::After] {
                let (operation, event) = (write.operation, write.event.clone());
                let point = CrashPoint { write: index + 1, operation, event, time };
                self.crash(&live, &point, crashes.len() + 2).await?;
                crashes.push(point);
            }
        }
        Ok(ResumeReport { crashes, trace: live.trace })
    }

    /// Plays a case that is cut off, and compares it.
    async fn crash(&self, live: &Played, point: &CrashPoint, number: usize) -> Result<(), ResumeFailure> {
        let played = self.play(number, Some(point)).await?;
        if let Some(difference) = unlike(point.write, &live.writes, &played.writes) {
            // Nothing was cut off, or another write.
            let fault = ResumeFault::NotReproducible(vec![difference]);
            return Err(ResumeFailure::new(None, fault, played.trace));
        }
        let differences = live.outcome.differences(&played.outcome);
        match differences.is_empty() {
            true => Ok(()),
            false => Err(ResumeFailure::new(Some(point), ResumeFault::Differs(differences), played.trace)),
        }
    }

    /// Plays a case to its end.
    async fn play(&self, number: usize, point: Option<&CrashPoint>) -> Result<Played, ResumeFailure> {
        let case = Case::new(&self.settings, number);
        case.play(point).await
    }
}

/// How a write of one run, counted from 1, differs from that of another one.
fn unlike(write: usize, expected: &[Write], found: &[Write]) -> Option<Difference> {
    let (expected, found) = (expected.get(write - 1), found.get(write - 1));
    (expected.map(Write::shape) != found.map(Write::shape)).then(|| Difference {
        place: format!("write {write}"),
        expected: expected.map(Write::to_string),
        found: found.map(Write::to_string),
    })
}

impl fmt::Debug for ResumeProperty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResumeProperty").field("inputs", &self.settings.inputs.len()).finish_non_exhaustive()
    }
}

/// Checks that a workflow or an agent survives crashes. The user sends `inputs`, one after the other, in one session.
///
/// The short form of [`ResumeProperty`] without people, effects and databases.
///
/// ```no_run
/// # async fn example(workflow: impl pleach_context::Node) {
/// pleach_testing::resume_property(workflow, ["1200"]).await;
/// # }
/// ```
///
/// # Panics
/// When the property does not hold: the text has the point of the crash, and what differs.
///
/// # Cancel safety
/// Dropping the future ends the check.
pub async fn resume_property(workflow: impl Node, inputs: impl IntoIterator<Item = impl Into<Message>>) {
    if let Err(failure) = ResumeProperty::new(workflow).inputs(inputs).check().await {
        panic!("{failure}");
    }
}
