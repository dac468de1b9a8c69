//! [`Driver`]: polls a run from the request to the end, inside the span of its invocation.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, ready};

use pleach_context::StreamingMode;
use pleach_context::engine::InvocationHandle;
use pleach_core::BoxFuture;
use pleach_session::SessionError;

use crate::app::inner::RunnerInner;
use crate::opening::begin::{Begun, PluginMessage};
use crate::opening::open::{Checked, OpenedRequest};
use crate::request::question_ref::IfAnswered;
use crate::run::join::{Difference, forward_leader_events};
use crate::run::outcome::Outcome;
use crate::run::replay_result::replay_result;
use crate::run::span::RunSpan;
use crate::run::state::RunState;
use crate::run::steps::Invocation;
use crate::run::task::PollRun;
use crate::{RunError, RunRequest};

/// Polls a run: opens and begins the invocation, drives it, and reports its failure to the plugins.
pub(crate) struct Driver {
    phase: Phase,
    /// The run's span; `None` before the invocation is known, and for a run that joined another one.
    span: Option<RunSpan>,
    /// Declared after the phase, so that it is dropped when nothing runs any more.
    registration: Registration,
}

enum Phase {
    /// Not polled yet. Boxed, because the request is large.
    New(Box<RunRequest>),
    Starting(BoxFuture<'static, Result<Opened, Failure>>),
    Running(Work),
    Failing(BoxFuture<'static, RunError>),
    Ended,
}

/// A run whose invocation is known.
struct Opened {
    span: Option<RunSpan>,
    next: Next,
}

enum Next {
    Run(Work),
    /// The run only returns the recorded result, or was stopped.
    End(Outcome),
}

/// The future of a run that has begun.
struct Work {
    future: BoxFuture<'static, Result<Outcome, RunError>>,
    /// The invocation, whose plugins are notified of a failure; `None` for a run that joined another one.
    ic: Option<InvocationHandle>,
}

/// The error of a run that did not begin.
struct Failure {
    error: RunError,
    span: Option<RunSpan>,
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        Self { error, span: None }
    }
}

/// Opens the invocation of a request and begins it.
async fn open_once(parts: Arc<RunnerInner>, request: Box<RunRequest>, run: Arc<RunState>) -> Result<Opened, Failure> {
    if run.stop.is_requested() {
        return Ok(Opened { span: None, next: Next::End(Outcome::Cut(None)) });
    }
    let is_shared = request.is_shared;
    match open_and_begin(&parts, request, &run).await {
        // Answered in the meantime. Followers of the session must not see that as a failure.
        Err(Failure { error: RunError::AlreadyAnswered { invocation, .. }, span }) if is_shared => {
            let outcome = match run.key() {
                Some(session) => Outcome::Elsewhere { session, invocation },
                None => Outcome::Cut(None),
            };
            Ok(Opened { span, next: Next::End(outcome) })
        }
        started => started,
    }
}

/// Opens and begins the invocation; for answers once more if another writer has changed the session in the meantime.
async fn open_and_begin(
    parts: &Arc<RunnerInner>,
    request: Box<RunRequest>,
    run: &Arc<RunState>,
) -> Result<Opened, Failure> {
    let again = request.answer_checks.is_some().then(|| request.clone());
    let opened = parts.open(request, run).await?;
    let mut shown = PluginMessage::default();
    match (begin_opened(parts, opened, run, &mut shown, again.is_some()).await, again) {
        (Err(stale), Some(request)) if is_stale(&stale.error) => {
            // Boxed, as everything rare: the future of each run is as large as its largest part.
            Box::pin(reopen_after_lost_race(parts, request, run, &mut shown, stale)).await
        }
        (begun, _) => begun,
    }
}

/// Begins an invocation again after another writer changed the session first.
async fn reopen_after_lost_race(
    parts: &Arc<RunnerInner>,
    mut request: Box<RunRequest>,
    run: &Arc<RunState>,
    shown: &mut PluginMessage,
    Failure { error, span }: Failure,
) -> Result<Opened, Failure> {
    span.into_iter().for_each(|span| span.fail(&error));
    // The other writer may have stored this very answer, so check again.
    let key = run.key().ok_or(error)?;
    request.observes = true;
    if let Some(checks) = request.answer_checks.as_mut().filter(|checks| checks.if_answered == IfAnswered::Replaces) {
        checks.if_answered = IfAnswered::IsAcceptedIfSame;
    }
    let opened = match parts.load_and_check(key.clone(), request, run).await? {
        Checked::Opened(opened) => opened,
        Checked::WorksElsewhere(_, invocation) => {
            return Err(RunError::Busy { session: key, invocation: Some(invocation) }.into());
        }
    };
    begin_opened(parts, opened, run, shown, false).await
}

/// Returns `true` if another writer was first. If the same event is appended twice, some backends report the duplicate id before the
/// stale revision.
fn is_stale(error: &RunError) -> bool {
    matches!(error, RunError::Session(error) if error.is_stale() || matches!(error, SessionError::EventAlreadyExists { .. }))
}

/// Begins the opened invocation. `retries` is true if the caller tries again after a stale session.
async fn begin_opened(
    parts: &Arc<RunnerInner>,
    opened: OpenedRequest,
    run: &Arc<RunState>,
    shown: &mut PluginMessage,
    retries: bool,
) -> Result<Opened, Failure> {
    let opening = match opened {
        OpenedRequest::Own(opening) => opening,
        OpenedRequest::Join(share) => {
            let future = Box::pin(forward_leader_events(share, Arc::clone(run)));
            return Ok(Opened { span: None, next: Next::Run(Work { future, ic: None }) });
        }
    };
    let span = RunSpan::new(parts.on_span.open(&opening.invocation.ic, parts.root.spec(), opening.history.is_some()));
    let begin = pin!(async {
        let ic = opening.invocation.ic.clone();
        match opening.begin(parts, run, shown).await {
            Ok(Begun::Runs(invocation)) => {
                let future = Box::pin(invocation.run(Arc::clone(parts), Arc::clone(run)));
                Ok(Next::Run(Work { future, ic: Some(ic) }))
            }
            Err(error) if retries && is_stale(&error) => Err(error),
            Ok(Begun::Repeated(invocation, difference)) => {
                return_recorded(parts, &invocation, difference, run).await.map(Next::End)
            }
            Ok(Begun::Observed(invocation)) => observe(parts, &invocation, run).await.map(Next::End),
            Err(error) => Err(report(ic, error).await),
        }
    });
    match span.around(begin).await {
        Ok(next) => Ok(Opened { span: Some(span), next }),
        Err(error) => Err(Failure { error, span: Some(span) }),
    }
}

/// Returns the recorded outcome of an invocation that was started before.
async fn return_recorded(
    parts: &RunnerInner,
    begun: &Invocation,
    difference: Option<Difference>,
    run: &RunState,
) -> Result<Outcome, RunError> {
    let outcome = replay_result(parts, begun, difference, &run.stop).await?;
    // Only now, because a request with a different message has failed above unless the invocation is done.
    run.begin(begun.ic.invocation_id());
    Ok(outcome)
}

/// Returns the outcome of a run whose answers another process has stored: the recorded one, or [`Outcome::Elsewhere`] if that process runs
/// the invocation.
async fn observe(parts: &RunnerInner, begun: &Invocation, run: &RunState) -> Result<Outcome, RunError> {
    match replay_result(parts, begun, None, &run.stop).await {
        Err(RunError::Unfinished { session, invocation }) => Ok(Outcome::Elsewhere { session, invocation }),
        recorded => recorded,
    }
}

/// Notifies the plugins of a failure.
async fn report(ic: InvocationHandle, error: RunError) -> RunError {
    ic.services().plugins.on_run_error(&ic, &error.to_node_error()).await;
    error
}

impl Driver {
    pub(crate) fn new(parts: Arc<RunnerInner>, request: Box<RunRequest>, run: Arc<RunState>) -> Self {
        let registration = Registration { parts, run, state: RegistrationState::New };
        Self { phase: Phase::New(request), span: None, registration }
    }

    /// Starts to open the invocation, at the first poll.
    fn start(&mut self) {
        self.phase = match std::mem::replace(&mut self.phase, Phase::Ended) {
            Phase::New(request) => {
                let Registration { parts, run, .. } = &self.registration;
                Phase::Starting(Box::pin(open_once(Arc::clone(parts), request, Arc::clone(run))))
            }
            begun => begun,
        };
    }

    fn poll_phase(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<Outcome, RunError>> {
        loop {
            match &mut self.phase {
                Phase::New(_) => self.start(),
                Phase::Starting(starting) => match ready!(starting.as_mut().poll(cx)) {
                    Ok(Opened { span, next }) => {
                        self.span = span;
                        match next {
                            Next::Run(work) => self.phase = Phase::Running(work),
                            Next::End(outcome) => return self.end_with(Ok(outcome)),
                        }
                    }
                    Err(Failure { error, span }) => {
                        self.span = span;
                        return self.end_with(Err(error));
                    }
                },
                Phase::Running(Work { future, ic }) => {
                    let ended = ready!(RunSpan::within(self.span.as_ref(), || future.as_mut().poll(cx)));
                    match (ended, ic.take()) {
                        // The future has ended, so the nodes are cancelled before the plugins are notified.
                        (Err(error), Some(ic)) => self.phase = Phase::Failing(Box::pin(report(ic, error))),
                        (ended, _) => return self.end_with(ended),
                    }
                }
                Phase::Failing(failing) => {
                    let error = ready!(RunSpan::within(self.span.as_ref(), || failing.as_mut().poll(cx)));
                    return self.end_with(Err(error));
                }
                // Nobody polls a run that has ended.
                Phase::Ended => return Poll::Pending,
            }
        }
    }

    fn end_with(&mut self, ended: Result<Outcome, RunError>) -> Poll<Result<Outcome, RunError>> {
        self.phase = Phase::Ended;
        Poll::Ready(ended)
    }
}

impl PollRun for Driver {
    fn enter(&mut self) -> Result<(), RunError> {
        self.registration.enter()
    }

    fn stream(&mut self) {
        if let Phase::New(request) = &mut self.phase {
            request.config.streaming_mode = StreamingMode::Sse;
        }
    }

    fn poll(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<(), RunError>> {
        if let Err(error) = self.registration.enter() {
            return Poll::Ready(Err(error));
        }
        match ready!(self.poll_phase(cx)) {
            Err(error) => {
                self.span.take().into_iter().for_each(|span| span.fail(&error));
                self.registration.end(Err(&error));
                Poll::Ready(Err(error))
            }
            Ok(outcome) => {
                let (end, questions) = outcome.span_end();
                self.span.take().into_iter().for_each(|span| span.end(end, questions));
                self.registration.end(Ok(outcome));
                Poll::Ready(Ok(()))
            }
        }
    }
}

/// The registration of a run among the active ones, from its first poll to its end.
struct Registration {
    parts: Arc<RunnerInner>,
    run: Arc<RunState>,
    state: RegistrationState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RegistrationState {
    New,
    Registered,
    Removed,
}

impl Registration {
    /// Registers the run, unless it has begun.
    fn enter(&mut self) -> Result<(), RunError> {
        if self.state == RegistrationState::New {
            self.state = RegistrationState::Registered;
            if let Err(error) = self.parts.active.enter(&self.run) {
                self.end(Err(&error));
                return Err(error);
            }
        }
        Ok(())
    }

    /// Removes the run, which has ended.
    fn end(&mut self, result: Result<Outcome, &RunError>) {
        self.state = RegistrationState::Removed;
        // Removed before the end is published: a waiting caller may start another run at once.
        self.leave();
        match result {
            Ok(outcome) => self.run.complete(outcome),
            Err(error) => self.run.fail(error),
        }
    }

    /// Removes the run, and remembers that this Runner does not work on the session any more.
    fn leave(&self) {
        let Self { parts, run, .. } = self;
        if let (Some(_), true, Some(key)) = (parts.heartbeat, run.executes(), run.key()) {
            parts.left.note(key, run.last_change());
        }
        parts.active.leave(run);
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if self.state != RegistrationState::Removed {
            self.leave();
            self.run.drop_unfinished();
        }
    }
}
