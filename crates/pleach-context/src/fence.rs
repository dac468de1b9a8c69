//! [`Fence`]: lets a step ask, before its closure begins, whether its run still has the session.

use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context as TaskContext, Poll, Waker};

use futures_util::task::AtomicWaker;

use crate::NodeError;

/// Lets a step ask whether its run still has the session. If a process was suspended, another process may have taken
/// over the run and done the step. The Runner reads the store and answers. Without a Runner, in tests of the engine,
/// no question is asked.
#[derive(Debug, Default)]
pub struct Fence {
    questions: Mutex<Questions>,
    runner: AtomicWaker,
}

#[derive(Debug, Default)]
struct Questions {
    service: Service,
    /// The number of questions so far. `answered` is the number of those that are answered.
    count: u64,
    answered: u64,
    waiting: Vec<Waker>,
}

/// The side that answers the questions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Service {
    #[default]
    Absent,
    Runner,
    /// The Runner, which no longer answers.
    Ended,
}

impl Fence {
    fn questions(&self) -> MutexGuard<'_, Questions> {
        // Each change under the lock is complete before anything can panic.
        self.questions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the Runner has confirmed that the run still has its session. If the run has lost it, the Runner
    /// ends the run, and this future waits until then.
    ///
    /// # Errors
    /// A `RuntimeError` if the run has ended.
    pub(crate) async fn check(&self) -> Result<(), NodeError> {
        let mine = {
            let mut questions = self.questions();
            if questions.service == Service::Absent {
                return Ok(());
            }
            questions.count += 1;
            questions.count
        };
        self.runner.wake();
        poll_fn(|cx| self.poll_answer(mine, cx)).await
    }

    fn poll_answer(&self, mine: u64, cx: &TaskContext<'_>) -> Poll<Result<(), NodeError>> {
        let mut questions = self.questions();
        if questions.answered >= mine {
            return Poll::Ready(Ok(()));
        }
        if questions.service == Service::Ended {
            return Poll::Ready(Err(NodeError::new("RuntimeError", "the run has ended before the step began")));
        }
        questions.waiting.push(cx.waker().clone());
        Poll::Pending
    }

    /// Begins to answer. For the Runner, which then answers the questions up to [`unanswered`](Self::unanswered), and
    /// finally calls [`end`](Self::end).
    pub fn serve(&self) {
        self.questions().service = Service::Runner;
    }

    /// Ends the answers: all current and later questions get an error.
    pub fn end(&self) {
        let waiting = {
            let mut questions = self.questions();
            questions.service = Service::Ended;
            std::mem::take(&mut questions.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Returns the number of the newest question, unless all are answered. An answer found from now on answers all
    /// questions up to this number.
    #[must_use]
    pub fn unanswered(&self) -> Option<u64> {
        let questions = self.questions();
        (questions.answered < questions.count).then_some(questions.count)
    }

    /// Records that the run has the session, which answers the questions up to this number.
    pub fn passed(&self, number: u64) {
        let waiting = {
            let mut questions = self.questions();
            questions.answered = questions.answered.max(number);
            std::mem::take(&mut questions.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Registers the waker for the next question. For the Runner.
    pub fn wake_on_question(&self, waker: &Waker) {
        self.runner.register(waker);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn a_question_waits_for_its_answer() {
        let fence = Fence::default();
        assert!(fence.check().now_or_never().is_some(), "without a Runner no question is asked");
        fence.serve();
        let (mut first, cx) = (pin!(fence.check()), &mut TaskContext::from_waker(Waker::noop()));
        assert!(first.as_mut().poll(cx).is_pending());
        let number = fence.unanswered().unwrap();
        let mut second = pin!(fence.check());
        assert!(second.as_mut().poll(cx).is_pending());
        fence.passed(number);
        assert!(matches!(first.as_mut().poll(cx), Poll::Ready(Ok(()))));
        assert!(second.as_mut().poll(cx).is_pending(), "it came after the look at the store");
        assert!(fence.unanswered().is_some());
        fence.end();
        assert!(matches!(second.as_mut().poll(cx), Poll::Ready(Err(_))));
        assert!(matches!(fence.check().now_or_never(), Some(Err(_))));
    }
}
