//! Executes the calls of one response together.
// L100–L115

use std::future::poll_fn;
use std::task::Poll;

use pleach_context::engine::{RunHandle, credential_key};
use pleach_context::{NodeError, Schema};
use pleach_core::{Content, Event, Part};
use serde_json::Value;

use super::call::{Caller, Executed};
use super::call_numbers::PendingCall;
use super::confirm::give_answers;
use super::together::together;
use super::tools::ToolTable;
use super::{AgentRun, StepEnd};

/// The progress of the calls of a batch.
enum Ended {
    /// One call has ended.
    One(usize),
    /// All calls have ended.
    All,
    /// All calls that have not ended wait for an external answer.
    Parked,
}

impl AgentRun<'_> {
    /// Executes calls and stores their responses in one event, in the order of the calls. Tasks run one by one.
    pub(super) async fn execute_with(
        &mut self,
        calls: Vec<PendingCall>,
        tools: &ToolTable,
    ) -> Result<StepEnd, NodeError> {
        if !tools.has_tasks() {
            return self.execute_together(&calls, tools).await;
        }
        let (tasks, mut calls): (Vec<_>, Vec<_>) =
            calls.into_iter().partition(|pending| tools.task_of(pending).is_some());
        if tasks.is_empty() {
            return self.execute_together(&calls, tools).await;
        }
        calls.iter_mut().for_each(PendingCall::refuse_finish);
        // If the batch calls a tool of the agent itself, all calls but the tasks run first. If it only has transfers,
        // answers or unknown names besides the tasks, these run after the tasks.
        let comes_first = calls.iter().any(|pending| tools.is_own(pending));
        let waits = comes_first && self.execute_together(&calls, tools).await? == StepEnd::Waiting;
        for pending in &tasks {
            self.delegate(pending, tools).await?;
            // Text after a task starts a new answer.
            self.said.clear();
        }
        match comes_first || calls.is_empty() {
            true if waits => Ok(StepEnd::Waiting),
            true => Ok(StepEnd::Continue),
            false => self.execute_together(&calls, tools).await,
        }
    }

    async fn execute_together(&mut self, calls: &[PendingCall], tools: &ToolTable) -> Result<StepEnd, NodeError> {
        let caller = Caller { handle: self.handle, callbacks: &self.agent.callbacks, tools };
        let lanes: Vec<RunHandle> = calls.iter().map(|pending| caller.lane(pending)).collect();
        let execute = |(place, pending): (usize, _)| {
            let lane = lanes[place].clone();
            async move { Ok((place, caller.execute(pending, lane).await?)) }
        };
        for (pending, lane) in calls.iter().zip(&lanes) {
            // A credential that one call receives is available to all calls.
            give_answers(pending, lane)?;
        }
        let mut running = together(calls.iter().enumerate().map(execute));
        let mut executed: Vec<Option<Executed<'_>>> = calls.iter().map(|_| None).collect();
        let mut ended = vec![false; calls.len()];
        loop {
            let next = poll_fn(|cx| match running.poll_next(cx) {
                Poll::Ready(Some(result)) => Poll::Ready(result.map(|(place, call)| {
                    executed[place] = Some(call);
                    Ended::One(place)
                })),
                Poll::Ready(None) => Poll::Ready(Ok(Ended::All)),
                Poll::Pending => {
                    let mut open = lanes.iter().zip(&ended).filter(|(_, ended)| !**ended);
                    let has_new = executed.iter().flatten().any(Executed::is_plain);
                    match has_new && open.all(|(lane, _)| lane.is_lane_parked()) {
                        true => Poll::Ready(Ok(Ended::Parked)),
                        false => Poll::Pending,
                    }
                }
            })
            .await;
            match next {
                Ok(Ended::One(place)) => ended[place] = true,
                // An answer may take long. The responses of ended calls are stored now, except those that end the
                // batch.
                Ok(Ended::Parked) => {
                    let plain = executed.iter_mut().filter_map(|call| call.take_if(|call| call.is_plain()));
                    self.answer(plain.collect()).await?;
                }
                Ok(Ended::All) => return self.answer(executed.into_iter().flatten().collect()).await,
                Err(error) => {
                    // This cancels the calls that still run.
                    drop(running);
                    self.answer_before_failure(executed.into_iter().flatten().collect()).await?;
                    // This moves the changes of all calls to the run, which drops them with the failed step.
                    lanes.iter().for_each(|lane| self.handle.merge_lane(lane));
                    return Err(error);
                }
            }
        }
    }

    /// Stores the responses of a batch and the questions of its calls.
    // L110, L115
    async fn answer(&mut self, mut executed: Vec<Executed<'_>>) -> Result<StepEnd, NodeError> {
        let mut waits = false;
        if executed.iter().any(|call| call.confirmation.is_some() || call.credential.is_some()) {
            // Calls that transfer, answer or end the agent's task wait until the open questions are answered.
            executed.retain(Executed::leaves_open);
        }
        let mut keys = Vec::new();
        for call in &executed {
            let Some(config) = &call.credential else { continue };
            waits = true;
            let key = credential_key(config);
            if keys.contains(&key) {
                continue;
            }
            keys.push(key);
            if call.pending.is_asked {
                continue;
            }
            let id = call.pending.call.id.as_deref().unwrap_or_default();
            self.handle.emit(self.credential_event(id, config)?).await?;
        }
        let asking: Vec<_> = executed.iter().filter(|call| call.confirmation.is_some()).collect();
        let asks = !asking.is_empty();
        let asks_all = executed.iter().all(|call| call.response.is_none() || call.confirmation.is_some());
        let asked: Vec<_> = asking
            .into_iter()
            .filter(|call| !call.pending.is_asked)
            .filter_map(|call| Some((&call.pending.call, call.confirmation.clone()?, call.handle.confirmation_terms())))
            .collect();
        let mut question = if asked.is_empty() { None } else { Some(self.confirmation_event(&asked)?) };
        executed.retain(|call| !(call.pending.is_placed && call.confirmation.is_some()));
        // If a long-running call has no result yet, the model is called after the result has arrived.
        waits |= asks || executed.iter().any(|call| call.response.is_none());
        if asks_all && let Some(question) = question.take() {
            self.handle.emit(question).await?;
        }
        let end = self.respond(&mut executed, asks && !asks_all).await?;
        if let Some(question) = question {
            self.handle.emit(question).await?;
        }
        Ok(if waits && end != StepEnd::Finished { StepEnd::Waiting } else { end })
    }

    /// Stores the responses of the calls that had ended before another call failed.
    // L103
    async fn answer_before_failure(&mut self, executed: Vec<Executed<'_>>) -> Result<(), NodeError> {
        let is_plain =
            |call: &Executed<'_>| call.confirmation.is_none() && call.credential.is_none() && call.is_plain();
        let mut plain: Vec<Executed<'_>> = executed.into_iter().filter(is_plain).collect();
        self.respond(&mut plain, false).await.map(drop)
    }

    /// Stores the responses in one event.
    async fn respond(&mut self, executed: &mut [Executed<'_>], clears_skip: bool) -> Result<StepEnd, NodeError> {
        // These are read now, because merging takes the actions of the calls.
        let answer = executed.iter().rev().find_map(Executed::answer);
        let finishing = self.finishing_args(executed).cloned();
        for call in executed.iter().filter(|call| call.response.is_none()) {
            // A call without a result must not end the batch, so these flags are cleared.
            call.handle.with_actions(|actions| {
                actions.set_skip_summarization(None);
                actions.set_escalate(None);
            })?;
        }
        executed.iter().for_each(|call| self.handle.merge_lane(&call.handle));
        let parts: Vec<Part> = executed.iter_mut().flat_map(Executed::take_parts).collect();
        if parts.is_empty() {
            return Ok(StepEnd::Waiting);
        }
        if clears_skip {
            self.handle.with_actions(|actions| actions.set_skip_summarization(None))?;
        }
        let actions = self.handle.actions();
        let is_final = actions.skip_summarization() == Some(true);
        let transfers = actions.transfer_to_agent().is_some();
        let mut event = Event::new().with_content(Content::new("user", parts));
        let is_finished = finishing.is_some_and(|args| self.keep_task_result(&mut event, &args));
        self.keep_answer(&mut event)?;
        self.handle.emit(event).await?;
        if let Some(answer) = answer {
            return self.say_answer(&answer).await;
        }
        Ok(match is_finished {
            true => StepEnd::Finished,
            false if is_final || transfers => StepEnd::Done,
            false => StepEnd::Continue,
        })
    }

    /// Stores the answer that the model has returned with a call of `set_model_response`.
    // L61
    pub(super) async fn say_answer(&mut self, answer: &Value) -> Result<StepEnd, NodeError> {
        let fields = self.agent.output_schema.as_ref().map(Schema::fields).unwrap_or_default();
        let text = crate::json_text::in_order_of(answer, fields)
            .map_err(|error| NodeError::validation(format!("the answer has no JSON form: {error}")))?;
        let mut event = Event::new().with_content(Content::model(text));
        self.keep_answer(&mut event)?;
        self.handle.emit(event).await?;
        Ok(StepEnd::Done)
    }
}
