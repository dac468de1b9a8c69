//! JSON Schemas of functions and answers, handled in the same way for every source of tools and every provider.
//!
//! There are three steps, and each is a pure function:
//! - [`Standard`] converts schemas of tools and servers, of any draft and with any fault, to JSON Schema 2020-12;
//! - `root` makes the schema of a function's arguments one object with `properties`;
//! - the [`Dialect`] of a provider rewrites keywords that the provider does not accept, and [`Keys`] renames properties
//!   that it refuses.
//!
//! [`fit`] applies the steps to a request. This module does not depend on any other part of the wire formats.

mod answer;
mod clean;
mod fault;
mod fit;
mod keys;
mod keywords;
mod root;
mod standard;
mod targets;

use pleach_core::Map;

#[cfg(feature = "openai")]
pub(crate) use answer::{VALUE, is_object};
#[cfg(feature = "openai")]
pub(crate) use clean::has_type;
pub(crate) use fault::SchemaFault;
#[cfg(any(feature = "anthropic", feature = "gemini"))]
pub(crate) use fit::fit_answer;
pub(crate) use fit::{Warned, fit};
pub(crate) use keys::Keys;
#[cfg(feature = "openai")]
pub(crate) use keywords::rewrite_all;
pub(crate) use standard::Standard;

/// The part of JSON Schema that a provider accepts.
#[derive(Debug)]
pub(crate) struct Dialect {
    /// Returns true if the provider accepts a property with this name.
    pub(crate) takes_key: fn(&str) -> bool,
    /// Rewrites one standard schema. The schemas below it are rewritten already.
    pub(crate) rewrite: fn(&mut Map),
    /// Whether an answer that fits a schema has to be an object. If so, other answers are wrapped in the field
    /// [`VALUE`] of an object.
    pub(crate) wraps_answers: bool,
}

#[cfg(test)]
mod any_schema;
#[cfg(test)]
mod tests;
