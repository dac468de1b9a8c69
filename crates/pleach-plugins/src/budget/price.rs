//! [`PriceTable`]: the prices of models' tokens.

use super::usage::{Answered, Counts};

/// The price of a million tokens of a model, in the currency of the cost limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    input: f64,
    output: f64,
    cached_input: Option<f64>,
    cache_write: Option<f64>,
}

impl Price {
    /// Creates a price from the price of a million request tokens and of a million answer tokens. Thoughts are answer
    /// tokens.
    #[must_use]
    pub fn per_million(input: f64, output: f64) -> Self {
        Self { input, output, cached_input: None, cache_write: None }
    }

    /// Sets the price of a million request tokens that the provider reads from its cache. By default they cost as much
    /// as other request tokens.
    #[must_use]
    pub fn cached_input(mut self, price: f64) -> Self {
        self.cached_input = Some(price);
        self
    }

    /// Sets the price of a million request tokens that the provider writes into its cache, as Anthropic bills them. By
    /// default they cost as much as other request tokens.
    #[must_use]
    pub fn cache_write(mut self, price: f64) -> Self {
        self.cache_write = Some(price);
        self
    }

    pub(super) fn is_valid(&self) -> bool {
        let all = [Some(self.input), Some(self.output), self.cached_input, self.cache_write];
        all.into_iter().flatten().all(|price| price.is_finite() && price >= 0.0)
    }

    /// Returns the cost of the tokens, in billionths of the currency's unit.
    fn nanos(&self, tokens: Answered) -> u64 {
        let cached = tokens.cached.min(tokens.input);
        let written = tokens.written.min(tokens.input - cached);
        let plain = tokens.input - cached - written;
        let cost = plain as f64 * self.input
            + cached as f64 * self.cached_input.unwrap_or(self.input)
            + written as f64 * self.cache_write.unwrap_or(self.input)
            + tokens.output as f64 * self.output;
        // A price is per million tokens, and a unit has a billion billionths. The conversion saturates.
        (cost * 1_000.0).round() as u64
    }

    /// Returns the usage of a call, with its cost.
    pub(super) fn counts(price: Option<Self>, tokens: Answered) -> Counts {
        Counts {
            input_tokens: tokens.input,
            output_tokens: tokens.output,
            cost_nanos: price.map_or(0, |price| price.nanos(tokens)),
            ..Counts::default()
        }
    }
}

/// The prices of models, by their names.
///
/// A name in the table is a model's name, or the beginning of several models' names. The longest match wins. For
/// example, the price of `gemini-3.5-flash` also applies to `gemini-3.5-flash-001`, but `gemini-3.5-flash-lite` can
/// have a price of its own.
///
/// ```
/// # use pleach_plugins::{Price, PriceTable};
/// let prices = PriceTable::new()
///     .model("gemini-3.5-flash", Price::per_million(0.30, 2.50).cached_input(0.075))
///     .model("gemini-3.5-flash-lite", Price::per_million(0.10, 0.40));
/// # drop(prices);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PriceTable {
    models: Vec<(String, Price)>,
    other: Option<Price>,
}

impl PriceTable {
    /// Creates an empty table.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the price of a model, or of all models whose names begin with `name`. An earlier price of this name is
    /// replaced.
    #[must_use]
    pub fn model(mut self, name: impl Into<String>, price: Price) -> Self {
        let name = name.into();
        self.models.retain(|(known, _)| *known != name);
        self.models.push((name, price));
        self
    }

    /// Sets the price of all models that are not in the table. Without it, a cost limit refuses such models.
    #[must_use]
    pub fn other_models(mut self, price: Price) -> Self {
        self.other = Some(price);
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.models.is_empty() && self.other.is_none()
    }

    /// Returns the name of an invalid price, if there is one.
    pub(super) fn invalid(&self) -> Option<&str> {
        let named = self.models.iter().map(|(name, price)| (name.as_str(), price));
        let mut all = named.chain(self.other.iter().map(|price| ("other models", price)));
        all.find(|(_, price)| !price.is_valid()).map(|(name, _)| name)
    }

    pub(super) fn price(&self, model: &str) -> Option<Price> {
        let fits = self.models.iter().filter(|(name, _)| is_prefix(name, model));
        fits.max_by_key(|(name, _)| name.len()).map(|(_, price)| *price).or(self.other)
    }
}

/// Returns true if a model's name begins with `name` and the match ends at the end of a word: `gpt-4` matches
/// `gpt-4-turbo`, but not `gpt-4o`.
fn is_prefix(name: &str, model: &str) -> bool {
    let is_word = |letter: char| letter.is_alphanumeric();
    let rest = model.strip_prefix(name);
    rest.is_some_and(|rest| !(name.ends_with(is_word) && rest.starts_with(is_word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_name_that_fits_has_the_price() {
        let price = |input| Price::per_million(input, 0.0);
        let table =
            PriceTable::new().model("g-flash", price(1.0)).model("g-flash-lite", price(2.0)).model("g-", price(3.0));
        let input = |name: &str| table.price(name).map(|price| price.input);
        assert_eq!([input("g-flash"), input("g-flash-001")], [Some(1.0), Some(1.0)]);
        assert_eq!([input("g-flash-lite-2"), input("g-pro"), input("other")], [Some(2.0), Some(3.0), None]);
        assert_eq!(input("g-flasher"), Some(3.0));
        assert_eq!(table.other_models(price(9.0)).price("other").map(|price| price.input), Some(9.0));
    }

    #[test]
    fn cost_is_exact_in_billionths() {
        let price = Price::per_million(0.3, 2.5).cached_input(0.075).cache_write(0.375);
        let tokens = Answered { input: 1_000, cached: 400, written: 100, output: 10 };
        // 500 × 0.3 + 400 × 0.075 + 100 × 0.375 + 10 × 2.5 = 242.5 millionths
        assert_eq!(price.nanos(tokens), 242_500);
        assert_eq!(price.nanos(Answered { input: 10, cached: 90, ..tokens }), 10 * 75 + 25_000);
        assert!(!Price::per_million(f64::NAN, 1.0).is_valid() && !Price::per_million(1.0, -1.0).is_valid());
    }
}
