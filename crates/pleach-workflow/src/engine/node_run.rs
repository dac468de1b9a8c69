//! [`NodeRun`]: one run of a node, from the first attempt to the last event. ADK: `NodeRunner`.
// R401–R417

use pleach_context::engine::{ChildSetup, RunHandle, RunResult, SentEvent, Ticket, WaitReason};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context as TaskContext, Poll, Wake, Waker, ready};
use std::time::Duration;

use futures_util::stream::BoxStream;
use pleach_context::{ChildFailure, Flow, Node, NodeError, NodeInput, NodeKind, NodeSpec, Yield};
use pleach_core::{BoxFuture, Branch, Event};

use super::panic::guarded;
use super::run_setup::{RunSetup, task_scope};
use super::span::AttemptSpan;
use super::waiting::waits_for_output;
use super::{hooks, stack};

/// One run of a node: a future that resolves to its end.
///
/// It is plain data with a hand-written `poll`, so that a run without retry and timeout costs only one boxed future,
/// the body.
pub(crate) struct NodeRun<'a> {
    node: &'a dyn Node,
    input: NodeInput,
    handle: RunHandle,
    phase: Phase<'a>,
    /// The branch and scope that further attempts start with; `None` for nodes without a retry policy.
    start: Option<Box<Start>>,
    timer: Option<BoxFuture<'static, ()>>,
    /// Whether the body has returned `Pending`, so that its context holds the waker.
    waits: bool,
    /// One yield to the executor before a body is treated as parked.
    executor_yield: Option<BoxFuture<'static, ()>>,
    /// Dropped last, after the runs below.
    span: AttemptSpan,
}

/// The branch and isolation scope at the start of a run; its events may change both.
struct Start {
    branch: Option<Branch>,
    isolation_scope: Option<Arc<str>>,
}

enum Phase<'a> {
    Start,
    Body(BoxFuture<'a, Result<Flow, NodeError>>),
    Items(BoxStream<'static, Result<Yield, NodeError>>),
    Sending {
        sent: SentEvent,
        then: NextStep,
        /// Whether the event was sent in this poll, so that it cannot be stored yet.
        fresh: bool,
    },
    Pause {
        /// The delay; `None` once it is over.
        pause: Option<BoxFuture<'static, ()>>,
        /// Whether the next attempt reuses the run ids of this attempt's children.
        // R404
        rewind: bool,
        /// The events before this ticket must be stored before history is read again.
        flushed: Ticket,
    },
    /// The attempt has failed, and the plugins are being notified.
    Failing {
        notified: BoxFuture<'a, ()>,
        error: Box<NodeError>,
    },
    Finished,
    /// The run has failed, and no further attempt follows.
    Failed(Box<ChildFailure>),
}

/// The next step once an event is stored.
enum NextStep {
    Items(BoxStream<'static, Result<Yield, NodeError>>),
    Finish,
    /// The attempt has failed; with the pause before the next attempt, if one follows.
    Failed(Box<ChildFailure>, Option<Duration>),
    End,
}

impl<'a> NodeRun<'a> {
    pub(crate) fn new(node: &'a dyn Node, parent: &RunHandle, input: NodeInput, setup: RunSetup) -> Self {
        let spec = node.spec();
        let mut setup = setup;
        if setup.isolation_scope.is_none() {
            setup.isolation_scope = task_scope(node, &setup.path);
        }
        let retries = spec.retry.is_some();
        let start = || Box::new(Start { branch: setup.branch.clone(), isolation_scope: setup.isolation_scope.clone() });
        let start = retries.then(start);
        let child = ChildSetup {
            path: setup.path,
            branch: setup.branch,
            isolation_scope: setup.isolation_scope,
            resume_inputs: setup.resume_inputs,
            output_for: setup.output_for,
            position: setup.position,
            background: setup.background,
            answers_for: setup.answers_for,
            retry: spec.retry.clone().map(Arc::new),
        };
        let handle = parent.child(spec, setup.name.as_ref().unwrap_or(&spec.name), child);
        let span = AttemptSpan::default();
        Self { node, input, handle, phase: Phase::Start, start, timer: None, waits: false, executor_yield: None, span }
    }

    /// Returns the handle of the last attempt.
    pub(crate) fn handle(&self) -> &RunHandle {
        &self.handle
    }

    /// Takes the node, the context and the input of an ended run, for the agents that this one transfers to.
    pub(crate) fn take_parts(&mut self) -> (&'a dyn Node, RunHandle, NodeInput) {
        (self.node, self.handle.clone(), std::mem::take(&mut self.input))
    }

    /// Reports the end to the span and the parent run, and returns it.
    fn end(&mut self) -> RunResult {
        self.span.end(&self.handle);
        self.handle.note_last_event_above();
        match std::mem::replace(&mut self.phase, Phase::Finished) {
            Phase::Failed(failure) => Err(*failure),
            _ => Ok(self.handle.take_end(waits_for_output(self.node, &self.handle))),
        }
    }

    fn start(&mut self) -> Result<(), NodeError> {
        self.handle.check_depth()?;
        stack::check()?;
        let spec = self.node.spec();
        // Further attempts need the input, and so do agents that an agent transfers to.
        let keeps = spec.retry.is_some() || spec.kind == NodeKind::Agent;
        let input = if keeps { self.input.clone() } else { std::mem::take(&mut self.input) };
        self.timer = spec.timeout.map(|limit| self.handle.invocation().services().clock.sleep(limit));
        self.span = AttemptSpan::new(spec, &self.handle);
        let (node, run) = (self.node, &self.handle);
        let has_plugins = !run.invocation().services().plugins.is_empty();
        let begin = || match has_plugins {
            true => hooks::run(node, run.clone(), input),
            false => node.run(run.context().clone(), input),
        };
        self.phase = Phase::Body(guarded(|| self.span.in_scope(begin))?);
        Ok(())
    }

    /// Returns `true` if plugins are asked before this workflow run, so that it must wait like a body.
    fn begins_with_hooks(&self) -> bool {
        let has_plugins = !self.handle.invocation().services().plugins.is_empty();
        has_plugins && !hooks::is_continued(self.node.spec(), &self.handle)
    }

    /// Waits for an event that was just sent; `then` follows once it is stored.
    fn wait_for(&mut self, sent: SentEvent, then: NextStep) {
        self.phase = Phase::Sending { sent, then, fresh: true };
    }

    fn take_item(&mut self, item: Yield, then: NextStep, cx: &TaskContext<'_>) -> Result<(), NodeError> {
        match self.handle.send(item, matches!(then, NextStep::Finish), cx.waker())? {
            Some(sent) => self.wait_for(sent, then),
            None => self.follow(then, cx),
        }
        Ok(())
    }

    fn take_flow(&mut self, flow: Flow, cx: &TaskContext<'_>) -> Result<(), NodeError> {
        match flow {
            Flow::Done(Some(item)) => self.take_item(item, NextStep::Finish, cx)?,
            Flow::Done(None) => {
                let quiet = self.node.spec().kind != NodeKind::Function || !self.handle.has_pending_changes();
                if quiet {
                    self.follow(NextStep::Finish, cx);
                } else {
                    self.take_item(Yield::from(Event::new()), NextStep::Finish, cx)?;
                }
            }
            Flow::Stream(items) => self.phase = Phase::Items(items),
        }
        Ok(())
    }

    fn follow(&mut self, then: NextStep, cx: &TaskContext<'_>) {
        match then {
            NextStep::Items(items) if self.handle.is_aborted() => drop(items),
            NextStep::Items(items) => {
                self.phase = Phase::Items(items);
                return;
            }
            NextStep::Finish => {}
            NextStep::Failed(failure, delay) => return self.retry_or_end(failure, delay),
            NextStep::End => {
                self.phase = Phase::Finished;
                return;
            }
        }
        self.timer = None;
        if let Some(sent) = self.handle.take_abandoned() {
            self.phase = Phase::Sending { sent, then: NextStep::Finish, fresh: false };
            return;
        }
        match self.handle.finish(cx.waker()) {
            Some(rest) => self.wait_for(rest, NextStep::End),
            None => self.phase = Phase::Finished,
        }
    }

    /// Ends a failed attempt, once the plugins have been notified.
    fn fail(&mut self, error: NodeError, cx: &TaskContext<'_>) {
        self.timer = None;
        let cause = error.child_failure().map_or(&error, |failure| &failure.error);
        match hooks::on_error(self.node.spec(), &self.handle, cause) {
            Some(notified) => self.phase = Phase::Failing { notified, error: Box::new(error) },
            None => self.record_failure(error, cx),
        }
    }

    /// Sends the error event of a failed attempt, then retries or fails.
    // R404
    fn record_failure(&mut self, error: NodeError, cx: &TaskContext<'_>) {
        let cause = error.child_failure().map_or(&error, |failure| &failure.error);
        // Decided once, because a condition may answer differently when it is asked again.
        let delay = self.delay_after(cause);
        let retries = delay.is_some();
        // The child has recorded its failure; this run fails with the same error.
        if let Some(failure) = error.child_failure().filter(|failure| !self.must_record(failure, retries)) {
            let failure = Box::new(failure.clone());
            return self.fail_without_event(failure, delay, cx);
        }
        let rethrown = error.child_failure().cloned();
        let failure = rethrown.unwrap_or_else(|| ChildFailure { error, path: self.handle.node_path().clone() });
        if self.handle.fails_silently() {
            return self.fail_without_event(Box::new(failure), delay, cx);
        }
        let sent = self.handle.fail(&failure.error, retries, cx.waker());
        self.wait_for(sent, NextStep::Failed(Box::new(failure), delay));
    }

    /// Ends a failed attempt without an error event. The counts that plugins have made are stored nevertheless.
    fn fail_without_event(&mut self, failure: Box<ChildFailure>, delay: Option<Duration>, cx: &TaskContext<'_>) {
        match self.handle.fail_without_event(cx.waker()) {
            Some(counted) => self.wait_for(counted, NextStep::Failed(failure, delay)),
            None => self.retry_or_end(failure, delay),
        }
    }

    /// Returns `true` if this run must record a child's failure as well. An attempt that continued after a caught
    /// failure and then fails needs its own error event: without it, a resume would replay the caught failure, but a
    /// retry would not.
    fn must_record(&self, failure: &ChildFailure, retries: bool) -> bool {
        self.handle.has_caught(failure) || (self.handle.has_caught_failures() && retries)
    }

    /// Returns the pause before the next attempt, or `None` if no attempt follows this error.
    fn delay_after(&self, error: &NodeError) -> Option<Duration> {
        let attempt = self.handle.attempt_count();
        let policy = self.node.spec().retry.as_ref().filter(|policy| policy.retries(error, attempt))?;
        Some(policy.delay(attempt, self.handle.invocation().services().ids.uniform()))
    }

    fn retry_or_end(&mut self, failure: Box<ChildFailure>, delay: Option<Duration>) {
        let error = failure.error.clone();
        let spec = self.node.spec();
        let attempt = self.handle.attempt_count();
        match delay {
            Some(delay) => {
                let services = self.handle.invocation().services();
                self.span.in_scope(
                    || tracing::warn!(node = %self.handle.node_path(), attempt, error = %error, "node failed and is tried again"),
                );
                let rewind = failure.path != *self.handle.node_path();
                let flushed = self.handle.invocation().queue().next_ticket();
                let pause = (!delay.is_zero()).then(|| services.clock.sleep(delay));
                self.phase = Phase::Pause { pause, rewind, flushed };
            }
            None => {
                self.span.in_scope(|| warn_unnamed(spec, &self.handle, &error));
                self.handle.hand_over_caught_failures();
                self.handle.set_error(ChildFailure::clone(&failure));
                self.phase = Phase::Failed(failure);
            }
        }
        self.span.fail(error.code());
    }

    fn next_attempt(&mut self, rewind: bool) {
        let spec = self.node.spec();
        if spec.kind == NodeKind::Workflow || self.handle.has_children() {
            // Children that completed in the failed attempt are answered from history.
            self.handle.invocation().read_history();
        }
        let Start { branch, isolation_scope } = self.start.as_deref().unwrap_or(&Start::ROOT);
        self.handle = self.handle.next_attempt(branch.clone(), isolation_scope.clone(), rewind);
        self.phase = Phase::Start;
    }

    fn poll_timer(&mut self, cx: &mut TaskContext<'_>) -> Option<NodeError> {
        let timer = self.timer.as_mut()?;
        if timer.as_mut().poll(cx).is_pending() {
            return None;
        }
        self.timer = None;
        if let Phase::Sending { sent, .. } = self.phase {
            self.handle.forget_sent(sent);
        }
        let (name, limit) = (self.handle.node_name(), self.node.spec().timeout.unwrap_or_default().as_secs_f64());
        Some(
            NodeError::new("NodeTimeoutError", format!("Node '{name}' timed out after {limit:?} seconds."))
                .with_hint("set a longer `timeout` for the node, or let it do less in one run"),
        )
    }

    /// Ends a pending body if all its calls wait for the outside world.
    ///
    /// Parts of the body may wait only for the executor: `yield_now` wakes after control returns to the executor. So
    /// this yields once and polls the body a last time, with a waker that records whether the body wakes itself.
    // R414
    fn poll_parked(&mut self, cx: &mut TaskContext<'_>) -> Poll<()> {
        let executor_yield = self.executor_yield.get_or_insert_with(|| Box::pin(tokio::task::yield_now()));
        ready!(executor_yield.as_mut().poll(cx));
        self.executor_yield = None;
        let flag = Arc::new(WokenFlag::default());
        let waker = Waker::from(Arc::clone(&flag));
        let again = self.poll_body(&mut TaskContext::from_waker(&waker));
        match again {
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(error)) => self.fail(error, cx),
            Poll::Pending if !flag.0.load(Ordering::Acquire) && self.handle.is_parked() => {
                self.handle.note_waiting();
                self.follow(NextStep::Finish, cx);
            }
            Poll::Pending => {
                // The body still makes progress; poll it again with the real waker.
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
        Poll::Ready(())
    }

    fn poll_body(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<(), NodeError>> {
        match &mut self.phase {
            Phase::Body(body) => {
                let span = &self.span;
                let flow = match guarded(|| span.in_scope(|| body.as_mut().poll(cx))) {
                    Ok(polled) => ready!(polled),
                    Err(panic) => Err(panic),
                };
                Poll::Ready(flow.and_then(|flow| self.take_flow(flow, cx)))
            }
            Phase::Items(items) => {
                let span = &self.span;
                let next = match guarded(|| span.in_scope(|| items.as_mut().poll_next(cx))) {
                    Ok(polled) => ready!(polled),
                    Err(panic) => Some(Err(panic)),
                };
                let Phase::Items(items) = std::mem::replace(&mut self.phase, Phase::Finished) else {
                    return Poll::Ready(Ok(()));
                };
                match next {
                    Some(Ok(item)) => Poll::Ready(self.take_item(item, NextStep::Items(items), cx)),
                    Some(Err(error)) => Poll::Ready(Err(error)),
                    None => {
                        self.follow(NextStep::Finish, cx);
                        Poll::Ready(Ok(()))
                    }
                }
            }
            _ => Poll::Ready(Ok(())),
        }
    }
}

/// A cancelled run stops waiting for its event; the event is still stored.
impl Drop for NodeRun<'_> {
    fn drop(&mut self) {
        if let Phase::Sending { sent, .. } = self.phase {
            self.handle.forget_sent(sent);
        }
        if !matches!(self.phase, Phase::Start | Phase::Finished | Phase::Failed(_)) {
            self.handle.hand_over_caught_failures();
        }
    }
}

impl Future for NodeRun<'_> {
    type Output = RunResult;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let run = &mut *self;
        let _measured = stack::Measured::enter();
        loop {
            match &mut run.phase {
                Phase::Finished | Phase::Failed(_) => return Poll::Ready(run.end()),
                Phase::Start => {
                    let spec = run.node.spec();
                    if spec.kind != NodeKind::Workflow || run.begins_with_hooks() {
                        let gives = !spec.never_gives || spec.wait_for_output;
                        ready!(run.handle.invocation().work_gate().poll_pass(run.handle.node_path(), gives, cx));
                    }
                    if let Err(error) = run.start() {
                        run.fail(error, cx);
                    }
                    continue;
                }
                Phase::Failing { notified, .. } => {
                    ready!(notified.as_mut().poll(cx));
                    if let Phase::Failing { error, .. } = std::mem::replace(&mut run.phase, Phase::Finished) {
                        run.record_failure(*error, cx);
                    }
                    continue;
                }
                Phase::Pause { pause, rewind, flushed } => {
                    if let Some(waits) = pause {
                        ready!(waits.as_mut().poll(cx));
                        *pause = None;
                    }
                    ready!(run.handle.invocation().queue().poll_flushed(*flushed, cx));
                    let rewind = *rewind;
                    run.next_attempt(rewind);
                    continue;
                }
                Phase::Sending { fresh, .. } if *fresh => *fresh = false,
                Phase::Sending { sent, .. } => {
                    if run.handle.poll_sent(*sent, cx).is_ready() {
                        if let Phase::Sending { then, .. } = std::mem::replace(&mut run.phase, Phase::Finished) {
                            run.follow(then, cx);
                        }
                        continue;
                    }
                }
                Phase::Body(_) | Phase::Items(_) => {
                    if std::mem::take(&mut run.waits) {
                        run.handle.resume_body();
                    }
                    match run.poll_body(cx) {
                        Poll::Ready(Ok(())) => continue,
                        Poll::Ready(Err(error)) => {
                            run.fail(error, cx);
                            continue;
                        }
                        Poll::Pending => {
                            run.waits = true;
                            match run.handle.wait_reason(cx.waker()) {
                                WaitReason::PollAgain => continue,
                                WaitReason::Parked => {
                                    if run.poll_parked(cx).is_ready() {
                                        continue;
                                    }
                                }
                                WaitReason::Other => run.executor_yield = None,
                            }
                        }
                    }
                }
            }
            match run.poll_timer(cx) {
                Some(timeout) => run.fail(timeout, cx),
                None => return Poll::Pending,
            }
        }
    }
}

impl Start {
    const ROOT: Self = Self { branch: None, isolation_scope: None };
}

/// Records whether a body woke itself.
#[derive(Default)]
struct WokenFlag(AtomicBool);

impl Wake for WokenFlag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

/// Warns if a retry policy does not name the error's class, which may be misspelled.
fn warn_unnamed(spec: &NodeSpec, handle: &RunHandle, error: &NodeError) {
    let Some(policy) = &spec.retry else { return };
    if handle.attempt_count() < policy.max_attempts && !policy.names(error) {
        tracing::warn!(
            node = %handle.node_path(),
            class = error.class(),
            classes = ?policy.exceptions,
            "node failed and is not tried again: its retry policy does not name this class of error"
        );
    }
}
