//! [`Account`]: counts the usage of one user, or of the app.
//!
//! The durable counts are totals in the session state that only grow. The events of the counted steps raise them with
//! `add` operations, so that parallel sessions and processes do not overwrite each other's counts. At the beginning of
//! a window or on a reset, the current totals are stored in addition; the usage is the difference. The account in
//! memory takes the larger value of the counts of this process and the counts in the state, which other processes may
//! have raised.

use std::time::Duration;

use pleach_context::{Context, NodeError};
use pleach_core::{Map, Scope};
use serde_json::{Value, json};

use super::limits::Limits;
use super::usage::Counts;

/// The names of an account's state keys, which are reserved, for example `user:_pleach_budget:input_tokens`.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    prefix: String,
}

impl Keys {
    pub(super) fn new(scope: Scope, plugin: &str) -> Self {
        Self { prefix: format!("{}{}:", scope.prefix(), reserved_name(plugin)) }
    }

    fn total(&self, counter: &str) -> String {
        format!("{}{counter}", self.prefix)
    }

    fn base(&self, counter: &str) -> String {
        format!("{}base:{counter}", self.prefix)
    }

    fn window(&self) -> String {
        format!("{}window", self.prefix)
    }

    /// Reads an account from state.
    pub(super) fn read(&self, value: impl Fn(&str) -> Option<Value>) -> Stored {
        let count = |key: String| value(&key)?.as_u64();
        Stored {
            total: Counts::read(|counter| count(self.total(counter))),
            base: Counts::read(|counter| count(self.base(counter))),
            window: count(self.window()).unwrap_or_default(),
        }
    }

    /// Returns the changes of state that restart the counts.
    pub(super) fn reset(&self, state: &Map) -> Map {
        let totals = Counts::names().filter_map(|counter| Some((counter, state.get(&self.total(counter))?.clone())));
        totals.map(|(counter, total)| (self.base(counter), total)).collect()
    }
}

/// Returns the reserved name for the plugin's data: the metadata key for an invocation's usage so far, and the
/// beginning of the state keys.
pub(super) fn reserved_name(plugin: &str) -> String {
    format!("_pleach_{plugin}")
}

/// An account as read from state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stored {
    total: Counts,
    /// The totals at the beginning of the window.
    base: Counts,
    /// When the window began, in seconds since 1970; 0 without windows.
    window: u64,
}

impl Stored {
    fn used(&self) -> Counts {
        self.total.minus(self.base)
    }

    /// Returns the usage at a time. It is empty if a new window has begun in which no step was counted yet.
    pub(super) fn used_at(&self, window: Option<Duration>, now: f64) -> Counts {
        if window_began(window, now) > self.window { Counts::default() } else { self.used() }
    }

    fn join(&mut self, other: Self) {
        self.total = self.total.or_more(other.total);
        self.base = self.base.or_more(other.base);
        self.window = self.window.max(other.window);
    }
}

/// The usage of one user, or of the app.
#[derive(Debug, Default)]
pub(super) struct Account {
    known: Stored,
    /// The counts of steps that are still running.
    begun: Counts,
    /// The counts that are not on an event yet.
    owed: Counts,
}

impl Account {
    /// Merges the counts in the state, begins a new window if it is time, and returns the usage.
    pub(super) fn used(&mut self, stored: Stored, window: Option<Duration>, now: f64) -> Counts {
        self.known.join(stored);
        let began = window_began(window, now);
        if began > self.known.window {
            self.known.window = began;
            self.known.base = self.known.total;
        }
        self.known.used().plus(self.begun)
    }

    /// Counts a step that is starting.
    pub(super) fn begin(&mut self, step: Counts) {
        self.begun = self.begun.plus(step);
    }

    /// Takes back the count of a step that used nothing.
    pub(super) fn cancel(&mut self, step: Counts) {
        self.begun = self.begun.minus(step);
    }

    /// Counts usage.
    pub(super) fn charge(&mut self, used: Counts) {
        self.known.total = self.known.total.plus(used);
        self.owed = self.owed.plus(used);
    }

    /// Returns the counts that are not on an event yet.
    pub(super) fn owed(&self) -> Counts {
        self.owed
    }

    /// Takes the changes for the next event of a run whose state shows `stored`.
    pub(super) fn take_owed(&mut self, keys: &Keys, limits: &Limits, stored: Stored) -> Owed {
        let mut raised = Vec::new();
        if stored.window < self.known.window {
            raised.push((keys.window(), self.known.window));
            raised.extend(limits.limited(self.known.base).used().map(|(counter, count)| (keys.base(counter), count)));
        }
        let owed = std::mem::take(&mut self.owed);
        let added = limits.limited(owed).used().map(|(counter, count)| (keys.total(counter), count)).collect();
        Owed { raised, added }
    }
}

/// Returns when the window that contains `now` began, in seconds since 1970; 0 without windows.
fn window_began(window: Option<Duration>, now: f64) -> u64 {
    window.map(|length| (now / length.as_secs_f64()).floor() * length.as_secs_f64()).unwrap_or_default() as u64
}

/// Changes of state keys.
#[derive(Debug)]
pub(super) struct Owed {
    raised: Vec<(String, u64)>,
    added: Vec<(String, u64)>,
}

impl Owed {
    /// Writes the changes, which are stored with the next event of the run.
    ///
    /// # Errors
    /// A `ValidationError` if the value of a key is not a number.
    pub(super) fn write(self, ctx: &Context) -> Result<(), NodeError> {
        for (key, count) in self.raised {
            ctx.reserved_state().max(key, json!(count))?;
        }
        for (key, count) in self.added {
            ctx.reserved_state().add(key, json!(count))?;
        }
        Ok(())
    }
}
