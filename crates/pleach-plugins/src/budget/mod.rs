//! [`BudgetPlugin`]: limits the usage of a run, a user and an app.

mod account;
mod builder;
mod hooks;
mod limits;
mod price;
mod run;
mod usage;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use pleach_context::InvocationContext;
use pleach_core::{AppName, Map, Scope, UserId};

use crate::per_invocation::PerInvocation;
use account::Keys;
use run::{RunBook, SharedAccount, lock};
use usage::{Counts, NANOS};

pub use builder::{BudgetPluginBuilder, BudgetSetupError};
pub use limits::{BudgetScope, Limits};
pub use price::{Price, PriceTable};

/// The error code of an answer that a budget returns instead of a model.
pub const BUDGET_EXCEEDED: &str = "BUDGET_EXCEEDED";

/// The maximum number of accounts that are kept in memory without an active run.
const MAX_ACCOUNTS: usize = 10_000;

/// Ends runs that have used up their budget of tokens, cost, model calls, tool calls or time. Limits apply per run, per
/// user and for the app.
///
/// When a limit is reached, the model is not called. Its agent says the configured text, with the error code
/// [`BUDGET_EXCEEDED`] and a message that names the limit, the scope, the usage and the maximum. If an agent runs again
/// in a loop, its second refusal escalates. A tool call beyond its limit is not made; the model gets an error as its
/// result. A run fails at the 100th refusal of a model.
///
/// Each step is counted once, when it ends, even if it fails, is streamed or runs in parallel with others. It is not
/// counted again when its recorded events are replayed. The usage of a run is stored on its events, so a resumed run
/// continues its counts. The usage of users and apps is stored in the state, under `user:_pleach_budget:…` and
/// `app:_pleach_budget:…`. It survives restarts, and all processes that share the sessions count together; a process
/// sees the counts of others when its next run begins. These keys are reserved: clients and node code cannot write
/// them.
///
/// Register this plugin before others: if an earlier plugin answers, the budget does not see the response. Clones share
/// one budget.
///
/// ```
/// # use std::time::Duration;
/// # use pleach_plugins::{BudgetPlugin, BudgetSetupError, Limits, Price, PriceTable};
/// # fn main() -> Result<(), BudgetSetupError> {
/// let budget = BudgetPlugin::builder()
///     .per_run(Limits::new().model_calls(20).tool_calls(50).wall_time(Duration::from_secs(300)))
///     .per_user(Limits::new().cost(2.0).window(Duration::from_secs(86_400)))
///     .prices(PriceTable::new().model("gemini-3.5-flash", Price::per_million(0.30, 2.50)))
///     .build()?;
/// # drop(budget);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct BudgetPlugin {
    inner: Arc<Inner>,
}

struct Inner {
    settings: Settings,
    user_keys: Keys,
    app_keys: Keys,
    books: PerInvocation<RunBook>,
    accounts: Mutex<HashMap<AccountKey, SharedAccount>>,
    has_warned: AtomicBool,
}

/// The app, and the user unless it is the app's own account.
type AccountKey = (AppName, Option<UserId>);

#[derive(Clone, Debug)]
struct Settings {
    name: String,
    run: Limits,
    user: Limits,
    app: Limits,
    prices: PriceTable,
    answer: String,
}

/// The usage in a scope since its window began.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct BudgetUsage {
    /// The tokens of requests.
    pub input_tokens: u64,
    /// The tokens of answers.
    pub output_tokens: u64,
    /// The cost, in the currency of the price table.
    pub cost: f64,
    /// The number of model calls.
    pub model_calls: u64,
    /// The number of tool calls.
    pub tool_calls: u64,
}

impl Settings {
    fn scopes(&self) -> impl Iterator<Item = (BudgetScope, &Limits)> {
        [(BudgetScope::Run, &self.run), (BudgetScope::User, &self.user), (BudgetScope::App, &self.app)].into_iter()
    }

    /// Returns the scopes that are counted in the state, in the order of their accounts.
    fn stored_scopes(&self) -> impl Iterator<Item = (BudgetScope, &Limits)> {
        self.scopes().filter(|(scope, limits)| *scope != BudgetScope::Run && !limits.is_empty())
    }
}

impl BudgetPlugin {
    /// Returns a builder without limits.
    #[must_use]
    pub fn builder() -> BudgetPluginBuilder {
        BudgetPluginBuilder::default()
    }

    fn new(settings: Settings) -> Self {
        let inner = Inner {
            user_keys: Keys::new(Scope::User, &settings.name),
            app_keys: Keys::new(Scope::App, &settings.name),
            settings,
            books: PerInvocation::default(),
            accounts: Mutex::default(),
            has_warned: AtomicBool::new(false),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Returns the usage of a user or the app at `now`, read from the state of a session. `now` is in seconds since
    /// 1970, like [`Clock::now`](pleach_core::Clock::now). If the scope has a window, this is the usage since its
    /// beginning. It contains only the limited counters, and not the steps that are still running. For a run, the usage
    /// is empty.
    #[must_use]
    pub fn used(&self, scope: BudgetScope, state: &Map, now: f64) -> BudgetUsage {
        let Some(keys) = self.inner.keys(scope) else { return BudgetUsage::default() };
        let limits = self.inner.settings.stored_scopes().find(|(limited, _)| *limited == scope);
        let window = limits.and_then(|(_, limits)| limits.window);
        let used = keys.read(|key| state.get(key).cloned()).used_at(window, now);
        BudgetUsage {
            input_tokens: used.input_tokens,
            output_tokens: used.output_tokens,
            cost: used.cost_nanos as f64 / NANOS,
            model_calls: used.model_calls,
            tool_calls: used.tool_calls,
        }
    }

    /// Returns the changes of state that restart the counts of a user or the app, computed from the state of a session.
    /// Pass them to a run with `RunRequest::reserved_state_delta`, or append them with an event. For
    /// [`BudgetScope::Run`] there are none.
    #[must_use]
    pub fn reset(&self, scope: BudgetScope, state: &Map) -> Map {
        self.inner.keys(scope).map(|keys| keys.reset(state)).unwrap_or_default()
    }
}

impl Inner {
    fn keys(&self, scope: BudgetScope) -> Option<&Keys> {
        match scope {
            BudgetScope::Run => None,
            BudgetScope::User => Some(&self.user_keys),
            BudgetScope::App => Some(&self.app_keys),
        }
    }

    /// Returns the book of an invocation, which is the book of the outermost invocation that has called it.
    fn book(&self, ic: &Arc<InvocationContext>) -> Arc<RunBook> {
        let outer = outermost(ic);
        self.books.get_or_make(outer, || RunBook::open(outer, &self.settings.name, self.accounts(outer)))
    }

    fn accounts(&self, ic: &InvocationContext) -> Vec<SharedAccount> {
        let mut known = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_ACCOUNTS {
            forget_idle(&mut known);
        }
        let key = |scope| (ic.app_name().clone(), (scope == BudgetScope::User).then(|| ic.user_id().clone()));
        self.settings.stored_scopes().map(|(scope, _)| Arc::clone(known.entry(key(scope)).or_default())).collect()
    }
}

/// Forgets accounts without an active run. Accounts whose counts are all stored in the state are forgotten first.
fn forget_idle(accounts: &mut HashMap<AccountKey, SharedAccount>) {
    let is_idle = |account: &SharedAccount| Arc::strong_count(account) == 1;
    accounts.retain(|_, account| !is_idle(account) || lock(account).owed() != Counts::default());
    if accounts.len() >= MAX_ACCOUNTS {
        warn_of_forgotten(accounts.values().filter(|account| is_idle(account)));
        accounts.retain(|_, account| !is_idle(account));
    }
}

/// Logs usage that was never stored.
fn warn_of_forgotten<'a>(accounts: impl Iterator<Item = &'a SharedAccount>) {
    let mut forgotten = Counts::default();
    accounts.for_each(|account| forgotten = forgotten.plus(lock(account).owed()));
    if forgotten != Counts::default() {
        let Counts { input_tokens, output_tokens, model_calls, tool_calls, .. } = forgotten;
        tracing::warn!(
            model_calls,
            tool_calls,
            input_tokens,
            output_tokens,
            "the budget loses the counts of runs that were cut off: no later step of their users has stored them"
        );
    }
}

/// Counts that have not been stored are lost when the process ends.
impl Drop for Inner {
    fn drop(&mut self) {
        // Books of active runs are closed first.
        self.books.clear();
        let accounts = self.accounts.get_mut().unwrap_or_else(PoisonError::into_inner);
        warn_of_forgotten(accounts.values());
    }
}

/// Returns the outermost invocation, which a Runner has started.
fn outermost(ic: &Arc<InvocationContext>) -> &Arc<InvocationContext> {
    std::iter::successors(Some(ic), |ic| ic.caller()).last().unwrap_or(ic)
}

impl fmt::Debug for BudgetPlugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BudgetPlugin").field(&self.inner.settings).finish()
    }
}
