//! [`InputReader`]: the type that a node reads its input as, for checks before the node gets the input.

use std::fmt;

use serde::de::DeserializeOwned;

use super::NodeInput;
use crate::NodeError;

/// The Rust type that a node reads its input as, with the check that its handler makes.
#[derive(Clone, Copy)]
pub struct InputReader {
    type_name: &'static str,
    check: fn(&NodeInput) -> Result<(), NodeError>,
}

impl InputReader {
    /// Returns the reader for a type.
    #[must_use]
    pub fn of<T: DeserializeOwned>() -> Self {
        Self { type_name: std::any::type_name::<T>(), check: |input| input.parse::<T>().map(drop) }
    }

    /// Returns the name of the type without its modules.
    #[must_use]
    pub fn type_name(&self) -> String {
        let mut name = String::new();
        for part in self.type_name.split_inclusive(['<', '>', ',', ' ', '(', ')', '[', ']', '&']) {
            name.push_str(part.rsplit("::").next().unwrap_or(part));
        }
        name
    }

    /// Checks that an input is a value of the type, as the handler will read it.
    ///
    /// # Errors
    /// A `ValidationError` that names the part that does not fit.
    pub fn check(&self, input: &NodeInput) -> Result<(), NodeError> {
        (self.check)(input)
    }
}

impl fmt::Debug for InputReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InputReader").field(&self.type_name()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_type_has_no_modules() {
        assert_eq!(InputReader::of::<Vec<String>>().type_name(), "Vec<String>");
        assert_eq!(InputReader::of::<(u32, Option<serde_json::Value>)>().type_name(), "(u32, Option<Value>)");
        assert_eq!(InputReader::of::<u32>().type_name(), "u32");
    }
}
