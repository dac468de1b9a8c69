//! [`FaultPlan`]: the faults of a session service's calls.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pleach_context::SystemClock;
use pleach_core::{BoxFuture, Clock};
use pleach_session::{SessionError, SessionResult};

use crate::gate::{Call, Gate, Pass};
use crate::{HeldTime, Operation, Seed};

type MakeError = Arc<dyn Fn() -> SessionError + Send + Sync>;

/// The faults of a session service's calls. Calls of each operation are counted from 1, over all clones of the service.
/// If several faults are set for one call, the last one wins.
pub struct FaultPlan {
    faults: BTreeMap<(Operation, usize), Fault>,
    /// For each operation, the call from which every call fails.
    gone_from: BTreeMap<Operation, usize>,
    /// The call, counted over all operations, from which every call fails.
    all_gone_from: Option<usize>,
    /// The probabilities that a call fails before it is made, and that a write fails after it was made.
    rates: (f64, f64),
    /// The maximum number of times that a call yields to other tasks, both before and after its work.
    yields: usize,
    /// Whether paused time does not advance during a call.
    holds_time: bool,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

struct State {
    seed: Seed,
    calls: BTreeMap<Operation, usize>,
    /// The number of faults that have occurred.
    struck: usize,
}

#[derive(Clone)]
enum Fault {
    Fail(MakeError),
    LoseReply,
    LoseWrite,
    Delay(Duration),
}

impl FaultPlan {
    /// Creates a plan without faults.
    #[must_use]
    pub fn new() -> Self {
        let state = State { seed: Seed::new(0), calls: BTreeMap::new(), struck: 0 };
        Self {
            faults: BTreeMap::new(),
            gone_from: BTreeMap::new(),
            all_gone_from: None,
            rates: (0.0, 0.0),
            yields: 0,
            holds_time: false,
            clock: Arc::new(SystemClock),
            state: Mutex::new(state),
        }
    }

    /// Fails a call with [`SessionError::Unavailable`]. Nothing is stored.
    ///
    /// # Panics
    /// If `call` is 0: calls are counted from 1.
    #[must_use]
    pub fn fail(self, operation: Operation, call: usize) -> Self {
        self.fail_with(operation, call, move || unavailable(operation, "it was not made"))
    }

    /// Fails this call and every later one with [`SessionError::Unavailable`], as if the store were gone. A fault set
    /// for a single call takes precedence.
    ///
    /// # Panics
    /// If `call` is 0: calls are counted from 1.
    #[must_use]
    pub fn fail_from(mut self, operation: Operation, call: usize) -> Self {
        assert_call(call);
        self.gone_from.insert(operation, call);
        self
    }

    /// Fails all operations from this call on with [`SessionError::Unavailable`], as if the store were gone. Here the
    /// calls of all operations are counted together. A fault set for a single call takes precedence.
    ///
    /// # Panics
    /// If `call` is 0: calls are counted from 1.
    #[must_use]
    pub fn fail_all_from(mut self, call: usize) -> Self {
        assert_call(call);
        self.all_gone_from = Some(call);
        self
    }

    /// Fails a call with your own error. Nothing is stored.
    ///
    /// # Panics
    /// If `call` is 0: calls are counted from 1.
    #[must_use]
    pub fn fail_with(
        self,
        operation: Operation,
        call: usize,
        error: impl Fn() -> SessionError + Send + Sync + 'static,
    ) -> Self {
        self.fault(operation, call, Fault::Fail(Arc::new(error)))
    }

    /// Makes a call and loses its reply: the caller gets [`SessionError::Unavailable`], although the write is stored.
    ///
    /// # Panics
    /// If `call` is 0: calls are counted from 1.
    #[must_use]
    pub fn lose_reply(self, operation: Operation, call: usize) -> Self {
        self.fault(operation, call, Fault::LoseReply)
    }

    /// Reports an append as successful without making it. This simulates a broken service, for tests of checks.
    ///
    /// # Panics
    /// If `call` is 0: calls are counted from 1.
    #[must_use]
    pub fn lose_append(self, call: usize) -> Self {
        self.fault(Operation::Append, call, Fault::LoseWrite)
    }

    /// Delays a call, by the plan's clock.
    ///
    /// # Panics
    /// If `call` is 0: calls are counted from 1.
    #[must_use]
    pub fn delay(self, operation: Operation, call: usize, by: Duration) -> Self {
        self.fault(operation, call, Fault::Delay(by))
    }

    /// Sets the clock for delays: by default the machine's clock.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Sets the seed for all random choices: 0 by default.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        self.state().seed = Seed::new(seed);
        self
    }

    /// Fails calls at random with [`SessionError::Unavailable`]. Each call fails before it is made with the probability
    /// `before`. Each write that is made (append, claim, redact, create, delete) fails afterwards with the probability
    /// `behind`, so that it is stored. Both are between 0 and 1.
    ///
    /// # Panics
    /// If a probability is not between 0 and 1.
    #[must_use]
    pub fn rates(mut self, before: f64, behind: f64) -> Self {
        for rate in [before, behind] {
            assert!((0.0..=1.0).contains(&rate), "a probability is between 0 and 1, not {rate}");
        }
        self.rates = (before, behind);
        self
    }

    /// Holds tokio's paused time during calls, for databases in tests with `start_paused = true`. See [`HeldTime`].
    #[must_use]
    pub fn holds_time(mut self) -> Self {
        self.holds_time = true;
        self
    }

    /// Lets every call yield up to `most` times both before and after its work, as the seed chooses. Meanwhile other
    /// tasks, and other futures of [`interleave`](crate::interleave), continue.
    #[must_use]
    pub fn yields(mut self, most: usize) -> Self {
        self.yields = most;
        self
    }

    fn fault(mut self, operation: Operation, call: usize, fault: Fault) -> Self {
        assert_call(call);
        self.faults.insert((operation, call), fault);
        self
    }

    /// Decides what happens to the next call of an operation.
    async fn decide(&self, operation: Operation) -> SessionResult<Pass> {
        self.pause().await;
        let fault = self.strike(operation);
        if let Some(Fault::Delay(by)) = fault {
            self.clock.sleep(by).await;
        }
        let held = self.holds_time.then(HeldTime::new);
        match fault {
            Some(Fault::Fail(error)) => Err(error()),
            Some(Fault::LoseReply) => Ok(Pass::ReplyLost(unavailable(operation, "its reply was lost"), held)),
            Some(Fault::LoseWrite) => Ok(Pass::WriteLost),
            Some(Fault::Delay(_)) | None => Ok(Pass::Made(0, held)),
        }
    }

    /// Counts a call, and returns its fault, if any.
    fn strike(&self, operation: Operation) -> Option<Fault> {
        let mut state = self.state();
        let count = state.calls.entry(operation).or_default();
        *count += 1;
        let count = *count;
        let all: usize = state.calls.values().sum();
        let is_gone = self.gone_from.get(&operation).is_some_and(|first| *first <= count)
            || self.all_gone_from.is_some_and(|first| first <= all);
        let fault = self.faults.get(&(operation, count)).cloned().or_else(|| {
            if is_gone || state.seed.chance(self.rates.0) {
                return Some(Fault::Fail(Arc::new(move || unavailable(operation, "it was not made"))));
            }
            (operation.writes() && state.seed.chance(self.rates.1)).then_some(Fault::LoseReply)
        });
        state.struck += usize::from(fault.is_some());
        fault
    }

    /// Yields to other tasks.
    async fn pause(&self) {
        if self.yields == 0 {
            return;
        }
        let times = self.state().seed.below(self.yields + 1);
        for _ in 0..times {
            tokio::task::yield_now().await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Gate for FaultPlan {
    fn enter<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, SessionResult<Pass>> {
        Box::pin(self.decide(call.operation))
    }

    fn leave<'a>(&'a self, _: Call<'a>, _: usize, _: bool) -> BoxFuture<'a, ()> {
        Box::pin(self.pause())
    }

    fn calls(&self, operation: Operation) -> usize {
        self.state().calls.get(&operation).copied().unwrap_or_default()
    }

    fn faults(&self) -> usize {
        self.state().struck
    }

    fn unused(&self) -> Vec<(Operation, usize)> {
        let state = self.state();
        let has_come = |operation, call| state.calls.get(&operation).is_some_and(|calls| *calls >= call);
        let gone = self.gone_from.iter().map(|(operation, call)| (*operation, *call));
        self.faults.keys().copied().chain(gone).filter(|(operation, call)| !has_come(*operation, *call)).collect()
    }
}

impl Default for FaultPlan {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for FaultPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults: Vec<_> = self.faults.keys().collect();
        f.debug_struct("FaultPlan").field("faults", &faults).field("rates", &self.rates).finish_non_exhaustive()
    }
}

fn assert_call(call: usize) {
    assert!(call > 0, "calls are counted from 1: there is no call 0");
}

fn unavailable(operation: Operation, what: &str) -> SessionError {
    let source = format!("a fault of the test: {what}").into();
    SessionError::Unavailable { what: format!("the session service ({operation})"), source }
}
