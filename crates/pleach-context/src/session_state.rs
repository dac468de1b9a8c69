//! [`SessionState`]: the session state as an invocation sees it, in the order of its writes.
//!
//! Several runs may write the same key, and their events may be stored in another order than the writes. The order of
//! the writes decides: readers see the newest write, and an event that is stored late must not undo it, here or
//! in the store. Therefore each key keeps its writes until all of them are stored. For a key that only one run
//! writes, only the delta of that run is kept.

use std::collections::VecDeque;

use foldhash::HashMap;
use pleach_core::{EventActions, Map, Scope, StateOp, StateOpError, is_reserved_state_key};
use serde_json::Value;
use smol_str::SmolStr;

/// The merged session state, with every write of the invocation.
#[derive(Debug, Default)]
pub(crate) struct SessionState {
    view: Map,
    /// The keys with a write that is not stored yet.
    writes: HashMap<SmolStr, Writes>,
    /// The number of the newest delta.
    deltas: u64,
}

/// The known writes of a key.
#[derive(Debug)]
enum Writes {
    /// This delta sets the key to the value in the view, and no other write is pending.
    Lone(u64),
    Many(Box<Log>),
}

/// The writes of a key in their order, from the first one that is not yet stored.
///
/// Deltas are usually stored in the order of their writes. Each step then reads only the front of the log, so that
/// its cost does not depend on how many runs write the key.
#[derive(Debug, Default)]
struct Log {
    /// The value in the store, as far as this invocation knows it.
    base: Option<Value>,
    entries: VecDeque<Entry>,
    /// The number of entries of each delta that are not stored; a delta without any is absent.
    pending: HashMap<u64, usize>,
    /// The number of entries that are stored.
    stored: usize,
}

#[derive(Debug)]
struct Entry {
    /// The delta that the write belongs to.
    delta: u64,
    stored: bool,
    ops: Vec<StateOp>,
}

impl Entry {
    fn pending(delta: u64, op: StateOp) -> Self {
        Self { delta, stored: false, ops: vec![op] }
    }

    /// Returns true if the value does not depend on earlier writes.
    fn sets(&self) -> bool {
        matches!(self.ops.first(), Some(StateOp::Set(_)))
    }
}

impl Log {
    fn new(base: Option<Value>, delta: u64, op: StateOp) -> Self {
        let mut log = Self { base, ..Self::default() };
        log.push(Entry::pending(delta, op));
        log
    }

    fn push(&mut self, entry: Entry) {
        match entry.stored {
            true => self.stored += 1,
            false => *self.pending.entry(entry.delta).or_default() += 1,
        }
        self.entries.push_back(entry);
    }

    fn pending(&self, delta: u64) -> usize {
        self.pending.get(&delta).copied().unwrap_or_default()
    }

    /// Returns true if the delta sets the value.
    fn is_set_by(&self, delta: u64) -> bool {
        let own = self.entries.iter().filter(|entry| entry.delta == delta && !entry.stored);
        own.take(self.pending(delta)).any(Entry::sets)
    }

    /// Removes the writes of a delta that is not stored.
    fn remove(&mut self, delta: u64) {
        if self.pending.remove(&delta).is_some() {
            self.entries.retain(|entry| entry.delta != delta);
        }
    }

    /// Moves the pending writes of one delta into another. If the other delta has later writes, they are placed
    /// directly after the last of those. Otherwise they keep their place in the order of writes.
    fn adopt(&mut self, from: u64, into: u64) {
        let Some(moved) = self.pending.remove(&from) else { return };
        *self.pending.entry(into).or_default() += moved;
        let is_pending = |entry: &Entry, delta| entry.delta == delta && !entry.stored;
        let newest = self.entries.iter().rposition(|entry| is_pending(entry, into));
        let mut own = Vec::new();
        let mut kept = VecDeque::with_capacity(self.entries.len());
        for (at, mut entry) in self.entries.drain(..).enumerate() {
            let is_own = is_pending(&entry, from);
            if is_own {
                entry.delta = into;
            }
            match is_own && newest.is_some_and(|newest| at < newest) {
                true => own.push(entry),
                false => kept.push_back(entry),
            }
            if newest == Some(at) {
                kept.extend(own.drain(..));
            }
        }
        self.entries = kept;
    }

    /// Returns the value after all writes; `None` if the key is absent.
    fn value(&self) -> Option<Value> {
        let set = self.entries.iter().rposition(Entry::sets);
        if let Some(at) = set.filter(|at| !self.entries[*at].stored) {
            return Some(fold(None, self.entries.range(at..)));
        }
        // The base includes the stored entries.
        let behind = self.entries.range(set.unwrap_or_default()..);
        let mut pending = behind.filter(|entry| !entry.stored).peekable();
        match pending.peek() {
            None => self.base.clone(),
            Some(_) => Some(fold(self.base.clone(), pending)),
        }
    }

    /// Returns what the delta's event stores: a value, or operations that apply to the value in the store.
    ///
    /// A write that others have overwritten is not stored again: its event shows the newest stored value.
    fn carried(&self, delta: u64) -> Carried {
        let counting = self.entries.iter().filter(|entry| entry.stored || entry.delta == delta);
        let counting: Vec<&Entry> = counting.take(self.stored + self.pending(delta)).collect();
        let set = counting.iter().rposition(|entry| entry.sets());
        let behind = counting.get(set.unwrap_or_default()..).unwrap_or_default();
        if behind.first().is_some_and(|first| first.sets() && !first.stored) {
            return Carried::Value(fold(None, behind.iter().copied()));
        }
        let own = behind.iter().filter(|entry| !entry.stored);
        Carried::Ops(own.flat_map(|entry| entry.ops.iter().cloned()).collect())
    }

    /// Records that the delta's event has stored `value`. Returns the value after all writes, unless it has not
    /// changed.
    fn store(&mut self, value: &Value, delta: u64) -> Option<Value> {
        let before = self.base.replace(value.clone());
        let own = self.pending.remove(&delta).unwrap_or_default();
        if own == 0 {
            self.push(Entry { delta, stored: true, ops: vec![StateOp::Set(value.clone())] });
        }
        let of_delta = self.entries.iter_mut().enumerate().filter(|(_, entry)| entry.delta == delta && !entry.stored);
        let mut last = 0;
        for (at, entry) in of_delta.take(own) {
            entry.stored = true;
            last = at;
        }
        self.stored += own;
        let is_first = own > 0 && last + 1 == own;
        if is_first && fold(before, self.entries.range(..own)) == *value {
            return None;
        }
        let newest = self.value().unwrap_or_default();
        self.merge_stored();
        Some(newest)
    }

    /// Removes the entries that no pending event can depend on. Returns false if nothing is left.
    fn trim(&mut self) -> bool {
        while self.entries.pop_front_if(|first| first.stored).is_some() {
            self.stored -= 1;
        }
        !self.entries.is_empty()
    }

    /// Merges adjacent stored entries into one.
    fn merge_stored(&mut self) {
        let mut kept: VecDeque<Entry> = VecDeque::with_capacity(self.entries.len());
        for entry in self.entries.drain(..) {
            match kept.back_mut() {
                Some(last) if last.stored && entry.stored => {
                    // The store has refused an operation that does not fit.
                    entry.ops.into_iter().for_each(|op| drop(StateOp::push_onto(&mut last.ops, op)));
                    self.stored -= 1;
                }
                _ => kept.push_back(entry),
            }
        }
        self.entries = kept;
    }
}

/// The part of an event that changes a key.
enum Carried {
    Value(Value),
    Ops(Vec<StateOp>),
}

/// Applies the operations of `entries`. One that does not fit is left out: the store will refuse it.
fn fold<'a>(start: Option<Value>, entries: impl Iterator<Item = &'a Entry>) -> Value {
    let mut value = start.unwrap_or_default();
    entries.flat_map(|entry| &entry.ops).for_each(|op| drop(op.apply_to(&mut value)));
    value
}

impl SessionState {
    pub(crate) fn new(view: Map) -> Self {
        Self { view, ..Self::default() }
    }

    /// Returns the state with every write of the invocation.
    pub(crate) fn view(&self) -> &Map {
        &self.view
    }

    /// Returns the number of a new delta.
    pub(crate) fn next_delta(&mut self) -> u64 {
        self.deltas += 1;
        self.deltas
    }

    /// Sets a key, as part of a delta.
    pub(crate) fn set(&mut self, key: &str, value: Value, delta: u64) {
        match self.writes.get_mut(key) {
            None => {
                self.writes.insert(SmolStr::new(key), Writes::Lone(delta));
            }
            Some(Writes::Lone(known)) if *known == delta => {}
            Some(writes) => {
                let log = Self::log_of(writes, self.view.get(key));
                // The event of the delta carries only the new value, so the delta's earlier writes are dropped.
                log.remove(delta);
                log.push(Entry::pending(delta, StateOp::Set(value.clone())));
            }
        }
        put(&mut self.view, key, value);
    }

    /// Applies an operation to a key, as part of a delta.
    pub(crate) fn apply(&mut self, key: &str, op: StateOp, delta: u64) -> Result<(), StateOpError> {
        if Scope::split(key).0 == Scope::Temp {
            // A `temp:` key is not stored, so there is no stored value that the operation could apply to later.
            let value = op.apply(self.view.get(key))?;
            self.set(key, value, delta);
            return Ok(());
        }
        let before = match self.writes.get(key) {
            Some(Writes::Many(_)) => None,
            Some(Writes::Lone(known)) if *known == delta => None,
            _ => Some(self.view.get(key).cloned()),
        };
        let slot = self.view.entry(key).or_insert(Value::Null);
        if let Err(error) = op.apply_to(slot) {
            if matches!(before, Some(None)) {
                self.view.remove(key);
            }
            return Err(error);
        }
        match self.writes.get_mut(key) {
            // This delta sets the key, so its event carries the resulting value and not the operation.
            Some(Writes::Lone(known)) if *known == delta => {}
            None => {
                let log = Log::new(before.flatten(), delta, op);
                self.writes.insert(SmolStr::new(key), Writes::Many(Box::new(log)));
            }
            Some(writes) => {
                let log = Self::log_of(writes, before.flatten().as_ref());
                let own = log.entries.back_mut().filter(|last| last.delta == delta);
                if own.is_none_or(|last| StateOp::push_onto(&mut last.ops, op.clone()).is_err()) {
                    log.push(Entry::pending(delta, op));
                }
            }
        }
        Ok(())
    }

    /// Returns the log of a key that two deltas write; `value` is the value that the first of them has set.
    fn log_of<'a>(writes: &'a mut Writes, value: Option<&Value>) -> &'a mut Log {
        if let Writes::Lone(delta) = writes {
            let set = StateOp::Set(value.cloned().unwrap_or_default());
            *writes = Writes::Many(Box::new(Log::new(None, *delta, set)));
        }
        match writes {
            Writes::Many(log) => log,
            Writes::Lone(_) => unreachable!("a lone write was made a log above"),
        }
    }

    /// Moves the writes of one delta to a key into another delta, in the order of the writes.
    pub(crate) fn adopt(&mut self, key: &str, from: u64, into: u64) {
        match self.writes.get_mut(key) {
            Some(Writes::Lone(known)) if *known == from => *known = into,
            Some(Writes::Many(log)) => {
                log.adopt(from, into);
                if let Some(value) = log.value() {
                    put(&mut self.view, key, value);
                }
            }
            _ => {}
        }
    }

    /// Writes the current values into a delta that so far only names its keys.
    pub(crate) fn fill(&self, values: &mut Map, delta: u64) {
        for (key, slot) in values {
            let own = match self.writes.get(key.as_str()) {
                Some(Writes::Many(log)) => match log.carried(delta) {
                    Carried::Value(value) => Some(value),
                    Carried::Ops(_) => None,
                },
                _ => None,
            };
            *slot = own.or_else(|| self.view.get(key).cloned()).unwrap_or_default();
        }
    }

    /// Removes the operations of a failed attempt, which the next attempt would apply again. Values that the attempt
    /// has set stay.
    pub(crate) fn drop_ops(&mut self, values: &mut Map, delta: u64) {
        values.retain(|key, _| {
            let Some(Writes::Many(log)) = self.writes.get_mut(key.as_str()) else { return true };
            // A number that a plugin keeps under a reserved key stays: the counted call was made, even if the attempt
            // fails.
            if log.is_set_by(delta) || is_reserved_state_key(key) {
                return true;
            }
            log.remove(delta);
            log.merge_stored();
            let value = log.value();
            if !log.trim() {
                self.writes.remove(key.as_str());
            }
            match value {
                Some(value) => put(&mut self.view, key, value),
                None => drop(self.view.remove(key)),
            }
            false
        });
    }

    /// Decides what an event stores for the keys that other deltas write as well.
    pub(crate) fn before_store(&self, actions: &mut EventActions) {
        let delta = actions.state_writes();
        let contended = |key: &String| match self.writes.get(key.as_str()) {
            Some(Writes::Many(log)) => Some((key.clone(), log)),
            _ => None,
        };
        let contended: Vec<_> = actions.state_delta().keys().filter_map(contended).collect();
        for (key, log) in contended {
            match log.carried(delta) {
                Carried::Value(value) => actions.set_state(key, value),
                // No other session changes this key, so the newest stored value is known.
                Carried::Ops(ops) if ops.is_empty() && matches!(Scope::split(&key).0, Scope::Session | Scope::Temp) => {
                    actions.set_state(key, log.base.clone().unwrap_or_default());
                }
                Carried::Ops(ops) => actions.set_state_ops(key, ops),
            }
        }
    }

    /// Returns true if an event writes a key that others write as well, or that operations change.
    pub(crate) fn is_contended(&self, actions: &EventActions) -> bool {
        let many = |key: &String| matches!(self.writes.get(key.as_str()), Some(Writes::Many(_)));
        actions.state_writes() != 0 && actions.state_delta().keys().any(many)
    }

    /// Records what an event has stored: `values` are parts of `delta`, or new writes if `delta` is 0.
    pub(crate) fn stored(&mut self, values: &Map, delta: u64) {
        for (key, value) in values {
            self.stored_key(key, value, delta);
        }
    }

    fn stored_key(&mut self, key: &str, value: &Value, delta: u64) {
        match self.writes.get_mut(key) {
            None => {}
            Some(Writes::Lone(known)) if *known == delta => drop(self.writes.remove(key)),
            Some(writes) => {
                let log = Self::log_of(writes, self.view.get(key));
                let newest = log.store(value, delta);
                if !log.trim() {
                    self.writes.remove(key);
                }
                if let Some(newest) = newest {
                    put(&mut self.view, key, newest);
                }
                return;
            }
        }
        if self.view.get(key) != Some(value) {
            put(&mut self.view, key, value.clone());
        }
    }
}

/// Sets one key, and copies its name only if it is new.
fn put(map: &mut Map, key: &str, value: Value) {
    match map.get_mut(key) {
        Some(slot) => *slot = value,
        None => drop(map.insert(key.to_owned(), value)),
    }
}

#[cfg(test)]
mod tests {
    use pleach_core::{EventActions, StateOp};
    use serde_json::{Value, json};

    use super::{Map, SessionState, Writes};

    /// A sequence of numbers that looks random and is the same each time.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, limit: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % limit
        }
    }

    /// Stores a delta into `stored` as a session service does, and reports the stored value to the state.
    fn store(state: &mut SessionState, stored: &mut Option<Value>, delta: u64) {
        let mut actions = EventActions::new();
        actions.state_delta_mut().insert("k".into(), Value::Null);
        actions.set_state_writes(delta);
        let mut values = actions.state_delta().clone();
        state.fill(&mut values, delta);
        *actions.state_delta_mut() = values;
        state.before_store(&mut actions);
        let value = match actions.state_ops().get("k") {
            Some(ops) => StateOp::apply_all(ops, stored.as_ref()).unwrap(),
            None => actions.state_delta()["k"].clone(),
        };
        *stored = Some(value.clone());
        state.stored(&Map::from_iter([("k".to_owned(), value)]), delta);
    }

    /// The shortcuts for speed do not change the view, in whichever order deltas are stored.
    #[test]
    fn d4_the_view_is_what_all_writes_give_in_their_order() {
        let mut numbers = Numbers(7);
        for round in 0..400 {
            let in_order = round % 2 == 0;
            let mut state = SessionState::new(Map::new());
            let (mut stored, mut pending) = (None, Vec::new());
            for _ in 0..30 {
                match numbers.below(3) {
                    0 if !pending.is_empty() => {
                        let at = if in_order { 0 } else { numbers.below(pending.len() as u64) as usize };
                        store(&mut state, &mut stored, pending.remove(at));
                    }
                    _ => {
                        let known = pending.last().copied().filter(|_| numbers.below(4) == 0);
                        let delta = known.unwrap_or_else(|| state.next_delta());
                        let item = json!(numbers.below(5));
                        match numbers.below(4) {
                            0 if round % 4 == 1 => state.set("k", json!([item]), delta),
                            1 => state.apply("k", StateOp::Push(vec![item]), delta).unwrap(),
                            _ => state.apply("k", StateOp::Union(vec![item]), delta).unwrap(),
                        }
                        if known.is_none() {
                            pending.push(delta);
                        }
                    }
                }
                if let Some(Writes::Many(log)) = state.writes.get("k") {
                    assert_eq!(state.view().get("k").cloned(), log.value(), "round {round}");
                    assert_eq!(log.stored, log.entries.iter().filter(|entry| entry.stored).count());
                    assert_eq!(log.entries.len() - log.stored, log.pending.values().sum::<usize>());
                }
            }
            for delta in pending {
                store(&mut state, &mut stored, delta);
            }
            assert!(state.writes.is_empty(), "round {round}");
            assert_eq!(state.view().get("k"), stored.as_ref(), "round {round}");
        }
    }
}
