//! [`CountedIds`]: counted ids that several Runners can share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pleach_core::{IdGen, Uuid};

/// The version and variant bits of a random UUID, for readers that check them.
const FRAME: u128 = 0x0000_0000_0000_4000_8000_0000_0000_0000;

/// Makes the ids `00000000-0000-4000-8000-000000000001`, `…2` and so on, and a jitter that is always 0.5.
///
/// Clones share one counter, so Runners that get clones make no id twice.
///
/// ```
/// use pleach_contract::CountedIds;
/// use pleach_core::IdGen as _;
///
/// let ids = CountedIds::new();
/// assert_eq!(ids.uuid().to_string(), "00000000-0000-4000-8000-000000000001");
/// assert_eq!(ids.clone().uuid().to_string(), "00000000-0000-4000-8000-000000000002");
/// ```
#[derive(Clone, Debug, Default)]
pub struct CountedIds {
    made: Arc<AtomicU64>,
}

impl CountedIds {
    /// Creates a counter that starts at one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns true if an id is a counted one.
    #[must_use]
    pub fn is_counted(id: Uuid) -> bool {
        id.as_u128() >> 64 == FRAME >> 64 && (id.as_u128() ^ FRAME) < 1 << 62
    }
}

impl IdGen for CountedIds {
    fn uuid(&self) -> Uuid {
        let number = self.made.fetch_add(1, Ordering::Relaxed) + 1;
        Uuid::from_u128(FRAME | u128::from(number))
    }

    fn uniform(&self) -> f64 {
        0.5
    }
}
