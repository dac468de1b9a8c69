//! [`ResumeProperty`]: plays a conversation uninterrupted and with every possible crash, and compares the results.

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

/// The property that a run ends the same way if it is cut off anywhere and continued by a new Runner over the same
/// sessions.
///
/// [`check`](Self::check) plays the conversation once without interruption. Then, for each write of the store, it plays
/// the conversation three more times: the process is cut off before the write is stored, after it is stored but before
/// its caller learns of it, and after the caller has learned of it. A new Runner over the same store continues. In the
/// end these must be the same:
///
/// - how each message of the user ended: done, waiting, or failed, and with which error;
/// - the outputs of every node and step, and the state;
/// - the questions that were asked: how often, with which text, payload and assignee, and whether they have a deadline;
/// - the routes that were taken, and the runs of nodes and steps that wrote something;
/// - the [`Effects`], each of which may be repeated only until its result is stored.
///
/// No run may have two outputs, and the store must have every event that it has acknowledged. First, two uninterrupted
/// runs and their writes are compared: this detects a handler that uses randomness or the machine's clock outside a
/// step.
///
/// The clock of the runs shows the same time until something has waited by it. Pauses between retries, and timeouts,
/// use the time of tokio's runtime: with `#[tokio::test(start_paused = true)]` they take no real time. Sleeps of the
/// run, and deadlines of questions that the person leaves open, never take real time.
///
/// The model of an agent must answer depending on the request, because a process that is cut off asks it again. Use
/// [`ModelByTurn`](crate::ModelByTurn), `ScriptedModel::new().then(ScriptedReply::with(f)).repeating()`, or a type of
/// your own.
pub struct ResumeProperty {
    settings: Settings,
}

/// The result of [`ResumeProperty::check`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ResumeReport {
    /// The points at which runs were cut off.
    pub crashes: Vec<CrashPoint>,
    /// The events of the uninterrupted run.
    pub trace: Trace,
}

impl ResumeProperty {
    /// Creates the property of a node: a workflow, an agent, or a function node.
    pub fn new(root: impl Node) -> Self {
        let root = Arc::new(root);
        Self::app(move |name| RunnerBuilder::new(name).root(Arc::clone(&root)))
    }

    /// Creates the property of an app. The function returns a builder for each process, with the app name that it is
    /// passed. The builder's sessions, clock and ids are replaced, and heartbeats are off, because there is only one
    /// process at a time.
    ///
    /// ```
    /// # use pleach_context::Node;
    /// # use pleach_runner::RunnerBuilder;
    /// # use pleach_testkit::ResumeProperty;
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

    /// Sets the person that answers questions. Each run starts from the beginning of the script.
    #[must_use]
    pub fn human(mut self, human: &ScriptedHuman) -> Self {
        self.settings.human = human.anew();
        self
    }

    /// Sets the record for the effects of the code under test. It is emptied before each run. The uninterrupted run
    /// must record something; otherwise the check fails with [`ResumeFault::NoEffects`].
    #[must_use]
    pub fn effects(mut self, effects: &Effects) -> Self {
        self.settings.effects = effects.clone();
        self.settings.reads_effects = true;
        self
    }

    /// Sets the store, which the function opens for each process. It must be empty at the beginning; each run uses its
    /// own app in it. By default, sessions are kept in memory.
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

    /// Allows messages to fail: the same messages must fail with the same errors. Without this setting, the
    /// uninterrupted run must not fail, so that a mistake in the test does not pass as a workflow that survives
    /// crashes.
    #[must_use]
    pub fn may_fail(mut self) -> Self {
        self.settings.may_fail = true;
        self
    }

    /// Leaves out of the comparison something that differs in each run on purpose: the outputs of a node or step, named
    /// by its path without run ids, such as `shop/order/charge`; a state key, such as `state:token`; or a question,
    /// such as `question:ship`.
    #[must_use]
    pub fn ignore(mut self, place: impl Into<String>) -> Self {
        self.settings.ignored.push(place.into());
        self
    }

    /// Plays and compares all runs.
    ///
    /// # Errors
    /// The first run that violates the property: where it was cut off, what differs, and its events.
    ///
    /// # Cancel safety
    /// Dropping the future ends the check. Sessions that were played stay in the store.
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
                let operation = write.operation;
                let event = write.event.clone();
                let point = CrashPoint { write: index + 1, operation, event, time };
                self.crash(&live, &point, crashes.len() + 2).await?;
                crashes.push(point);
            }
        }
        Ok(ResumeReport { crashes, trace: live.trace })
    }

    /// Plays a case that is cut off, and compares its result.
    async fn crash(&self, live: &Played, point: &CrashPoint, number: usize) -> Result<(), ResumeFailure> {
        let played = self.play(number, Some(point)).await?;
        if let Some(difference) = unlike(point.write, &live.writes, &played.writes) {
            // The process was not cut off, or at a different write.
            let fault = ResumeFault::NotReproducible(vec![difference]);
            return Err(ResumeFailure::new(None, fault, played.trace));
        }
        let differences = live.outcome.differences(&played.outcome);
        if differences.is_empty() {
            Ok(())
        } else {
            Err(ResumeFailure::new(Some(point), ResumeFault::Differs(differences), played.trace))
        }
    }

    /// Plays a case to its end.
    async fn play(&self, number: usize, point: Option<&CrashPoint>) -> Result<Played, ResumeFailure> {
        let case = Case::new(&self.settings, number);
        case.play(point).await
    }
}

/// Returns how a write of one run, counted from 1, differs from the same write of another run.
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

/// Checks that a workflow or an agent survives crashes. The user sends the `inputs` one after the other in one session.
///
/// The short form of [`ResumeProperty`] without people, effects and databases.
///
/// ```no_run
/// # async fn example(workflow: impl pleach_context::Node) {
/// pleach_testkit::resume_property(workflow, ["1200"]).await;
/// # }
/// ```
///
/// # Panics
/// Panics if the property does not hold. The text names the point of the crash and the differences.
///
/// # Cancel safety
/// Dropping the future ends the check.
pub async fn resume_property(workflow: impl Node, inputs: impl IntoIterator<Item = impl Into<Message>>) {
    if let Err(failure) = ResumeProperty::new(workflow).inputs(inputs).check().await {
        panic!("{failure}");
    }
}
