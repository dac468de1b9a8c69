//! [`ClaimedSignal`]: a kept signal that a run takes, until the event that records it is sent.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::history::KeptSignal;
use crate::live_signals::TakenSignal;
use crate::{Context, History};

/// A signal that this run takes. If it is dropped before [`commit`](Self::commit), the signal is available to other
/// runs again.
///
/// The claim is kept in the invocation and not in its history, which may be read again before the event is stored.
#[derive(Debug)]
pub(crate) struct ClaimedSignal {
    ctx: Context,
    signal: KeptSignal,
    taken: Mutex<Option<TakenSignal>>,
}

impl ClaimedSignal {
    /// Claims the first kept signal that has one of these names.
    pub(crate) fn first(ctx: &Context, history: Option<&History>, names: &[String]) -> Option<Self> {
        let taken = ctx.inner.invocation.signals().claim(history.map(History::signals), names)?;
        Some(Self { ctx: ctx.clone(), signal: taken.signal.clone(), taken: Mutex::new(Some(taken)) })
    }

    /// Takes the signal permanently. Call this when the event that records the signal is sent. That event is stored
    /// even if the body is dropped afterwards.
    pub(crate) fn commit(&self) -> KeptSignal {
        *self.taken() = None;
        self.signal.clone()
    }

    fn taken(&self) -> MutexGuard<'_, Option<TakenSignal>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ClaimedSignal {
    fn drop(&mut self) {
        let Some(taken) = self.taken().take() else { return };
        let ic = &self.ctx.inner.invocation;
        ic.signals().give_back(ic.history().as_deref().map(History::signals), taken);
    }
}
