//! [`SeqIds`]: counted ids.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pleach_core::{IdGen, Uuid};

/// Makes the UUIDs `00000000-0000-4000-8000-000000000001`, `…2` and so on, and a jitter that is always 0.5.
///
/// Clones share one counter, so that the Runners of several processes make no id twice.
#[derive(Clone, Debug, Default)]
pub struct SeqIds {
    made: Arc<AtomicU64>,
}

impl SeqIds {
    /// Creates a counter that starts at one.
    pub fn new() -> Self {
        Self::default()
    }
}

impl IdGen for SeqIds {
    fn uuid(&self) -> Uuid {
        // The version and variant bits of a random UUID, for readers that check them.
        const FRAME: u128 = 0x0000_0000_0000_4000_8000_0000_0000_0000;
        let number = self.made.fetch_add(1, Ordering::Relaxed) + 1;
        Uuid::from_u128(FRAME | u128::from(number))
    }

    fn uniform(&self) -> f64 {
        0.5
    }
}
