//! Time that survives the process: sleeps, and questions with a deadline.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pleach_core::{RequestInput, TIMER};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::{Context, json_schema_of};
use crate::NodeError;

impl Context {
    /// Returns the current time of the app's clock.
    ///
    /// A body that runs again reads a later time. To keep the first one, read the time in a [step](Self::step).
    #[must_use]
    pub fn now(&self) -> SystemTime {
        let now = Duration::try_from_secs_f64(self.inner.invocation.services().clock.now()).unwrap_or_default();
        UNIX_EPOCH.checked_add(now).unwrap_or(UNIX_EPOCH)
    }

    /// Sleeps for a duration that survives the process. The run pauses as it does for a question, and continues when
    /// the time has come, in this process or in another one.
    ///
    /// The end of the sleep is stored when the sleep begins, and the waking is stored as an answer to it. A resume
    /// therefore neither sleeps again nor reads a clock. The body is dropped and runs again, as with
    /// [`ask`](Self::ask). The Runner that runs the invocation wakes it. After a restart of the process, a Runner on
    /// which `Runner::start_timers` was called wakes it.
    ///
    /// A sleep is not a timeout: a step that is still working keeps the run from pausing, and the sleep ends only after
    /// the run has paused. Limit a step with [`Step::timeout`](crate::Step::timeout), and a question with
    /// [`ask_within`](Self::ask_within). In tokio's `select!` the losing sleep stays stored: a sleep that was polled
    /// and dropped still pauses the run. Use [`select`](Self::select) instead.
    ///
    /// # Errors
    /// The errors of [`ask`](Self::ask); a `ValueError` if it is called while another call of the node is in progress.
    ///
    /// # Cancel safety
    /// Once the future has been polled, the sleep is stored even if the future is dropped.
    ///
    /// ADK: none; a question that its user leaves open.
    pub fn sleep(&self, duration: Duration) -> impl Future<Output = Result<(), NodeError>> + Send {
        let now = self.inner.invocation.services().clock.now();
        self.sleep_to(now + duration.as_secs_f64(), duration.is_zero())
    }

    /// Sleeps until a time. See [`Context::sleep`].
    ///
    /// # Errors
    /// As [`Context::sleep`].
    ///
    /// # Cancel safety
    /// As [`Context::sleep`].
    pub fn sleep_until(&self, time: SystemTime) -> impl Future<Output = Result<(), NodeError>> + Send {
        let now = self.inner.invocation.services().clock.now();
        let end = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        self.sleep_to(end, end <= now)
    }

    /// The number of the sleep follows the order of the calls, not of the polls.
    fn sleep_to(&self, end: f64, is_over: bool) -> impl Future<Output = Result<(), NodeError>> + Send {
        let number = self.number_of_wait("sleep");
        async move {
            let id = format!("{TIMER}{}:{}", self.node_path(), number?);
            let began = self.asked_deadline(&id, None).is_some();
            if self.resume_inputs().contains_key(&id) || (is_over && !began) {
                return Ok(());
            }
            let mut question = RequestInput::new().with_id(id);
            question.deadline = Some(end);
            Err(self.wait_for(vec![question], None).await)
        }
    }

    /// Returns the number of the next wait of this run that has no id of its own, such as a sleep.
    pub(super) fn number_of_wait(&self, what: &str) -> Result<u32, NodeError> {
        let mut cell = self.cell();
        if cell.has_calls_under_way() {
            return Err(NodeError::value(format!(
                "a {what} of node '{}' begins while another call of the node is in progress, and the two may begin in another order on a resume: run each lane as a node of its own, with `Context::run`",
                self.node_name()
            )));
        }
        cell.waits += 1;
        Ok(cell.waits)
    }

    /// Asks a question like [`ask`](Self::ask), but waits at most `limit`, counted from the first time that it is
    /// asked. Returns `None` if there is no answer by then.
    ///
    /// The first answer wins, whether a person's or the clock's. To set another answer for the deadline, or other
    /// options of a question, use [`ask_with`](Self::ask_with) with [`RequestInput::with_deadline`] and
    /// [`RequestInput::with_default`].
    ///
    /// # Errors
    /// The errors of [`ask`](Self::ask).
    ///
    /// # Cancel safety
    /// As [`ask`](Self::ask).
    pub async fn ask_within<T: DeserializeOwned + JsonSchema>(
        &self,
        id: &str,
        message: impl Into<String>,
        limit: Duration,
    ) -> Result<Option<T>, NodeError> {
        let mut question = RequestInput::ask(id, message);
        question.response_schema = json_schema_of::<Option<T>>();
        question.deadline = Some(self.inner.invocation.services().clock.now() + limit.as_secs_f64());
        self.ask_typed(question).await
    }

    /// Returns the stored deadline of this run's question `id`, if the question was asked before. If `select` is set,
    /// the question belongs to that select.
    pub(super) fn asked_deadline(&self, id: &str, select: Option<&str>) -> Option<f64> {
        self.inner.invocation.history()?.deadline(self.node_path(), id, select)
    }
}
