//! [`RunBook`]: counts the usage of one invocation, including its running steps.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pleach_context::InvocationContext;
use pleach_core::Map;
use serde_json::{Value, json};

use super::account::{Account, reserved_name};
use super::price::Price;
use super::usage::{Answered, Counts};

pub(super) type SharedAccount = Arc<Mutex<Account>>;

/// The book of one invocation. Invocations of agents that are called as tools share their caller's book.
#[derive(Debug)]
pub(super) struct RunBook {
    run: Mutex<Run>,
    /// The accounts of the user and of the app, if they are limited.
    pub(super) accounts: Vec<SharedAccount>,
}

/// The usage of an invocation.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) used: Counts,
    /// Working time in earlier processes, in seconds.
    seconds_before: f64,
    /// When the work in this process began.
    began: f64,
    /// The current model call of each agent's run.
    models: HashMap<String, ModelCall>,
    /// The running tool calls.
    tools: HashSet<String>,
    /// The agents' runs whose models were refused.
    refused: HashSet<String>,
    refusals: u32,
}

/// One model call.
#[derive(Debug, Default)]
struct ModelCall {
    price: Option<Price>,
    /// The attempt of the agent's run that made the call; 0 if this plugin saw only the answer.
    attempt: u32,
    tokens: Answered,
    charged: Counts,
    /// Whether a response, or a fragment, has arrived.
    is_heard: bool,
    is_counted: bool,
}

impl RunBook {
    /// Opens the book of an invocation. If the invocation is resumed, the book starts with the usage that its last
    /// event stores.
    pub(super) fn open(ic: &InvocationContext, plugin: &str, accounts: Vec<SharedAccount>) -> Self {
        let key = reserved_name(plugin);
        let events = ic.events();
        let own = events.iter().rev().filter(|event| event.invocation_id() == ic.invocation_id());
        let note = own.filter_map(|event| event.custom_metadata()?.get(&key)).next();
        let noted = |name: &str| note.and_then(|note| note.get(name));
        let run = Run {
            used: Counts::read(|counter| noted(counter)?.as_u64()),
            seconds_before: noted("seconds").and_then(Value::as_f64).unwrap_or_default(),
            began: ic.clock().now(),
            models: HashMap::new(),
            tools: HashSet::new(),
            refused: HashSet::new(),
            refusals: 0,
        };
        Self { run: Mutex::new(run), accounts }
    }

    /// Locks the run. Lock order: the run, the user's account, the app's account.
    pub(super) fn run(&self) -> MutexGuard<'_, Run> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn each(&self, change: impl Fn(&mut Account)) {
        self.accounts.iter().for_each(|account| change(&mut lock(account)));
    }

    /// Closes the last model call of an agent's run, if it is still open. `attempt` is the current attempt of the run.
    pub(super) fn close_model(&self, run: &mut Run, lane: &str, attempt: u32) {
        if let Some(call) = run.models.remove(lane) {
            // If the call is from an earlier attempt, that attempt was cut off during the call.
            let counts_unheard = call.attempt != attempt;
            self.settle(run, call, counts_unheard);
        }
    }

    fn settle(&self, run: &mut Run, call: ModelCall, counts_unheard: bool) {
        if call.is_counted {
            return;
        }
        if call.is_heard || counts_unheard {
            self.count(run, call);
        } else {
            // Another hook has answered, so the model was not called.
            self.each(|account| account.cancel(Counts::ONE_MODEL_CALL));
        }
    }

    /// Closes everything that is open. Tool calls that wait for an answer have not been made.
    pub(super) fn close(&self, counts_unheard: bool) {
        let mut run = self.run();
        for call in std::mem::take(&mut run.models).into_values() {
            self.settle(&mut run, call, counts_unheard);
        }
        for _ in std::mem::take(&mut run.tools) {
            self.each(|account| account.cancel(Counts::ONE_TOOL_CALL));
        }
    }

    /// Records a response or a fragment. Returns true if it, or an earlier fragment of the same call, reports tokens.
    pub(super) fn hear(&self, lane: &str, info: &pleach_core::ModelInfo, is_partial: bool) -> bool {
        let mut run = self.run();
        let mut call = run.models.remove(lane).unwrap_or_default();
        call.is_heard = true;
        let reports = call.tokens.take(info) || call.tokens != Answered::default();
        if !is_partial {
            call = self.count(&mut run, call);
        }
        run.models.insert(lane.to_owned(), call);
        reports
    }

    /// Counts a failed model call, with the tokens of its fragments.
    pub(super) fn fail(&self, lane: &str) {
        let mut run = self.run();
        if let Some(call) = run.models.remove(lane) {
            let call = self.count(&mut run, call);
            run.models.insert(lane.to_owned(), call);
        }
    }

    /// Charges the part of a call's usage that has not been charged yet.
    fn count(&self, run: &mut Run, mut call: ModelCall) -> ModelCall {
        let so_far = Price::counts(call.price, call.tokens);
        let mut new = so_far.minus(call.charged);
        call.charged = so_far;
        let begins = !std::mem::replace(&mut call.is_counted, true);
        if begins {
            new = new.plus(Counts::ONE_MODEL_CALL);
        }
        run.used = run.used.plus(new);
        self.each(|account| {
            if begins && call.attempt > 0 {
                account.cancel(Counts::ONE_MODEL_CALL);
            }
            account.charge(new);
        });
        call
    }

    /// Closes a tool call that was not made.
    pub(super) fn cancel_tool(&self, call: &str) {
        if self.run().tools.remove(call) {
            self.each(|account| account.cancel(Counts::ONE_TOOL_CALL));
        }
    }

    /// Counts a tool call that has ended, once.
    pub(super) fn count_tool(&self, call: &str) {
        let mut run = self.run();
        if !run.tools.remove(call) {
            return;
        }
        run.used = run.used.plus(Counts::ONE_TOOL_CALL);
        self.each(|account| {
            account.cancel(Counts::ONE_TOOL_CALL);
            account.charge(Counts::ONE_TOOL_CALL);
        });
    }
}

/// If a run was dropped midway, its open steps are counted as made, but their usage is unknown.
impl Drop for RunBook {
    fn drop(&mut self) {
        self.close(true);
    }
}

impl Run {
    /// Returns the usage, including running steps.
    pub(super) fn used_with_begun(&self) -> Counts {
        let open = self.models.values().filter(|call| !call.is_counted).count();
        let begun = Counts { model_calls: open as u64, tool_calls: self.tools.len() as u64, ..Counts::default() };
        self.used.plus(begun)
    }

    /// Returns how long the run has worked, in seconds.
    pub(super) fn seconds(&self, now: f64) -> f64 {
        self.seconds_before + (now - self.began).max(0.0)
    }

    pub(super) fn begin_model(&mut self, lane: String, price: Option<Price>, attempt: u32) {
        self.models.insert(lane, ModelCall { price, attempt, ..ModelCall::default() });
    }

    /// Records that a model call of an agent's run is refused. Returns how many calls were refused in total, and
    /// whether one of this run was refused before.
    pub(super) fn refuse(&mut self, lane: String) -> (u32, bool) {
        self.refusals += 1;
        (self.refusals, !self.refused.insert(lane))
    }

    pub(super) fn has_tool(&self, call: &str) -> bool {
        self.tools.contains(call)
    }

    pub(super) fn begin_tool(&mut self, call: String) {
        self.tools.insert(call);
    }

    /// Returns the usage in the form that is stored on the next events.
    pub(super) fn note(&self, now: Option<f64>) -> Map {
        let mut note = self.used.to_map();
        if let Some(now) = now {
            note.insert("seconds".to_owned(), json!(self.seconds(now)));
        }
        note
    }
}

pub(super) fn lock(account: &Mutex<Account>) -> MutexGuard<'_, Account> {
    account.lock().unwrap_or_else(PoisonError::into_inner)
}
