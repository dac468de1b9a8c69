//! Replacing U+0000 in actions.

use super::{Delta, EventActions, Ops};
use crate::nul::{replace_nul_in, replace_nul_in_map, replace_nul_in_text};
use crate::quick_check::Clean;

impl EventActions {
    /// Replaces U+0000 by U+FFFD in every string and key except the route, which a node chooses. Returns `true` if
    /// there was any.
    pub fn replace_nul(&mut self) -> bool {
        let found = self.state_delta.as_deref_mut().is_some_and(Delta::replace_nul);
        if self.uncommon.as_ref().is_none_or(|uncommon| uncommon.passes(&Clean)) {
            return found;
        }
        let mut others = Self { uncommon: self.uncommon.take(), ..Self::default() };
        let has_replaced = replace_nul_in(&mut others);
        self.uncommon = others.uncommon;
        found || has_replaced
    }
}

impl Delta {
    fn replace_nul(&mut self) -> bool {
        let found = replace_nul_in_map(&mut self.values);
        self.ops.as_deref_mut().is_some_and(Ops::replace_nul) || found
    }
}

impl Ops {
    fn replace_nul(&mut self) -> bool {
        let mut found = false;
        self.pending = std::mem::take(&mut self.pending)
            .into_iter()
            .map(|(mut key, mut ops)| {
                found |= replace_nul_in_text(&mut key);
                found |= ops.iter_mut().fold(false, |found, op| found | op.replace_nul());
                (key, ops)
            })
            .collect();
        found
    }
}
