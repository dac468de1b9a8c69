//! [`BudgetPluginBuilder`]: sets the limits of a budget, and checks them.

use std::time::Duration;

use super::limits::{BudgetScope, Limits};
use super::price::PriceTable;
use super::{BudgetPlugin, Settings};

const ANSWER: &str = "I have to stop here: the budget for this is used up.";

/// Builds a [`BudgetPlugin`].
#[derive(Clone, Debug)]
pub struct BudgetPluginBuilder {
    settings: Settings,
}

/// The reason why a budget cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BudgetSetupError {
    /// No limit is set.
    #[error("the budget limits nothing: set limits with `per_run`, `per_user` or `per_app`")]
    NoLimits,
    /// Cost is limited, but there are no prices.
    #[error("the cost per {0} is limited, but there is no price table: add one with `prices`")]
    NoPrices(BudgetScope),
    /// A price is negative or not finite.
    #[error("the price of {0} is negative or not finite")]
    Price(String),
    /// A cost limit is negative or not finite.
    #[error("the limit of the cost per {0} is negative or not finite")]
    Cost(BudgetScope),
    /// Wall time is limited in a scope other than a run.
    #[error("the wall time per {0} cannot be limited: only runs have one")]
    WallTime(BudgetScope),
    /// A window is set for a run, which cannot have one, or a window is shorter than a second.
    #[error("the window per {0} is not possible: only users and apps have windows, of a second or more")]
    Window(BudgetScope),
    /// The name is empty.
    #[error("the budget needs a name that is not empty: its state keys begin with it")]
    Name,
}

impl pleach_core::SetupError for BudgetSetupError {}

impl Default for BudgetPluginBuilder {
    fn default() -> Self {
        let settings = Settings {
            name: "budget".to_owned(),
            run: Limits::new(),
            user: Limits::new(),
            app: Limits::new(),
            prices: PriceTable::new(),
            answer: ANSWER.to_owned(),
        };
        Self { settings }
    }
}

impl BudgetPluginBuilder {
    /// Sets the name of the plugin. The default is `budget`. The counts in the state and on events are stored under the
    /// name, so a new name restarts them.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.settings.name = name.into();
        self
    }

    /// Sets the limits of one invocation, including the agents that it calls as tools.
    #[must_use]
    pub fn per_run(mut self, limits: Limits) -> Self {
        self.settings.run = limits;
        self
    }

    /// Sets the limits for all runs of a user together.
    #[must_use]
    pub fn per_user(mut self, limits: Limits) -> Self {
        self.settings.user = limits;
        self
    }

    /// Sets the limits for all runs of the app together.
    #[must_use]
    pub fn per_app(mut self, limits: Limits) -> Self {
        self.settings.app = limits;
        self
    }

    /// Sets the prices of tokens.
    #[must_use]
    pub fn prices(mut self, prices: PriceTable) -> Self {
        self.settings.prices = prices;
        self
    }

    /// Sets the text that an agent says instead of its model's answer when a limit is reached.
    #[must_use]
    pub fn answer(mut self, text: impl Into<String>) -> Self {
        self.settings.answer = text.into();
        self
    }

    /// Checks the limits and prices.
    ///
    /// # Errors
    /// [`BudgetSetupError`] for the first invalid setting.
    pub fn build(self) -> Result<BudgetPlugin, BudgetSetupError> {
        let settings = self.settings;
        if settings.name.is_empty() {
            return Err(BudgetSetupError::Name);
        }
        if settings.scopes().all(|(_, limits)| limits.is_empty()) {
            return Err(BudgetSetupError::NoLimits);
        }
        if let Some(model) = settings.prices.invalid() {
            return Err(BudgetSetupError::Price(model.to_owned()));
        }
        for (scope, limits) in settings.scopes() {
            check(scope, limits, &settings.prices)?;
        }
        Ok(BudgetPlugin::new(settings))
    }
}

fn check(scope: BudgetScope, limits: &Limits, prices: &PriceTable) -> Result<(), BudgetSetupError> {
    let is_run = scope == BudgetScope::Run;
    if limits.cost.is_some_and(|cost| !cost.is_finite() || cost < 0.0) {
        return Err(BudgetSetupError::Cost(scope));
    }
    if limits.cost.is_some() && prices.is_empty() {
        return Err(BudgetSetupError::NoPrices(scope));
    }
    if limits.wall_time.is_some() && !is_run {
        return Err(BudgetSetupError::WallTime(scope));
    }
    if limits.window.is_some_and(|window| is_run || window < Duration::from_secs(1)) {
        return Err(BudgetSetupError::Window(scope));
    }
    Ok(())
}
