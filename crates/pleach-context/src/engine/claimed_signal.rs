//! [`ClaimedSignal`]: a kept signal on its way to the event that records who took it.

use crate::history::KeptSignal;
use crate::live_signals::TakenSignal;
use crate::{Context, History};

use super::Engine as _;

/// A signal that this run takes. Dropped before [`commit`](Self::commit), it waits for a run again.
///
/// The invocation knows which signals are claimed, because its history may be read again before the event is stored.
#[derive(Debug)]
pub(crate) struct ClaimedSignal {
    ctx: Context,
    taken: Option<TakenSignal>,
}

impl ClaimedSignal {
    /// Claims the first signal that was kept with one of these names.
    pub(crate) fn first(ctx: &Context, history: Option<&History>, names: &[String]) -> Option<Self> {
        let taken = ctx.invocation().engine().signals().claim(history.map(History::signals), names)?;
        Some(Self { ctx: ctx.clone(), taken: Some(taken) })
    }

    /// Returns the signal.
    pub(crate) fn signal(&self) -> KeptSignal {
        self.taken.as_ref().map(|taken| taken.signal.clone()).unwrap_or_default()
    }

    /// Notes that the event is stored.
    pub(crate) fn commit(mut self) {
        self.taken = None;
    }
}

impl Drop for ClaimedSignal {
    fn drop(&mut self) {
        let Some(taken) = self.taken.take() else { return };
        let ic = self.ctx.invocation().engine();
        ic.signals().give_back(ic.history().as_deref().map(History::signals), taken);
    }
}
