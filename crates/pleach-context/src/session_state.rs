//! [`SessionState`]: the session state as an invocation sees it, in the order of its writes.
//!
//! Several runs write the same key, and their events are stored in another order than they wrote. What counts is the order
//! of the writes: readers see the newest one, and an event that is stored late must not undo it, neither here nor in the
//! store. For that each key knows its writes until all of them are stored; a key that only one run writes knows no more
//! than which run's delta that is.

use foldhash::HashMap;
use pleach_core::{EventActions, Map, Scope, StateOp, StateOpError};
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

/// What is known about the writes of a key.
#[derive(Debug)]
enum Writes {
    /// This delta sets the key to what the view shows, and no other write is on its way.
    Lone(u64),
    Many(Box<Log>),
}

/// The writes of a key in their order, from the first one that is not stored.
#[derive(Debug)]
struct Log {
    /// What the store has, as far as this invocation knows.
    base: Option<Value>,
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    /// The delta that the write is a part of.
    delta: u64,
    stored: bool,
    ops: Vec<StateOp>,
}

impl Entry {
    fn pending(delta: u64, op: StateOp) -> Self {
        Self { delta, stored: false, ops: vec![op] }
    }

    /// Whether the value does not depend on what was written before.
    fn sets(&self) -> bool {
        matches!(self.ops.first(), Some(StateOp::Set(_)))
    }
}

impl Log {
    /// The value after all writes; `None` while the key is absent.
    fn value(&self) -> Option<Value> {
        let set = self.entries.iter().rposition(Entry::sets);
        match set.and_then(|at| self.entries.get(at..)) {
            Some(entries) if !entries[0].stored => Some(fold(None, entries.iter())),
            // The base has what is stored.
            behind => {
                let mut pending = behind.unwrap_or(&self.entries).iter().filter(|entry| !entry.stored).peekable();
                match pending.peek() {
                    None => self.base.clone(),
                    Some(_) => Some(fold(self.base.clone(), pending)),
                }
            }
        }
    }

    /// What the delta's event stores: a value, or operations on what the store has then.
    ///
    /// A write that others have set over is not stored again: its event shows the newest stored value.
    fn carried(&self, delta: u64) -> Carried {
        let counts = |entry: &&Entry| entry.stored || entry.delta == delta;
        let set = self.entries.iter().rposition(|entry| entry.sets() && counts(&entry));
        let behind = set.and_then(|at| self.entries.get(at..)).unwrap_or(&self.entries);
        if behind.first().is_some_and(|first| first.sets() && !first.stored && first.delta == delta) {
            return Carried::Value(fold(None, behind.iter().filter(counts)));
        }
        let own = behind.iter().filter(|entry| entry.delta == delta && !entry.stored);
        Carried::Ops(own.flat_map(|entry| entry.ops.iter().cloned()).collect())
    }

    /// Forgets what no event on its way can depend on; false when nothing is left.
    fn trim(&mut self) -> bool {
        let pending = self.entries.iter().position(|entry| !entry.stored);
        let Some(pending) = pending else { return false };
        self.entries.drain(..pending);
        let mut kept: Vec<Entry> = Vec::with_capacity(self.entries.len());
        for entry in self.entries.drain(..) {
            match kept.last_mut() {
                Some(last) if last.stored && entry.stored => {
                    // An operation that does not fit was refused by the store.
                    entry.ops.into_iter().for_each(|op| drop(StateOp::push_onto(&mut last.ops, op)));
                }
                _ => kept.push(entry),
            }
        }
        self.entries = kept;
        true
    }
}

/// What an event stores for a key.
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

    /// The state with every write of the invocation.
    pub(crate) fn view(&self) -> &Map {
        &self.view
    }

    /// A number for a new delta.
    pub(crate) fn next_delta(&mut self) -> u64 {
        self.deltas += 1;
        self.deltas
    }

    /// Sets a key, as a part of a delta.
    pub(crate) fn set(&mut self, key: &str, value: Value, delta: u64) {
        match self.writes.get_mut(key) {
            None => {
                self.writes.insert(SmolStr::new(key), Writes::Lone(delta));
            }
            Some(Writes::Lone(known)) if *known == delta => {}
            Some(writes) => {
                let log = Self::log_of(writes, self.view.get(key));
                // Its own earlier writes are undone by the same event.
                log.entries.retain(|entry| entry.delta != delta);
                log.entries.push(Entry::pending(delta, StateOp::Set(value.clone())));
            }
        }
        put(&mut self.view, key, value);
    }

    /// Applies an operation to a key, as a part of a delta.
    pub(crate) fn apply(&mut self, key: &str, op: StateOp, delta: u64) -> Result<(), StateOpError> {
        if Scope::split(key).0 == Scope::Temp {
            // Nothing is stored that it could be applied to later.
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
            // It stays a value that this delta sets.
            Some(Writes::Lone(known)) if *known == delta => {}
            None => {
                let log = Log { base: before.flatten(), entries: vec![Entry::pending(delta, op)] };
                self.writes.insert(SmolStr::new(key), Writes::Many(Box::new(log)));
            }
            Some(writes) => {
                let log = Self::log_of(writes, before.flatten().as_ref());
                let own = log.entries.last_mut().filter(|last| last.delta == delta);
                if own.is_none_or(|last| StateOp::push_onto(&mut last.ops, op.clone()).is_err()) {
                    log.entries.push(Entry::pending(delta, op));
                }
            }
        }
        Ok(())
    }

    /// The log of a key that two deltas write; `value` is what the first of them has set.
    fn log_of<'a>(writes: &'a mut Writes, value: Option<&Value>) -> &'a mut Log {
        if let Writes::Lone(delta) = writes {
            let set = StateOp::Set(value.cloned().unwrap_or_default());
            *writes = Writes::Many(Box::new(Log { base: None, entries: vec![Entry::pending(*delta, set)] }));
        }
        match writes {
            Writes::Many(log) => log,
            Writes::Lone(_) => unreachable!("a lone write was made a log above"),
        }
    }

    /// Writes the values into a delta that so far only names its keys, as they are now.
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

    /// Takes the operations of a failed attempt back, which would count again with the next one; what it has set stays.
    pub(crate) fn drop_ops(&mut self, values: &mut Map, delta: u64) {
        values.retain(|key, _| {
            let Some(Writes::Many(log)) = self.writes.get_mut(key.as_str()) else { return true };
            if log.entries.iter().any(|entry| entry.delta == delta && entry.sets()) {
                return true;
            }
            log.entries.retain(|entry| entry.delta != delta);
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

    /// Decides what an event stores for the keys that others write too.
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
                // No other session changes this state, so the newest stored value is known.
                Carried::Ops(ops) if ops.is_empty() && matches!(Scope::split(&key).0, Scope::Session | Scope::Temp) => {
                    actions.set_state(key, log.base.clone().unwrap_or_default());
                }
                Carried::Ops(ops) => actions.set_state_ops(key, ops),
            }
        }
    }

    /// Whether an event writes a key that others write too, or that operations change.
    pub(crate) fn is_contended(&self, actions: &EventActions) -> bool {
        let many = |key: &String| matches!(self.writes.get(key.as_str()), Some(Writes::Many(_)));
        actions.state_writes() != 0 && actions.state_delta().keys().any(many)
    }

    /// Takes over what an event has stored: `values` are parts of `delta`, or new writes if that is 0.
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
                let mut own = log.entries.iter_mut().filter(|entry| entry.delta == delta && !entry.stored).peekable();
                if own.peek().is_some() {
                    own.for_each(|entry| entry.stored = true);
                } else {
                    log.entries.push(Entry { delta, stored: true, ops: vec![StateOp::Set(value.clone())] });
                }
                log.base = Some(value.clone());
                let newest = log.value();
                if !log.trim() {
                    self.writes.remove(key);
                }
                put(&mut self.view, key, newest.unwrap_or_default());
                return;
            }
        }
        if self.view.get(key) != Some(value) {
            put(&mut self.view, key, value.clone());
        }
    }
}

/// Sets one key, copying its name only when it is new.
fn put(map: &mut Map, key: &str, value: Value) {
    match map.get_mut(key) {
        Some(slot) => *slot = value,
        None => drop(map.insert(key.to_owned(), value)),
    }
}
