//! [`Context::select`]: the first of several answers, times and signals.

use std::fmt;
use std::future::IntoFuture;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pleach_core::{BoxFuture, RequestInput, SIGNAL, TIMER};
use pleach_schema::{AnswerError, check_answer, read_answer};
use pleach_session::notes::TAKE_SIGNAL;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::ask::typed;
use super::{Context, Step, json_schema_of};
use crate::NodeError;
use crate::engine::ClaimedSignal;
use crate::extract::warn_unread;
use crate::history::KeptSignal;

impl Context {
    /// Waits for the first of several answers, times and signals, each a branch of the select. The other branches are
    /// withdrawn: their questions close, and their timers do not fire.
    ///
    /// If signals are already kept for the invocation, the one stored first is taken at once. Otherwise all branches
    /// are stored in one event, and the first stored answer wins, whichever process stores it. Each select asks its own
    /// questions: an answer to another question with the same id does not apply. A resume takes the same branch again.
    /// The run pauses as with [`ask`](Self::ask), and the body runs again.
    ///
    /// # Example
    /// ```
    /// # use std::time::Duration;
    /// # use pleach_context::{Context, Result};
    /// enum Next {
    ///     Decided(bool),
    ///     Late,
    ///     Cancelled(String),
    /// }
    ///
    /// // Added with `FunctionNode::new("approve", approve).rerun_on_resume(true)`.
    /// async fn approve(ctx: Context) -> Result<String> {
    ///     let next = ctx
    ///         .select()
    ///         .ask("manager", "Approve the refund?", Next::Decided)
    ///         .sleep(Duration::from_secs(3 * 86_400), || Next::Late)
    ///         .signal("cancel", Next::Cancelled)
    ///         .await?;
    ///     Ok(match next {
    ///         Next::Decided(yes) => if yes { "approved" } else { "rejected" }.to_owned(),
    ///         Next::Late => "escalated".to_owned(),
    ///         Next::Cancelled(reason) => reason,
    ///     })
    /// }
    /// ```
    ///
    /// # Errors
    /// Awaiting it returns the errors of [`ask`](Self::ask). It also returns a `ValueError` for a select without
    /// branches, for two branches with the same id, and if the select begins while another call of the node is in
    /// progress.
    ///
    /// # Cancel safety
    /// Once the future has been polled, the questions are stored even if the future is dropped.
    ///
    /// ADK: none; questions of one event.
    pub fn select<T: Send>(&self) -> Select<'_, T> {
        Select { ctx: self, number: self.number_of_wait("select"), branches: Vec::new() }
    }

    /// Waits for a signal that a program sends with `Runner::signal`, and returns its payload.
    ///
    /// Signals with the same name are taken in the order in which they were stored, each by one wait. A signal that
    /// arrived while the run waited for something else has been kept. If the run already waits for the signal, a
    /// payload that does not fit `T` is not stored. A kept signal that does not fit is skipped, and a warning in the
    /// log names the field.
    ///
    /// # Errors
    /// The errors of [`select`](Self::select).
    ///
    /// # Cancel safety
    /// As [`select`](Self::select).
    ///
    /// ADK: none; a question that its user leaves open.
    pub fn wait_for_signal<'a, T>(
        &'a self,
        name: impl Into<String>,
    ) -> impl Future<Output = Result<T, NodeError>> + Send
    where
        T: DeserializeOwned + JsonSchema + Send + 'a,
    {
        self.select().signal(name, |payload: T| payload).into_future()
    }
}

/// A set of branches; the first to complete wins. See [`Context::select`].
#[must_use = "a select does nothing unless it is awaited"]
pub struct Select<'a, T> {
    ctx: &'a Context,
    number: Result<u32, NodeError>,
    branches: Vec<Branch<'a, T>>,
}

struct Branch<'a, T> {
    kind: Kind,
    /// The question that the branch waits for. Timers and signals get their ids when the select is awaited.
    question: RequestInput,
    /// Reads an answer and returns the result of the select, once.
    read: Read<'a, T>,
}

type Read<'a, T> = Box<dyn FnMut(&Value) -> Result<Option<T>, AnswerError> + Send + 'a>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Question,
    Timer,
    Signal,
}

impl<'a, T: Send> Select<'a, T> {
    /// Adds a question with an id and a text. The question has the JSON schema of `A`. `then` makes the result of the
    /// select from the answer.
    pub fn ask<A>(self, id: &str, message: impl Into<String>, then: impl FnOnce(A) -> T + Send + 'a) -> Self
    where
        A: DeserializeOwned + JsonSchema,
    {
        self.ask_with(RequestInput::ask(id, message), then)
    }

    /// Adds a question with all its options. The question has the JSON schema of `A` unless it has its own. `then`
    /// makes the result of the select from the answer.
    pub fn ask_with<A>(self, question: RequestInput<A>, then: impl FnOnce(A) -> T + Send + 'a) -> Self
    where
        A: DeserializeOwned + JsonSchema,
    {
        self.branch(Kind::Question, typed(question), then)
    }

    /// Adds a timer. It starts with this call, in the execution that stores the select; when the body runs again, the
    /// stored time applies.
    pub fn sleep(self, duration: Duration, then: impl FnOnce() -> T + Send + 'a) -> Self {
        let now = self.ctx.inner.invocation.services().clock.now();
        self.timer(now + duration.as_secs_f64(), then)
    }

    /// Adds a point in time. If it has already passed, this branch is answered at once, and the answer is stored.
    pub fn sleep_until(self, time: SystemTime, then: impl FnOnce() -> T + Send + 'a) -> Self {
        self.timer(time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64(), then)
    }

    /// Adds a timer that ends at `deadline`, in seconds since the epoch.
    fn timer(self, deadline: f64, then: impl FnOnce() -> T + Send + 'a) -> Self {
        let mut question = RequestInput::new();
        question.deadline = Some(deadline);
        self.branch(Kind::Timer, question, |_: Value| then())
    }

    /// Adds a signal with a name. The payload must fit the JSON schema of `P`. `then` makes the result of the select
    /// from the payload. See [`Context::wait_for_signal`].
    pub fn signal<P>(self, name: impl Into<String>, then: impl FnOnce(P) -> T + Send + 'a) -> Self
    where
        P: DeserializeOwned + JsonSchema,
    {
        let mut question = RequestInput::new().with_message(name);
        question.response_schema = json_schema_of::<P>();
        self.branch(Kind::Signal, question, then)
    }

    fn branch<A>(mut self, kind: Kind, question: RequestInput, then: impl FnOnce(A) -> T + Send + 'a) -> Self
    where
        A: DeserializeOwned,
    {
        let mut then = Some(then);
        let read =
            move |answer: &Value| Ok(read_answer::<A>(answer)?).map(|answer| then.take().map(|then| then(answer)));
        self.branches.push(Branch { kind, question, read: Box::new(read) });
        self
    }

    async fn first(mut self) -> Result<T, NodeError> {
        let number = std::mem::replace(&mut self.number, Ok(0))?;
        let select = number.to_string();
        self.ctx.check_may_wait()?;
        self.name_branches(number)?;
        if let Some(result) = self.recorded(&select) {
            return Ok(result);
        }
        let signals = self.ctx.inner.invocation.signals();
        loop {
            let changed = signals.changed();
            if let Some(result) = self.kept(&select).await? {
                return Ok(result);
            }
            if signals.wait(self.names()) {
                break;
            }
            changed.await;
        }
        let questions = self.branches.into_iter().map(|branch| branch.question).collect();
        Err(self.ctx.wait_for(questions, Some(&select)).await)
    }

    /// Sets the ids of timers and signals.
    fn name_branches(&mut self, number: u32) -> Result<(), NodeError> {
        let node = self.ctx.node_name();
        if self.branches.is_empty() {
            return Err(NodeError::value(format!("a select of node '{node}' has no branch, so it would never end")));
        }
        let path = self.ctx.node_path();
        for (place, Branch { kind, question, .. }) in self.branches.iter_mut().enumerate() {
            match kind {
                Kind::Question => check_id(question.interrupt_id.as_deref(), node)?,
                Kind::Timer => question.interrupt_id = Some(format!("{TIMER}{path}:{number}-{place}")),
                Kind::Signal if question.message.as_deref().is_none_or(|name| name.trim().is_empty()) => {
                    return Err(NodeError::value(format!(
                        "node '{node}' waits for a signal with a blank name: give the signal a name"
                    )));
                }
                Kind::Signal => question.interrupt_id = Some(format!("{SIGNAL}{path}:{number}-{place}")),
            }
        }
        let mut ids: Vec<&str> =
            self.branches.iter().filter_map(|branch| branch.question.interrupt_id.as_deref()).collect();
        ids.sort_unstable();
        match ids.windows(2).find(|pair| pair[0] == pair[1]) {
            None => Ok(()),
            Some(pair) => {
                Err(NodeError::value(format!("a select of node '{node}' has two branches with the id '{}'", pair[0])))
            }
        }
    }

    /// Returns the result of the branch that was answered first. Only answers to this select's own questions are
    /// read: a kept signal may already have decided the select, and another answer must not decide it again.
    fn recorded(&mut self, select: &str) -> Option<T> {
        let ctx = self.ctx;
        let history = ctx.inner.invocation.history()?;
        let (first, answer) = history.selected(ctx.node_path(), select)?;
        let branch = self.branches.iter_mut().find(|branch| branch.question.interrupt_id.as_deref() == Some(first))?;
        match (branch.read)(answer) {
            Ok(result) => result,
            Err(error) => {
                warn_unread(ctx, &error);
                None
            }
        }
    }

    /// Returns the names of the signals that the select waits for.
    fn names(&self) -> Vec<String> {
        let signals = self.branches.iter().filter(|branch| branch.kind == Kind::Signal);
        signals.filter_map(|branch| branch.question.message.clone()).collect()
    }

    /// Takes the first signal that was kept for a branch. A step records it, so a resume takes the same one.
    async fn kept(&mut self, select: &str) -> Result<Option<T>, NodeError> {
        let ctx = self.ctx;
        let names = self.names();
        if names.is_empty() {
            return Ok(None);
        }
        for again in 0_u32.. {
            let Some(taken) = take(ctx, select, again, &names).await? else { break };
            let is_of_branch = |branch: &&mut Branch<'_, T>| {
                branch.kind == Kind::Signal && branch.question.message.as_deref() == Some(&*taken.name)
            };
            let Some(branch) = self.branches.iter_mut().find(is_of_branch) else { continue };
            let schema = branch.question.response_schema.as_ref();
            let fitting =
                schema.map_or_else(|| Ok(taken.payload.clone()), |schema| check_answer(schema, taken.payload.clone()));
            let read = fitting.and_then(|payload| (branch.read)(&payload).map_err(|misfit| misfit.to_string()));
            match read {
                Ok(result @ Some(_)) => return Ok(result),
                Ok(None) => {}
                Err(misfit) => {
                    tracing::warn!(node = %ctx.node_path(), signal = taken.name, %misfit, "a kept signal does not fit the type that the node waits for: it is skipped");
                }
            }
        }
        Ok(None)
    }
}

/// Takes the first kept signal with one of these names, for a select that has not asked yet. If the step has recorded a
/// signal, it returns that one again.
async fn take(ctx: &Context, select: &str, again: u32, names: &[String]) -> Result<Option<KeptSignal>, NodeError> {
    let key = format!("{select}-{again}");
    let path = ctx.node_path().child(TAKE_SIGNAL, &format!("key-{key}"));
    let claimed = {
        let history = ctx.inner.invocation.history();
        let recorded = history.as_deref();
        match recorded.is_some_and(|history| history.run(&path).is_some_and(|run| run.output.is_some())) {
            true => None,
            false if recorded.is_some_and(|history| history.has_asked(ctx.node_path(), select)) => return Ok(None),
            false => match ClaimedSignal::first(ctx, recorded, names) {
                None => return Ok(None),
                claimed => claimed,
            },
        }
    };
    let claimed = claimed.as_ref();
    // Commits here, because the step's event is sent right after the closure.
    let take = async || Ok(claimed.map(ClaimedSignal::commit).unwrap_or_default());
    Ok(Some(ctx.step(Step::new(TAKE_SIGNAL).key(key), take).await?))
}

fn check_id(id: Option<&str>, node: &str) -> Result<(), NodeError> {
    match id {
        Some(id) => crate::engine::check_reserved(id),
        None => Err(NodeError::value(format!(
            "a select of node '{node}' asks a question without an id, which a resumed run could not match with its answer: make it with `RequestInput::ask(id, message)`"
        ))),
    }
}

impl<T> fmt::Debug for Select<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Select").field("node", self.ctx.node_path()).field("branches", &self.branches.len()).finish()
    }
}

impl<'a, T: Send + 'a> IntoFuture for Select<'a, T> {
    type Output = Result<T, NodeError>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.first())
    }
}
