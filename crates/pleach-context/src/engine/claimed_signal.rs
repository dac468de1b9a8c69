//! [`ClaimedSignal`]: a kept signal on its way to the event that records who took it.

use crate::history::KeptSignal;
use crate::{Context, History};

use super::Engine as _;

/// A signal that this run takes. Dropped before [`commit`](Self::commit), it waits for a run again.
///
/// The invocation knows which signals are claimed, because its history may be read again before the event is stored.
#[derive(Debug)]
pub(crate) struct ClaimedSignal {
    ctx: Context,
    time: u32,
    signal: Option<KeptSignal>,
}

impl ClaimedSignal {
    /// Claims the first signal that was kept with one of these names.
    pub(crate) fn first(ctx: &Context, history: &History, names: &[String]) -> Option<Self> {
        let ic = ctx.invocation().engine();
        let (time, signal) = history.signals().take(names, |event| ic.claimed_signals().contains(event))?;
        ic.claimed_signals().insert(signal.event.clone());
        Some(Self { ctx: ctx.clone(), time, signal: Some(signal) })
    }

    /// Returns the signal.
    pub(crate) fn signal(&self) -> KeptSignal {
        self.signal.clone().unwrap_or_default()
    }

    /// Notes that the event is stored.
    pub(crate) fn commit(mut self) {
        self.signal = None;
    }
}

impl Drop for ClaimedSignal {
    fn drop(&mut self) {
        let Some(signal) = self.signal.take() else { return };
        let ic = self.ctx.invocation().engine();
        ic.claimed_signals().remove(&signal.event);
        if let Some(history) = ic.history() {
            history.signals().put_back(self.time, signal);
        }
    }
}
