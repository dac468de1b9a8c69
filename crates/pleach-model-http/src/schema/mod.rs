//! JSON Schemas of functions and of answers, the same way for every source of tools and every provider.
//!
//! Three steps, each of them a pure function:
//! - [`Standard`] turns what tools and servers write, of any draft and with any fault, into JSON Schema 2020-12;
//! - `root` makes the schema of a function's arguments one object with `properties`;
//! - the [`Dialect`] of a provider rewrites what this provider does not take, and [`Keys`] renames the properties that it refuses.
//!
//! [`fit`] applies them to a request. This folder does not know the rest of any wire format.

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
    /// Whether the provider takes a property of this name.
    pub(crate) takes_key: fn(&str) -> bool,
    /// Rewrites one schema that is standard; those below it are rewritten already.
    pub(crate) rewrite: fn(&mut Map),
    /// Whether answers by schema have to be objects, so that another one is sent and read as the field [`VALUE`] of an object.
    pub(crate) wraps_answers: bool,
}

#[cfg(test)]
mod any_schema;
#[cfg(test)]
mod tests;
