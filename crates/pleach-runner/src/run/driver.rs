//! [`Driver`]: polls a run from the request to the end, inside the span of its invocation.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, ready};

use pleach_context::engine::InvocationHandle;
use pleach_core::BoxFuture;
use pleach_session::SessionError;

use crate::app::inner::RunnerInner;
use crate::opening::begin::{Begun, PluginMessage};
use crate::opening::open::OpenedRequest;
use crate::run::join::{Difference, forward_leader_events};
use crate::run::outcome::{Outcome, RunEnd};
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
    Starting(BoxFuture<'static, Result<OpenedPhase, Failure>>),
    Running { work: BoxFuture<'static, Result<(), RunError>>, ic: Option<InvocationHandle> },
    Failing(BoxFuture<'static, RunError>),
}

/// A run whose invocation is known.
struct OpenedPhase {
    span: Option<RunSpan>,
    /// The next phase; `None` if the run only returns the recorded result.
    phase: Option<Phase>,
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
async fn open_once(
    parts: Arc<RunnerInner>,
    request: Box<RunRequest>,
    run: Arc<RunState>,
) -> Result<OpenedPhase, Failure> {
    if run.is_closing() {
        return Ok(OpenedPhase { span: None, phase: None });
    }
    // Deadlines and signals with a key have a fixed event id, so another process may store the same answer.
    let is_shared = request.message_id.is_some();
    match open_and_begin(&parts, request, &run).await {
        // Answered in the meantime. Followers of the session must not see that as a failure.
        Err(Failure { error: RunError::AlreadyAnswered { invocation, .. }, span }) if is_shared => {
            if let Some(session) = run.key() {
                run.set_outcome(Outcome::Elsewhere { session, invocation });
            }
            Ok(OpenedPhase { span, phase: None })
        }
        started => started,
    }
}

/// Opens and begins the invocation; for answers once more if another writer has changed the session in the meantime.
async fn open_and_begin(
    parts: &Arc<RunnerInner>,
    request: Box<RunRequest>,
    run: &Arc<RunState>,
) -> Result<OpenedPhase, Failure> {
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
) -> Result<OpenedPhase, Failure> {
    span.into_iter().for_each(|span| span.fail(&error));
    // The other writer may have stored this very answer, so check again.
    let key = run.key().ok_or(error)?;
    request.observes = true;
    let opened = parts.load_and_check(key, request, run).await?;
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
) -> Result<OpenedPhase, Failure> {
    let opening = match opened {
        OpenedRequest::Own(opening) => opening,
        OpenedRequest::Join(share) => {
            let phase = Phase::Running { work: Box::pin(forward_leader_events(share, Arc::clone(run))), ic: None };
            return Ok(OpenedPhase { span: None, phase: Some(phase) });
        }
    };
    let span = RunSpan::new(parts.on_span.open(&opening.invocation.ic, parts.root.spec(), opening.history.is_some()));
    let begin = pin!(async {
        let ic = opening.invocation.ic.clone();
        match opening.begin(parts, run, shown).await {
            Ok(Begun::Runs(invocation)) => {
                let work = Box::pin(invocation.run(Arc::clone(parts), Arc::clone(run)));
                Ok(Some(Phase::Running { work, ic: Some(ic) }))
            }
            Err(error) if retries && is_stale(&error) => Err(error),
            Ok(Begun::Repeated(invocation, difference)) => {
                return_recorded(parts, &invocation, difference, run).await.map(|()| None)
            }
            Ok(Begun::Observed(invocation)) => observe(parts, &invocation, run).await.map(|()| None),
            Err(error) => Err(report(ic, error).await),
        }
    });
    match span.around(begin).await {
        Ok(phase) => Ok(OpenedPhase { span: Some(span), phase }),
        Err(error) => Err(Failure { error, span: Some(span) }),
    }
}

/// Ends a run with the recorded result of its invocation, which was started before.
async fn return_recorded(
    parts: &RunnerInner,
    begun: &Invocation,
    difference: Option<Difference>,
    run: &RunState,
) -> Result<(), RunError> {
    replay_result(parts, begun, difference, run).await?;
    // Only now, because a request with a different message has failed above unless the invocation is done.
    run.begin(begun.ic.invocation_id());
    Ok(())
}

/// Ends a run whose answers another process has stored: with the recorded result, or as [`RunEnd::Elsewhere`] if that process runs the
/// invocation.
async fn observe(parts: &RunnerInner, begun: &Invocation, run: &RunState) -> Result<(), RunError> {
    match replay_result(parts, begun, None, run).await {
        Err(RunError::Unfinished { session, invocation }) => {
            run.set_outcome(Outcome::Elsewhere { session, invocation });
            Ok(())
        }
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
        let phase = Phase::Starting(Box::pin(open_once(Arc::clone(&parts), request, Arc::clone(&run))));
        Self { phase, span: None, registration: Registration { parts, run, state: RegistrationState::New } }
    }

    fn poll_phase(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<(), RunError>> {
        loop {
            let (span, next) = (&self.span, &mut self.phase);
            match next {
                Phase::Starting(starting) => match ready!(starting.as_mut().poll(cx)) {
                    Ok(OpenedPhase { span, phase }) => {
                        self.span = span;
                        let Some(phase) = phase else { return Poll::Ready(Ok(())) };
                        self.phase = phase;
                    }
                    Err(Failure { error, span }) => {
                        self.span = span;
                        return Poll::Ready(Err(error));
                    }
                },
                Phase::Running { work, ic } => {
                    let ended = ready!(RunSpan::within(span.as_ref(), || work.as_mut().poll(cx)));
                    match (ended, ic.take()) {
                        // The future has ended, so the nodes are cancelled before the plugins are notified.
                        (Err(error), Some(ic)) => self.phase = Phase::Failing(Box::pin(report(ic, error))),
                        (ended, _) => return Poll::Ready(ended),
                    }
                }
                Phase::Failing(failing) => {
                    let error = ready!(RunSpan::within(span.as_ref(), || failing.as_mut().poll(cx)));
                    return Poll::Ready(Err(error));
                }
            }
        }
    }
}

impl PollRun for Driver {
    fn enter(&mut self) -> Result<(), RunError> {
        self.registration.enter()
    }

    fn poll(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<(), RunError>> {
        if let Err(error) = self.registration.enter() {
            return Poll::Ready(Err(error));
        }
        let ended = ready!(self.poll_phase(cx));
        match &ended {
            Err(error) => {
                self.span.take().into_iter().for_each(|span| span.fail(error));
                self.registration.end(Some(error));
            }
            Ok(()) => {
                let (end, questions) = self.registration.run.span_end();
                self.span.take().into_iter().for_each(|span| span.end(end, questions));
                self.registration.end(None);
            }
        }
        Poll::Ready(ended)
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
                self.end(Some(&error));
                return Err(error);
            }
        }
        Ok(())
    }

    /// Removes the run, which has ended, possibly with an error.
    fn end(&mut self, error: Option<&RunError>) {
        self.state = RegistrationState::Removed;
        // Removed before the end is published: a waiting caller may start another run at once.
        self.parts.active.leave(&self.run);
        match error {
            Some(error) => self.run.fail(error),
            None => self.run.complete(),
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if self.state != RegistrationState::Removed {
            self.parts.active.leave(&self.run);
            self.run.finish(RunEnd::Cut);
        }
    }
}
