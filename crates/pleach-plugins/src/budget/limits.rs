//! [`Limits`]: the limits of a budget.

use std::fmt;
use std::time::Duration;

use super::usage::{Counts, NANOS};

/// The scope of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetScope {
    /// One invocation, including the agents that it calls as tools.
    Run,
    /// All sessions of one user.
    User,
    /// The whole app.
    App,
}

impl fmt::Display for BudgetScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Run => "run",
            Self::User => "user",
            Self::App => "app",
        })
    }
}

/// The limits of one scope. A limit that is not set does not apply.
///
/// A limit is reached when the usage equals it; the next step is refused. The tokens of a step are known only when it
/// has ended, so the last step may exceed a limit of tokens or cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    pub(super) input_tokens: Option<u64>,
    pub(super) output_tokens: Option<u64>,
    pub(super) total_tokens: Option<u64>,
    pub(super) cost: Option<f64>,
    pub(super) model_calls: Option<u64>,
    pub(super) tool_calls: Option<u64>,
    pub(super) wall_time: Option<Duration>,
    pub(super) window: Option<Duration>,
}

impl Limits {
    /// Creates limits without any limit set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Limits the tokens of requests, including cached tokens.
    #[must_use]
    pub fn input_tokens(mut self, tokens: u64) -> Self {
        self.input_tokens = Some(tokens);
        self
    }

    /// Limits the tokens of answers, including thoughts.
    #[must_use]
    pub fn output_tokens(mut self, tokens: u64) -> Self {
        self.output_tokens = Some(tokens);
        self
    }

    /// Limits the tokens of requests and answers together.
    #[must_use]
    pub fn total_tokens(mut self, tokens: u64) -> Self {
        self.total_tokens = Some(tokens);
        self
    }

    /// Limits the cost, in the currency of the price table.
    #[must_use]
    pub fn cost(mut self, cost: f64) -> Self {
        self.cost = Some(cost);
        self
    }

    /// Limits the calls of models.
    #[must_use]
    pub fn model_calls(mut self, calls: u64) -> Self {
        self.model_calls = Some(calls);
        self
    }

    /// Limits the calls of tools. The runtime's own functions, such as `transfer_to_agent`, are not counted.
    #[must_use]
    pub fn tool_calls(mut self, calls: u64) -> Self {
        self.tool_calls = Some(calls);
        self
    }

    /// Limits how long a run may work, by the Runner's clock. Time spent waiting for an answer is not included. A
    /// running step is not cut off; for that, use `FunctionNode::timeout` and the timeouts of models. Only runs can
    /// have this limit.
    #[must_use]
    pub fn wall_time(mut self, time: Duration) -> Self {
        self.wall_time = Some(time);
        self
    }

    /// Restarts the counts in each window of this length. Windows begin at multiples of the length since 1970, so
    /// windows of a day begin at midnight UTC. Only users and apps can have windows. Without a window, their counts
    /// never restart.
    #[must_use]
    pub fn window(mut self, length: Duration) -> Self {
        self.window = Some(length);
        self
    }

    /// Returns true if no limit is set.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self { window: self.window, ..Self::default() }
    }

    /// Returns the limit that forbids a model call, if one is reached.
    pub(super) fn exceeded_by(&self, used: Counts) -> Option<Reached> {
        let counted = |what, used: u64, limit: Option<u64>| {
            limit.filter(|limit| used >= *limit).map(|limit| Reached {
                what,
                used: used.to_string(),
                limit: limit.to_string(),
            })
        };
        let cost = used.cost_nanos as f64 / NANOS;
        let costs = self.cost.filter(|limit| cost >= *limit);
        counted("model calls", used.model_calls, self.model_calls)
            .or_else(|| counted("total tokens", used.total_tokens(), self.total_tokens))
            .or_else(|| counted("input tokens", used.input_tokens, self.input_tokens))
            .or_else(|| counted("output tokens", used.output_tokens, self.output_tokens))
            .or_else(|| costs.map(|limit| Reached { what: "cost", used: cost.to_string(), limit: limit.to_string() }))
    }

    /// Returns the limit that forbids a tool call, if it is reached.
    pub(super) fn tools_exceeded_by(&self, used: Counts) -> Option<Reached> {
        let limit = self.tool_calls.filter(|limit| used.tool_calls >= *limit)?;
        Some(Reached { what: "tool calls", used: used.tool_calls.to_string(), limit: limit.to_string() })
    }

    pub(super) fn time_exceeded_by(&self, seconds: f64) -> Option<Reached> {
        let limit = self.wall_time.filter(|limit| seconds >= limit.as_secs_f64())?;
        let (used, limit) = (format!("{seconds:.1} s"), format!("{:.1} s", limit.as_secs_f64()));
        Some(Reached { what: "wall time", used, limit })
    }

    /// Returns the usage with only the limited counters.
    pub(super) fn limited(&self, used: Counts) -> Counts {
        let keep = |wanted: bool, count: u64| if wanted { count } else { 0 };
        let all = self.total_tokens.is_some();
        Counts {
            input_tokens: keep(all || self.input_tokens.is_some(), used.input_tokens),
            output_tokens: keep(all || self.output_tokens.is_some(), used.output_tokens),
            cost_nanos: keep(self.cost.is_some(), used.cost_nanos),
            model_calls: keep(self.model_calls.is_some(), used.model_calls),
            tool_calls: keep(self.tool_calls.is_some(), used.tool_calls),
        }
    }

    /// Returns true if the limits depend on the tokens of answers.
    pub(super) fn needs_tokens(&self) -> bool {
        self.cost.is_some() || self.total_tokens.or(self.input_tokens).or(self.output_tokens).is_some()
    }
}

/// A limit that has been reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reached {
    pub(super) what: &'static str,
    pub(super) used: String,
    pub(super) limit: String,
}

impl Reached {
    /// Returns the limit as a sentence: `budget exceeded: model calls per run: 20 used, limit 20`.
    pub(super) fn text(&self, scope: BudgetScope, window: Option<Duration>) -> String {
        let Self { what, used, limit } = self;
        let renewed = window.map(|window| format!(" in {} s", window.as_secs())).unwrap_or_default();
        format!("budget exceeded: {what} per {scope}: {used} used, limit {limit}{renewed}")
    }
}
