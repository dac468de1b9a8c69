//! [`Account`]: what one user, or the app, has used.
//!
//! The durable count is in the session state: totals that only ever grow, by `add` operations that ride on the events of the steps that
//! they count, so that no session and no process loses what another one counts. What a window or a reset leaves behind is a second set of
//! numbers, the totals at its beginning, which only grow as well. The account is the same in memory: it joins what this process has counted
//! and what state shows of the others, by the larger number.

use std::time::Duration;

use pleach_context::{Context, NodeError};
use pleach_core::{Map, Scope};
use serde_json::{Value, json};

use super::limits::Limits;
use super::usage::Counts;

/// The names of an account's state keys, which are reserved: `user:_pleach_budget:input_tokens`.
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

    /// The changes of state with which counting begins anew.
    pub(super) fn reset(&self, state: &Map) -> Map {
        let totals = Counts::names().filter_map(|counter| Some((counter, state.get(&self.total(counter))?.clone())));
        totals.map(|(counter, total)| (self.base(counter), total)).collect()
    }
}

/// The name under which the plugin keeps what it relies on: the note of what the invocation has used so far, and the state keys.
pub(super) fn reserved_name(plugin: &str) -> String {
    format!("_pleach_{plugin}")
}

/// An account as state shows it.
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

    /// What is used at a time: nothing when a new window has begun that no step has noted yet.
    pub(super) fn used_at(&self, window: Option<Duration>, now: f64) -> Counts {
        if window_began(window, now) > self.window { Counts::default() } else { self.used() }
    }

    fn join(&mut self, other: Self) {
        self.total = self.total.or_more(other.total);
        self.base = self.base.or_more(other.base);
        self.window = self.window.max(other.window);
    }
}

/// What one user, or the app, has used.
#[derive(Debug, Default)]
pub(super) struct Account {
    known: Stored,
    /// What steps under way will have used.
    begun: Counts,
    /// The counts that no event carries yet.
    owed: Counts,
}

impl Account {
    /// Takes over what state shows, begins a new window if it is time, and returns what is used.
    pub(super) fn used(&mut self, stored: Stored, window: Option<Duration>, now: f64) -> Counts {
        self.known.join(stored);
        let began = window_began(window, now);
        if began > self.known.window {
            self.known.window = began;
            self.known.base = self.known.total;
        }
        self.known.used().plus(self.begun)
    }

    /// Counts a step that begins.
    pub(super) fn begin(&mut self, step: Counts) {
        self.begun = self.begun.plus(step);
    }

    /// Takes a step back that has begun and used nothing.
    pub(super) fn cancel(&mut self, step: Counts) {
        self.begun = self.begun.minus(step);
    }

    /// Counts what was used.
    pub(super) fn charge(&mut self, used: Counts) {
        self.known.total = self.known.total.plus(used);
        self.owed = self.owed.plus(used);
    }

    /// The counts that no event carries yet.
    pub(super) fn owed(&self) -> Counts {
        self.owed
    }

    /// Takes what the next event is to carry, of a run that sees `stored`.
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

/// When the window of a time began, in seconds since 1970; 0 without windows.
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
    /// Writes the changes, which ride on the next event of the run.
    ///
    /// # Errors
    /// A `ValidationError` when a key holds something else than a number.
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
