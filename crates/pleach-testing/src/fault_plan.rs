//! [`FaultPlan`]: which calls of a session service go wrong, and how.

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

/// Which calls of a session service go wrong. Calls of an operation are counted from 1, over all clones of the service. A call has
/// one fault: the last that is set for it.
pub struct FaultPlan {
    faults: BTreeMap<(Operation, usize), Fault>,
    /// From which call on every one fails.
    gone_from: BTreeMap<Operation, usize>,
    /// From which call of all operations on every one fails.
    all_gone_from: Option<usize>,
    /// How likely each call fails before it is made, and each write behind it.
    rates: (f64, f64),
    /// At most so many times a call lets others go first, before and behind what it does.
    yields: usize,
    /// Whether paused time does not advance during a call.
    holds_time: bool,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

struct State {
    seed: Seed,
    calls: BTreeMap<Operation, usize>,
    /// How many faults have struck.
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
    /// A plan without faults.
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
    /// For call 0: calls are counted from 1.
    #[must_use]
    pub fn fail(self, operation: Operation, call: usize) -> Self {
        self.fail_with(operation, call, move || unavailable(operation, "it was not made"))
    }

    /// Fails a call and every later one with [`SessionError::Unavailable`]: the store is gone. A fault of one call precedes it.
    ///
    /// # Panics
    /// For call 0: calls are counted from 1.
    #[must_use]
    pub fn fail_from(mut self, operation: Operation, call: usize) -> Self {
        assert_call(call);
        self.gone_from.insert(operation, call);
        self
    }

    /// Fails the call with this number among those of all operations, and every later one, with [`SessionError::Unavailable`]: the store is
    /// gone for everything. A fault of one call precedes it.
    ///
    /// # Panics
    /// For call 0: calls are counted from 1.
    #[must_use]
    pub fn fail_all_from(mut self, call: usize) -> Self {
        assert_call(call);
        self.all_gone_from = Some(call);
        self
    }

    /// Fails a call with an error of your own. Nothing is stored.
    ///
    /// # Panics
    /// For call 0: calls are counted from 1.
    #[must_use]
    pub fn fail_with(
        self,
        operation: Operation,
        call: usize,
        error: impl Fn() -> SessionError + Send + Sync + 'static,
    ) -> Self {
        self.fault(operation, call, Fault::Fail(Arc::new(error)))
    }

    /// Makes a call and loses its answer: the caller gets [`SessionError::Unavailable`], and what was to be stored is stored.
    ///
    /// # Panics
    /// For call 0: calls are counted from 1.
    #[must_use]
    pub fn lose_reply(self, operation: Operation, call: usize) -> Self {
        self.fault(operation, call, Fault::LoseReply)
    }

    /// Answers an append as if it were made, and does not make it: a broken service, for tests of checks.
    ///
    /// # Panics
    /// For call 0: calls are counted from 1.
    #[must_use]
    pub fn lose_append(self, call: usize) -> Self {
        self.fault(Operation::Append, call, Fault::LoseWrite)
    }

    /// Makes a call later, by the plan's clock.
    ///
    /// # Panics
    /// For call 0: calls are counted from 1.
    #[must_use]
    pub fn delay(self, operation: Operation, call: usize, by: Duration) -> Self {
        self.fault(operation, call, Fault::Delay(by))
    }

    /// Sets the clock of delays: that of the machine by default.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Sets the seed of everything that is random: 0 by default.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        self.state().seed = Seed::new(seed);
        self
    }

    /// Fails calls by chance with [`SessionError::Unavailable`]: each before it is made with the probability `before`, and each write
    /// (append, claim, redact, create, delete) whose turn has come behind it with the probability `behind`, so that it is stored. Between 0 and 1.
    ///
    /// # Panics
    /// For a probability that is not between 0 and 1.
    #[must_use]
    pub fn rates(mut self, before: f64, behind: f64) -> Self {
        for rate in [before, behind] {
            assert!((0.0..=1.0).contains(&rate), "a probability is between 0 and 1, not {rate}");
        }
        self.rates = (before, behind);
        self
    }

    /// Holds tokio's paused time while calls are under way: for databases in tests with `start_paused = true`. See [`HeldTime`].
    #[must_use]
    pub fn holds_time(mut self) -> Self {
        self.holds_time = true;
        self
    }

    /// Lets every call yield up to `most` times before and behind what it does, as the seed chooses: other tasks, and other futures of
    /// [`interleave`](crate::interleave), continue meanwhile.
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

    /// Decides about the next call of an operation.
    async fn decide(&self, operation: Operation) -> SessionResult<Pass> {
        self.pause().await;
        let fault = self.strike(operation);
        if let Some(Fault::Delay(by)) = fault {
            self.clock.sleep(by).await;
        }
        let held = self.holds_time.then(HeldTime::new);
        match fault {
            Some(Fault::Fail(error)) => Err(error()),
            Some(Fault::LoseReply) => Ok(Pass::ReplyLost(unavailable(operation, "its answer is lost"), held)),
            Some(Fault::LoseWrite) => Ok(Pass::WriteLost),
            Some(Fault::Delay(_)) | None => Ok(Pass::Made(0, held)),
        }
    }

    /// Counts a call; the fault that it meets, if any.
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

    /// Lets others go first.
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
